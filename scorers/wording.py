"""Mistakes in rules and options, and counts, in plain words."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from pydantic_core import ErrorDetails


def nearest(word: str, known: Sequence[str]) -> str:
    """Returns ``; did you mean X?`` for the known word closest to this one, or an empty string."""
    # Cut, since difflib's time grows with the product of the lengths.
    close = difflib.get_close_matches(word[:100], known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""


def is_misspelt(name: str, other: str) -> bool:
    """Whether one of two names is easily written for the other: letter case, separators, a letter too many or two swapped.

    Not where a letter stands for another, as in ``date`` and ``rate``, nor where digits differ: both may well exist.
    """
    if name == other or min(len(name), len(other)) < _SHORTEST or abs(len(name) - len(other)) > _MAX_SEPARATORS:
        return False
    # Counted first, since most pairs of names end here and what follows takes ten times as long.
    if abs(_letters(name) - _letters(other)) > 1:
        return False
    short, long = sorted((_plain(name), _plain(other)), key=len)
    at = next((at for at, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if short == long:
        return True
    if long[at].isdigit():
        return False
    return short[at:] in (long[at + 1 :], long[at + 1 : at + 2] + long[at] + long[at + 2 :])


def _letters(name: str) -> int:
    """The number of characters that are no separators."""
    letters = len(name)
    for separator in _SEPARATORS:
        letters -= name.count(separator)
    return letters


def _plain(name: str) -> str:
    return name.lower().translate(_WITHOUT_SEPARATORS)


_SEPARATORS = "_-. "
_WITHOUT_SEPARATORS = str.maketrans("", "", _SEPARATORS)
_SHORTEST = 4  # characters: of shorter names many are one letter apart
_MAX_SEPARATORS = 4


def quantity(number: int, noun: str) -> str:
    """Returns ``1 rule``, ``2 rules``: a number of what ``noun`` names."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def as_given(number: float) -> str:
    """Returns a number that somebody wrote as it was written."""
    return repr(number).removesuffix(".0")


_PLAIN_WORDS = {
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), "must be a mapping"),
    **dict.fromkeys(("list_type", "tuple_type"), "must be a list"),
    "string_type": "must be text",
    "path_type": "must be the path of a file or folder",
    **dict.fromkeys(("float_type", "float_parsing"), "must be a number"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "must be a whole number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false"),
    "finite_number": "must be a finite number",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must not be empty or hold control characters such as line breaks",
    "too_short": "must not be empty",
    "too_long": "must have at most {max_length} entries, has {actual_length}",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
    "missing": "is missing",
}


def _in_yaml(literal: str) -> str:
    """Returns a literal of Python as YAML has it."""
    return {"True": "true", "False": "false"}.get(literal, literal)


def plain_words(error: ErrorDetails) -> str:
    """Returns one of pydantic's errors in the words of these rules, with what was given where that is short."""
    context, given = error.get("ctx", {}), error["input"]
    plain = _PLAIN_WORDS.get(error["type"])
    if plain is None:
        message = error["msg"].removeprefix("Value error, ").replace("Input should", "must")
        return message[:1].lower() + message[1:]
    message = plain.format_map({key: _in_yaml(str(value)) for key, value in context.items()})
    if isinstance(given, str | int | float) and error["type"] not in ("string_too_long", "string_pattern_mismatch"):
        shown = _in_yaml(repr(given))
        message += f", not {shown}" if len(shown) <= _MAX_GIVEN else ""
    if error["type"] == "literal_error":
        message += nearest(str(given), context["expected"].replace("'", "").replace(" or ", ", ").split(", "))
    return message


_MAX_GIVEN = 60
