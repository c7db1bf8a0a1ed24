"""The search: its pairs agree with the pattern and the steps, and it stops at its limit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from scorers import Trajectory
from scorers.conformance.search import MAX_STATES, Candidate, SearchLimitError, search
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

    pairs = search(built, steps_of(trajectory, built.tools))

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
    assert search(pattern(expect), steps) == pairs


def test_the_search_stops_at_its_limit() -> None:
    built = pattern({"sequence": [f"t{at % 10}" for at in range(200)]})
    steps = [[Candidate(8 * step + at, 1 << (7 * at + 3 * step) % 10, 1) for at in range(8)] for step in range(25)]

    with pytest.raises(SearchLimitError, match=f"more than {MAX_STATES} states"):
        search(built, steps)


def test_the_limit_is_the_number_of_expanded_states(monkeypatch: pytest.MonkeyPatch) -> None:
    built = pattern({"sequence": ["a", "b", "c"]})
    steps = [[Candidate(0, 2, 1), Candidate(1, 1, 1)], [Candidate(2, 4, 1), Candidate(3, 2, 1)], [Candidate(4, 1, 1)]]

    monkeypatch.setattr("scorers.conformance.search.MAX_STATES", 7)
    assert search(built, steps) == [(0, 1), (1, 0), (2, 2)]

    monkeypatch.setattr("scorers.conformance.search.MAX_STATES", 6)
    with pytest.raises(SearchLimitError):
        search(built, steps)
