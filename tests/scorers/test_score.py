"""Scores: a number from 0 to 1, or none."""

from __future__ import annotations

import math

import pytest

from scorers import Score, error_score
from scorers.score import MAX_REASON


@pytest.mark.parametrize("value", [None, 0, 0.0, 0.5, 1.0, 1])
def test_valid_values(value: float | None) -> None:
    assert Score(value, "pass", "").value == value


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf])
def test_invalid_values(value: float) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        Score(value, "pass", "")


def test_the_score_of_a_scorer_that_raised() -> None:
    score = error_score(KeyError("tool"))

    assert (score.value, score.label, score.details) == (None, "error", {"error.type": "KeyError"})
    assert score.explanation == "the scorer raised KeyError: 'tool'"


def test_the_message_of_an_exception_is_bounded_and_printable() -> None:
    explanation = error_score(ValueError("\x1b[2J\ud800" + "x" * 10_000)).explanation

    assert explanation.isprintable()
    assert len(explanation) < 2 * MAX_REASON
