"""The search: its pairs agree with pattern and steps, and it stops at its limit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from scorers import Trajectory
from scorers.conformance.search import Call, SearchLimitError, search
from tests.scorers.examples import pattern
from tests.scorers.reference import fits
from tests.scorers.strategies import patterns, trajectories


def steps_of(trajectory: Trajectory, tools: list[Any]) -> list[list[Call]]:
    groups: dict[int, list[Call]] = {}
    for number, call in enumerate(trajectory.calls):
        bits = sum(1 << tool for tool, one in enumerate(tools) if fits(one, call))
        if bits:
            groups.setdefault(call.step, []).append(Call(number, bits, 1))
    return list(groups.values())


@settings(max_examples=200, deadline=None)
@given(patterns, trajectories())
def test_pairs_are_a_run_of_the_pattern_in_an_order_of_the_steps(
    expect: dict[str, Any], trajectory: Trajectory
) -> None:
    built = pattern(expect)

    pairs = search(built, steps_of(trajectory, built.tools))

    matched = [call for _, call in pairs if call is not None]
    assert len(matched) == len(set(matched))
    assert [trajectory.calls[call].step for call in matched] == sorted(trajectory.calls[call].step for call in matched)
    assert all(fits(built.tools[tool], trajectory.calls[call]) for tool, call in pairs if call is not None)
    rests = {built.start}
    for tool, _ in pairs:
        rests = {move.rest for rest in rests for move in built.moves(rest, tool) if not move.skipped}
    assert any(built.fewest(rest) == () for rest in rests)


@pytest.mark.parametrize(
    ("expect", "steps", "pairs"),
    [
        ({"sequence": ["a", "b"]}, [[Call(0, 2, 1), Call(1, 1, 1)]], [(0, 1), (1, 0)]),
        ({"sequence": ["a", "b"]}, [[Call(0, 2, 1)], [Call(1, 1, 1)]], [(0, None), (1, 0)]),
        ({"sequence": ["a"]}, [], [(0, None)]),
        ({"sequence": []}, [], []),
        ({"optional": "a"}, [[Call(0, 1, 1)]], [(0, 0)]),
        ({"sequence": ["a"]}, [[Call(0, 1, 0)], [Call(1, 1, 1)]], [(0, 1)]),
        ({"one_of": [{"sequence": ["a", "b"]}, "c"]}, [[Call(0, 2, 1)], [Call(1, 4, 1)]], [(2, 1)]),
    ],
)
def test_small_cases(expect: dict[str, Any], steps: list[list[Call]], pairs: list[tuple[int, int | None]]) -> None:
    assert search(pattern(expect), steps) == pairs


def test_what_cannot_be_searched_is_reported() -> None:
    built = pattern({"sequence": [f"t{at % 10}" for at in range(200)]})
    steps = [[Call(8 * step + at, 1 << (7 * at + 3 * step) % 10, 1) for at in range(8)] for step in range(25)]

    with pytest.raises(SearchLimitError, match="ways to read the run"):
        search(built, steps)
