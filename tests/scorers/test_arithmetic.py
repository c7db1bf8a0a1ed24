"""Sums that no version of Python changes."""

from __future__ import annotations

from scorers.arithmetic import sum_in_order


def test_each_number_is_rounded_in_its_turn() -> None:
    # As in JavaScript: [0.1, ...].reduce((a, b) => a + b, 0). Python's own sum is 1.0 from 3.12 on.
    assert sum_in_order([0.1] * 10) == 0.9999999999999999
    assert sum_in_order([1e100, 1.0, -1e100]) == 0.0
    assert sum_in_order([]) == 0.0
