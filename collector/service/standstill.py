"""Notices that this process stood still: somebody stopped it, its machine was suspended, or others had the processor.

To those who sent anything meanwhile it looked as if it were down, and nothing is left of what they gave up.
"""

from __future__ import annotations

import logging
from typing import Final

from collector.assembly.gaps import OUTLASTED, Gaps
from collector.clock import Clock

_log = logging.getLogger(__name__)

_LONG: Final = 1.0  # seconds


class Standstill:
    """Notes what senders do not outlast as one of the ``gaps`` in what was received."""

    def __init__(self, gaps: Gaps, clock: Clock) -> None:
        self._gaps, self._clock = gaps, clock
        self._checked = clock.since_boot()

    def check(self) -> bool:
        """Returns whether it stood still for more than a second since the last call: to be called more often than that."""
        now, now_ns = self._clock.since_boot(), self._clock.wall_ns()
        seconds, self._checked = now - self._checked, now
        lasted_ns = round(seconds * 1e9)
        if lasted_ns > OUTLASTED:
            self._gaps.add(now_ns - lasted_ns, now_ns)
            _log.warning(
                "this process stood still for %.0f s (stopped, suspended, or without a processor): runs that were under way "
                "are in doubt, since what was sent to it may be lost", seconds,
            )  # fmt: skip
        return seconds > _LONG
