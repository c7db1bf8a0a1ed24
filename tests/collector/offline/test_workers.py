"""Work in forked processes."""

from __future__ import annotations

import os
import signal

import pytest

from collector.errors import RightcallError
from collector.offline.workers import LostProcessError, call_in_processes


@pytest.mark.parametrize("processes", [1, 3])
def test_results_come_in_the_order_of_the_arguments_from_several_processes(processes: int) -> None:
    ids = list(call_in_processes(lambda number: (number, os.getpid()), range(20), processes))
    assert [number for number, _ in ids] == list(range(20))
    assert (os.getpid() in {process for _, process in ids}) == (processes == 1)


def test_an_error_of_a_process_is_raised_here() -> None:
    def fail(number: int) -> int:
        if number == 5:
            raise RightcallError("five")
        return number

    with pytest.raises(RightcallError, match="five"):
        list(call_in_processes(fail, range(10), 2))


def test_a_process_that_is_killed_is_said_and_the_others_end() -> None:
    with pytest.raises(LostProcessError, match="memory"):
        list(call_in_processes(lambda _: os.kill(os.getpid(), signal.SIGKILL), range(4), 2))
