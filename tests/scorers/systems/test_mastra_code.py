"""Mastra's code scorer: first positions, states, and what cannot be expressed."""

from __future__ import annotations

from typing import Any

import pytest

from scorers.call_scorer import OriginalError
from scorers.systems import mastra_code
from tests.scorers.systems.cases import calls, run

CASES: list[tuple[str, dict[str, Any], float]] = [
    ("a", {"expectedTool": "a"}, 1),
    ("ba", {"expectedTool": "a"}, 1),
    ("ba", {"expectedTool": "a", "strictMode": True}, 0),
    ("aa", {"expectedTool": "a", "strictMode": True}, 0),
    ("a", {"expectedTool": "A"}, 0),
    ("", {"expectedTool": "a"}, 0),
    ("axb", {"expectedToolOrder": ["a", "b"]}, 1),
    ("ba", {"expectedToolOrder": ["a", "b"]}, 0),
    ("bab", {"expectedToolOrder": ["a", "b"]}, 0),
    ("aa", {"expectedToolOrder": ["a", "a"]}, 0),
    ("aa", {"expectedToolOrder": ["a", "a"], "strictMode": True}, 1),
    ("ab", {"expectedToolOrder": ["a", "b"], "expectedTool": "z"}, 1),
    ("a", {"expectedToolOrder": ["a", "b"], "expectedTool": "a"}, 0),
    ("a", {"expectedToolOrder": [], "expectedTool": "a"}, 1),
    ("a", {"expectedToolOrder": []}, 0),
    ("", {"expectedToolOrder": []}, 0),
    ("ab", {"expectedTool": "a", "layout": "per_message"}, 1),
]


@pytest.mark.parametrize(("tools", "options", "value"), CASES)
def test_scores(tools: str, options: dict[str, Any], value: float) -> None:
    score = run(mastra_code, [], calls(*tools), **options)
    assert score.value == value
    assert score.label == ("pass" if value else "fail")
    assert score.explanation.startswith(f"Scores {value:g}: ")


@pytest.mark.parametrize(
    ("state", "counts"),
    [("result", True), ("call", True), ("output-error", True), (None, True), ("partial-call", False), ("other", False)],
)
def test_a_call_that_threw_counts_and_an_unfinished_one_does_not(state: str | None, counts: bool) -> None:
    score = run(mastra_code, [], [{"tool": "a", "state": state}], expectedTool="a")
    assert score.details["hasToolCalls"] is counts
    assert score.value == counts


def test_reports_both_checks() -> None:
    score = run(mastra_code, [], calls("b", "a"), expectedTool="a", expectedToolOrder=["a", "b"])
    assert score.details == {
        "actualTools": ["b", "a"],
        "hasToolCalls": True,
        "correctToolCalled": True,
        "correctOrderCalled": False,
    }


def test_any_calls_satisfy_an_empty_order_unless_strict() -> None:
    lenient = run(mastra_code, [], calls("a"), expectedToolOrder=[])
    strict = run(mastra_code, [], calls("a"), expectedToolOrder=[], strictMode=True)
    assert lenient.details["correctOrderCalled"] is True
    assert strict.details["correctOrderCalled"] is False


def test_the_explanation_shows_the_first_positions() -> None:
    score = run(mastra_code, [], calls("b", "a", "b"), expectedToolOrder=["a", "b", "c"])
    assert "at the places [1, 0, None]" in score.explanation


@pytest.mark.parametrize("options", [{}, {"expectedTool": ""}, {"expectedTool": None, "strictMode": True}])
def test_without_an_expectation_creation_raises(options: dict[str, Any]) -> None:
    with pytest.raises(OriginalError, match="expectedTool or expectedToolOrder"):
        mastra_code.create(**options)


def test_options_have_the_names_of_the_original() -> None:
    with pytest.raises(ValueError, match=r"mastra_code option 'expectedToolOrder\.1' must be text, not 5"):
        mastra_code.create(expectedToolOrder=["a", 5])
