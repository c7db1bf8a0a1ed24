"""Which activities come before which and exclude each other: at the numbers that README names, never by chance alone."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.learning.relations import Relations, components
from collector.learning.variants import Activity, Variant

A, B, C, D = map(Activity, "abcd")


def relations(runs: dict[str, int], noise: float = 0.1) -> Relations:
    """Runs by their calls: ``a b+c`` is a, then b and c at once."""
    log: Counter[Variant] = Counter()
    for calls, count in runs.items():
        log[tuple(tuple(sorted(map(Activity, step.split("+")))) for step in calls.split())] += count
    return Relations(log, noise)


@pytest.mark.parametrize(("runs", "known"), [(4, False), (5, True)])
def test_an_order_is_believed_after_five_runs_with_both(runs: int, known: bool) -> None:
    found = relations({"a b": runs, "a": 20, "b": 20})
    assert found.precedes(A, B) is known
    assert found.is_ordered(B, A) is known
    assert not found.precedes(B, A)


@pytest.mark.parametrize(("others", "ordered"), [(9, True), (10, False)])
def test_a_tenth_of_runs_in_another_order_is_no_mistake_any_more(others: int, ordered: bool) -> None:
    assert relations({"a b": 100 - others, "b a": others}).precedes(A, B) is ordered


@pytest.mark.parametrize("calls", ["a+b", "a b a", "b a b"])
def test_calls_at_once_or_around_each_other_have_no_order(calls: str) -> None:
    assert not relations({calls: 100}).is_ordered(A, B)


def test_an_order_may_be_by_way_of_others() -> None:
    found = relations({"a b": 50, "b c": 50})
    assert found.precedes(A, C)
    assert not found.precedes(C, A)
    assert not found.precedes(A, A)


def test_a_circle_orders_nothing() -> None:
    found = relations({"a b": 50, "b c": 50, "c a": 50})
    assert not any(found.is_ordered(one, other) for one in (A, B, C) for other in (A, B, C))


def test_tools_that_never_occur_together_exclude_each_other() -> None:
    found = relations({"a c": 10, "b c": 10})
    assert found.excludes(A, B)
    assert found.excludes(B, A)
    assert not found.excludes(A, C)


@pytest.mark.parametrize(("runs", "excluded"), [(2, False), (4, True)])
def test_chance_alone_excludes_nothing(runs: int, excluded: bool) -> None:
    # Of n runs with a and n with b none has both: by chance once in C(2n, n), which is 6 for 2 and 70 for 4.
    assert relations({"a c": runs, "b c": runs}).excludes(A, B) is excluded


@pytest.mark.parametrize(("both", "excluded"), [(4, True), (5, False)])
def test_both_by_mistake_are_excluded_still(both: int, excluded: bool) -> None:
    assert relations({"a c": 50 - both, "b c": 50 - both, "a b c": both}).excludes(A, B) is excluded


def test_groups_that_are_left_out_as_one_belong_together() -> None:
    found = relations({"a b c d": 8, "a d": 12})
    assert found.belong_together([B], [C])
    assert not found.belong_together([A], [D]), "neither is left out"
    assert not relations({"a b c": 8, "a b": 8, "a c": 8, "a": 8}).belong_together([B], [C])


def test_components_are_groups_without_links_between_them() -> None:
    links = {(A, C), (C, D)}
    found = components([A, B, C, D], lambda one, other: (one, other) in links or (other, one) in links)
    assert [sorted(group) for group in found] == [[B], [A, C, D]]
    assert components([], lambda one, other: True) == []


@given(st.integers(1, 8), st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=8))
def test_components_are_a_partition(count: int, links: set[tuple[int, int]]) -> None:
    activities = [Activity("a", number) for number in range(count)]

    def linked(one: Activity, other: Activity) -> bool:
        return (one.number, other.number) in links or (other.number, one.number) in links

    groups = components(activities, linked)
    assert sorted(activity for group in groups for activity in group) == activities
    for group in groups:
        others = [other for outside in groups if outside is not group for other in outside]
        assert not any(linked(one, other) for one in group for other in others)
        reached, waiting = {group[0]}, [group[0]]
        while waiting:
            here = waiting.pop()
            new = {other for other in group if linked(here, other)} - reached
            reached |= new
            waiting += new
        assert reached == set(group), "no group could be divided further"


@given(st.lists(st.tuples(st.permutations("abc"), st.integers(1, 40)), max_size=6), st.floats(0, 0.3))
def test_an_order_is_never_both_ways(runs: list[tuple[list[str], int]], noise: float) -> None:
    found = relations({" ".join(order): count for order, count in runs}, noise)
    for one in found.activities:
        assert not found.precedes(one, one)
        for other in found.activities:
            assert not (found.precedes(one, other) and found.precedes(other, one))
