"""Argument matchers: a table for each matcher, then hostile values for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from scorers.rules.arguments import (
    MISSING,
    Choices,
    EmbeddingsMissingError,
    Predicate,
    compile_argument,
    compile_arguments,
    equal,
)
from scorers.rules.matchers import ArgumentPattern
from scorers.work import Work

PATTERN: TypeAdapter[Any] = TypeAdapter(ArgumentPattern)


def argument(pattern: Any) -> Predicate:
    return compile_argument(PATTERN.validate_python(pattern))


def arguments(patterns: dict[str, Any], mode: str = "subset") -> Predicate:
    return compile_arguments({key: PATTERN.validate_python(value) for key, value in patterns.items()}, mode)


CASES: list[tuple[Any, list[Any], list[Any]]] = [
    # pattern, values that satisfy it, values that do not
    ("Paris", ["Paris"], ["paris", "", None, 5, ["Paris"], MISSING]),
    (1, [1, 1.0], [True, "1", 2, None, MISSING]),
    (1.5, [1.5], [1, "1.5"]),
    (True, [True], [1, "true", False]),
    (None, [None], [False, 0, "", MISSING]),
    ([1, {"a": 2}], [[1, {"a": 2}], (1, {"a": 2.0})], [[{"a": 2}, 1], [1], [1, {"a": 2, "b": 3}], [True, {"a": 2}], "[1]"]),
    ({"regex": "^ord_"}, ["ord_7"], ["xord_7", None, ["ord_7"], {"a": "ord_7"}, MISSING]),
    ({"regex": "^4[0-9]$"}, [42, "42"], [142, 42.5]),
    ({"regex": "^(true|false)$"}, [True, "false"], ["True"]),
    ({"fuzzy": "new york"}, ["new york", "new yrok", "New York"], ["paris", None, MISSING]),
    ({"fuzzy": "new york", "threshold": 1.0}, ["new york"], ["new yrok"]),
    ({"fuzzy": "york", "ratio": "partial", "threshold": 0.95}, ["the city of york"], ["the city of yurk"]),
    ({"fuzzy": "york new", "ratio": "token_sort", "threshold": 1.0}, ["new york"], ["new yorks"]),
    ({"fuzzy": "new york", "ratio": "token_set", "threshold": 1.0}, ["york new york"], ["york"[:2]]),
    ({"min": 1}, [1, 1.0, 10**400], [0.99, True, "5", None, float("nan"), MISSING]),
    ({"max": 10}, [10, -(10**400)], [10.5, 11]),
    ({"min": 1, "max": 2}, [1, 2, 1.5], [0, 3]),
    ({"approx": 9.99, "tolerance": 0.01}, [9.99, 9.985, 10.0], [10.1, "9.99", 10**400]),
    ({"approx": 4.35, "tolerance": 0.01}, [4.36, 4.34], [4.3600001, 4.3399999]),
    ({"approx": 0.7, "tolerance": 0.1}, [0.8, 0.6], [0.8000001]),
    ({"approx": 0.3, "tolerance": 0.0}, [0.3, 0.1 + 0.2], [0.3000000001]),
    ({"approx": 1e308, "tolerance": 1e308}, [1.7e308, 0], [-1e300]),
    ({"one_of": ["EUR", 1, {"regex": "^U"}]}, ["EUR", 1, "USD"], ["eur", True, 2, None, MISSING]),
    ({"present": True}, [None, 0, {}], [MISSING]),
    ({"present": False}, [MISSING], [None, 0]),
    ({"ignore": True}, [MISSING, None, 5], []),
    ({"schema": {"type": "string"}}, ["x"], [5, MISSING]),
    ({"subset": {"city": "Paris", "zip": {"regex": "^7"}}}, [{"city": "Paris", "zip": 75, "x": 1}], [{"city": "Paris"}, "x"]),
    ({"subset": {"a": {"subset": {"b": 1}}}}, [{"a": {"b": 1, "c": 2}}], [{"a": {"b": 2}}, {"a": 1}]),
    ({"exact": {"regex": "x"}}, [{"regex": "x"}], ["x", {"regex": "x", "y": 1}]),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "right", "wrong"), CASES, ids=[str(case[0]) for case in CASES])
def test_values_that_satisfy_a_matcher(pattern: Any, right: list[Any], wrong: list[Any]) -> None:
    matches = argument(pattern)

    assert [value for value in right if not matches(value, Work())] == []
    assert [value for value in wrong if matches(value, Work())] == []


@given(
    st.integers(-(10**6), 10**6), st.integers(0, 1_000), st.integers(0, 1_000), st.integers(0, 3), st.sampled_from((1, -1))
)  # fmt: skip
def test_decimals_are_compared_as_they_are_written(
    number: int, tolerance: int, off: int, digits: int, sign: int
) -> None:
    scale = 10**digits
    matches = argument({"approx": number / scale, "tolerance": tolerance / scale})

    assert matches((number + sign * off) / scale, Work()) is (off <= tolerance)


@pytest.mark.parametrize(
    ("patterns", "mode", "given_arguments", "expected"),
    [
        ({}, "subset", {"a": 1}, True),
        ({}, "exact", {"a": 1}, False),
        ({}, "exact", {}, True),
        ({"a": 1}, "subset", {"a": 1, "b": 2}, True),
        ({"a": 1}, "exact", {"a": 1, "b": 2}, False),
        ({"a": 1, "b": {"ignore": True}}, "exact", {"a": 1, "b": 2}, True),
        ({"a": 1, "b": {"ignore": True}}, "exact", {"a": 1}, True),
        ({"a": 1, "b": {"present": False}}, "subset", {"a": 1}, True),
        ({"a": 1, "b": {"present": False}}, "subset", {"a": 1, "b": None}, False),
        ({"a": 1, "b": [2]}, "subset", {"b": [2], "a": 1}, True),
        ({"a": 1, "b": [2]}, "subset", {"b": [3], "a": 1}, False),
        ({"a": 1, "b": "x"}, "subset", {"b": "x", "a": True}, False),
        ({"a": 0}, "subset", {"a": False}, False),
    ],
)
def test_arguments_of_a_call(
    patterns: dict[str, Any], mode: str, given_arguments: dict[str, Any], *, expected: bool
) -> None:
    assert arguments(patterns, mode)(given_arguments, Work()) is expected


def embed(text: str) -> Sequence[float]:
    """Texts about money point one way, all others another, nothing nowhere."""
    return [1.0, 0.1] if "money" in text or "refund" in text else [0.0, 0.0] if not text else [0.0, 1.0]


@pytest.mark.parametrize(
    ("value", "expected"),
    [("my money", True), ("weather", False), ("", False), (5, False), (None, False), (MISSING, False)],
)
def test_semantic_similarity_uses_the_given_embeddings(value: Any, *, expected: bool) -> None:
    assert (
        compile_argument(PATTERN.validate_python({"semantic": "refund", "threshold": 0.9}), embed)(value, Work())
        is expected
    )


def test_semantic_similarity_without_embeddings_is_refused() -> None:
    with pytest.raises(EmbeddingsMissingError, match="embeddings"):
        argument({"semantic": "refund"})


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


HOSTILE = [
    nested(50_000),
    10**5_000,
    -(10**5_000),
    float("nan"),
    float("inf"),
    "\ud800",
    "x" * 1_000_000,
    {"a": nested(9_000)},
]


@pytest.mark.parametrize("pattern", [case[0] for case in CASES], ids=str)
@pytest.mark.parametrize("value", HOSTILE, ids=["deep", "big", "small", "nan", "inf", "surrogate", "long", "deep dict"])
def test_hostile_values_match_or_do_not_match(pattern: Any, value: Any) -> None:
    assert argument(pattern)(value, Work()) in {True, False}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(json_values, json_values)
def test_values_are_equal_as_in_json(one: Any, other: Any) -> None:
    assert equal(one, one)
    assert equal(one, other) == equal(other, one)
    if type(one) is not type(other) and not (type(one) in {int, float} and type(other) in {int, float}):
        assert not equal(one, other)


literals = st.none() | st.integers(0, 2) | st.floats(0, 2) | st.sampled_from(["", "a", "1"])


@given(
    st.lists(st.fixed_dictionaries({"a": literals, "b": literals}), min_size=1, max_size=6),
    st.dictionaries(st.sampled_from(["a", "b", "c"]), literals | st.booleans() | st.just([1])),
)
def test_literals_of_several_choices_are_looked_up_as_if_each_was_tried(
    patterns: list[dict[str, Any]], call: dict[str, Any]
) -> None:
    choices = Choices([(1 << at, one, "subset") for at, one in enumerate(patterns)])

    tried = [1 << at for at, one in enumerate(patterns) if arguments(one)(call, Work())]
    assert choices.matching(call, Work()) == sum(tried)


def test_what_many_literal_choices_cost_does_not_grow() -> None:
    few, many = (Choices([(1 << at, {"id": at}, "subset") for at in range(size)]) for size in (2, 200))

    assert few.cost == many.cost > 0
