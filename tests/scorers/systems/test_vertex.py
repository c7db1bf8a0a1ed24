"""Vertex AI's trajectory metrics by their definitions."""

from __future__ import annotations

from typing import Any

import pytest

from scorers.systems import vertex
from tests.scorers.systems.cases import calls, run

CASES: list[tuple[str, str, str, float]] = [
    ("exact_match", "ab", "ab", 1.0),
    ("exact_match", "ab", "ba", 0.0),
    ("exact_match", "a", "ab", 0.0),
    ("exact_match", "", "", 1.0),
    ("in_order_match", "ab", "axb", 1.0),
    ("in_order_match", "ab", "ba", 0.0),
    ("any_order_match", "ab", "bxa", 1.0),
    ("any_order_match", "aa", "ab", 0.0),
    ("precision", "ab", "abcd", 0.5),
    ("precision", "a", "", 0.0),
    ("precision", "a", "aa", 1.0),
    ("recall", "abcd", "ab", 0.5),
    ("recall", "", "a", 0.0),
    ("recall", "aa", "a", 1.0),
]


@pytest.mark.parametrize(("metric", "expected", "actual", "value"), CASES)
def test_metrics(metric: str, expected: str, actual: str, value: float) -> None:
    score = run(vertex, calls(*expected), calls(*actual), metric=metric)
    assert score.value == value
    assert score.details == {"metric": metric}


@pytest.mark.parametrize(
    ("ours", "theirs", "equal"),
    [
        ({"x": 1, "y": 2}, {"y": 2, "x": 1}, True),
        ({"x": 1}, {"x": 1.0}, True),
        ({"x": 1}, {"x": True}, False),
        ({"x": 1}, {"x": "1"}, False),
        ({}, None, True),
    ],
)
def test_arguments_are_equal_as_json(ours: Any, theirs: Any, equal: bool) -> None:
    assert run(vertex, calls(("a", ours)), calls(("a", theirs))).value == equal


def test_single_tool_use() -> None:
    assert run(vertex, [], calls("b", "a"), metric="single_tool_use", tool_name="a").value == 1.0
    score = run(vertex, [], calls("b"), metric="single_tool_use", tool_name="a")
    assert (score.value, score.explanation) == (0.0, "'a' was not among the 1 calls made")


@pytest.mark.parametrize("options", [{"metric": "single_tool_use"}, {"metric": "recall", "tool_name": "a"}])
def test_only_single_tool_use_has_a_tool_name(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="tool_name for the metric single_tool_use"):
        vertex.create(**options)


def test_outcomes() -> None:
    score = run(vertex, calls("a", "b"), calls("x", "b", "a"), metric="precision")
    assert list(score.outcomes) == ["extra", "matched", "matched"]
