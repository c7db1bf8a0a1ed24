"""Google ADK: three match types over one invocation."""

from __future__ import annotations

import pytest

from scorers.call_scorer import OriginalError
from scorers.systems import adk
from tests.scorers.systems.cases import Call, calls, run

X1, X2 = ("a", {"x": 1}), ("a", {"x": 2})

CASES: list[tuple[str, list[Call], list[Call], bool]] = [
    ("EXACT", calls(X1, "b"), calls(X1, "b"), True),
    ("EXACT", calls("a"), calls("a", "b"), False),
    ("EXACT", calls("a", "b"), calls("b", "a"), False),
    ("EXACT", [], [], True),
    ("EXACT", [], calls("a"), False),
    ("EXACT", calls("a"), calls(("a", {})), False),  # None is not {}
    ("EXACT", calls(("a", None)), calls("a"), True),
    ("EXACT", calls(("a", {"x": True})), calls(X1), True),  # Python's ==
    ("IN_ORDER", calls("a", "b"), calls("b", "a", "b"), True),
    ("IN_ORDER", calls("a", "a"), calls("a", "b", "a"), True),
    ("IN_ORDER", calls("a", "b"), calls("b", "a"), False),
    ("IN_ORDER", [], calls("a"), True),  # nothing expected passes whatever was called
    ("IN_ORDER", calls("a"), [], False),
    ("ANY_ORDER", calls("a", "b"), calls("b", "x", "a"), True),
    ("ANY_ORDER", calls("a", "a"), calls("a"), False),
    ("ANY_ORDER", calls(X1, X2), calls(X2, X1), True),
    ("ANY_ORDER", [], calls("a"), True),
]


@pytest.mark.parametrize(("match_type", "expected", "actual", "good"), CASES)
def test_match_types(match_type: str, expected: list[Call], actual: list[Call], good: bool) -> None:
    score = run(adk, expected, actual, match_type=match_type)
    assert score.value == good
    assert score.details == {"status": "PASSED" if good else "FAILED"}


@pytest.mark.parametrize("match_type", ["EXACT", "IN_ORDER", "ANY_ORDER"])
def test_arguments_can_be_ignored(match_type: str) -> None:
    assert run(adk, calls(X1), calls(X2), match_type=match_type).value == 0.0
    assert run(adk, calls(X1), calls(X2), match_type=match_type, ignore_args=True).value == 1.0


@pytest.mark.parametrize("spelling", ["in_order", "In-Order", " IN ORDER "])
def test_match_types_in_other_spellings(spelling: str) -> None:
    assert run(adk, calls("a"), calls("x", "a"), match_type=spelling).value == 1.0


def test_an_unknown_match_type_raises_on_creation() -> None:
    with pytest.raises(OriginalError, match="adk has no match_type 'SOME'; it has EXACT, IN_ORDER, ANY_ORDER"):
        adk.create(match_type="SOME")


def test_the_threshold_only_decides_the_status() -> None:
    score = run(adk, calls("a"), [], threshold=0.0)
    assert (score.value, score.label, score.details["status"]) == (0.0, "pass", "PASSED")


def test_outcomes_are_the_calls_that_were_found() -> None:
    in_order = run(adk, calls("a", "b"), calls("x", "a", "a", "b"), match_type="IN_ORDER")
    assert list(in_order.outcomes) == ["extra", "matched", "extra", "matched"]
    exact = run(adk, calls("a", "b"), calls("a", "c"))
    assert list(exact.outcomes) == ["matched", "extra"]
    assert exact.explanation == "Scores 0: 1 of 2 expected calls were found among 2 by EXACT"
