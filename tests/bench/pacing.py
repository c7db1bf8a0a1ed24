"""The pace of benchmarks: load that is sent at a rate, figures that are read at intervals, and processes that come to rest."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable

from tests.waiting import wait_for

_LOOK = 0.5  # seconds between looks at a process
_PATIENCE = 300.0  # seconds


def sleep_until(at: float) -> None:
    """Sleep until the monotonic time ``at``."""
    time.sleep(max(0.0, at - time.monotonic()))


def wait_until_steady(total: Callable[[], float], per_second: float = 0.0) -> None:
    """Wait until ``total``, which only grows, has grown by at most ``per_second`` in two looks in succession."""
    now, at = 0.0, -math.inf
    rates = deque[float](maxlen=2)

    def is_steady() -> bool:
        nonlocal now, at
        before, since, now, at = now, at, total(), time.monotonic()
        if not math.isinf(since):
            rates.append((now - before) / (at - since))
        return len(rates) == 2 and max(rates) <= per_second

    wait_for(is_steady, _LOOK, _PATIENCE)


def wait_until_arrived(arrived: Callable[[], int], expected: int, patience: float) -> None:
    """Wait until so many have arrived, or none has for ``patience`` seconds: what is lost does not arrive."""
    last, since = -1, time.monotonic()

    def is_over() -> bool:
        nonlocal last, since
        if (now := arrived()) != last:
            last, since = now, time.monotonic()
        return now >= expected or time.monotonic() - since > patience

    wait_for(is_over, patience=_PATIENCE)
