"""Equality of JSON values as in JavaScript. It differs from Python's ``==``, by which ``True == 1``.

JavaScript has one kind of number, the double: 1 equals 1.0, and integers beyond 2**53 lose precision. A boolean is not a
number. Objects compare by their keys, in any order.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

from scorers.calls import ABSENT

_KINDS: dict[type, str] = {
    dict: "object",
    list: "array",
    tuple: "array",
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    type(None): "null",
    type(ABSENT): "undefined",
}

_LAST_INDEX = 2**32 - 1
"""Larger than every index of an array: a property of this name or a larger one is ordered as any other."""


def kind(value: Any) -> str:
    """object, array, string, boolean, number, null, undefined; the type's name for anything that is not JSON."""
    found = _KINDS.get(type(value))
    if found is None:
        found = "object" if isinstance(value, Mapping) else type(value).__name__
    return found


def number(value: float) -> float:
    """The number as a double; integers beyond its range are infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def strict_equal(a: Any, b: Any) -> bool:
    """``===`` of two values, neither an object nor an array."""
    which = kind(a)
    if which != kind(b):
        return False
    return bool(number(a) == number(b) if which == "number" else a == b)


def deep_equal(a: Any, b: Any) -> bool:
    """Evalite's ``deepEqual``: arrays by element, objects by own keys, NaN equal to NaN, the rest by ``===``."""
    which = kind(a)
    if which != kind(b):
        return False
    if which == "object":
        # Unlike Python's ==, which would find 1 equal to true at any depth.
        return len(a) == len(b) and all(key in b and deep_equal(value, b[key]) for key, value in a.items())
    if which == "array":
        return len(a) == len(b) and all(map(deep_equal, a, b))
    return strict_equal(a, b) or (which == "number" and a != a and b != b)  # noqa: PLR0124 - NaN


def own_keys_equal(a: Any, b: Any) -> bool:
    """TPMJS's ``argsEqual``: anything by its own keys, so that [1] equals {"0": 1} and 5 equals {}.

    Values under the keys compare recursively where both are objects or arrays, else by ``===`` (NaN differs from NaN).
    Raises `TypeError` if either is null or undefined, which have no keys.
    """
    ours, theirs = _own_properties(a), _own_properties(b)
    return len(ours) == len(theirs) and all(
        key in theirs and _same_property(value, theirs[key]) for key, value in ours.items()
    )


def stable_key(value: Any) -> Hashable:
    """Equal exactly if Evalite's ``JSON.stringify(stableSerialize(value))`` is: key order, NaN and infinity are lost.

    So is a key named ``__proto__``, whose assignment sets the prototype of the copy instead of a key.
    """
    which = kind(value)
    if which == "object":
        return ("object", tuple((key, stable_key(value[key])) for key in sorted(value) if key != "__proto__"))
    if which == "array":
        return ("array", tuple(map(stable_key, value)))
    if which == "number":
        double = number(value)
        return ("number", double) if math.isfinite(double) else None
    return value if which == "null" else (which, value)


def stringify_key(value: Any) -> Hashable:
    """Equal exactly if ``JSON.stringify(value)`` is: keys that are array indexes come first, the others as inserted."""
    which = kind(value)
    if which == "object":
        return ("object", tuple((key, stringify_key(value[key])) for key in sorted(value, key=_property_order)))
    if which == "array":
        return ("array", tuple(map(stringify_key, value)))
    if which == "number":
        double = number(value)
        return ("number", double) if math.isfinite(double) else None
    return value if which == "null" else (which, value)


def _property_order(key: str) -> int:
    is_index = key.isascii() and key.isdigit() and len(key) <= 10 and (key == "0" or key[0] != "0")
    return min(int(key), _LAST_INDEX) if is_index else _LAST_INDEX


def _own_properties(value: Any) -> Mapping[str, Any]:
    """The properties that ``Object.keys`` lists, with their values."""
    which = kind(value)
    if which == "object":
        return dict(value)
    if which in {"array", "string"}:
        return {str(index): item for index, item in enumerate(value)}
    if which in {"null", "undefined"}:
        raise TypeError("null and undefined have no keys")
    return {}


def _same_property(a: Any, b: Any) -> bool:
    nested = {"object", "array"}
    return own_keys_equal(a, b) if kind(a) in nested and kind(b) in nested else strict_equal(a, b)
