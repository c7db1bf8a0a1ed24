"""Pydantic Evals: names as multisets and sequences, arguments of one call, a budget; failed calls."""

from __future__ import annotations

from typing import Any

import pytest

from scorers.systems import pydantic_evals
from tests.scorers.systems.cases import Call, calls, run

FAILED: Call = {"tool": "a", "isError": True}


@pytest.mark.parametrize(
    ("expected", "actual", "options", "reason"),
    [
        ("ab", "ba", {}, None),
        ("aab", "ab", {}, "missing tools: 'a' (x1)"),
        ("a", "abb", {}, "unexpected tools: 'b' (x2)"),
        ("a", "abb", {"allow_extra": True}, None),
        ("a", "b", {}, "missing tools: 'a' (x1); unexpected tools: 'b' (x1)"),
        ("", "", {}, None),
    ],
)
def test_tool_correctness(expected: str, actual: str, options: dict[str, Any], reason: str | None) -> None:
    score = run(pydantic_evals, calls(*expected), calls(*actual), evaluator="ToolCorrectness", **options)
    assert (score.value, score.details) == (float(reason is None), {"reason": reason})


@pytest.mark.parametrize(
    ("order", "expected", "actual", "value"),
    [
        ("exact", "ab", "ab", 1.0),
        ("exact", "ab", "ba", 0.0),
        ("in_order", "ab", "ba", 0.5),
        ("in_order", "abc", "axbxc", 0.75),
        ("in_order", "cab", "abc", 2 / 3),  # the longest subsequence, not the leftmost
        ("any_order", "ab", "ba", 1.0),
        ("any_order", "aab", "abb", 2 / 3),
        ("any_order", "", "", 1.0),
        ("in_order", "", "a", 0.0),
        ("in_order", "a", "", 0.0),
    ],
)
def test_trajectory_match(order: str, expected: str, actual: str, value: float) -> None:
    score = run(pydantic_evals, calls(*expected), calls(*actual), evaluator="TrajectoryMatch", order=order)
    assert score.value == pytest.approx(value)


X1, X2 = ("a", {"x": 1, "y": 2}), ("a", {"x": 2})


@pytest.mark.parametrize(
    ("actual", "options", "value"),
    [
        ([X1], {}, 1.0),
        ([X1], {"match_mode": "exact"}, 0.0),
        ([("a", {"x": True})], {"match_mode": "exact"}, 1.0),  # as in Python
        ([X2, X1], {}, 0.0),
        ([X2, X1], {"occurrence": "last"}, 1.0),
        ([X2, X1], {"occurrence": 1}, 1.0),
        ([X2, X1], {"occurrence": 2}, 0.0),
        ([X2, X1], {"occurrence": -1}, 0.0),
        (["a"], {}, 0.0),
        ([("a", None)], {}, 0.0),
        (["b"], {}, 0.0),
    ],
)
def test_argument_correctness(actual: list[Any], options: dict[str, Any], value: float) -> None:
    options = {"evaluator": "ArgumentCorrectness", "tool_name": "a", "expected_arguments": {"x": 1}, **options}
    assert run(pydantic_evals, [], calls(*actual), **options).value == value


@pytest.mark.parametrize("include_failed", [None, True, False])
def test_failed_calls_count_for_the_budget_only(include_failed: bool | None) -> None:
    options = {} if include_failed is None else {"include_failed": include_failed}
    budget = run(pydantic_evals, [], [FAILED], evaluator="MaxToolCalls", max_calls=0, **options)
    names = run(pydantic_evals, calls("a"), [FAILED], evaluator="ToolCorrectness", **options)
    assert budget.value == float(include_failed is False)
    assert names.value == float(include_failed is True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"evaluator": "MaxToolCalls"}, "needs max_calls for the evaluator MaxToolCalls"),
        ({"evaluator": "ArgumentCorrectness"}, "needs expected_arguments and tool_name for the evaluator"),
        (
            {"evaluator": "ToolCorrectness", "order": "exact"},
            "option 'order': the evaluator ToolCorrectness takes none",
        ),
    ],
)
def test_each_evaluator_has_its_own_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pydantic_evals.create(**options)
