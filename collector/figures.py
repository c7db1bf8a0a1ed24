"""Numbers for people: rounded, but never to what they are not."""

from __future__ import annotations


def score(value: float, limit: float = 0.0) -> str:
    """Returns a share or a score with three digits, or as many more as tell it from 0, 1 and a limit that it does not reach."""
    return _rounded(value, 3, (0.0, 1.0, limit))


def percent(share: float, digits: int = 1) -> str:
    """Returns a share, or a difference of shares, in percent with so many digits, or as many more as tell it from 0 and 1."""
    # Intervals are computed: what differs in the eleventh digit is a rounding error.
    return _rounded(round(100 * share, 10), digits, (0.0, 100.0))


def _rounded(value: float, digits: int, marks: tuple[float, ...]) -> str:
    value = float(value)  # what comes from JSON may be an integer that no float is equal to
    while True:
        text = f"{value:.{digits}f}"
        if all(_side(float(text), mark) == _side(value, mark) for mark in marks):
            return text
        digits += 1


def _side(value: float, mark: float) -> int:
    return (value > mark) - (value < mark)
