"""Rounded numbers: on the same side of 0, of 1 and of a limit as what they stand for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.figures import percent, score

shares = st.floats(0, 1)


@pytest.mark.parametrize(
    ("value", "limit", "shown"),
    [
        (0.6666, 0.9, "0.667"), (2 / 3, 0.667, "0.6667"), (0.94996, 0.95, "0.94996"), (0.95, 0.95, "0.950"),
        (2999 / 3000, 1, "0.9997"), (1, 1, "1.000"), (0, 0.5, "0.000"), (1e-5, 0.5, "0.00001"),
    ],
)  # fmt: skip
def test_a_score_has_as_many_digits_as_tell_it_from_its_limit(value: float, limit: float, shown: str) -> None:
    assert score(value, limit) == shown


@given(shares, shares)
def test_no_score_is_shown_on_another_side(value: float, limit: float) -> None:
    for mark in (0, 1, limit):
        shown = float(score(value, limit))
        assert (shown < mark, shown > mark) == (value < mark, value > mark)


@pytest.mark.parametrize(
    ("share", "digits", "shown"),
    [
        (2999 / 3000, 1, "99.97"), (0.9996, 0, "99.96"), (0.5, 0, "50"), (1, 1, "100.0"), (0, 1, "0.0"),
        (-1 / 3000, 1, "-0.03"), (1 - 2**-52, 1, "100.0"), (2**-60, 1, "0.0"),
    ],
)  # fmt: skip
def test_percent_are_all_or_none_only_where_they_are_but_for_rounding_errors(
    share: float, digits: int, shown: str
) -> None:
    assert percent(share, digits) == shown


def test_a_number_that_no_float_is_equal_to_ends() -> None:
    assert score(10**17 + 1, 10**17) == "100000000000000000.000"
    assert score(float("nan"), 0.5) == "nan"
