"""Evalite: both modes, the weights with and without effect, the reported details."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorers.call_scorer import OriginalError
from scorers.score import Score
from scorers.systems import evalite
from tests.scorers.systems.cases import Call, calls, run

X1, X2 = ("a", {"x": 1}), ("a", {"x": 2})

EXACT: list[tuple[list[Call], list[Call], float]] = [
    (calls("a", "b"), calls("a", "b"), 1.0),
    (calls("a"), calls("a", "b"), 0.5),  # the extra call costs its penalty twice
    (calls("a"), calls("a", "b", "c"), 0.0),
    (calls("a", "b"), calls("a"), 0.5),  # the missing tail costs none
    (calls("a", "b"), calls("b"), 0.0),
    (calls("a", "b"), calls("x", "b"), 0.375),
    (calls("a"), calls(X1), 1.0),  # no input expected: any will do
    (calls(X1), calls("a"), 0.5),
    (calls(X1), calls(X2), 0.5),
    (calls(("a", None)), calls("a"), 0.5),
]

FLEXIBLE: list[tuple[list[Call], list[Call], float]] = [
    (calls("a", "b"), calls("b", "a"), 1.0),
    (calls("a"), calls(X1), 0.5),  # no input expected: none may be given
    (calls(X1), calls(X2), 0.5),
    (calls("a"), calls("a", "b"), 0.75),
    (calls("a", "b"), calls("a"), 0.5),
    (calls("a"), calls("b", "c", "d", "e", "f"), 0.0),
    (calls(X1, X2), calls(X2), 0.5),
    (calls(("a", {"x": 1, "y": 2})), calls(("a", {"y": 2.0, "x": 1})), 1.0),
]


@pytest.mark.parametrize(("expected", "actual", "value"), EXACT)
def test_exact_mode(expected: list[Call], actual: list[Call], value: float) -> None:
    assert run(evalite, expected, actual).value == pytest.approx(value)


@pytest.mark.parametrize(("expected", "actual", "value"), FLEXIBLE)
def test_flexible_mode(expected: list[Call], actual: list[Call], value: float) -> None:
    assert run(evalite, expected, actual, mode="flexible").value == pytest.approx(value)


@pytest.mark.parametrize(
    ("weights", "value"),
    [
        ({}, 0.125),
        ({"exact": 0}, 0.125),  # accepted, and never used
        ({"nameOnly": 1}, 0.375),
        ({"nameOnly": 9}, 1.0),
        ({"wrongPenalty": 0.5}, 0.0),
        ({"wrongPenalty": 0, "extraPenalty": 9}, 0.25),
        ({"nameOnly": -1}, 0.0),
    ],
)
def test_weights_of_exact_mode(weights: dict[str, Any], value: float) -> None:
    # one match by name and one wrong call, of two: (nameOnly - wrongPenalty) / 2
    assert run(evalite, calls(X1, "b"), calls(X2, "x"), weights=weights).value == pytest.approx(value)


@pytest.mark.parametrize(
    ("weights", "value"),
    [({}, 0.625), ({"extraPenalty": 0.5}, 0.5), ({"nameOnly": 0}, 0.375), ({"wrongPenalty": 9}, 0.625)],
)
def test_weights_of_flexible_mode(weights: dict[str, Any], value: float) -> None:
    # one exact match, one by name and one extra, of two: (1 + nameOnly - extraPenalty) / 2
    score = run(evalite, calls(X1, "b"), calls(X2, "b", "z"), mode="flexible", weights=weights)
    assert score.value == pytest.approx(value)


def test_an_unknown_mode_raises_only_if_calls_are_compared() -> None:
    assert run(evalite, [], [], mode="strict").value == 1.0
    assert run(evalite, calls("a"), [], mode="strict").value == 0.0
    with pytest.raises(OriginalError, match="evalite has no mode 'strict'"):
        run(evalite, calls("a"), calls("a"), mode="strict")


def test_details_if_one_side_is_empty() -> None:
    assert run(evalite, calls("a", "b"), []).details["referenceCount"] == 2
    assert run(evalite, [], calls("a")).details["outputCount"] == 1
    assert run(evalite, [], []).details == {"note": "Both empty - perfect match"}


def test_details_of_flexible_mode_list_calls_matched_by_name_as_missing() -> None:
    details = run(evalite, calls(X1, "b"), calls(X2, "z"), mode="flexible").details
    assert details["missing"] == 1
    assert [call["toolName"] for call in details["details"]["missingToolCalls"]] == ["a", "b"]
    assert details["details"]["nameOnlyMatches"] == [{"toolName": "a", "input": {"x": 2}}]
    assert details["details"]["extras"] == [{"toolName": "z"}]


def test_outcomes_and_missing_tools() -> None:
    exact = run(evalite, calls(X1, "b", "c"), calls(X2, "b"))
    assert (list(exact.outcomes), list(exact.missing)) == (["wrong_arguments", "matched"], ["c"])
    flexible = run(evalite, calls(X1, "b", "c"), calls("z", X2, "b"), mode="flexible")
    assert (list(flexible.outcomes), list(flexible.missing)) == (["extra", "wrong_arguments", "matched"], ["c"])
    surplus = run(evalite, calls("a"), calls("b", "a"))
    assert (list(surplus.outcomes), list(surplus.missing)) == (["extra", "extra"], ["a"])


def test_weights_that_overflow_have_no_score() -> None:
    weights = {"nameOnly": 1e308, "wrongPenalty": 1e308}
    score = run(evalite, calls(X1, X1), calls(X2, X2, "c", "d", "e"), weights=weights)
    assert (score.value, score.label) == (None, "fail")


FORMULA = re.compile(r"\((\d+) exact \+ (\S+) \* (\d+) by name - (\S+) \* (\d+) (?:wrong|extra)\) / (\d+) expected")


def recomputed(score: Score) -> float:
    found = FORMULA.match(score.explanation)
    assert found
    exact, weight, by_name, penalty, wrong, expected = map(float, found.groups())
    return max(0.0, min(1.0, (exact + weight * by_name - penalty * wrong) / expected))


@given(
    st.lists(st.sampled_from(["a", "b", X1, X2]), min_size=1, max_size=5),
    st.lists(st.sampled_from(["a", "b", X1, X2]), min_size=1, max_size=5),
    st.sampled_from(["exact", "flexible"]),
    st.floats(0, 2),
)
def test_the_explanation_recomputes_the_score(expected: list[Any], actual: list[Any], mode: str, weight: float) -> None:
    score = run(evalite, calls(*expected), calls(*actual), mode=mode, weights={"nameOnly": weight})
    assert score.value == pytest.approx(recomputed(score))


def test_weights_are_numbers() -> None:
    with pytest.raises(ValueError, match=r"evalite option 'weights\.nameOnly'"):
        evalite.create(weights={"nameOnly": "half"})
