"""Code of others ends when its time is up, wherever Python can end it, and never takes the event loop's time for long."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from collector.scoring.time_limit import PAUSE, TimeLimit
from scorers.plugins import PluginError
from scorers.work import MAX_WORK, Work, WorkLimitError
from tests.waiting import wait_for


class Clock:
    """Seconds that pass only where a test lets them."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def take(self, seconds: float) -> None:
        self.now += seconds


def endless() -> None:
    while True:
        pass


def asleep() -> None:
    time.sleep(60)  # not waited for: interrupted


def catching_what_it_can() -> None:
    while True:
        with contextlib.suppress(Exception):
            endless()


def once_catching_everything() -> None:
    with contextlib.suppress(BaseException):
        endless()
    endless()


def backtracking() -> None:
    re.match("(a*)*b", "a" * 60)


@pytest.mark.parametrize("call", [endless, asleep, catching_what_it_can, once_catching_everything, backtracking])
def test_what_takes_too_long_is_interrupted(call: Callable[[], None]) -> None:
    with pytest.raises(WorkLimitError, match=r"^it exceeds the limit"):
        TimeLimit()(call, Work(), "it")


def test_time_is_work_so_that_all_calls_of_an_evaluation_share_the_limit() -> None:
    clock, work = Clock(), Work()
    limit = TimeLimit(clock)

    limit(lambda: clock.take(0.03), work, "it")
    assert work.left == pytest.approx(MAX_WORK * 0.4, abs=2)

    with pytest.raises(WorkLimitError):
        limit(lambda: clock.take(0.03), work, "it")


def test_what_cannot_be_interrupted_is_found_afterwards() -> None:
    clock = Clock()
    raised: list[Exception] = []

    def on_a_thread() -> None:
        try:
            TimeLimit(clock)(lambda: clock.take(0.2), Work(), "it")
        except WorkLimitError as error:
            raised.append(error)

    thread = threading.Thread(target=on_a_thread)
    thread.start()
    thread.join()

    assert len(raised) == 1


def test_in_an_event_loop_one_that_was_too_slow_pauses_for_a_while() -> None:
    clock = Clock()
    limit = TimeLimit(clock)

    async def in_a_loop() -> None:
        with pytest.raises(WorkLimitError):
            limit(lambda: clock.take(1), Work(), "it")
        with pytest.raises(PluginError, match=r"it was exceeded: it pauses for another 20\.0 s"):
            limit(pytest.fail, Work(), "it")
        clock.take(PAUSE)
        assert limit(lambda: 7, Work(), "it") == 7

    asyncio.run(in_a_loop())


def test_without_an_event_loop_nothing_waits_and_the_next_run_is_scored() -> None:
    clock = Clock()
    limit = TimeLimit(clock)
    with pytest.raises(WorkLimitError):
        limit(lambda: clock.take(1), Work(), "it")

    assert limit(lambda: 7, Work(), "it") == 7


@pytest.fixture
def somebody_elses_timer() -> Iterator[list[int]]:
    fired: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: fired.append(number))
    left, interval = signal.setitimer(signal.ITIMER_REAL, 0.02)
    yield fired
    signal.signal(signal.SIGALRM, before)
    signal.setitimer(signal.ITIMER_REAL, left, interval)


def test_a_timer_that_somebody_else_has_set_still_fires(somebody_elses_timer: list[int]) -> None:
    with pytest.raises(WorkLimitError):
        TimeLimit()(endless, Work(), "it")

    wait_for(lambda: somebody_elses_timer == [signal.SIGALRM])


def test_what_the_call_raises_is_raised_and_its_time_is_spent_too() -> None:
    clock, work = Clock(), Work()

    def fail() -> Any:
        clock.take(0.01)
        raise KeyError("x")

    with pytest.raises(KeyError):
        TimeLimit(clock)(fail, work, "it")
    assert work.left < MAX_WORK
