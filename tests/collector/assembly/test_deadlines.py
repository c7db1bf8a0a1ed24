"""A table of deadlines: each item is due once, at the last time it was given."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from collector.assembly.deadlines import Deadlines


@dataclass
class Item:
    name: str
    due: float = 0.0


def table(*names: str) -> tuple[dict[str, Item], Deadlines[str, Item]]:
    items = {name: Item(name) for name in names}
    return items, Deadlines(items)


def due(deadlines: Deadlines[str, Item], now: float) -> list[str]:
    return [item.name for item in deadlines.pop_due(now)]


def test_the_earliest_comes_first_and_each_comes_once() -> None:
    _, deadlines = table("a", "b")
    deadlines.schedule("a", 2.0)
    deadlines.schedule("b", 1.0)
    assert deadlines.next() == 1.0
    assert due(deadlines, 2.0) == ["b", "a"]
    assert (due(deadlines, 9.0), deadlines.next()) == ([], None)


def test_a_later_deadline_replaces_an_earlier_one() -> None:
    _, deadlines = table("a")
    deadlines.schedule("a", 1.0)
    deadlines.schedule("a", 3.0)
    assert due(deadlines, 2.0) == []
    assert due(deadlines, 3.0) == ["a"]


def test_an_item_scheduled_twice_for_one_time_comes_once() -> None:
    _, deadlines = table("a")
    deadlines.schedule("a", 1.0)
    deadlines.schedule("a", 1.0)
    assert due(deadlines, 1.0) == ["a"]


def test_an_item_that_is_gone_is_never_due() -> None:
    items, deadlines = table("a")
    deadlines.schedule("a", 1.0)
    del items["a"]
    assert due(deadlines, 1.0) == []


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9))))
def test_whatever_is_scheduled_the_last_time_counts(changes: list[tuple[str, int]]) -> None:
    _, deadlines = table("a", "b", "c")
    last: dict[str, int] = {}
    for name, at in changes:
        deadlines.schedule(name, at)
        last[name] = at
    for now in range(10):
        assert sorted(due(deadlines, now)) == sorted(name for name, at in last.items() if at == now)


@given(st.lists(st.tuples(st.sampled_from("abcdefghij"), st.integers(0, 9)), max_size=40))
def test_they_come_in_order_of_time_whatever_the_order_in_which_they_were_scheduled(
    changes: list[tuple[str, int]],
) -> None:
    _, deadlines = table(*"abcdefghij")
    for name, at in changes:
        deadlines.schedule(name, at)
    last = dict(changes)
    times = [last[name] for name in due(deadlines, 9.0)]
    assert times == sorted(last.values())
    assert deadlines.next() is None


def test_a_distant_deadline_keeps_no_others_from_their_queue() -> None:
    items = {name: Item(name) for name in map(str, range(2_000))}
    deadlines = Deadlines(items)
    for at, name in enumerate(items):
        deadlines.schedule(name, at + (1_000.0 if at % 3 else 10.0))
    # Where each went into the heap, the cost would grow with how many there are.
    assert not deadlines._heap
