"""How much work one evaluation may take. It is counted, not timed, so that a run has the same score on every machine.

Each part of scoring spends what it costs at its worst before it begins: also where a cache makes it cheaper, since a score must
not depend on what was scored before.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

MAX_WORK: Final = 500_000
"""Units of work that one scorer may spend on one run. A unit takes about 0.1 µs, so this is about 50 ms at worst."""

_LARGE: Final = 1 << 60


class WorkLimitError(Exception):
    """An evaluation would need more work than `MAX_WORK`. ``part`` is what exceeds it, named as in a rule file."""

    def __init__(self, part: str) -> None:
        super().__init__(f"{part} exceeds the limit of {MAX_WORK} units of work for one evaluation")
        self.part = part


class Work:
    """What one evaluation may still spend."""

    def __init__(self, before_each: Callable[[], None] | None = None) -> None:
        """``before_each`` is called before each part of the work."""
        self._before_each = before_each
        self.left = MAX_WORK
        """Units that are left."""

    def spend(self, units: int, part: str) -> None:
        """Spend this work on ``part``. Raises WorkLimitError once more is spent than there is."""
        # Subtracted before it is compared: after an error nothing is left, so a part that catches it cannot go on.
        self.left -= units
        if self.left < 0:
            raise WorkLimitError(part)
        if self._before_each is not None:
            self._before_each()


def hash_key(number: float) -> float | bytes:
    """Returns a key for sets, equal exactly for equal numbers. Integers that Python hashes alike are easily found: without it,
    a sender could make a set compare each of its elements with all others.
    """
    is_large = abs(number) >= _LARGE and abs(number) < math.inf
    return hex(int(number)).encode() if is_large else number
