"""Strands: names at their positions, in order, as sets; one tool."""

from __future__ import annotations

from typing import Any

import pytest

from scorers.call_scorer import OriginalError
from scorers.systems import strands_scorers
from tests.scorers.systems.cases import calls, run

CASES: list[tuple[str, str, str, float, str]] = [
    ("exact", "ab", "ab", 1.0, "11"),
    ("exact", "a", "ab", 1.0, "10"),  # calls after the last expected one are free
    ("exact", "ab", "ba", 0.0, "00"),
    ("exact", "abc", "ac", 1 / 3, "10"),
    ("in_order", "ab", "xaxbx", 1.0, "01010"),
    ("in_order", "ab", "bab", 1.0, "011"),
    ("in_order", "abc", "bc", 0.0, "00"),  # it stops at the first that is missing
    ("in_order", "", "a", 1.0, "0"),
    ("any_order", "ab", "ba", 1.0, "11"),
    ("any_order", "aa", "aa", 0.5, "11"),  # a set over a list
    ("any_order", "", "a", 1.0, "0"),
    ("any_order", "ab", "", 0.0, ""),
]


@pytest.mark.parametrize(("scorer", "expected", "actual", "value", "matched"), CASES)
def test_scores(scorer: str, expected: str, actual: str, value: float, matched: str) -> None:
    score = run(strands_scorers, calls(*expected), calls(*actual), scorer=scorer)
    assert score.value == pytest.approx(value)
    assert [outcome == "matched" for outcome in score.outcomes] == [one == "1" for one in matched]


def test_exact_cannot_expect_nothing() -> None:
    with pytest.raises(OriginalError, match="there is none"):
        run(strands_scorers, [], [], scorer="exact")


@pytest.mark.parametrize(("actual", "value"), [("ab", 1.0), ("b", 0.0), ("", 0.0)])
def test_tool_called(actual: str, value: float) -> None:
    score = run(strands_scorers, [], calls(*actual), scorer="tool_called", tool="a")
    assert score.value == value
    assert score.details == {"reason": f"tool 'a' was {'' if value else 'not '}called"}


@pytest.mark.parametrize("options", [{"scorer": "tool_called"}, {"scorer": "exact", "tool": "a"}])
def test_the_tool_belongs_to_tool_called(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="'tool' for the scorer tool_called, and for no other"):
        strands_scorers.create(**options)
