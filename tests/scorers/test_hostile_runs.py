"""Hostile runs: every scorer of a rule returns a score, in bounded time and memory."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorers import SCORERS, CompiledRule, Doubt, ToolCall, Trajectory, load_rules
from scorers.registry import JUDGES
from scorers.trajectory import DoubtName
from tests.operations import within
from tests.scorers.examples import refund_file, rule, run
from tests.scorers.systems.cases import NEEDED_OPTIONS

NAMES = ["lookup_order", "check_policy", "refund_card", "delete_x", "log_x", "", "\ud800", "a\x00b", "x" * 5_000]

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.just(10**400)
    | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
arguments = st.one_of(st.none(), st.dictionaries(st.sampled_from(["order_id", "x", ""]), json_values, max_size=3))
calls = st.builds(
    ToolCall,
    name=st.sampled_from(NAMES),
    arguments=arguments,
    status=st.sampled_from(["ok", "error", "unset"]),
    executed=st.booleans(),
    step=st.integers(-2, 4),
)


def trajectory(made: list[ToolCall], names: list[DoubtName]) -> Trajectory:
    """A run all of whose calls are in doubt."""
    places = range(len(made))
    backwards = [[at] for at in reversed(places)]
    return Trajectory(made, doubts=[Doubt(name, places, orders=[[places], backwards]) for name in names])


doubts = st.lists(st.sampled_from(get_args(DoubtName)), max_size=2)
trajectories = st.builds(trajectory, st.lists(calls, max_size=8), doubts)

SYSTEMS = sorted(SCORERS.keys() - JUDGES.keys(), key=lambda name: name != "trajectory")


def with_every_system() -> CompiledRule:
    """The example's rule with every scorer that asks no model."""
    document = refund_file()
    document["rules"][0]["scorers"] = [{"system": name, **NEEDED_OPTIONS.get(name, {})} for name in SYSTEMS]
    return load_rules(document).rules[0]


EVERY_SYSTEM = with_every_system()


@settings(max_examples=200, deadline=None)
@given(trajectories)
def test_every_scorer_scores_any_run(trajectory: Trajectory) -> None:
    evaluations = EVERY_SYSTEM.evaluate(trajectory)

    assert [evaluation.name for evaluation in evaluations] == SYSTEMS
    for evaluation in evaluations:
        score = evaluation.score
        assert (score.value is None) == (score.label == "error") or score.value is None
        assert score.label != "error" or isinstance(score.details["error.type"], str)
    native = evaluations[0].score
    assert native.label != "error"
    assert len(native.outcomes) == len(trajectory.calls)
    assert native.explanation.encode("utf-8")
    json.dumps(dict(native.details), allow_nan=False)


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"order_id": value}
    return value


@pytest.mark.parametrize(
    "given_arguments",
    [deep(50_000), {"order_id": "x" * 10_000_000}, {"order_id": 10**10_000}, {str(at): at for at in range(100_000)}],
    ids=["deep", "long", "large", "many"],
)
def test_hostile_arguments(given_arguments: dict[str, Any]) -> None:
    native = EVERY_SYSTEM.evaluate(run(("lookup_order", given_arguments)))[0].score

    assert native.label == "fail"
    assert native.outcomes == ("wrong_arguments",)


LONG = 20_000


@pytest.mark.parametrize(
    ("expect", "names"),
    [
        ({"sequence": ["a", "b"]}, ["a"] * LONG),
        ({"sequence": ["a", "b"]}, ["a", "b"] * (LONG // 2)),
        ({"any_order": ["a", "b"]}, ["b", "a"] * (LONG // 2)),
        ({"mode": "in_order", "tools": ["a", "b"]}, ["x"] * LONG + ["a", "b"]),
        ({"sequence": ["a", {"repeat": {"one_of": ["b", "c"]}}, "d"]}, ["a", *["b", "c"] * 1_000, "d"]),
        ({"sequence": ["a", {"any_order": ["b", "c", "d"]}, "e"]}, [*"abcde"] * 500),
        ({"sequence": [{"optional": "a"}, "b"]}, [f"made_up_{at}" for at in range(LONG)]),
        ({"any_order": [f"t{at}" for at in range(500)]}, ["t0", "t1"] * (LONG // 2)),
        ({"sequence": [{"tool": "a", "arguments": {"x": at}} for at in range(100)]}, ["a"] * LONG),
        (None, ["a"] * LONG),
    ],
)
def test_long_runs_are_scored_in_time(expect: dict[str, Any] | None, names: list[str]) -> None:
    compiled = rule(expect, constraints=[{"response": ["a", "b"]}, {"chain_response": ["b", "a"]}])
    with within(10.0):  # seconds; it takes one at most
        (evaluation,) = compiled.evaluate(run(*names))
    assert evaluation.score.label in {"pass", "fail", "error"}


def test_a_wide_step_is_scored_in_time() -> None:
    compiled = rule({"sequence": [*"abcdefghijklmnopqrst"]})
    with within(10.0):
        (evaluation,) = compiled.evaluate(run(*"tsrqponmlkjihgfedcba", steps=[0] * 20))
    assert evaluation.score.value == 1.0
