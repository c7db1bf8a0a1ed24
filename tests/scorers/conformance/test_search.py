"""The search: its pairs agree with the pattern and the steps, and it stops at its limit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from scorers import Trajectory
from scorers.conformance.search import Candidate, search
from scorers.work import Work, WorkLimitError
from tests.scorers.examples import pattern
from tests.scorers.reference import fits
from tests.scorers.strategies import patterns, trajectories


def steps_of(trajectory: Trajectory, tools: list[Any]) -> list[list[Candidate]]:
    groups: dict[int, list[Candidate]] = {}
    for number, call in enumerate(trajectory.calls):
        bits = sum(1 << tool for tool, one in enumerate(tools) if fits(one, call))
        if bits:
            groups.setdefault(call.step, []).append(Candidate(number, bits, 1))
    return list(groups.values())


@settings(max_examples=200, deadline=None)
@given(patterns, trajectories())
def test_pairs_are_a_run_of_the_pattern_in_an_order_of_the_steps(
    expect: dict[str, Any], trajectory: Trajectory
) -> None:
    built = pattern(expect)

    pairs = search(built, steps_of(trajectory, built.tools), Work())

    matched = [call for _, call in pairs if call is not None]
    assert len(matched) == len(set(matched))
    assert [trajectory.calls[call].step for call in matched] == sorted(trajectory.calls[call].step for call in matched)
    assert all(fits(built.tools[tool], trajectory.calls[call]) for tool, call in pairs if call is not None)
    residuals = {built.start}
    for tool, _ in pairs:
        residuals = {
            move.residual for residual in residuals for move in built.moves(residual, tool) if not move.skipped
        }
    assert any(built.fewest(residual) == () for residual in residuals)


@pytest.mark.parametrize(
    ("expect", "steps", "pairs"),
    [
        ({"sequence": ["a", "b"]}, [[Candidate(0, 2, 1), Candidate(1, 1, 1)]], [(0, 1), (1, 0)]),
        ({"sequence": ["a", "b"]}, [[Candidate(0, 2, 1)], [Candidate(1, 1, 1)]], [(0, None), (1, 0)]),
        ({"sequence": ["a"]}, [], [(0, None)]),
        ({"sequence": []}, [], []),
        ({"optional": "a"}, [[Candidate(0, 1, 1)]], [(0, 0)]),
        ({"sequence": ["a"]}, [[Candidate(0, 1, 0)], [Candidate(1, 1, 1)]], [(0, 1)]),
        ({"one_of": [{"sequence": ["a", "b"]}, "c"]}, [[Candidate(0, 2, 1)], [Candidate(1, 4, 1)]], [(2, 1)]),
    ],
)
def test_small_cases(expect: dict[str, Any], steps: list[list[Candidate]], pairs: list[tuple[int, int | None]]) -> None:
    assert search(pattern(expect), steps, Work()) == pairs


def test_the_search_stops_at_its_limit() -> None:
    built = pattern({"sequence": [f"t{at % 10}" for at in range(200)]})
    steps = [[Candidate(8 * step + at, 1 << (7 * at + 3 * step) % 10, 1) for at in range(8)] for step in range(25)]

    with pytest.raises(WorkLimitError, match="expect exceeds the limit"):
        search(built, steps, Work())


def test_a_search_takes_the_same_work_again() -> None:
    built = pattern({"sequence": ["a", {"any_order": ["b", "c"]}, {"repeat": "d"}]})
    steps = [[Candidate(at, 1 << at % 4, 1)] for at in (3, 1, 2, 0)]
    first, second = Work(), Work()

    search(built, steps, first)
    search(built, steps, second)  # the pattern knows its residuals by now

    assert first.left == second.left
