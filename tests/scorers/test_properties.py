"""Properties of the native score for every rule and every run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from scorers import CompiledRule, Score, Trajectory
from scorers.conformance.expectation import compile_expectation
from scorers.rules.model import CONSTRAINTS_OF_TWO, Expect
from tests.scorers.examples import rule, run
from tests.scorers.reference import lcs_f1, words
from tests.scorers.strategies import NAMES, patterns, trajectories

names = st.lists(st.sampled_from(NAMES), max_size=12)
constraints = st.lists(
    st.one_of(
        st.builds(
            lambda template, pair: {template: list(pair)}, st.sampled_from(CONSTRAINTS_OF_TWO), st.permutations("ab")
        ),
        st.builds(
            lambda template, tool: {template: tool}, st.sampled_from(["existence", "absence"]), st.sampled_from(NAMES)
        ),
    ),
    max_size=2,
)


@st.composite
def rules(draw: st.DrawFn) -> CompiledRule:
    """A rule of a random pattern, or of none, with limits and constraints around it."""
    expect: dict[str, Any] = draw(st.one_of(patterns, st.just({})))
    some = st.lists(st.sampled_from("efg"), max_size=2)
    limits: dict[str, st.SearchStrategy[Any]] = {
        "max_calls": st.integers(0, 6),
        "max_errors": st.integers(0, 2),
        "allow_extra": some,
        "forbid": some,
        "retries": st.sampled_from(["count", "collapse"]),
    }
    chosen: dict[str, Any] = draw(st.fixed_dictionaries({}, optional=limits))
    return rule({**expect, **chosen}, constraints=draw(constraints))


@settings(max_examples=300, deadline=None)
@given(rules(), trajectories(most=7))
def test_a_score_is_bounded_deterministic_and_complete(compiled: CompiledRule, trajectory: Trajectory) -> None:
    score = compiled.native.score(trajectory)

    assert score.value is not None
    assert 0.0 <= score.value <= 1.0
    assert len(score.outcomes) == len(trajectory.calls)
    assert score == CompiledRule(compiled.rule).native.score(trajectory)
    assert score == compiled.native.score(trajectory)
    assert not (score.label == "pass" and score.value < 1.0)


COSTS = re.compile(r"\(cost (\d+)\)")
FORMULA = re.compile(r"^score (\d\.\d{3}) = 1 - (\d+)/\((\d+(?: \+ \d+)+)\): ")


@settings(max_examples=300, deadline=None)
@given(rules(), trajectories(most=7))
def test_the_value_can_be_recomputed_from_the_explanation(compiled: CompiledRule, trajectory: Trajectory) -> None:
    score = compiled.native.score(trajectory)
    assert score.value is not None
    if score.explanation == "score 1.000: nothing expected, nothing called":
        assert score.value == 1.0
        return

    formula = FORMULA.match(score.explanation)
    assert formula is not None, score.explanation
    total = sum(map(int, formula[3].split(" + ")))

    assert score.value == float(1 - Fraction(int(formula[2]), total))
    assert formula[1] == f"{score.value:.3f}"
    assert sum(map(int, COSTS.findall(score.explanation))) == int(formula[2])


@settings(max_examples=200, deadline=None)
@given(patterns, st.data())
def test_a_run_that_the_pattern_accepts_scores_1(expect: dict[str, Any], data: st.DataObject) -> None:
    element = compile_expectation(Expect.model_validate(expect)).element
    assert element is not None
    word = data.draw(st.sampled_from(words(element)))
    assume(all(isinstance(tool.tool, str) and tool.tool in NAMES for tool in word))

    score = rule(expect).native.score(run(*((str(tool.tool), tool.arguments) for tool in word)))

    assert (score.value, score.label) == (1.0, "pass")
    assert set(score.outcomes) <= {"matched"}
    assert score.missing == ()


@given(names, names)
def test_on_plain_sequences_it_is_the_f1_of_the_longest_common_subsequence(
    expected: Sequence[str], actual: Sequence[str]
) -> None:
    score = rule({"sequence": list(expected)}).native.score(run(*actual))

    assert score.value == pytest.approx(lcs_f1(expected, actual), abs=1e-12)
    assert score.details["f1"] == pytest.approx(lcs_f1(expected, actual), abs=1e-12)


@given(names, names)
def test_with_extras_allowed_it_is_recall(expected: Sequence[str], actual: Sequence[str]) -> None:
    score = rule({"mode": "any_order", "tools": list(expected)}).native.score(run(*actual))

    found = sum(min(expected.count(tool), actual.count(tool)) for tool in set(expected))
    assert score.value == pytest.approx(found / len(expected) if expected else 1.0)


def edits(score: Score) -> int:
    assert score.value is not None
    total: int = score.details["expected"] + score.details["made"]
    return round((1 - score.value) * total)


@settings(max_examples=2_000, deadline=None)  # one in seven has a call that matches
@given(patterns, trajectories(most=6))
def test_leaving_out_a_correct_call_never_raises_the_value(expect: dict[str, Any], trajectory: Trajectory) -> None:
    native = rule(expect).native
    before = native.score(trajectory)
    assert before.value is not None
    for at, outcome in enumerate(before.outcomes):
        if outcome != "matched":
            continue
        without = replace(trajectory, calls=[*trajectory.calls[:at], *trajectory.calls[at + 1 :]])
        after = native.score(without)
        # A call that some best reading leaves over is not needed: its place is another's, as with the second of two equal ones.
        if edits(after) >= edits(before):
            assert after.value is not None
            assert after.value <= before.value


@settings(max_examples=200, deadline=None)
@given(rules(), trajectories(most=6), st.randoms(use_true_random=False))
def test_the_order_in_which_calls_of_one_step_are_listed_does_not_matter(
    compiled: CompiledRule, trajectory: Trajectory, random: Any
) -> None:
    order = sorted(range(len(trajectory.calls)), key=lambda at: (trajectory.calls[at].step, random.random()))
    shuffled = replace(trajectory, calls=[trajectory.calls[at] for at in order])

    one, other = compiled.native.score(trajectory), compiled.native.score(shuffled)

    assert (one.value, one.label, one.explanation, one.missing) == (
        other.value,
        other.label,
        other.explanation,
        other.missing,
    )
    assert sorted(one.outcomes) == sorted(other.outcomes)


@settings(max_examples=200, deadline=None)
@given(patterns, trajectories(most=5))
def test_less_known_order_never_lowers_the_value(expect: dict[str, Any], trajectory: Trajectory) -> None:
    native = rule(expect).native
    joined = replace(trajectory, calls=[replace(call, step=call.step // 2) for call in trajectory.calls])

    at_least, value = native.score(trajectory).value, native.score(joined).value

    assert at_least is not None
    assert value is not None
    assert value >= at_least
