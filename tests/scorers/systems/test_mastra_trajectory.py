"""Mastra's trajectory scorers: the orders, budgets, retries, forbidden calls, and their weighted mean."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scorers.systems import mastra_trajectory
from scorers.systems.equality import stringify_key
from tests.scorers.systems.cases import Call, calls, run


def steps(*successes: bool) -> list[Call]:
    return [{"tool": "a", "success": success} for success in successes]


@pytest.mark.parametrize(
    ("ordering", "expected", "actual", "value"),
    [
        ("strict", "ab", "ab", 1.0),
        ("strict", "ab", "abc", 0.75),  # half a step less for the extra one
        ("strict", "ab", "ba", 0.0),
        ("strict", "a", "bcd", 0.0),
        ("relaxed", "abc", "ac", 0.67),
        ("relaxed", "cab", "abc", 0.33),  # greedy: c is found last, and hides the rest
        ("relaxed", "ab", "xaxb", 1.0),
        ("unordered", "ab", "ba", 1.0),
        ("unordered", "aa", "a", 0.5),
        ("strict", "", "", 1.0),
        ("relaxed", "", "a", 0.0),
    ],
)
def test_accuracy(ordering: str, expected: str, actual: str, value: float) -> None:
    score = run(mastra_trajectory, calls(*expected), calls(*actual), scorer="accuracy", ordering=ordering)
    assert score.value == value
    assert score.details["comparison"]["score"] == value


def test_repeated_steps_cost_a_tenth_each_where_they_are_not_allowed() -> None:
    options = {"scorer": "accuracy", "allowRepeatedSteps": False}
    assert run(mastra_trajectory, calls(*"aabb"), calls(*"aabb"), **options).value == 0.8


def test_the_comparison_names_missing_extra_and_displaced_steps() -> None:
    score = run(mastra_trajectory, calls(*"abc"), calls(*"bxa"), scorer="accuracy")
    comparison = score.details["comparison"]
    assert (comparison["missingSteps"], comparison["extraSteps"]) == (["b", "c"], ["x"])
    assert comparison["outOfOrderSteps"] == ["b"]
    assert list(score.outcomes) == ["extra", "extra", "matched"]


X1 = ("a", {"x": 1, "y": 2})


@pytest.mark.parametrize(
    ("expected", "actual", "typed", "value"),
    [
        (X1, ("a", {"x": 2}), False, 1.0),
        (X1, ("a", {"x": 2}), True, 0.0),
        (X1, ("a", {"y": 2, "x": 1}), True, 0.0),  # as JSON texts
        (("a", {"2": 1, "1": 2}), ("a", {"1": 2, "2": 1}), True, 1.0),  # JavaScript sorts indexes
        ("a", X1, True, 1.0),
        (X1, "a", True, 0.0),
        (("a", None), "a", True, 0.0),
        (("a", None), ("a", None), True, 1.0),
        (("a", {"x": 1}), ("a", {"x": 1.0}), True, 1.0),
        (("a", {"x": 1}), ("a", {"x": True}), True, 0.0),
    ],
)
def test_arguments_count_for_typed_steps_only(expected: Any, actual: Any, typed: bool, value: float) -> None:
    assert run(mastra_trajectory, calls(expected), calls(actual), scorer="accuracy", typed=typed).value == value


def test_success_of_typed_steps_is_compared_where_it_is_expected() -> None:
    assert run(mastra_trajectory, steps(True), steps(False), scorer="accuracy", typed=True).value == 0.0
    assert run(mastra_trajectory, calls("a"), steps(False), scorer="accuracy", typed=True).value == 1.0


@pytest.mark.parametrize(
    ("options", "actual", "score"),
    [
        ({"maxSteps": 2}, calls(*"ab"), 1.0),
        ({"maxSteps": 2}, calls(*"abc"), 0.75),
        ({"maxSteps": 2, "noRedundantCalls": False}, calls(*"abc"), 0.5),
        ({"maxSteps": 0, "noRedundantCalls": False}, calls("a"), 0.0),
        ({"noRedundantCalls": True}, calls(*"aaa"), 0.6),
        ({"noRedundantCalls": True}, calls(("a", {"x": 1, "y": 2}), ("a", {"y": 2, "x": 1})), 1.0),
        ({"noRedundantCalls": False}, calls(*"aaa"), 1.0),
    ],
)
def test_efficiency(options: dict[str, Any], actual: list[Call], score: float) -> None:
    assert run(mastra_trajectory, calls("a"), actual, **options).details["efficiency"]["score"] == score


@pytest.mark.parametrize(
    ("actual", "retries", "score"),
    [
        (steps(True, True), 0, 1.0),
        (steps(False, True), 1, 1.0),
        (steps(False, False, False, True), 3, 0.8),
        ([*steps(False), *calls("b"), *steps(True)], 0, 1.0),
    ],
)
def test_retries(actual: list[Call], retries: int, score: float) -> None:
    failures = run(mastra_trajectory, calls("a"), actual).details["toolFailures"]
    assert (failures["totalRetries"], failures["score"]) == (retries, score)


def test_a_fallback_is_named() -> None:
    failures = run(mastra_trajectory, calls("a"), [*steps(False, False), *calls("b")]).details["toolFailures"]
    (pattern,) = failures["patterns"]
    assert pattern == {
        "toolName": "a",
        "retryCount": 1,
        "fellBackToAlternative": True,
        "alternativeTool": "b",
        "eventuallySucceeded": False,
    }


@pytest.mark.parametrize(
    ("options", "violated"),
    [
        ({"blacklistedTools": ["b"]}, True),
        ({"blacklistedTools": ["x"]}, False),
        ({"blacklistedSequences": [["b", "c"]]}, True),
        ({"blacklistedSequences": [["a", "c"]]}, False),
        ({"blacklistedSequences": [[], ["a", "b", "c", "d"]]}, False),
    ],
)
def test_forbidden_calls_make_the_score_0(options: dict[str, Any], violated: bool) -> None:
    score = run(mastra_trajectory, calls(*"abc"), calls(*"abc"), **options)
    assert score.value == (0.0 if violated else 1.0)
    assert ("Blacklist violation" in score.details["reason"]) == violated


def test_the_total_is_the_weighted_mean_of_what_is_active() -> None:
    options = {"maxSteps": 1, "noRedundantCalls": False}
    assert run(mastra_trajectory, calls(*"ab"), calls(*"ab"), **options).value == 0.57  # 0.4 / 0.7
    score = run(mastra_trajectory, calls(*"ab"), calls(*"ab"), **options, weights={"efficiency": -1})
    assert score.value == 1.0
    assert score.explanation.startswith("(0.4 * 1 accuracy + 0 * 0 efficiency) / 0.4; ")
    nothing = {"accuracy": 0, "efficiency": 0}
    assert run(mastra_trajectory, calls("a"), calls("b"), **options, weights=nothing).value == 1.0


def test_the_reason_is_that_of_the_original() -> None:
    score = run(mastra_trajectory, calls(*"ab"), [*steps(False, True), *calls("c")], maxSteps=2, noRedundantCalls=True)
    assert score.details["reason"].split("\n") == [
        "Score: 0.66",
        "Accuracy (0.5): 1/2 expected steps matched. missing: b. extra: c.",
        "Efficiency (0.65): over step budget (3 steps). redundant calls: a.",
        "Tool failures (1): 1 total retries.",
    ]


@pytest.mark.parametrize(
    "options", [{"maxSteps": -1}, {"ordering": "loose"}, {"maxTotalTokens": 5}, {"weights": {"x": 1}}]
)
def test_invalid_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="mastra_trajectory"):
        mastra_trajectory.create(**options)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ('{"b": 1, "a": 2}', '{"a": 2, "b": 1}', False),
        ('{"10": 1, "9": 2, "b": 3}', '{"b": 3, "9": 2, "10": 1}', True),
        ('{"01": 1, "1": 2}', '{"1": 2, "01": 1}', True),  # 01 is no index, and comes last
        ('{"4294967295": 1, "a": 2}', '{"a": 2, "4294967295": 1}', False),  # nor is this
        ('{"4294967294": 1, "a": 2}', '{"a": 2, "4294967294": 1}', True),
        ("9007199254740993", "9007199254740992", True),
        ("-0.0", "0", True),
        ("1e400", "null", True),
        ("[1]", '{"0": 1}', False),
        ('"1"', "1", False),
        ("true", "1", False),
    ],
)
def test_json_texts(one: str, other: str, equal: bool) -> None:
    assert (stringify_key(json.loads(one)) == stringify_key(json.loads(other))) is equal
