"""Values that were cut: users limit their length (``OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT``), and no span says that it was."""

from __future__ import annotations

import re
from typing import Any, Final

_SHORTEST: Final = 32
"""Characters of the shortest value that is looked at: no limit that leaves anything to read is lower."""
_ENDS: Final = {"[": "]", "{": "}", '"': '"'}
_STRUCTURE: Final = re.compile(r"""\[\s*(?:[\[{"'-]|\d)|\{\s*["']|"(?:[^"\\]|\\.)*\Z""", re.DOTALL)
"""Begins JSON, or a Python object. A text may begin with a bracket, too, or with a word in quotes."""
_CALL_OF_PROVIDER: Final = re.compile(
    r"""["']type\\*["']\s*:\s*\\*["']\w{0,64}(?:tool_use|tool_call|_call)\\*["']|executable_?[cC]ode\\*["']\s*:\s*\\*\{"""
)
_OF_RESULTS: Final = ("result", "output", "response")


def is_cut(text: object) -> bool:
    """Whether a text begins as JSON or as a Python object, and does not end as one."""
    if type(text) is not str:
        return False
    end = _ENDS.get(text[:1])
    if end is None or len(text) < _SHORTEST or text[-1] == end:
        return False
    return text.rstrip()[-1:] != end and _STRUCTURE.match(text) is not None


def names_call(output: object) -> bool:
    """Whether an answer that was cut has a part that is a call."""
    return type(output) is str and _CALL_OF_PROVIDER.search(output) is not None


def has_cut_result(attributes: dict[str, Any]) -> bool:
    """Whether a value of a call's span is a result that was cut."""
    for key, value in attributes.items():
        # Its length first: most values of a span are short.
        if type(value) is str and len(value) >= _SHORTEST and is_cut(value) and _is_of_result(key):
            return True
    return False


def _is_of_result(key: str) -> bool:
    return any(word in key.lower() for word in _OF_RESULTS)
