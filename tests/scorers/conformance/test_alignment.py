"""Alignments are cheapest: compared with every word, every order and every alignment, on small cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorers import Trajectory
from scorers.conformance.alignment import align
from scorers.conformance.expectation import compile_expectation
from scorers.conformance.observation import ObservedCall
from scorers.conformance.pattern import Pattern
from scorers.conformance.search import Candidate, search
from scorers.rules.model import Expect
from scorers.work import Work
from tests.scorers import reference
from tests.scorers.examples import pattern, rule
from tests.scorers.strategies import patterns, trajectories


def value_by_hand(expect: dict[str, Any], trajectory: Trajectory, free: str) -> float:
    element = compile_expectation(Expect.model_validate(expect)).element
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


Pairs = list[tuple[int, int | None]]


def aligned(built: Pattern, fits: Sequence[int], costs: Sequence[int], steps: list[int]) -> Pairs:
    """The tools of the alignment of calls that fit these tools and cost so much, each with its call."""
    calls = [ObservedCall("", 0, tools, tools, tools, "extra", cost) for tools, cost in zip(fits, costs, strict=True)]
    return list(zip(*align(built, calls, steps, Work()), strict=True))


def cost(pairs: Pairs, costs: Sequence[int]) -> int:
    matched = {call for _, call in pairs}
    return sum(call is None for _, call in pairs) + sum(one for at, one in enumerate(costs) if at not in matched)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from("abc"), max_size=7),
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 1)), max_size=7),
    st.sampled_from(["sequence", "any_order"]),
    st.integers(0, 1),
)
def test_the_fast_alignments_cost_as_much_as_the_search(
    names: list[str], made: list[tuple[int, int]], kind: str, least_cost: int
) -> None:
    built = pattern({kind: names})
    known = (1 << len(built.tools)) - 1
    fits = [tools & known for tools, _ in made]
    costs = [max(cost, least_cost) for _, cost in made]

    fast = aligned(built, fits, costs, list(range(len(made))))
    slow = search(built, [[Candidate(at, fits[at], costs[at])] for at in range(len(made)) if fits[at]], Work())

    assert all(call is None or fits[call] >> tool & 1 for tool, call in fast)
    assert cost(fast, costs) == cost(slow, costs)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from("abc"), max_size=7), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8)
)
def test_concurrent_calls_of_one_tool_each_are_aligned_with_a_sequence_as_the_search_does(
    names: list[str], made: list[tuple[int, int]]
) -> None:
    built = pattern({"sequence": names})
    known = (1 << len(built.tools)) - 1
    made = sorted(made, key=lambda call: call[1])
    fits = [1 << tool & known for tool, _ in made]
    steps = [step for _, step in made]

    fast = aligned(built, fits, [1] * len(fits), steps)
    groups: dict[int, list[Candidate]] = {}
    for at, step in enumerate(steps):
        if fits[at]:
            groups.setdefault(step, []).append(Candidate(at, fits[at], 1))
    slow = search(built, list(groups.values()), Work())

    assert [tool for tool, _ in fast] == [tool for tool, _ in slow]
    matched = [call for _, call in fast if call is not None]
    assert len(matched) == len(set(matched)) == sum(call is not None for _, call in slow)
    assert [steps[call] for call in matched] == sorted(steps[call] for call in matched)
    assert all(call is None or fits[call] >> tool & 1 for tool, call in fast)


@pytest.mark.parametrize(
    ("expect", "fits", "steps", "pairs"),
    [
        ({"sequence": ["a", "b"]}, [1, 2], [0, 1], [(0, 0), (1, 1)]),
        ({"sequence": ["a", "b"]}, [0, 1, 0, 2, 0], [0, 1, 2, 3, 4], [(0, 1), (1, 3)]),
        ({"sequence": ["a", "b", "c"]}, [1, 4], [0, 1], [(0, 0), (1, None), (2, 1)]),
        ({"sequence": ["a", "b"]}, [2, 1], [4, 4], [(0, 1), (1, 0)]),
        ({"sequence": ["a", "b", "a"]}, [1, 1], [0, 1], [(0, 0), (1, None), (0, 1)]),
        ({"sequence": []}, [], [], []),
        ({"any_order": ["a", "b"]}, [2], [0], [(1, 0), (0, None)]),
        ({"any_order": ["a", {"optional": "b"}]}, [], [], [(0, None)]),
        ({"sequence": ["a", {"optional": "b"}]}, [0, 1], [0, 1], [(0, 1)]),
    ],
)
def test_pairs_name_the_calls_by_their_index(
    expect: dict[str, Any], fits: list[int], steps: list[int], pairs: Pairs
) -> None:
    assert aligned(pattern(expect), fits, [1] * len(fits), steps) == pairs
