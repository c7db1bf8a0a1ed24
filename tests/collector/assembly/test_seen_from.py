"""From when on a process sees its traces, at each of the times that README names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.assembly.seen_from import SeenFrom

SECOND = 1_000_000_000
READY = 1_700_000_000 * SECOND
CLOCK = 50.0
"""What the process's own clock says when it is ready."""
HORIZON = 600.0

moments = st.integers(-2000 * SECOND, 2000 * SECOND).map(READY.__add__)


def joined(*arrivals: float) -> SeenFrom:
    """That of a process at which traces arrive so many seconds after it is ready."""
    seen_from = SeenFrom(READY, CLOCK, HORIZON)
    for seconds in arrivals:
        seen_from.trace_arrived(CLOCK + seconds)
    return seen_from


def is_torn(seen_from: SeenFrom, begins: float, *, silent: float = 0.2) -> bool:
    """Whether a run of a second may have begun unseen: ``begins`` seconds after the process is ready, ``silent`` at first."""
    start = READY + round(begins * SECOND)
    return seen_from.may_miss_beginning(start, start + SECOND, start + round(silent * SECOND))


@pytest.mark.parametrize("traces", [0, 1, 4])
def test_few_traces_are_no_share_of_the_traffic_of_others(traces: int) -> None:
    seen_from = joined(*[1.0] * traces)
    assert seen_from.latest_ns == READY
    assert is_torn(seen_from, -0.001)
    assert not is_torn(seen_from, 0)


def test_five_traces_are_a_share_until_the_last_balancer_knows_the_process() -> None:
    seen_from = joined(10, 10, 11, 14, 15)
    assert seen_from.latest_ns == READY + 15 * SECOND
    assert is_torn(seen_from, 14.999)
    assert not is_torn(seen_from, 15)


def test_traces_that_arrive_after_the_last_balancer_knows_the_process_do_not_count() -> None:
    seen_from = joined(10, 10, 10, 10, *[15.001] * 20)
    assert not is_torn(seen_from, 11)


def test_it_tells_once_that_it_joins_others() -> None:
    told = list[int]()
    seen_from = SeenFrom(READY, CLOCK, HORIZON)
    seen_from.on_joining = told.append
    for count in range(1, 8):
        seen_from.trace_arrived(CLOCK + 10)
        assert len(told) == (count >= 5)
    assert told == [seen_from.latest_ns]


def test_what_is_known_of_a_process_before_does_not_change_by_traces_that_arrive() -> None:
    seen_from = SeenFrom.restored(READY, HORIZON)
    for joined_ns in (READY, READY + 15 * SECOND):
        seen_from.joins_until(joined_ns)
        for _ in range(10):
            seen_from.trace_arrived(CLOCK)
        assert seen_from.latest_ns == joined_ns
    assert is_torn(seen_from, 14)
    assert not seen_from.may_miss_beginning(READY - 700 * SECOND, READY - 601 * SECOND, READY - 700 * SECOND)


def test_no_balancer_learns_of_a_process_later_than_a_minute_after_it_is_ready() -> None:
    assert joined(*[58.0] * 5).latest_ns == READY + 60 * SECOND
    assert not is_torn(joined(*[61.0] * 5), 60.5)


def test_after_an_interruption_runs_that_began_before_the_next_message_are_torn() -> None:
    seen_from = SeenFrom.topic()
    assert not seen_from.may_miss_beginning(1, 2, 1)
    seen_from.interrupted()
    assert seen_from.may_miss_beginning(100 * SECOND, 101 * SECOND, 100 * SECOND)
    seen_from.began(100 * SECOND)
    assert not seen_from.may_miss_beginning(100 * SECOND, 101 * SECOND, 100 * SECOND)
    assert seen_from.may_miss_beginning(100 * SECOND - 1, 101 * SECOND, 100 * SECOND)


@pytest.mark.parametrize(("silent", "expected"), [(0.0, False), (0.1, False), (0.101, True)])
def test_a_run_of_whose_first_100_ms_something_was_recorded_is_whole(silent: float, expected: bool) -> None:
    assert is_torn(joined(*[1.0] * 5), 2, silent=silent) is expected


def test_what_was_recorded_tells_nothing_of_a_run_that_began_before_the_process_was_ready() -> None:
    assert is_torn(joined(), -0.001, silent=0)


def test_a_run_that_ended_before_the_horizon_is_replayed() -> None:
    seen_from, end = joined(), READY - int(HORIZON) * SECOND
    assert not seen_from.may_miss_beginning(end - 5 * SECOND, end - 1, end - 5 * SECOND)
    assert seen_from.may_miss_beginning(end - 5 * SECOND, end, end - 5 * SECOND)


@given(st.lists(st.floats(0, 100), max_size=12), moments, st.integers(0, 10 * SECOND), st.integers(0, 10 * SECOND))
def test_no_run_that_began_after_the_latest_moment_is_in_doubt(
    arrivals: list[float], start: int, lasting: int, silent: int
) -> None:
    seen_from = joined(*sorted(arrivals))
    assert READY <= seen_from.latest_ns <= READY + 60 * SECOND
    if seen_from.may_miss_beginning(start, start + lasting, start + silent):
        assert start < seen_from.latest_ns


@pytest.mark.parametrize("first", [READY, READY + 100 * SECOND])
def test_a_topic_is_seen_from_its_first_message_on(first: int) -> None:
    seen_from = SeenFrom.topic()
    seen_from.began(first)
    for _ in range(20):
        seen_from.trace_arrived(CLOCK)
    assert seen_from.latest_ns == first
    assert seen_from.may_miss_beginning(first - 1, first + SECOND, first - 1)
    assert not seen_from.may_miss_beginning(first, first + SECOND, first + SECOND)


def test_a_first_message_with_a_time_before_the_epoch_says_nothing() -> None:
    seen_from = SeenFrom.topic()
    seen_from.began(-SECOND)
    assert not seen_from.may_miss_beginning(0, SECOND, 0)
