"""Fractions, F1 and JavaScript's rounding."""

from __future__ import annotations

import math
import sys


def share(part: float, whole: float, empty: float = 0.0) -> float:
    """Returns ``part / whole``, or ``empty`` if the whole is 0."""
    return part / whole if whole else empty


def f1_score(precision: float, recall: float) -> float:
    """The harmonic mean of precision and recall; 0 if both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def math_round(number: float) -> int:
    """``Math.round``: to the nearest integer, halves up."""
    below = math.floor(number)
    return below + (number - below >= 0.5)


def round_half_up(number: float, digits: int) -> float:
    """``Math.round(number * 10 ** digits) / 10 ** digits``."""
    scale: int = 10**digits
    return math_round(number * scale) / scale


def round_to_cents(number: float) -> float:
    """Two decimals, halves up, after adding one machine epsilon, so that 1.005 becomes 1.01."""
    return round_half_up(number + sys.float_info.epsilon, 2)
