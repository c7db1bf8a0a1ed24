"""Less memory by taking less: above the soft limit senders are asked to wait, above the hard limit open traces go too.

The words are those of the OpenTelemetry Collector's memory_limiter: ``limit_mib`` is the hard limit, the soft one lies
``spike_limit_mib`` below it. Resident memory is read from /proc (Linux); where there is none nothing is limited.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import os
from collections.abc import Callable

from collector.config.model import MemoryLimiterConfig
from collector.errors import RefusedError

_log = logging.getLogger(__name__)
_PAGE = os.sysconf("SC_PAGE_SIZE")
_RELIEF = 5.0  # seconds between attempts to give memory back: collecting garbage takes a while


def resident_bytes() -> int:
    """Resident memory of this process in bytes, 0 where it cannot be told."""
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


def give_back() -> None:
    """Collect garbage and hand free memory back to the system, so that what was freed shows."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc; other C libraries give it back by themselves
    if trim is not None:
        trim(0)


class MemoryLimiter:
    """Asked before each request; looks at most once every ``check_interval``."""

    def __init__(
        self,
        config: MemoryLimiterConfig,
        now: Callable[[], float],
        resident: Callable[[], int] = resident_bytes,
        relieve: Callable[[], None] = give_back,
    ) -> None:
        self._interval, self._now, self._resident, self._relieve = config.check_interval, now, resident, relieve
        self._hard = (config.limit_mib or 0) << 20
        self._soft = self._hard - (config.spike() << 20)
        self._next_look = self._next_relief = 0.0
        self._used = 0
        self._refusing = False

    def admit(self) -> None:
        """Raise RefusedError above the soft limit."""
        if self._hard and self.used() > self._soft:
            if not self._refusing:
                self._refusing = True
                _log.warning("memory is above the soft limit (%d MiB): senders are asked to wait", self._soft >> 20)
            raise RefusedError("memory is short")
        self._refusing = False

    def exceeded(self) -> bool:
        """Whether memory is above the hard limit."""
        return bool(self._hard) and self.used() > self._hard

    def used(self) -> int:
        """Resident bytes, as last seen."""
        now = self._now()
        if now >= self._next_look:
            self._next_look = now + self._interval
            self._used = self._resident()
            if self._used > self._soft and now >= self._next_relief:
                self._next_relief = now + _RELIEF
                self._relieve()
                self._used = self._resident()
        return self._used
