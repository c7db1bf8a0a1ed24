"""Writes untrusted text so that it cannot be anything but data: in a prompt, in a sentence, on a terminal, in a file.

`printable` is for every output that people read, `json_line` for every one of JSON, `yaml_line` for what is written into rule
files; all are applied where text leaves.

`enclose` writes a JSON value between two lines that carry the same boundary. Nothing inside can end the block: a line
break in a text is written as an escape, so no text can begin a line, and the boundary is a digest of the content, which
therefore cannot contain it. The same content gives the same block, so answers can be cached by prompt.

Escaped inside texts, as JSON allows: control, format (bidi, zero width, tags), private and unassigned characters,
surrogates, line separators, and the brackets that chat templates write roles with (``<|im_start|>``, ``[INST]``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from math import inf, isfinite
from typing import Any, Final
from unicodedata import category

MAX_PRINTED_NAME: Final = 60
"""Characters of a name in a sentence."""
_MAX_BITS: Final = 12_000  # of an integer in JSON: Python refuses to print one of more than 4,300 digits
_MAX_DEPTH: Final = 100
BOUNDARY_DIGITS: Final = 24

_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NOT_FINITE: Final = {inf: "Infinity", -inf: "-Infinity"}  # as in the JSON mapping of protobuf
_BRACKETS: Final = frozenset("<>[]\uff1c\uff1e")
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


class _Replacements(dict[int, str]):
    """For `str.translate`: what replaces each character. Computed replacements are not cached."""

    def __init__(self, replacement: Callable[[str], str]) -> None:
        # ASCII ahead of time, since nearly all text is. The rest is not kept: senders choose it, and could fill
        # the table with all of Unicode.
        super().__init__({code: replacement(chr(code)) for code in range(128)})
        self._replacement = replacement

    def __missing__(self, code: int) -> str:
        return self._replacement(chr(code))


def _in_prompt(character: str) -> str:
    return _json_escape(character) if character in _BRACKETS or category(character) in _INVISIBLE else character


def _in_json(character: str) -> str:
    kind = category(character)
    if kind == "Cs":
        return "\ufffd"
    return _json_escape(character) if kind in _INVISIBLE else character


def _for_people(character: str) -> str:
    return ascii(character)[1:-1] if category(character) in _INVISIBLE else character


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


_PROMPT: Final = _Replacements(_in_prompt)
_JSON: Final = _Replacements(_in_json)
_PEOPLE: Final = _Replacements(_for_people)


def quote(value: Any) -> str:
    """Returns the value as JSON on one line, dangerous characters escaped. Raises `ValueError` if JSON cannot hold it."""
    return _STRING.sub(lambda string: string[0].translate(_PROMPT), _to_json(value))


def truncate(text: str, limit: int) -> str:
    """Returns the text, cut to ``limit`` characters of its quoted form. A cut text ends with how much was left out."""
    # Short texts, which are most, are not quoted to be measured.
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


def printable(text: str) -> str:
    """Returns the text as one line that shows what it holds: what a terminal would obey or hide is escaped."""
    return text if text.isprintable() else text.translate(_PEOPLE)


def shorten(text: str, limit: int = MAX_PRINTED_NAME) -> str:
    """Returns a name or a reason as a sentence shows it: cut to ``limit`` characters, and printable."""
    return printable(text if len(text) <= limit else text[: limit - 1] + "…")


_line: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode  # making one takes as long as most values


def json_line(value: Any) -> str:
    """Returns any value as strict JSON on one line, in printable characters. What JSON cannot hold is written as text."""
    try:
        line = _line(value)
    except (ValueError, TypeError, RecursionError):
        # Only now: nearly every value is plain, and the copy takes far longer than the C encoder.
        line = _line(_plain(value, 0))
    return line if line.isprintable() else line.translate(_JSON)


# A number begins where no other character of one is before it: else each digit of a long one might begin it.
_YAML_TOKEN: Final = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*")(:?)|(?<![0-9.-])-?[0-9.]+e[-+][0-9]+')
_PAIR: Final = re.compile(r"\\\\|\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})")
_MAX_PLAIN_KEY: Final = 1_000  # YAML looks for the colon of a longer one only behind a question mark


def yaml_line(value: Any) -> str:
    """Returns any value as YAML on one line, in printable characters: as JSON, but for what YAML 1.1 reads otherwise."""
    return _YAML_TOKEN.sub(_as_yaml, json_line(value))


def _as_yaml(token: re.Match[str]) -> str:
    text, colon = token[1], token[2]
    if text is None:  # a number, which is a text without a dot
        return token[0] if "." in token[0] else token[0].replace("e", ".0e")
    text = _PAIR.sub(_as_one, text)
    return f"{'? ' if colon and len(text) > _MAX_PLAIN_KEY else ''}{text}{colon}"


def _as_one(escaped: re.Match[str]) -> str:
    """A character that JSON escapes as two."""
    # An escaped backslash, matched so that what follows it is not taken for an escape.
    if escaped[1] is None:
        return escaped[0]
    return f"\\U{0x10000 + ((int(escaped[1], 16) & 0x3FF) << 10) + (int(escaped[2], 16) & 0x3FF):08x}"


def _plain(value: Any, depth: int) -> Any:
    """Returns the value with everything replaced by text that JSON cannot hold."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= _MAX_BITS else hex(value)
    if isinstance(value, float):
        return value if isfinite(value) else _NOT_FINITE.get(value, "NaN")
    if depth >= _MAX_DEPTH:
        return "(nested too deeply)"
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else _shown(key): _plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner, depth + 1) for inner in value]
    return _shown(value)


def _shown(value: object) -> str:
    try:
        return str(value)
    except (ValueError, RecursionError):
        return "(unreadable)"


def _to_json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError):
        raise ValueError("the value cannot be written as JSON") from None
