"""Gaps in what was received: which of them senders do not outlast, and what they cast doubt on."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from collector.assembly.gaps import Gaps
from collector.clock import Clock

SECOND = 1_000_000_000
NOW = 1_700_000_000 * SECOND
HORIZON = 600
AFTER = float("inf")
"""When a trace opened that did so after all gaps."""


class Rows:
    """What is recorded: when gaps ended, by when they began, and the rows taken over."""

    def __init__(self) -> None:
        self.gaps: dict[int, int] = {}
        self.stored = 0
        self.taken_over: list[int] = []

    def store(self, begun_ns: int, ended_ns: int) -> None:
        self.gaps[begun_ns] = ended_ns
        self.stored += 1

    def delete(self, begun_ns: int) -> None:
        del self.gaps[begun_ns]

    def restored(self, begun_ns: int, row: int) -> None:
        self.taken_over.append(row)


def gaps(rows: Rows | None = None) -> Gaps:
    return Gaps(Clock(wall_ns=lambda: NOW), HORIZON, rows)


def at(seconds: float) -> int:
    return NOW + round(seconds * SECOND)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (-60, -35.1, False),
        (-60, -35, False),
        (-60, -34.9, True),
        (-25, -24, True),
        (-20.1, 0, True),
        (-20, 0, False),
        (-700, -600.1, False),
        (-700, 0, True),
    ],
)
def test_a_run_may_have_been_under_way_in_one(start: float, end: float, expected: bool) -> None:
    known = gaps()
    known.add(at(-30), at(-20))
    assert known.may_hold(at(start), at(end), AFTER) is expected


def test_one_in_which_the_clock_was_set_back_is_taken_for_one_that_senders_do_not_outlast() -> None:
    known = gaps()
    known.add(at(3600), at(-20))
    assert [known.may_hold(at(-30), at(end), AFTER) for end in (-31, -24)] == [False, True]
    assert known.latest_ns == at(-20)


@pytest.mark.parametrize(("opened", "expected"), [(10.0, True), (10.1, False)])
def test_what_was_open_when_a_long_one_ended_is_no_recording(opened: float, expected: bool) -> None:
    known = Gaps(Clock(now=lambda: 10.0, wall_ns=lambda: NOW), HORIZON)
    known.add(at(-900), at(-1))
    assert known.may_hold(at(-910), at(-901), opened) is expected


@pytest.mark.parametrize(("seconds", "expected"), [(5, False), (5.1, True)])
def test_senders_outlast_a_short_one(seconds: float, expected: bool) -> None:
    known = gaps()
    known.add(at(-20), at(seconds - 20))
    assert known.may_hold(at(-30), at(0), AFTER) is expected
    assert known.latest_ns == (at(seconds - 20) if expected else 0)


@pytest.mark.parametrize(("pause", "expected"), [(5, True), (5.1, False)])
def test_senders_do_not_get_through_in_a_short_pause_between_two(pause: float, expected: bool) -> None:
    known = gaps()
    known.add(at(-20), at(-17))
    known.add(at(pause - 17), at(pause - 14))
    assert known.may_hold(at(-30), at(0), AFTER) is expected


def test_one_that_grows_is_written_now_and_then() -> None:
    rows = Rows()
    known = gaps(rows)
    for tenth in range(100):
        known.add(at(tenth / 10), at(tenth / 10))
    assert rows.gaps == {at(0): at(9.1)}
    assert rows.stored == 5


def test_one_that_was_recorded_is_restored_once_and_joins_the_latest() -> None:
    rows = Rows()
    known = gaps(rows)
    known.add(at(-10), at(-2))
    known.restore(at(-30), at(-12), 7)
    known.restore(at(-30), at(-12), 8)
    assert (rows.gaps, rows.taken_over) == ({at(-30): at(-2)}, [7, 8])


def test_those_longest_ago_are_forgotten() -> None:
    rows = Rows()
    known = gaps(rows)
    for number in range(150):
        known.add(at(20 * number), at(20 * number + 10))
    assert list(rows.gaps) == [at(20 * number) for number in range(50, 150)]
    assert not known.may_hold(at(0), at(990), AFTER)
    assert known.may_hold(at(0), at(1000), AFTER)


@example([(0, 0), (-6, 0), (-7, 2)]).via("a short one that is known first and joins one that was before it")
@given(st.lists(st.tuples(st.integers(-300, 0), st.integers(0, 20)), max_size=12))
def test_the_latest_may_become_known_before_those_that_a_restart_brings_back(periods: list[tuple[int, int]]) -> None:
    orders, seconds = (sorted(periods), sorted(periods, reverse=True)), range(-310, 30)
    found = []
    for order in orders:
        rows = Rows()
        known = gaps(rows)
        for begun, lasting in order:
            known.add(at(begun), at(begun + lasting))
        found.append((rows.gaps, [known.may_hold(at(second), at(second), AFTER) for second in seconds]))
    assert found[0][1] == found[1][1]
    assert found[0][0].keys() == found[1][0].keys()
