"""Intervals in which a true share lies with 95 % confidence: what few runs say, and what they do not."""

from __future__ import annotations

from math import sqrt
from typing import Final, NamedTuple

from collector.runs.queries import Counted

_Z: Final = 1.959964  # of 95 %, two-sided


class Share(NamedTuple):
    """A share of runs with its interval; None where there are no runs."""

    value: float
    low: float
    high: float
    runs: int


class Change(NamedTuple):
    """A difference between two shares with its interval."""

    value: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """``better`` or ``worse`` where the interval leaves no other reading, else ``unclear``."""
        return "better" if self.low > 0 else "worse" if self.high < 0 else "unclear"


def wilson(hits: int, runs: int) -> Share | None:
    """Returns a share with its Wilson score interval."""
    if runs <= 0:
        return None
    value, square = hits / runs, _Z * _Z
    middle = (value + square / (2 * runs)) / (1 + square / runs)
    half = _Z * sqrt(value * (1 - value) / runs + square / (4 * runs * runs)) / (1 + square / runs)
    return Share(value, max(0.0, middle - half), min(1.0, middle + half), runs)


def accuracy(counted: Counted) -> Share | None:
    """Returns passes of passes and fails."""
    return wilson(counted.passed, counted.passed + counted.failed)


def change(before: Share | None, after: Share | None) -> Change | None:
    """Returns by how much a share changed, with Newcombe's interval; None where one of them is unknown."""
    if before is None or after is None:
        return None
    value = after.value - before.value
    down = sqrt((after.value - after.low) ** 2 + (before.high - before.value) ** 2)
    up = sqrt((after.high - after.value) ** 2 + (before.value - before.low) ** 2)
    return Change(value, max(-1.0, value - down), min(1.0, value + up))
