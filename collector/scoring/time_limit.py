"""Limits the time of code that is not ours: a plug-in's scorer or matcher, which runs in the event loop.

Time counts as work, 0.1 µs a unit, so that one evaluation, with all calls of plug-ins in it, takes at most 50 ms. On the main
thread a timer's signal interrupts the call between two instructions of Python: endless loops, sleeps, and most calls into C
that wait or, like ``re``, look for signals. What it cannot interrupt (other calls into C, other threads, Windows) is found to
be too long afterwards. Where an event loop waits, a plug-in that took too long then pauses for `PAUSE` times what it took, and
gives errors meanwhile: so a slow one takes 5 % of the loop's time at most, however often it is called.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from scorers.plugins import PluginError
from scorers.work import Work, WorkLimitError

SECONDS_PER_UNIT: Final = 1e-7
PAUSE: Final = 20
_AGAIN: Final = 0.01  # seconds after which a call that swallowed the interruption is interrupted again

_T = TypeVar("_T")


class _TimeUpError(BaseException):
    """The call has had its time. No Exception, which the plug-in would catch."""


class TimeLimit:
    """A `scorers.plugins.Limit` for one plug-in, by a clock in seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._paused_until = float("-inf")

    def __call__(self, call: Callable[[], _T], work: Work, part: str) -> _T:
        """Returns what ``call`` returns; spends the work that it took on ``part``. Raises WorkLimitError, PluginError."""
        begun = self._now()
        if begun < self._paused_until:
            raise PluginError(f"{part} was exceeded: it pauses for another {self._paused_until - begun:.1f} s")
        seconds = work.left * SECONDS_PER_UNIT
        try:
            return _interrupted(call, seconds)
        except _TimeUpError:
            raise WorkLimitError(part) from None
        finally:
            ended = self._now()
            # In `finally`: a call that raises has taken its time as well.
            if ended - begun >= seconds and _in_event_loop():
                self._paused_until = ended + PAUSE * (ended - begun)
            work.spend(int((ended - begun) / SECONDS_PER_UNIT), part)


def _interrupted(call: Callable[[], _T], seconds: float) -> _T:
    """Returns what the call returns, or raises `_TimeUpError` in it after that time, where Python can."""
    # Python runs signal handlers on the main thread only.
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return call()
    is_running = True

    def raise_time_up(*_: Any) -> None:
        if is_running:
            raise _TimeUpError

    handler = signal.signal(signal.SIGALRM, raise_time_up)
    begun = time.monotonic()
    left, interval = signal.setitimer(signal.ITIMER_REAL, max(seconds, SECONDS_PER_UNIT), _AGAIN)
    try:
        return call()
    finally:
        is_running = False  # Python runs no handler between the end of the call and this
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if handler is None else handler)
        if left:  # somebody else's timer, such as that of a test's own limit
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - begun), _AGAIN), interval)


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
