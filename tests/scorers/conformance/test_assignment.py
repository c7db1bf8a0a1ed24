"""Assignments without order, compared with brute force."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorers.conformance.assignment import best_assignment
from scorers.work import Work


def price(call_for: list[int | None], required: list[bool], costly: list[bool]) -> int:
    """Required tools without a call, and costly calls left over."""
    missing = sum(needed and call is None for needed, call in zip(required, call_for, strict=True))
    return missing + sum(cost and call not in call_for for call, cost in enumerate(costly))


def cheapest(tools_of: list[list[int]], required: list[bool], costly: list[bool]) -> int:
    """By trying every way to hand the calls (or none) out."""
    hands: list[int | None] = [*range(len(tools_of)), *([None] * len(required))]
    ways = permutations(hands, len(required))
    valid = (way for way in ways if all(call is None or tool in tools_of[call] for tool, call in enumerate(way)))
    return min(price(list(way), required, costly) for way in valid)


problems = st.tuples(st.integers(0, 3), st.integers(0, 4)).flatmap(
    lambda size: st.tuples(
        st.lists(
            st.lists(st.integers(0, size[0] - 1), unique=True) if size[0] else st.just([]),
            min_size=size[1],
            max_size=size[1],
        ),
        st.lists(st.booleans(), min_size=size[0], max_size=size[0]),
        st.lists(st.booleans(), min_size=size[1], max_size=size[1]),
    )
)


@settings(max_examples=300, deadline=None)
@given(problems)
def test_no_assignment_is_cheaper(problem: tuple[list[list[int]], list[bool], list[bool]]) -> None:
    tools_of, required, costly = problem

    call_for = best_assignment(*problem, Work())

    given_out = [call for call in call_for if call is not None]
    assert len(given_out) == len(set(given_out))
    assert all(call is None or tool in tools_of[call] for tool, call in enumerate(call_for))
    assert price(call_for, required, costly) == cheapest(tools_of, required, costly)


@pytest.mark.parametrize(
    ("tools_of", "required", "costly", "call_for"),
    [
        ([], [], [], []),
        ([[0, 1], [0]], [True, True], [True, True], [1, 0]),  # the greedy first choice is given up
        ([[0], [0]], [True], [False, True], [1]),  # the call that may be extra gives way to the one that may not
        ([[0], [0, 1], [1, 2]], [True, True, True], [True] * 3, [0, 1, 2]),
        ([[0]], [True, False], [True], [0, None]),
    ],
)
def test_assignments(
    tools_of: list[list[int]], required: list[bool], costly: list[bool], call_for: list[int | None]
) -> None:
    assert best_assignment(tools_of, required, costly, Work()) == call_for


def test_a_long_augmenting_path() -> None:
    size = 2_000
    tools_of = [[at, at + 1] for at in range(size - 1)] + [[0]]

    call_for = best_assignment(tools_of, [True] * size, [True] * size, Work())

    assert None not in call_for
