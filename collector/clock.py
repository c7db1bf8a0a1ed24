"""Where time and jitter come from: an argument everywhere, so that tests decide both."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Clock:
    """Monotonic time in seconds, wall time in Unix nanoseconds, a way to sleep, and jitter from 0 to 1."""

    now: Callable[[], float] = time.monotonic
    wall_ns: Callable[[], int] = time.time_ns
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    random: Callable[[], float] = random.random


SYSTEM_CLOCK: Final = Clock()
"""Real time and real randomness."""
