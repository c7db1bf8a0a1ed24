"""PyPI's tool-scorer: each metric, the pairing of arguments, and the weighted score."""

from __future__ import annotations

from typing import Any

import pytest

from scorers.call_scorer import OriginalError
from scorers.systems import tool_scorer
from tests.scorers.systems.cases import Call, calls, run

X1, X2, X12 = ("a", {"x": 1}), ("a", {"x": 2}), ("a", {"x": 1, "y": 2})


@pytest.mark.parametrize(
    ("metric", "expected", "actual", "options", "value"),
    [
        ("invocation_accuracy", "ab", "abb", {}, 1.0),  # sets
        ("invocation_accuracy", "ab", "ac", {}, 0.0),
        ("invocation_accuracy", "abc", "ab", {}, 0.5),
        ("selection_accuracy", "ab", "aaac", {}, 0.75),
        ("selection_accuracy", "", "a", {}, 0.0),
        ("sequence_accuracy", "abc", "acb", {}, 1 / 3),
        ("sequence_accuracy", "", "", {}, 1.0),
        ("tool_correctness", "aab", "b", {}, 0.5),
        ("tool_correctness", "aab", "baa", {"strict_order": True}, 1 / 3),
        ("partial_trajectory", "aab", "ba", {}, 2 / 3),
        ("trajectory_accuracy", "ab", "abc", {}, 2 / 3),
        ("trajectory_accuracy", "ab", "b", {}, 0.0),
        ("required_call_recall", "aa", "a", {}, 0.5),
    ],
)
def test_metrics_of_names(metric: str, expected: str, actual: str, options: dict[str, Any], value: float) -> None:
    score = run(tool_scorer, calls(*expected), calls(*actual), metric=metric, **options)
    assert score.value == pytest.approx(value)


@pytest.mark.parametrize(
    ("expected", "actual", "options", "value"),
    [
        ([X1], [X1], {}, 1.0),
        ([X1, X2], [X2, X1], {}, 1.0),  # paired for the most equal arguments
        ([X1], [X12], {}, 2 / 3),
        (["a"], [X1], {}, 1.0),  # arguments that are not given are not checked
        ([("a", {})], [X1], {}, 0.0),
        ([("a", {})], ["a"], {}, 1.0),
        ([X1], ["b"], {}, 0.0),
        ([("a", {"x": " u"})], [("a", {"x": "u "})], {}, 1.0),
        ([("a", {"x": " u"})], [("a", {"x": "u "})], {"strict": True}, 0.0),
        ([("a", {"x": [1.0]})], [("a", {"x": [1]})], {"strict": True}, 0.0),
        ([("a", {"x": {"k": 1}})], [("a", {"x": {"k": 1}})], {"strict": True}, 1.0),
        ([X1] * 13, [X1, *[X2] * 13], {}, 1 / 13),
    ],
)
def test_argument_f1(expected: list[Any], actual: list[Any], options: dict[str, Any], value: float) -> None:
    score = run(tool_scorer, calls(*expected), calls(*actual), metric="argument_f1", **options)
    assert score.value == pytest.approx(value)


def test_pairs_of_more_than_twelve_calls_are_greedy() -> None:
    expected, actual = calls(("a", {}), ("a", {"x": 1})), calls(X1, *["a"] * 11)
    assert run(tool_scorer, expected, actual, metric="argument_f1").value == 1.0
    assert run(tool_scorer, expected, [*actual, *calls("a")], metric="argument_f1").value == 0.0


def test_failed_calls_do_not_recall() -> None:
    failed: Call = {"tool": "a", "isError": True}
    assert run(tool_scorer, calls("a"), [failed], metric="required_call_recall").value == 0.0
    nothing = run(tool_scorer, [], [], metric="required_call_recall")
    assert (nothing.value, nothing.label) == (None, "pass")


def test_the_score_is_the_weighted_mean() -> None:
    expected, actual = calls(*"ab"), calls(*"aab")
    score = run(tool_scorer, expected, actual)
    assert score.value == pytest.approx(0.4 + 0.3 + 0.2 * 2 / 3 + 0.1 * 2 / 3)
    assert score.explanation == (
        "score: 0.4 * 1 selection_accuracy + 0.3 * 1 argument_f1 + 0.2 * 0.6667 sequence_accuracy + 0.1 * 0.6667 redundant_rate"
    )
    only = {"selection_accuracy": 0, "argument_f1": 0, "sequence_accuracy": 2, "redundant_rate": 0}
    assert run(tool_scorer, expected, actual, weights=only).value == pytest.approx(2 / 3)


def test_what_the_original_refuses() -> None:
    nothing = {"selection_accuracy": 0, "argument_f1": 0, "sequence_accuracy": 0, "redundant_rate": 0}
    with pytest.raises(OriginalError, match="one of them must be positive"):
        tool_scorer.create(weights=nothing)
    with pytest.raises(OriginalError, match="name is empty"):
        run(tool_scorer, [], calls(""))
    with pytest.raises(OriginalError, match="no float can hold"):
        run(tool_scorer, calls(("a", {"x": 1})), calls(("a", {"x": 10**400})))


def test_options_of_another_metric_are_refused() -> None:
    with pytest.raises(ValueError, match="'strict_order': it is for the metric tool_correctness"):
        tool_scorer.create(metric="score", strict_order=True)
