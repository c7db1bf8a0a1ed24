"""Limits memory: above the soft limit requests are refused, above the hard limit open traces are evicted as well.

The terms are those of the OpenTelemetry Collector's memory_limiter: ``limit_mib`` is the hard limit, the soft one lies
``spike_limit_mib`` below it. Resident memory is read from /proc (Linux); without it nothing is limited.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import cache

from collector.config.model import MemoryLimiterConfig
from collector.errors import RefusedError
from collector.service.garbage import give_back, trim

_log = logging.getLogger(__name__)
_PAGE = os.sysconf("SC_PAGE_SIZE")
_STATM_SIZE = 256  # bytes; it is one line of seven numbers
_COLLECTION = 5.0  # seconds between two collections of all garbage, each of which takes up to half a second
_SHARE = 0.05  # of the time goes into returning memory to the system


def resident_bytes() -> int:
    """Returns the resident memory of this process in bytes, 0 where it is unknown."""
    try:
        return int(os.pread(_statm(), _STATM_SIZE, 0).split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


@cache
def _statm() -> int:
    # Kept open: it is read up to 20 times a second, also where no descriptor is left.
    return os.open("/proc/self/statm", os.O_RDONLY)


class MemoryLimiter:
    """Called before each request; reads memory use at most once per ``check_interval``."""

    def __init__(
        self,
        config: MemoryLimiterConfig,
        now: Callable[[], float],
        resident: Callable[[], int] = resident_bytes,
        trim: Callable[[], None] = trim,
        give_back: Callable[[], None] = give_back,
    ) -> None:
        self._interval, self._now, self._resident = config.check_interval, now, resident
        self._trim, self._give_back = trim, give_back
        self._hard = config.limit_mib << 20
        self._soft = self._hard - (config.spike() << 20)
        self._next_check = self._next_relief = self._next_collection = 0.0
        self._used = 0
        self._refusing = False
        self._short_since: float | None = None

    def admit(self) -> None:
        """Raise RefusedError above the soft limit."""
        if self.short():
            if not self._refusing:
                self._refusing = True
                _log.warning(
                    "memory use is above the soft limit (%d MiB); refusing requests until it falls; if it is traffic that "
                    "takes it, raise memory_limiter.limit_mib or add replicas", self._soft >> 20,
                )  # fmt: skip
            raise RefusedError("memory limit reached, retry later")
        self._refusing = False

    def short(self) -> bool:
        """Whether memory is above the soft limit."""
        return self.used() > self._soft

    def has_been_short(self, seconds: float) -> bool:
        """Whether it has been short for so long without a break. The time begins anew with that."""
        now = self._now()
        if not self.short():
            self._short_since = None
        elif self._short_since is None:
            self._short_since = now
        elif now - self._short_since >= seconds:
            self._short_since = now
            return True
        return False

    def exceeded(self) -> bool:
        """Whether memory is above the hard limit."""
        return self.used() > self._hard

    def is_ample(self) -> bool:
        """Whether memory is so far below the soft limit that it takes more than a moment to fill it."""
        return 2 * self.used() < self._soft

    def used(self) -> int:
        """Returns the resident bytes, as last read."""
        now = self._now()
        if now >= self._next_check:
            self._next_check = now + self._interval
            self._used = self._resident()
            # What was freed is resident until it is returned: that is tried before anybody is refused.
            if self._used > self._soft and now >= self._next_relief:
                self._relieve(now)
        return self._used

    def _relieve(self, begun: float) -> None:
        """Return free memory to the system; where that is not enough, collect garbage as well, which takes longer."""
        self._trim()
        self._used = self._resident()
        if self._used > self._soft and begun >= self._next_collection:
            self._next_collection = begun + _COLLECTION
            self._give_back()
            self._used = self._resident()
        now = self._now()
        # Soon again: under load memory is freed as fast as it is taken, and until it is returned everybody is refused.
        self._next_relief = now + (now - begun) / _SHARE
