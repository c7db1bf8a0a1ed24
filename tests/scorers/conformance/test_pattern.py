"""Residuals of a pattern: moves, bounds, normal forms, and the limit on their number."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorers.conformance.expectation import compile_expectation
from scorers.conformance.pattern import Pattern, PatternError
from scorers.rules.model import Expect, Sequence
from tests.operations import calls
from tests.scorers.examples import pattern
from tests.scorers.reference import words
from tests.scorers.strategies import patterns


def names(built: Pattern, tools: Any) -> list[str]:
    return [str(built.tools[tool].tool) for tool in tools]


def moves(built: Pattern, tool: str) -> list[tuple[list[str], list[str], bool, bool]]:
    """Of each way to match the tool first: what is skipped, what would still be missing, certain, alone."""
    (number,) = [at for at, one in enumerate(built.tools) if one.tool == tool]
    return [
        (names(built, move.skipped), names(built, built.fewest(move.residual)), move.certain, move.alone)
        for move in built.moves(built.start, number)
    ]


@pytest.mark.parametrize(
    ("expect", "tool", "expected"),
    [
        ({"tool": "a"}, "a", [([], [], True, True)]),
        ({"sequence": ["a", "b"]}, "a", [([], ["b"], True, True)]),
        ({"sequence": ["a", "b"]}, "b", [(["a"], [], False, False)]),
        ({"sequence": ["a", "b", "a"]}, "a", [([], ["b", "a"], True, True)]),
        ({"sequence": [{"optional": "a"}, "b", "a"]}, "a", [([], ["b", "a"], True, False), (["b"], [], False, False)]),
        ({"any_order": ["a", "b"]}, "b", [([], ["a"], True, False)]),
        ({"any_order": ["a", {"sequence": ["b", "c"]}]}, "c", [(["b"], ["a"], False, False)]),
        ({"one_of": ["a", {"sequence": ["b", "c"]}]}, "b", [([], ["c"], False, False)]),
        ({"optional": {"sequence": ["a", "b"]}}, "a", [([], ["b"], False, False)]),
        ({"repeat": "a", "min": 2}, "a", [([], ["a"], False, False)]),
        ({"repeat": "a", "min": 0, "max": 1}, "a", [([], [], True, False)]),
        ({"sequence": [{"repeat": "a", "min": 2}, "b"]}, "b", [(["a", "a"], [], False, False)]),
    ],
)
def test_ways_to_match_a_tool_first(
    expect: dict[str, Any], tool: str, expected: list[tuple[list[str], list[str], bool, bool]]
) -> None:
    assert moves(pattern(expect), tool) == expected


@pytest.mark.parametrize(
    ("expect", "fewest", "least", "most"),
    [
        ({"sequence": []}, [], {}, {}),
        ({"sequence": ["a", "b", "a"]}, ["a", "b", "a"], {"a": 2, "b": 1}, {"a": 2, "b": 1}),
        ({"sequence": ["a", {"optional": "b"}]}, ["a"], {"a": 1}, {"a": 1, "b": 1}),
        ({"one_of": [{"sequence": ["a", "b"]}, "a"]}, ["a"], {"a": 1}, {"a": 1, "b": 1}),
        ({"repeat": {"any_order": ["a", "b"]}, "min": 2, "max": 3}, ["a", "b"] * 2, {"a": 2, "b": 2}, {"a": 3, "b": 3}),
        ({"repeat": "a"}, ["a"], {"a": 1}, {"a": math.inf}),
        ({"repeat": {"optional": "a"}, "min": 2}, [], {}, {"a": math.inf}),
    ],
)
def test_bounds_on_the_remaining_calls(
    expect: dict[str, Any], fewest: list[str], least: dict[str, float], most: dict[str, float]
) -> None:
    built = pattern(expect)
    by_name = [
        {str(built.tools[tool].tool): n for tool, n in of(built.start).items()} for of in (built.least, built.most)
    ]

    assert names(built, built.fewest(built.start)) == fewest
    assert by_name == [least, most]


@pytest.mark.parametrize(
    ("expect", "chain", "bag"),
    [
        ({"sequence": []}, [], None),
        ({"tool": "a"}, ["a"], [("a", True)]),
        ({"sequence": ["a", {"sequence": ["b", "a"]}]}, ["a", "b", "a"], None),
        ({"sequence": ["a", {"optional": "b"}]}, None, None),
        ({"any_order": ["a", {"any_order": ["b", "a"]}]}, None, [("a", True), ("a", True), ("b", True)]),
        ({"any_order": ["a", {"optional": "b"}]}, None, [("a", True), ("b", False)]),
        ({"any_order": [{"sequence": ["a", "b"]}]}, ["a", "b"], None),
        ({"any_order": ["a", {"repeat": "b"}]}, None, None),
        ({"one_of": ["a", "a"]}, ["a"], [("a", True)]),
        ({"mode": "subset", "tools": ["a", "b"]}, None, [("a", False), ("b", False)]),
    ],
)
def test_patterns_aligned_without_a_search(
    expect: dict[str, Any], chain: list[str] | None, bag: list[tuple[str, bool]] | None
) -> None:
    built = pattern(expect)
    shown = None if built.bag is None else [(str(built.tools[tool].tool), required) for tool, required in built.bag]

    assert (None if built.chain is None else names(built, built.chain)) == chain
    assert shown == bag


@settings(max_examples=200, deadline=None)
@given(patterns, st.data())
def test_matching_every_call_of_an_accepted_run_leaves_nothing(expect: dict[str, Any], data: st.DataObject) -> None:
    built = pattern(expect)
    element = compile_expectation(Expect.model_validate(expect)).element
    assert element is not None
    word = data.draw(st.sampled_from(words(element)))

    residuals = {built.start}
    for tool in word:
        number = [repr(one) for one in built.tools].index(repr(tool))
        residuals = {
            move.residual for residual in residuals for move in built.moves(residual, number) if not move.skipped
        }

    assert any(built.fewest(residual) == () for residual in residuals)


def test_equal_residuals_share_a_number() -> None:
    built = pattern({"sequence": ["x", {"any_order": ["a", "b"]}]})
    (number_x, number_a, number_b) = (names(built, range(3)).index(name) for name in "xab")
    (after_x,) = built.moves(built.start, number_x)

    def after(first: int, second: int) -> int:
        (one,) = built.moves(after_x.residual, first)
        (other,) = built.moves(one.residual, second)
        return other.residual

    assert after(number_a, number_b) == after(number_b, number_a) == built.done


def test_literals_that_are_equal_in_python_are_different_tools() -> None:
    tools = [{"tool": "a", "arguments": {"x": value}} for value in (1, True)]

    assert len(pattern({"sequence": tools}).tools) == 2


def blocks(width: int) -> list[Any]:
    return [{"sequence": [f"a{at}", "b", f"c{at}"]} for at in range(width)]


def test_patterns_with_too_many_interleavings_are_refused() -> None:
    with pytest.raises(PatternError, match="fewer or smaller elements into any_order"):
        pattern({"any_order": blocks(9)})


@pytest.mark.parametrize(
    "expect",
    [
        {"any_order": blocks(4)},
        {"any_order": [f"t{at}" for at in range(400)]},
        {"any_order": ["t"] * 400},
        {"sequence": ["first", {"any_order": [f"t{at}" for at in range(400)]}, "last"]},
        {"sequence": [f"t{at % 7}" for at in range(400)]},
        {"repeat": {"any_order": ["a", "b", "c"]}},
    ],
)
def test_common_patterns_are_accepted(expect: dict[str, Any]) -> None:
    assert pattern(expect).size < 1_000


@pytest.mark.parametrize("key", ["sequence", "one_of"])
def test_a_pattern_of_many_tools_is_compiled_in_linear_time(key: str) -> None:
    def of(groups: int) -> Sequence:
        tools = [[f"{group} {tool}" for tool in range(500)] for group in range(groups)]
        return Sequence.model_validate({"sequence": [{key: [{key: group} for group in tools]}]})

    element, half = of(6), of(3)
    assert len(Pattern(element).tools) == 3_000
    assert calls(lambda: Pattern(element)) < 2.5 * calls(lambda: Pattern(half))
