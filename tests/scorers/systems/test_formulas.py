"""Fractions, and rounding as in the original packages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorers.systems.formulas import f1_score, math_round, round_half_up, round_to_cents, share


@pytest.mark.parametrize(
    ("number", "rounded"),
    [(0.5, 1), (1.5, 2), (2.5, 3), (-0.5, 0), (-1.5, -1), (0.49999999999999994, 0), (2.4999, 2), (7, 7)],
)
def test_halves_go_up(number: float, rounded: int) -> None:
    assert math_round(number) == rounded


@pytest.mark.parametrize(("number", "rounded"), [(1 / 8, 0.13), (2 / 3, 0.67), (1 / 3, 0.33), (1.005, 1.01), (1, 1.0)])
def test_two_decimals_with_epsilon(number: float, rounded: float) -> None:
    assert round_to_cents(number) == rounded


def test_without_epsilon_a_double_below_the_half_goes_down() -> None:
    assert round_half_up(1.005, 2) == 1.0


@pytest.mark.parametrize(("number", "rounded"), [(2 / 3, 0.667), (0.0625, 0.063), (0.4, 0.4), (0, 0.0)])
def test_three_decimals(number: float, rounded: float) -> None:
    assert round_half_up(number, 3) == rounded


@given(st.floats(0, 1), st.integers(0, 6))
def test_rounding_moves_by_at_most_half_a_digit(number: float, digits: int) -> None:
    assert abs(round_half_up(number, digits) - number) <= 0.5 / 10**digits + 1e-12


def test_the_share_of_an_empty_whole_is_the_default() -> None:
    assert share(1, 4) == 0.25
    assert share(0, 0) == 0.0
    assert share(0, 0, empty=1.0) == 1.0


@pytest.mark.parametrize(("precision", "recall", "f1"), [(0, 0, 0.0), (1, 1, 1.0), (0.5, 1, 2 / 3), (1, 0, 0.0)])
def test_f1(precision: float, recall: float, f1: float) -> None:
    assert f1_score(precision, recall) == pytest.approx(f1)
