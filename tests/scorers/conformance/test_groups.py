"""Matching groups of unordered calls with a plain sequence finds as many matches as trying every order does."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorers.conformance.groups import match_groups
from scorers.work import MAX_WORK, Work, WorkLimitError


def matched(kinds: Sequence[int], groups: Sequence[Sequence[int]]) -> list[int | None]:
    numbered: list[dict[int, list[int]]] = []
    number = 0
    for group in groups:
        numbered.append({})
        for kind in group:
            numbered[-1].setdefault(kind, []).append(number)
            number += 1
    return match_groups(kinds, numbered, Work())


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for left in one:
        diagonal = 0
        for at, right in enumerate(other, 1):
            above = row[at]
            row[at] = diagonal + 1 if left == right else max(above, row[at - 1])
            diagonal = above
    return row[-1]


@given(
    kinds=st.lists(st.integers(0, 2), max_size=7),
    groups=st.lists(st.lists(st.integers(0, 2), max_size=3), max_size=4),
)
def test_as_many_calls_match_as_in_the_best_order(kinds: list[int], groups: list[list[int]]) -> None:
    orders = product(*[set(permutations(group)) for group in groups])
    best = max(common(kinds, [kind for group in order for kind in group]) for order in orders)

    result = matched(kinds, groups)

    group_of = [number for number, group in enumerate(groups) for _ in group]
    kind_of = [kind for group in groups for kind in group]
    calls = [call for call in result if call is not None]
    assert len(calls) == len(set(calls)) == best
    assert [group_of[call] for call in calls] == sorted(group_of[call] for call in calls)
    assert all(call is None or kind_of[call] == kind for call, kind in zip(result, kinds, strict=True))


def test_fewer_matches_of_a_group_leave_room_for_more_of_the_next() -> None:
    assert matched([0, 1, 2, 2, 1], [[0], [1, 1], [2, 2]]) == [0, 1, 3, 4, None]


def test_the_work_grows_with_the_matches_and_the_calls_of_a_group() -> None:
    few, many = Work(), Work()
    match_groups([0] * 10, [{0: [0]}, {0: [1]}], few)
    match_groups([0] * 10, [{0: [0]}, {0: list(range(1, 9))}], many)

    assert MAX_WORK - many.left > MAX_WORK - few.left > 0
    with pytest.raises(WorkLimitError, match="expect exceeds"):
        match_groups([0] * 1_000, [{0: list(range(at, at + 100))} for at in range(0, 2_000, 100)], Work())
