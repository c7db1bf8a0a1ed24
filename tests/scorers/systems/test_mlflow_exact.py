"""MLflow's exact mode: signatures in order or as sets, arguments all or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from scorers.call_scorer import OriginalError
from scorers.systems import mlflow_exact
from tests.scorers.systems.cases import calls, run

A1, A2, B1 = ("a", {"x": 1}), ("a", {"x": 2}), ("b", {"x": 1})

CASES: list[tuple[list[Any], list[Any], bool, bool]] = [
    ([A1, B1], [A1, B1], True, True),
    ([A1, B1], [B1, A1], True, False),
    ([A1, B1], [B1, A1], False, True),
    ([A1], [A1, B1], False, False),
    ([A1], [A2], True, False),
    (["a", B1], [A2, ("b", {"x": 999})], True, True),  # one name-only expectation turns arguments off for all
    (["a", "a", "b"], ["a", "b", "b"], False, True),  # sets
    (["a", "a", "b"], ["a", "b", "b"], True, False),
    ([("a", {"x": 1, "y": 2})], [("a", {"y": 2, "x": 1})], True, True),
    ([("a", {"x": 1})], [("a", {"x": 1.0})], True, False),  # as JSON
    ([("a", {"x": 1})], [("a", {"x": True})], True, False),
    ([("a", {})], ["a"], True, True),
]


@pytest.mark.parametrize(("expected", "actual", "ordering", "good"), CASES)
def test_scores(expected: list[Any], actual: list[Any], ordering: bool, good: bool) -> None:
    score = run(mlflow_exact, calls(*expected), calls(*actual), should_consider_ordering=ordering)
    assert score.value == good
    assert score.details["source"] == "CODE"


RATIONALES: list[tuple[list[Any], list[Any], bool, str]] = [
    ([A1], [], False, "Expected 1 tool call(s), but got 0 tool call(s)."),
    ([A1], [A1], True, "All tool calls match expected sequence exactly."),
    ([A1], [A1], False, "All expected tool calls present (order ignored)."),
    (["a", "b"], ["b", "b"], True, "Tool calls do not match in order: Position 1: expected a, got b"),
    (
        [A1, ("b", {"z": 1, "y": 2})],
        [A1, A2],
        True,
        'Tool calls do not match in order: Position 2: expected b({"z": 1, "y": 2}), got a({"x": 2})',
    ),
    ([A1], [A2], False, "Missing: {'a({\"x\": 1})'}; Unexpected: {'a({\"x\": 2})'}"),
    ([A1, A1], [A1, B1], False, "Unexpected: {'b({\"x\": 1})'}"),
]


@pytest.mark.parametrize(("expected", "actual", "ordering", "rationale"), RATIONALES)
def test_reports_the_rationale_of_the_original(
    expected: list[Any], actual: list[Any], ordering: bool, rationale: str
) -> None:
    score = run(mlflow_exact, calls(*expected), calls(*actual), should_consider_ordering=ordering)
    assert score.details["rationale"] == rationale


def test_an_empty_list_of_expected_calls_raises() -> None:
    with pytest.raises(OriginalError, match="at least one expected call"):
        run(mlflow_exact, [], [])


def test_the_rationale_contains_arguments_and_the_explanation_does_not() -> None:
    score = run(mlflow_exact, calls(("a", {"x": "secret"})), calls(("a", {"x": "other"})))
    assert "secret" in score.details["rationale"]
    assert score.explanation == "Scores 0: 1 calls missing and 1 not expected"
