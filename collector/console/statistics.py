"""Shares of runs as pages show them, with the interval in which the true one lies with 95 % confidence."""

from __future__ import annotations

from typing import NamedTuple

from collector.runs.queries import Counted
from collector.statistics import Interval, difference_of, share_interval


class Share(NamedTuple):
    """A share of runs with its interval; None where there are no runs."""

    value: float
    low: float
    high: float

    @property
    def interval(self) -> Interval:
        """Its bounds."""
        return Interval(self.low, self.high)

    def against(self, objective: float) -> str:
        """``above`` or ``below`` an objective where the interval leaves no other reading, else ``around``."""
        return "above" if self.low >= objective else "below" if self.high < objective else "around"


class Change(NamedTuple):
    """A difference between two shares with its interval."""

    value: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """``better`` or ``worse`` where the interval leaves no other reading, else ``unclear``."""
        return "better" if self.low > 0 else "worse" if self.high < 0 else "unclear"


def share(hits: float, runs: float) -> Share | None:
    """Returns a share of runs; None where there are none."""
    return Share(hits / runs, *share_interval(hits, runs)) if runs > 0 else None


def accuracy(counted: Counted) -> Share | None:
    """Returns passes of passes and fails."""
    return share(counted.passed, counted.passed + counted.failed)


def change(before: Share | None, after: Share | None) -> Change | None:
    """Returns by how much a share changed; None where one of them is unknown."""
    if before is None or after is None:
        return None
    bounds = difference_of(before.value, before.interval, after.value, after.interval)
    return Change(after.value - before.value, *bounds)
