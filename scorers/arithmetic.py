"""Sums that are the same with every version of Python, so that a run has the same score wherever it is scored."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import add


def sum_in_order(numbers: Iterable[float]) -> float:
    """Returns the sum, rounded after each number from the left: as JavaScript adds, and Python's ``sum`` up to 3.11.

    From 3.12 on ``sum`` of floats compensates for rounding errors, which changes some scores that are rounded to cents.
    """
    return reduce(add, numbers, 0.0)
