"""Where time and jitter come from: an argument everywhere, so that tests decide both."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final


def _since_boot() -> float:
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@dataclass(frozen=True)
class Clock:
    """Monotonic time in seconds, wall time in Unix nanoseconds, a way to sleep, and jitter from 0 to 1."""

    now: Callable[[], float] = time.monotonic
    wall_ns: Callable[[], int] = time.time_ns
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    random: Callable[[], float] = random.random
    since_boot: Callable[[], float] = _since_boot
    """Seconds with those in which the machine was suspended: on Linux, ``now`` stands still then."""


SYSTEM_CLOCK: Final = Clock()
"""Real time and real randomness."""


class PausableTime:
    """Monotonic time that stands still while it is paused."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now, self._lost = now, 0.0
        self._paused_at: float | None = None

    def now(self) -> float:
        """Returns seconds."""
        return (self._now() if self._paused_at is None else self._paused_at) - self._lost

    def pause(self) -> None:
        """Let it stand still from now on."""
        if self._paused_at is None:
            self._paused_at = self._now()

    def go_on(self) -> None:
        """Let it go on from where it stands."""
        if self._paused_at is not None:
            self._lost += self._now() - self._paused_at
            self._paused_at = None
