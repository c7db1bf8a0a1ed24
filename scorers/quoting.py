"""Text written by strangers, inside a question to a model: bounded, and unable to look like anything but data.

`enclose` puts a JSON value between two lines that carry the same mark. Nothing inside can end the block: a line break in
a text is written as an escape, so that no text begins a line, and the mark is a digest of the content, which cannot
contain it. The same content gives the same block, so that answers can be kept by what was asked.

Escaped inside texts, as JSON allows: control, format (bidi, zero width, tags), private and unassigned characters,
surrogates, line separators, and the brackets that chat templates write roles with (``<|im_start|>``, ``[INST]``).
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import Any, Final
from unicodedata import category

_PRINTED_NAME = 60  # characters of a name in a sentence

MARK_DIGITS: Final = 24
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKETS: Final = frozenset("<>[]\uff1c\uff1e")
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


class _Escapes(dict[int, str]):
    """For `str.translate`: what stands for a character inside a JSON string. Nothing is kept for unseen ones."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character not in _BRACKETS and category(character) not in _INVISIBLE:
            return character
        units = character.encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


_ESCAPES: Final = _Escapes()
_ESCAPES.update({code: _ESCAPES[code] for code in range(128)})


def quote(value: Any) -> str:
    """The value as JSON on one line, dangerous characters escaped. Raises `ValueError` where JSON has no words for it."""
    return _STRING.sub(lambda string: string[0].translate(_ESCAPES), _json(value))


def clip(text: str, limit: int) -> str:
    """The text, cut where its quoted form would be longer than ``limit`` characters, and then saying so."""
    if 12 * len(text) <= limit or (len(text) <= limit and len(quote(text)) - 2 <= limit):  # 12: a pair of surrogates
        return text
    length, end = 0, 0
    for end, character in enumerate(text):  # noqa: B007 - where it stops is the answer
        length += len(quote(character)) - 2
        if length > limit:
            break
    return f"{text[:end]} … ({len(text) - end} characters left out)"


def fit(value: Any, limit: int) -> Any:
    """The value itself, or, where its quoted form would be longer than ``limit``, the beginning of its JSON as text."""
    try:
        text = _json(value)
    except ValueError:
        return "(unreadable)"
    return value if len(text) <= limit and len(quote(value)) <= limit else clip(text, limit)


def enclose(value: Any) -> str:
    """The value in a block of its own. Raises `ValueError` where JSON has no words for it."""
    content = quote(value)
    mark = sha256(content.encode()).hexdigest()[:MARK_DIGITS]
    while mark in content:  # nobody has ever seen this happen
        mark = sha256(mark.encode()).hexdigest()[:MARK_DIGITS]
    return f"BEGIN DATA {mark}\n{content}\nEND DATA {mark}"


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError):
        raise ValueError("a value cannot be written as JSON") from None


def printable(name: str) -> str:
    """A name fit for a sentence and for UTF-8."""
    cut = name if len(name) <= _PRINTED_NAME else name[: _PRINTED_NAME - 1] + "…"
    return cut if cut.isprintable() else ascii(cut)[1:-1]
