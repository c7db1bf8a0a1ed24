"""DeepEval: weights of pairs, calls used up by value, the heaviest common subsequence."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorers.call_scorer import OriginalError
from scorers.calls import Call as PairedCall
from scorers.systems import deepeval
from tests.scorers.systems.cases import Call, calls, run

A0: tuple[str, Any] = ("a", {})
A1: tuple[str, Any] = ("a", {"x": 1})
A2: tuple[str, Any] = ("a", {"x": 2})

CASES: list[tuple[list[Call], list[Call], dict[str, Any], float]] = [
    ([], [], {}, 1.0),
    ([], calls(A0), {}, 0.0),
    ([], calls(A0), {"should_consider_ordering": True}, 0.0),
    ([], [], {"should_exact_match": True}, 1.0),
    (calls(A0), calls(A0, "b", "c"), {}, 1.0),  # extras are free
    (calls(A0, A0), calls(A0, A0), {}, 0.5),  # two identical calls are spent together
    (calls(A0, A0), calls(A1, A2), {}, 1.0),
    (calls(A1), calls(A2), {}, 1.0),  # arguments are ignored unless asked for
    (calls(A1), calls(A2), {"check_args": True}, 0.0),
    (calls(("a", {"x": 1, "y": 2})), calls(("a", {"x": 1, "y": 3})), {"check_args": True}, 0.5),
    (calls(("a", {"x": {"k": 1, "j": 2}})), calls(("a", {"x": {"k": 1}})), {"check_args": True}, 0.5),
    (calls(("a", {"x": 1})), calls(("a", {"x": 1, "y": 2})), {"check_args": True}, 0.5),
    (calls("a", "b", "c"), calls("b", "a", "c"), {"should_consider_ordering": True}, 2 / 3),
    (calls("a", "b"), calls("a", "b"), {"should_exact_match": True}, 1.0),
    (calls("a", "b"), calls("a", "b", "c"), {"should_exact_match": True}, 0.0),
    (calls(A1), calls(A2), {"should_exact_match": True}, 1.0),
    (calls(A1), calls(A2), {"should_exact_match": True, "check_args": True}, 0.0),
    (calls("a"), calls(A0), {"should_exact_match": True, "check_args": True}, 0.0),  # and does not raise
    (calls("a", "b"), calls("a"), {"strict_mode": True}, 0.0),
    (calls("a", "b"), calls("b", "a"), {"strict_mode": True}, 1.0),
]


@pytest.mark.parametrize(("expected", "actual", "options", "value"), CASES)
def test_scores(expected: list[Call], actual: list[Call], options: dict[str, Any], value: float) -> None:
    assert run(deepeval, expected, actual, **options).value == pytest.approx(value)


@pytest.mark.parametrize("ordering", [True, False])
def test_outputs_are_ignored_unless_checked(ordering: bool) -> None:
    expected, actual = [{"tool": "a", "output": "ok"}], [{"tool": "a", "output": "no"}]
    assert run(deepeval, expected, actual, should_consider_ordering=ordering).value == 1.0
    assert run(deepeval, expected, actual, should_consider_ordering=ordering, check_output=True).value == 0.0


def test_the_first_of_the_best_calls_is_taken() -> None:
    score = run(
        deepeval, calls(("a", {"x": 1, "y": 2})), calls(("a", {"x": 1}), ("a", {"x": 1, "y": 2})), check_args=True
    )
    assert (score.value, list(score.outcomes)) == (1.0, ["extra", "matched"])
    tie = run(deepeval, calls(A1), calls(A1, A2))
    assert list(tie.outcomes) == ["matched", "extra"]


@pytest.mark.parametrize(
    ("options", "success"),
    [({}, True), ({"threshold": 0.6}, False), ({"strict_mode": True, "threshold": 0.1}, False)],
)
def test_success_is_the_threshold_and_strict_mode_sets_it_to_1(options: dict[str, Any], success: bool) -> None:
    score = run(deepeval, calls("a", "b"), calls("a"), **options)
    assert score.details == {"success": success}
    assert score.label == ("pass" if success else "fail")


@pytest.mark.parametrize("ordering", [True, False])
@pytest.mark.parametrize(("ours", "theirs"), [("a", A0), (A1, "a"), (("a", None), A1)])
def test_missing_arguments_cannot_be_compared(ours: Any, theirs: Any, ordering: bool) -> None:
    with pytest.raises(OriginalError, match="two calls of 'a' where one has no arguments"):
        run(deepeval, calls(ours), calls(theirs), check_args=True, should_consider_ordering=ordering)
    assert run(deepeval, calls("a"), calls("a"), check_args=True).value == 1.0


ARGUMENTS = st.dictionaries(st.sampled_from("xyz"), st.integers(0, 1), max_size=3)
SOME_CALLS = st.lists(st.tuples(st.sampled_from("ab"), ARGUMENTS), max_size=4)


@given(SOME_CALLS, SOME_CALLS)
def test_ordering_is_the_best_of_all_common_subsequences(expected: list[Any], actual: list[Any]) -> None:
    options = deepeval.DeepevalOptions(check_args=True)
    wanted = [PairedCall(*one) for one in expected]
    made = [PairedCall(*one) for one in actual]
    best = max(
        sum(options.weight(wanted[i], made[j]) for i, j in zip(ours, theirs, strict=True))
        for size in range(min(len(wanted), len(made)) + 1)
        for ours in combinations(range(len(wanted)), size)
        for theirs in combinations(range(len(made)), size)
    )
    score = run(deepeval, calls(*expected), calls(*actual), check_args=True, should_consider_ordering=True)
    assert score.value == pytest.approx(best / len(expected) if expected else float(not actual))


@given(SOME_CALLS, SOME_CALLS)
def test_the_explanation_recomputes_the_score(expected: list[Any], actual: list[Any]) -> None:
    score = run(deepeval, calls(*expected), calls(*actual))
    weight = float(score.explanation.split()[1])
    assert score.value == pytest.approx(weight / len(expected) if expected else float(not actual), abs=1e-5)
