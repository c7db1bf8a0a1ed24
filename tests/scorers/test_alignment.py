"""The alignment is the cheapest there is: against every word, every order and every alignment, on small cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorers import Trajectory
from scorers.alignment import align
from scorers.expectation import read_expectation
from scorers.rules import Expect
from scorers.search import Call, search
from tests.scorers import reference
from tests.scorers.examples import rule
from tests.scorers.strategies import patterns, trajectories
from tests.scorers.test_pattern import pattern


def value_by_hand(expect: dict[str, Any], trajectory: Trajectory, free: str) -> float:
    element = read_expectation(Expect.model_validate(expect)).element
    assert element is not None
    total = reference.shortest(element) + sum(call.name not in free for call in trajectory.calls)
    return 1 - reference.fewest_edits(element, trajectory.calls, free) / total if total else 1.0


@settings(max_examples=400, deadline=None)
@given(patterns, trajectories(), st.sampled_from(["", "", "a", "abcde"]))
def test_equals_brute_force_over_alignments_and_linear_extensions(
    expect: dict[str, Any], trajectory: Trajectory, free: str
) -> None:
    expect = expect | {"allow_extra": list(free)}

    value = rule(expect).native.score(trajectory).value

    assert value == pytest.approx(value_by_hand(expect, trajectory, free), abs=1e-12)


def cost(pairs: Sequence[tuple[int, int | None]], calls: Sequence[Call]) -> int:
    matched = {call for _, call in pairs}
    return sum(call is None for _, call in pairs) + sum(call.cost for call in calls if call.number not in matched)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from("abc"), max_size=7),
    st.lists(st.tuples(st.integers(1, 7), st.booleans()), max_size=7),
    st.sampled_from(["sequence", "any_order"]),
)
def test_the_fast_ways_cost_what_the_search_finds(names: list[str], made: list[tuple[int, bool]], kind: str) -> None:
    built = pattern({kind: names})
    known = (1 << len(built.tools)) - 1
    calls = [Call(at, fits & known, int(costly)) for at, (fits, costly) in enumerate(made) if fits & known]

    fast = align(built, calls, range(len(calls)))

    assert cost(fast, calls) == cost(search(built, [[call] for call in calls]), calls)


@pytest.mark.parametrize(
    ("expect", "calls", "steps", "pairs"),
    [
        ({"sequence": ["a", "b"]}, [Call(3, 1, 1), Call(7, 2, 1)], [0, 1], [(0, 3), (1, 7)]),
        ({"sequence": ["a", "b"]}, [Call(3, 2, 1), Call(7, 1, 1)], [4, 4], [(0, 7), (1, 3)]),
        ({"any_order": ["a", "b"]}, [Call(3, 2, 1)], [0], [(1, 3), (0, None)]),
        ({"any_order": ["a", {"optional": "b"}]}, [], [], [(0, None)]),
    ],
)
def test_pairs_name_the_calls_by_their_numbers(
    expect: dict[str, Any], calls: list[Call], steps: list[int], pairs: list[tuple[int, int | None]]
) -> None:
    assert align(pattern(expect), calls, steps) == pairs
