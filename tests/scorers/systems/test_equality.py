"""The three equalities of JSON values that the original packages use."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorers.calls import ABSENT
from scorers.systems.equality import deep_equal, kind, own_keys_equal, stable_key, strict_equal

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab01", max_size=2), inner, max_size=3),
    max_leaves=8,
)

# left, right, deep_equal, own_keys_equal of {"x": left} and {"x": right}, stable keys equal
TABLE: list[tuple[Any, Any, bool, bool, bool]] = [
    (1, 1.0, True, True, True),
    (1, True, False, False, False),
    (0, False, False, False, False),
    (1, "1", False, False, False),
    (2**53, 2**53 + 1, True, True, True),
    (10**400, 10**401, True, True, True),
    (10**400, -(10**400), False, False, True),
    (0.0, -0.0, True, True, True),
    (math.nan, math.nan, True, False, True),
    (math.nan, None, False, False, True),
    (math.inf, None, False, False, True),
    (None, None, True, True, True),
    (None, {}, False, False, False),
    ([], {}, False, True, False),
    ([1, 2], {"0": 1, "1": 2}, False, True, False),
    ([1, 2], {"1": 2, "0": 1}, False, True, False),
    ([1, 2], [2, 1], False, False, False),
    ([1], [1, None], False, False, False),
    ({"x": 1, "y": 2}, {"y": 2, "x": 1}, True, True, True),
    ({"x": None}, {}, False, False, False),
    ({"x": 1}, {"y": 1}, False, False, False),
    ({"__proto__": 1}, {}, False, False, True),
    ("caf\u00e9", "cafe\u0301", False, False, False),
    ("[1]", [1], False, False, False),
]


@pytest.mark.parametrize(("left", "right", "deep", "own", "stable"), TABLE)
def test_the_three_equalities(left: Any, right: Any, deep: bool, own: bool, stable: bool) -> None:
    assert deep_equal(left, right) is deep_equal(right, left) is deep
    assert own_keys_equal({"k": left}, {"k": right}) is own_keys_equal({"k": right}, {"k": left}) is own
    assert (stable_key(left) == stable_key(right)) is stable


@given(JSON)
def test_a_value_equals_itself(value: Any) -> None:
    assert deep_equal(value, value)
    assert own_keys_equal({"k": value}, {"k": value})
    assert hash(stable_key(value)) == hash(stable_key(value))


@given(JSON, JSON)
def test_evalites_two_equalities_agree_on_plain_json(left: Any, right: Any) -> None:
    assert deep_equal(left, right) == (stable_key(left) == stable_key(right))


@given(JSON, JSON)
def test_whatever_is_deep_equal_has_equal_own_keys(left: Any, right: Any) -> None:
    if deep_equal(left, right):
        assert own_keys_equal({"k": left}, {"k": right})


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (5, {}, True),
        (5, 6, True),
        (True, [], True),
        ("ab", ["a", "b"], True),
        ("ab", "ba", False),
        ([1], {"0": 1}, True),
    ],
)
def test_own_keys_of_other_values(left: Any, right: Any, equal: bool) -> None:
    assert own_keys_equal(left, right) is equal


@pytest.mark.parametrize("nothing", [None, ABSENT])
def test_null_and_undefined_have_no_keys(nothing: Any) -> None:
    with pytest.raises(TypeError):
        own_keys_equal(nothing, {})
    with pytest.raises(TypeError):
        own_keys_equal({}, nothing)


def test_absent_is_its_own_key() -> None:
    assert stable_key(ABSENT) != stable_key(None)
    assert strict_equal(ABSENT, ABSENT)
    assert not strict_equal(ABSENT, None)


def test_kinds_of_other_python_types() -> None:
    assert kind(OrderedDict(x=1)) == "object"
    assert deep_equal(OrderedDict(x=1), {"x": 1})
    assert kind({1}) == "set"
    assert deep_equal(b"a", b"a")
    assert not deep_equal(b"a", "a")
