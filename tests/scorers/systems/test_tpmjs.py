"""TPMJS: F1 of a greedy assignment, three-decimal rounding, the breakdown."""

from __future__ import annotations

import re
from typing import Any

import pytest

from scorers.call_scorer import OriginalError
from scorers.systems import tpmjs
from tests.scorers.systems.cases import Call, calls, run

A0: tuple[str, Any] = ("a", {})
A1: tuple[str, Any] = ("a", {"x": 1})
A2: tuple[str, Any] = ("a", {"x": 2})
B0: tuple[str, Any] = ("b", {})

CASES: list[tuple[list[Call], list[Call], float, float, float]] = [
    ([], [], 1.0, 1.0, 1.0),
    ([], calls(A0), 0.0, 1.0, 0.0),
    (calls(A0), [], 1.0, 0.0, 0.0),
    (calls(A0, B0), calls(B0, A0), 1.0, 1.0, 1.0),
    (calls(A0, A0), calls(A0), 1.0, 0.5, 0.667),
    (calls(A1, A2), calls(A2), 0.0, 0.0, 0.0),  # the first expectation uses up the call the second needs
    (calls(A1, A2), calls(A1, A2), 1.0, 1.0, 1.0),
    (calls(("s", {"q": 1}), ("t", {"t": 1})), calls(("s", {"q": 1}), ("t", {"t": 2}), B0), 0.333, 0.5, 0.4),
    (calls(("a", {"x": [1, 2]})), calls(("a", {"x": {"0": 1, "1": 2}})), 1.0, 1.0, 1.0),
    (calls(("a", {"x": 1})), calls(("a", {"x": True})), 0.0, 0.0, 0.0),
]


@pytest.mark.parametrize(("expected", "actual", "precision", "recall", "f1"), CASES)
def test_scores(expected: list[Call], actual: list[Call], precision: float, recall: float, f1: float) -> None:
    score = run(tpmjs, expected, actual)
    assert (score.value, score.details["f1"]) == (f1, f1)
    assert (score.details["precision"], score.details["recall"]) == (precision, recall)


def test_the_first_example_of_the_readme_scores_as_in_the_code() -> None:
    expected = calls(("searchWeb", {"query": "AI news"}), ("summarize", {"text": "long"}))
    actual = calls(("searchWeb", {"query": "AI news"}), ("summarize", {"text": "other"}), ("translateText", {}))
    score = run(tpmjs, expected, actual)
    assert score.value == 0.4  # the README says 0.667
    assert score.details["summary"] == (
        "F1: 40.0% | Precision: 33.3% | Recall: 50.0% | Correct: 1/2 | Incorrect: 1 | Missed: 0 | Extra: 1"
    )


def test_pairs_name_both_sides_correct_ones_first() -> None:
    score = run(tpmjs, calls(A1, B0, ("c", {})), calls(B0, A2))
    assert score.details["pairs"] == [[1, 0, "correct"], [0, 1, "incorrect"]]
    assert list(score.outcomes) == ["matched", "wrong_arguments"]
    assert list(score.missing) == ["c"]


def test_counts_add_up() -> None:
    details = run(tpmjs, calls(A1, A2, B0), calls(A2, A2, ("z", {}))).details
    assert details["correct"] + details["incorrect"] + details["missed"] == details["totalExpected"] == 3
    assert details["correct"] + details["incorrect"] + details["extra"] == details["totalActual"] == 3


@pytest.mark.parametrize(("ours", "theirs"), [("a", A0), (A0, "a"), (("a", None), A0), ("a", "a")])
def test_comparing_calls_without_arguments_raises(ours: Any, theirs: Any) -> None:
    with pytest.raises(OriginalError, match="'a' where one has no arguments"):
        run(tpmjs, calls(ours), calls(theirs))


def test_calls_without_arguments_that_are_not_compared_are_scored() -> None:
    assert run(tpmjs, calls("a"), calls("b")).value == 0.0
    # the first call fits, so the second of that name is never looked at
    assert run(tpmjs, calls(A0), calls(A0, "a")).details["extra"] == 1


def test_the_explanation_recomputes_the_score() -> None:
    score = run(tpmjs, calls(A1, A2, B0), calls(A1, B0, B0, B0))
    found = re.search(r"(\d+) correct calls of (\d+) made and (\d+) expected", score.explanation)
    assert found
    correct, made, expected = map(int, found.groups())
    assert score.value == pytest.approx(2 * correct / (made + expected), abs=5e-4)
