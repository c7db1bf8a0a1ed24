"""Parses values in the encodings that instrumentations use: JSON, JSON inside JSON, Python reprs.

Every function is bounded and never raises: malformed input gives None, or the text itself. All text in the values is valid
Unicode, whatever the escapes say.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from math import isfinite
from typing import Any, Final, TypeVar

from collector.checkpoints import checkpoint
from scorers.unicode import JSONDecoder, valid_unicode

MAX_TEXT: Final = 262_144
"""Longest text that is parsed, in characters."""
MAX_KEPT_TEXT: Final = 4_096
"""How much of a text is kept that could not be parsed."""
UNREADABLE: Final = "[...]"
"""In place of a value that has no text."""
MAX_REPR: Final = 32_768
"""Longest Python repr that is parsed."""
MAX_REPR_PARTS: Final = 2_000
"""How many separators and brackets a Python repr may have to be parsed: each can take 10 µs."""
MAX_REPRS: Final = 4 * MAX_REPR
"""How many characters of Python reprs are parsed to rebuild one trace: they take ten times as long as JSON."""
MAX_VALUES: Final = 1_000_000
"""How many values are parsed from JSON to rebuild one trace: each may take 100 bytes, however short its text is."""
MAX_DEPTH: Final = 64
"""How deep the containers of a parsed value may be nested."""
MAX_NAME: Final = 256
"""How much of a name or an id is kept."""
_MAX_BITS: Final = 12_000  # of an integer: Python refuses to print one of more than 4,300 digits
_SPACE: Final = " \n\r\t"
_REPR_PARTS: Final = ",:([{"
_BEFORE_NONE: Final = ("<", "[", "*")
_AFTER_NONE: Final = (">", "]", "*")
_QUOTED: Final = re.compile(rb'"[^"]*"')
_AS_SQUARE: Final = bytes.maketrans(b"{}", b"[]")
_NO_MARKS: Final = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_BETWEEN_OBJECTS: Final = re.compile(r"\}\s{0,8}\{")


def _integer_of(digits: str) -> int | str:
    """Returns the integer; its text, if it has more digits than Python reads."""
    try:
        return int(digits)
    except ValueError:
        return digits


def _float_of(digits: str) -> float | str:
    """Returns the number; its text, if it is too large for one: `1e400`."""
    number = float(digits)
    return number if isfinite(number) else digits


# NaN and Infinity are not JSON; as text they can be displayed and compared, as floats they break JSON encoders downstream.
_decoder = JSONDecoder(parse_constant=str, parse_float=_float_of)
_scan: Final[Callable[[str, int], tuple[Any, int]]] = _decoder.scan_once  # type: ignore[attr-defined]  # stubs lack it
_decoder_of_long_numbers = JSONDecoder(parse_constant=str, parse_float=_float_of, parse_int=_integer_of)

Arguments = Mapping[str, Any] | None

_SPAN_ID: Final = re.compile(r"[0-9a-fA-F]{16}")


def name_of(value: object) -> str | None:
    """Returns a name or an id, cut to MAX_NAME; None if ``value`` is no string or empty."""
    return value[:MAX_NAME] if type(value) is str and value else None


def is_true(flag: object) -> bool:
    """Whether a flag is set; formats without other values than text, as Zipkin's, write it out."""
    return flag is True or flag == "true"


def span_id_of(value: object) -> bytes:
    """Returns the id of a span that ``value`` writes in hexadecimal; empty if it does not."""
    return bytes.fromhex(value) if type(value) is str and _SPAN_ID.fullmatch(value) else b""


def known_name_of(value: object) -> str | None:
    """Returns a name or an id as ``name_of`` does; None if it is ``<not found>``, or a mask as ``****``."""
    is_none = type(value) is str and value[:1] in _BEFORE_NONE and value[-1:] in _AFTER_NONE
    return None if is_none else name_of(value)


def first_value(values: Mapping[str, Any], keys: Iterable[str]) -> Any:
    """Returns the value of the first of ``keys`` that is present and not None."""
    for key in keys:
        value = values.get(key)
        if value is not None:
            return value
    return None


def first_name(values: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    """Returns the name (see ``name_of``) under the first of ``keys`` that holds one."""
    for key in keys:
        name = name_of(values.get(key))
        if name is not None:
            return name
    return None


def find_text(pattern: re.Pattern[str], value: object) -> str | None:
    """Returns the name that ``pattern`` captures in ``value``, a long JSON text that is not worth parsing."""
    match = pattern.search(value, 0, MAX_TEXT) if type(value) is str else None
    return None if match is None else name_of(match[1])


def parse_json(text: str) -> Any:
    """Returns the JSON value in ``text``; None if it is invalid, too long, or nested too deeply."""
    checkpoint()
    if len(text) > MAX_TEXT:
        return None
    left = _left.get()
    if left is None:
        return _json_of(text)
    if left.parsed is None:
        return _json_of(text) if left.may_parse(text) else None
    if text not in left.parsed:
        left.parsed[text] = _json_of(text) if left.may_parse(text) else None
    return left.parsed[text]


def first_member(text: object, name: str) -> Any:
    """Returns the value of the first member of a JSON object, if it has this name and ``text`` holds it whole; else None.

    The members behind it are not parsed: they may be as long as a conversation.
    """
    begin = f'{{"{name}": '
    if type(text) is not str or not text.startswith(begin):
        return None
    try:
        _, end = _scan(text[:MAX_TEXT], len(begin))
    except (ValueError, StopIteration, RecursionError):
        return None
    return parse_json(text[len(begin) : end])


def _json_of(text: str) -> Any:
    if text[:1] in _SPACE:
        text = text.strip()
    try:
        try:
            # The scanner alone where no text needs a second look: half the cost of what is around it.
            value, end = _scan(text, 0) if "\\" not in text else _decoder.raw_decode(text)
        except (json.JSONDecodeError, StopIteration):
            return None
        except ValueError:  # an integer of more digits than Python reads: the rest must not go unseen for it
            value, end = _decoder_of_long_numbers.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return None if (end != len(text) and text[end:].strip()) or _is_json_too_deep(text) else value


def parse_arguments(value: object) -> tuple[Arguments, str | None]:
    """Returns the arguments of a call as an object, or else the text that could not be parsed as one.

    ``(None, None)`` if nothing was recorded: absent, empty, or JSON null. What cannot be text either is ``UNREADABLE``.
    """
    if type(value) is str:
        if not value:
            return None, None
        parsed = parse_json(value)
        if type(parsed) is dict:
            return parsed, None
        if type(parsed) is str:  # JSON inside JSON
            inner = parse_json(parsed)
            return (inner, None) if type(inner) is dict else (None, parsed[:MAX_KEPT_TEXT] or None)
        if parsed is None and value[:1] == "{":
            parsed = parse_repr(value)
            if type(parsed) is dict and all(type(key) is str for key in parsed):
                return parsed, None
        return None, None if value == "null" else value[:MAX_KEPT_TEXT]
    if type(value) is dict:
        return value, None
    if value is None or value == [] or value == b"":
        return None, None
    try:
        return None, str(value)[:MAX_KEPT_TEXT]
    except (ValueError, RecursionError):  # a list as deep as the wire allows, an int of too many digits
        return None, UNREADABLE


class _Left:
    """How much of one trace, or span, may still be parsed; what was ``parsed`` as JSON by its text, if that is kept."""

    def __init__(self, parsed: dict[str, Any] | None = None) -> None:
        self.reprs, self.values, self.parsed = MAX_REPRS, MAX_VALUES, parsed

    def may_parse(self, text: str) -> bool:
        """Whether the values in ``text``, which are counted, may be parsed."""
        # Counted before parsing: afterwards the memory would be taken already.
        self.values -= text.count(",") + 1
        return self.values >= 0


# A context variable, since parsing happens deep inside functions that know of no trace. An evaluation in slices has
# a context of its own, so a trace evaluated meanwhile does not draw on its budget.
_left: ContextVar[_Left | None] = ContextVar("left", default=None)
_R = TypeVar("_R")


def limit_parsing(work: Callable[[], _R]) -> _R:
    """Returns what ``work`` returns, which parses MAX_VALUES from JSON and MAX_REPRS characters of Python reprs at most."""
    return _within(_Left(), work)


def parse_once(work: Callable[[], _R]) -> _R:
    """As `limit_parsing`; and what ``work`` parses from JSON again is what it was before, which must not be changed."""
    return _within(_Left({}), work)


def _within(left: _Left, work: Callable[[], _R]) -> _R:
    before = _left.set(left)
    try:
        return work()
    finally:
        _left.reset(before)


def parse_repr(text: str) -> Any:
    """Returns the value of a Python literal, or None. Only literals are parsed: nothing is looked up, called or evaluated."""
    return read_repr(text, literal_of)


def literal_of(node: ast.expr) -> Any:
    """Returns the value of the syntax tree of a literal. Raises ValueError for any other."""
    return ast.literal_eval(node)


def read_repr(text: str, value_of: Callable[[ast.expr], Any]) -> Any:
    """Returns what ``value_of`` makes of the syntax tree of ``text``, as JSON has it; None if it is none, or too large."""
    checkpoint()
    left = _left.get()
    if len(text) > MAX_REPR or (left is not None and left.reprs < len(text)):
        return None
    if sum(map(text.count, _REPR_PARTS)) > MAX_REPR_PARTS:
        return None
    if left is not None:
        # Before the attempt: a text that turns out to be no literal takes as long.
        left.reprs -= len(text)
    try:
        # The size was limited first: the whole text becomes a syntax tree before anything of it is known.
        value = _as_json(valid_unicode(value_of(ast.parse(text.lstrip(" \t"), mode="eval").body)))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return None if _is_too_deep(value, text) else value


def _as_json(value: Any) -> Any:
    """Returns the value of a literal with sets as lists, and as text what JSON has no words for: `b"x"`, `1j`, `1e400`.

    What is parsed is written as JSON again, and tested by matchers and schemas, which know no other values.
    """
    # True and False first: compiled, what is known to be an int is one from there on.
    if value is None or value is True or value is False or isinstance(value, str):
        return value
    if isinstance(value, dict):
        return {
            key if isinstance(key, (str, int, type(None))) else str(key): _as_json(one) for key, one in value.items()
        }
    if isinstance(value, (list, set)):
        return [_as_json(one) for one in value]
    if isinstance(value, tuple):
        return tuple([_as_json(one) for one in value])
    if isinstance(value, int):
        return value if value.bit_length() <= _MAX_BITS else hex(value)  # hexadecimal, of any number of digits
    return value if isinstance(value, float) and isfinite(value) else str(value)


def are_several_objects(text: object) -> bool:
    """Whether ``text`` is JSON objects one after the other, and not one of them."""
    if type(text) is not str or len(text) > MAX_TEXT or text.lstrip()[:1] != "{":
        return False
    listed = parse_json(f"[{_BETWEEN_OBJECTS.sub('},{', text)}]")
    return isinstance(listed, list) and len(listed) > 1 and all(isinstance(item, Mapping) for item in listed)


def parse_any(value: object) -> Any:
    """Returns ``value`` with JSON text or a Python repr parsed, anything else unchanged."""
    if type(value) is not str:
        return value
    text = value.strip()
    # Most texts are words. The first character spares them an attempt that fails.
    if text[:1] not in ("{", "[", '"', "("):
        return value
    parsed = parse_json(text)
    if parsed is None and text[:1] != '"':
        parsed = parse_repr(text)
    return value if parsed is None else parsed


def _is_json_too_deep(text: str) -> bool:
    """Whether containers are nested deeper than MAX_DEPTH in valid JSON."""
    if not _may_be_too_deep(text):
        return False
    # By its brackets, level by level: to walk over its values takes longer than to parse them.
    if "\\" in text:
        text = text.replace("\\\\", "").replace('\\"', "")
    # Two quotes side by side now enclose no bracket, or are between two texts: without them the same brackets are in texts.
    marks = text.encode("ascii", "ignore").translate(_AS_SQUARE, _NO_MARKS).replace(b'""', b"")
    brackets = _QUOTED.sub(b"", marks) if b'"' in marks else marks
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"")
        if not brackets:
            return False
    return True


def _may_be_too_deep(text: str) -> bool:
    return len(text) > 2 * MAX_DEPTH and text.count("[") + text.count("{") + text.count("(") > MAX_DEPTH


def _is_too_deep(value: object, text: str) -> bool:
    """Whether containers are nested deeper than MAX_DEPTH; examined level by level, if the text has enough brackets."""
    if not _may_be_too_deep(text):
        return False
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [child for item in level if isinstance(item, (dict, list, tuple)) for child in _children(item)]
        if not level:
            return False
    return True


def _children(item: dict[Any, Any] | list[Any] | tuple[Any, ...]) -> Iterable[Any]:
    return item.values() if isinstance(item, dict) else item
