"""Values that were cut: users limit their length (``OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT``), and no span says that it was."""

from __future__ import annotations

import re
from json import JSONDecoder
from typing import Any, Final

_SHORTEST: Final = 32
"""Characters of the shortest value that is looked at: no limit that leaves anything to read is lower."""
_ENDS: Final = {"[": "]", "{": "}", '"': '"'}
_STRUCTURE: Final = re.compile(
    r"""\[\s*(?:\[\s*)*(?:[{"']|-?\d[\d.eE+-]*\s*(?:[,\]]|\Z))|\{\s*["']|"(?:[^"\\]|\\.)*\Z""", re.DOTALL
)
"""Begins JSON, or a Python object. A text may begin with a bracket, too: with a link, a date, a word in quotes."""
_MAX_READ: Final = 16_384
"""Characters of a text in which the end of a value is looked for that something else follows."""
_CALL_OF_PROVIDER: Final = re.compile(
    r"""["']type\\*["']\s*:\s*\\*["']\w{0,64}(?:tool_use|tool_call|_call)\\*["']|executable_?[cC]ode\\*["']\s*:\s*\\*\{"""
)
_decoder: Final = JSONDecoder()
_OF_RESULTS: Final = ("result", "output", "response")
_MESSAGE: Final = ("content='", 'content="')
"""Begins the message of a tool as LangChain prints it (1.5); whether the tool failed comes last."""
_MESSAGE_ENDS: Final = ("'", '"', "}", "]", ")")


def is_cut(text: object) -> bool:
    """Whether a text begins as JSON or as a Python object, and does not end as one."""
    if type(text) is not str:
        return False
    end = _ENDS.get(text[:1])
    if end is None or len(text) < _SHORTEST or text[-1] == end:
        return False
    return text.rstrip()[-1:] != end and _STRUCTURE.match(text) is not None and not _is_followed(text)


def _is_followed(text: str) -> bool:
    """Whether a text begins with a whole value of JSON, so that what follows is none: a note, or a number of a citation."""
    try:
        _decoder.raw_decode(text[:_MAX_READ])
    except (ValueError, RecursionError):
        return False
    return True


def names_call(output: object) -> bool:
    """Whether an answer that was cut has a part that is a call."""
    return type(output) is str and _CALL_OF_PROVIDER.search(output) is not None


def has_cut_result(attributes: dict[str, Any]) -> bool:
    """Whether a value of a call's span is a result that was cut."""
    for key, value in attributes.items():
        # Its length first: most values of a span are short.
        if type(value) is str and len(value) >= _SHORTEST and _lacks_end(value) and _is_of_result(key):
            return True
    return False


def _lacks_end(text: str) -> bool:
    return is_cut(text) or (text.startswith(_MESSAGE) and not text.endswith(_MESSAGE_ENDS))


def _is_of_result(key: str) -> bool:
    return any(word in key.lower() for word in _OF_RESULTS)
