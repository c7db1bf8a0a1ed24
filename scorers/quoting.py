"""Quotes untrusted text inside a prompt, so that it is bounded and cannot look like anything but data.

`enclose` writes a JSON value between two lines that carry the same boundary. Nothing inside can end the block: a line
break in a text is written as an escape, so no text can begin a line, and the boundary is a digest of the content, which
therefore cannot contain it. The same content gives the same block, so answers can be cached by prompt.

Escaped inside texts, as JSON allows: control, format (bidi, zero width, tags), private and unassigned characters,
surrogates, line separators, and the brackets that chat templates write roles with (``<|im_start|>``, ``[INST]``).
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import Any, Final
from unicodedata import category

MAX_PRINTED_NAME: Final = 60
"""Characters of a name in a sentence."""
BOUNDARY_DIGITS: Final = 24

_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKETS: Final = frozenset("<>[]\uff1c\uff1e")
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


class _Escapes(dict[int, str]):
    """For `str.translate`: the replacement of a character inside a JSON string. Computed replacements are not cached."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character not in _BRACKETS and category(character) not in _INVISIBLE:
            return character
        units = character.encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


_ESCAPES: Final = _Escapes()
_ESCAPES.update({code: _ESCAPES[code] for code in range(128)})


def quote(value: Any) -> str:
    """Returns the value as JSON on one line, dangerous characters escaped. Raises `ValueError` if JSON cannot hold it."""
    return _STRING.sub(lambda string: string[0].translate(_ESCAPES), _to_json(value))


def truncate(text: str, limit: int) -> str:
    """Returns the text, cut to ``limit`` characters of its quoted form. A cut text ends with how much was left out."""
    if 12 * len(text) <= limit or (len(text) <= limit and len(quote(text)) - 2 <= limit):  # 12: a pair of surrogates
        return text
    length, end = 0, 0
    for end, character in enumerate(text):  # noqa: B007 - the index at which the loop stops is the result
        length += len(quote(character)) - 2
        if length > limit:
            break
    return f"{text[:end]} … ({len(text) - end} characters left out)"


def truncate_value(value: Any, limit: int) -> Any:
    """Returns the value, or the start of its JSON as text if its quoted form is longer than ``limit``."""
    try:
        text = _to_json(value)
    except ValueError:
        return "(unreadable)"
    return value if len(text) <= limit and len(quote(value)) <= limit else truncate(text, limit)


def enclose(value: Any) -> str:
    """Returns a data block that holds the value. Raises `ValueError` if JSON cannot hold it."""
    content = quote(value)
    boundary = sha256(content.encode()).hexdigest()[:BOUNDARY_DIGITS]
    while boundary in content:  # the content would have to hold its own digest
        boundary = sha256(boundary.encode()).hexdigest()[:BOUNDARY_DIGITS]
    return f"BEGIN DATA {boundary}\n{content}\nEND DATA {boundary}"


def printable(name: str) -> str:
    """Returns a name shortened and escaped, so that it fits into a sentence and into UTF-8."""
    cut = name if len(name) <= MAX_PRINTED_NAME else name[: MAX_PRINTED_NAME - 1] + "…"
    return cut if cut.isprintable() else ascii(cut)[1:-1]


def _to_json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError):
        raise ValueError("the value cannot be written as JSON") from None
