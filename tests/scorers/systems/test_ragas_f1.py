"""Ragas's F1: sets of calls, Python's equality, four decimals."""

from __future__ import annotations

from typing import Any

import pytest

from scorers.systems import ragas_f1
from tests.scorers.systems.cases import calls, run

A0: tuple[str, Any] = ("a", {})
A1: tuple[str, Any] = ("a", {"x": 1})
B0: tuple[str, Any] = ("b", {})

CASES: list[tuple[list[Any], list[Any], float]] = [
    ([], [], 0.0),  # the accuracy metric says 1
    ([A0], [], 0.0),
    ([A0], [A0], 1.0),
    ([A0, A0, A0], [A0], 1.0),  # duplicates vanish
    ([A0, B0], [A0], 0.6667),
    ([A0], [A0, B0, A1], 0.5),
    ([A1], [("a", {"x": True})], 1.0),  # Python's equality
    ([("a", {"x": []})], [("a", {"x": {}})], 0.0),
    ([("a", {"x": [1, {"k": [2]}]})], [("a", {"x": [1, {"k": [2]}]})], 1.0),
    ([("a", {"x": 1, "y": 2})], [("a", {"y": 2, "x": 1})], 1.0),
    ([A1], [A0], 0.0),
    (["a"], [A0], 1.0),
]


@pytest.mark.parametrize(("expected", "actual", "value"), CASES)
def test_scores(expected: list[Any], actual: list[Any], value: float) -> None:
    score = run(ragas_f1, calls(*expected), calls(*actual))
    assert score.value == value
    assert score.details == {"collections": value}


def test_outcomes_and_missing_tools() -> None:
    score = run(ragas_f1, calls(A0, B0), calls(A1, A0, A0))
    assert list(score.outcomes) == ["extra", "matched", "matched"]
    assert list(score.missing) == ["b"]
    assert score.explanation == "F1 of 1 common calls, 2 distinct ones expected and 2 made"


def test_values_that_are_not_json_are_refused() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        run(ragas_f1, calls(("a", {"x": {1, 2}})), [])
