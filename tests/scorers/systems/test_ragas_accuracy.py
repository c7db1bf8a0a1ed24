"""Ragas's accuracy: aligned names, then shares of equal arguments as text."""

from __future__ import annotations

from typing import Any

import pytest

from scorers.systems import ragas_accuracy
from tests.scorers.systems.cases import Call, calls, run

CASES: list[tuple[list[Call], list[Call], bool, float]] = [
    ([], [], True, 1.0),
    ([], calls("a"), True, 0.0),
    (calls("a"), [], True, 0.0),
    (calls("a", "b"), calls("a"), True, 0.0),  # no proportional penalty: the names differ
    (calls("a"), calls("a", "b"), False, 0.0),
    (calls("a", "b"), calls("b", "a"), True, 0.0),
    (calls("a", "b"), calls("b", "a"), False, 1.0),
    (calls(("a", {"x": 1})), calls(("a", {"x": "1"})), True, 1.0),
    (calls(("a", {"x": True})), calls(("a", {"x": 1})), True, 0.0),
    (calls(("a", {"x": 1})), calls(("a", {"x": 1, "y": 2})), True, 1.0),
    (calls("a"), calls(("a", {"y": 2})), True, 0.0),
    (calls(("a", {"x": 1, "y": 2})), calls(("a", {"x": 1, "y": 3})), True, 0.5),
    (calls(("a", {"x": 1}), "b"), calls(("a", {}), "b"), True, 0.5),
    # sorted as text: the first pair differs and the second is equal
    (calls(("a", {"x": 1}), ("a", {"x": 2})), calls(("a", {"x": 2}), ("a", {"w": 1})), False, 0.5),
    # sorting pairs {"y": 0} with {"x": 9}, {"x": 5} with {"y": 0}: both wrong, though one call is there
    (calls(("a", {"y": 0}), ("a", {"x": 5})), calls(("a", {"y": 0}), ("a", {"z": 9})), False, 0.0),
]


@pytest.mark.parametrize(("expected", "actual", "strict", "value"), CASES)
def test_scores(expected: list[Call], actual: list[Call], strict: bool, value: float) -> None:
    score = run(ragas_accuracy, expected, actual, strict_order=strict)
    assert score.value == pytest.approx(value)
    assert score.details == {"collections": score.value}


@pytest.mark.parametrize("nothing", ["a", ("a", None), ("a", {})])
def test_missing_arguments_count_as_none(nothing: Any) -> None:
    assert run(ragas_accuracy, calls(nothing), calls(("a", {}))).value == 1.0


def test_order_is_strict_by_default() -> None:
    assert run(ragas_accuracy, calls("a", "b"), calls("b", "a")).value == 0.0
