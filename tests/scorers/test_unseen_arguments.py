"""Published scores of runs of which arguments were dropped, masked or damaged: given only where these do not decide."""

from __future__ import annotations

from typing import Any

import pytest

from scorers import Doubt, ToolCall, Trajectory
from scorers.evaluation import CompiledRule
from scorers.score import Score
from tests.scorers.examples import rule, run

LITERAL = {"tool": "find", "arguments": {"order": "ord_7"}}
MATCHER = {"tool": "find", "arguments": {"order": {"regex": "^ord_"}}}
RIGHT = ("find", {"order": "ord_7"})
WRONG = ("find", {"order": "7"})
DROPPED = "find"
MASKED = ("find", {"order": "[REDACTED]"})
DAMAGED = ToolCall("find", arguments_text='{"order": "ord_', step=0)

COMPARING: list[Any] = [
    "adk",
    "agentevals_lc",
    {"system": "axion", "check_parameters": True},
    {"system": "azure_tne", "with_params": True},
    {"system": "deepeval", "check_args": True},
    "evalite",
    {"system": "mastra_trajectory", "typed": True},
    "mlflow_exact",
    "ragas_accuracy",
    "ragas_f1",
    "tool_scorer",
    "tpmjs",
    "vertex",
]
"""Scorers that compare arguments with those expected."""
BY_NAME: list[Any] = [
    {"system": "deepeval_permission", "allowed_tools": ["find"]},
    {"system": "mastra_checks", "check": "calledTool", "arg": "find"},
    {"system": "mastra_code", "expectedTool": "find"},
    {"system": "promptfoo", "assertion": "tool-used", "value": "find"},
    {"system": "pydantic_evals", "evaluator": "TrajectoryMatch"},
    {"system": "strands_scorers", "scorer": "exact"},
    {"system": "vertex", "metric": "single_tool_use", "tool_name": "find"},
]
"""Scorers, or options of them, that look at names alone."""
ASKING: list[Any] = [
    {"system": "promptfoo", "assertion": "tool-args-match", "value": {"name": "f*", "args": {"order": "ord_7"}}},
    {
        "system": "pydantic_evals",
        "evaluator": "ArgumentCorrectness",
        "tool_name": "find",
        "expected_arguments": {"order": "ord_7"},
    },
]
"""Scorers whose options say which arguments they look for."""


def scorer(system: Any, expect: Any = LITERAL) -> CompiledRule:
    return rule({"sequence": [expect]}, scorers=[system])


def score(compiled: CompiledRule, *calls: Any, doubts: tuple[Doubt, ...] = ()) -> Score:
    recorded = run(*calls)
    return compiled.evaluate(Trajectory(recorded.calls, doubts=doubts))[0].score


@pytest.mark.parametrize("system", [*COMPARING, *ASKING], ids=str)
def test_what_was_seen_decides_as_ever(system: Any) -> None:
    compiled = scorer(system)

    assert score(compiled, RIGHT).label == "pass"
    assert score(compiled, WRONG).label == "fail"


@pytest.mark.parametrize("call", [DROPPED, MASKED, DAMAGED], ids=["dropped", "masked", "damaged"])
@pytest.mark.parametrize("system", [*COMPARING, *ASKING], ids=str)
def test_arguments_that_were_not_seen_decide_nothing(system: Any, call: Any) -> None:
    found = score(scorer(system), call)

    assert found.label == "incomplete"
    assert "find: " in found.explanation
    assert found.details.get("unobserved") == (None if call is DAMAGED else [0])


@pytest.mark.parametrize("call", [MASKED, DAMAGED], ids=["masked", "damaged"])
@pytest.mark.parametrize("system", COMPARING, ids=str)
def test_a_matcher_is_not_satisfied_by_what_was_not_seen(system: Any, call: Any) -> None:
    compiled = scorer(system, MATCHER)

    assert score(compiled, RIGHT).label == "pass"
    assert score(compiled, call).label == "incomplete"


@pytest.mark.parametrize("call", [DROPPED, MASKED, DAMAGED], ids=["dropped", "masked", "damaged"])
@pytest.mark.parametrize("system", BY_NAME, ids=str)
def test_where_names_alone_count_it_does_not_matter_what_was_seen(system: Any, call: Any) -> None:
    assert score(scorer(system), call).label == "pass"


@pytest.mark.parametrize("call", [DROPPED, MASKED, DAMAGED], ids=["dropped", "masked", "damaged"])
@pytest.mark.parametrize("system", ["evalite", "agentevals_lc", "vertex", "tool_scorer"])
def test_a_fail_stands_that_no_arguments_could_heal(system: str, call: Any) -> None:
    compiled = rule({"sequence": [LITERAL, "book"]}, scorers=[system])

    assert score(compiled, call).label == "fail"
    assert score(compiled, call, "book").label == "incomplete"


@pytest.mark.parametrize("system", ["adk", "agentevals_lc", "evalite", "mlflow_exact", "ragas_accuracy", "vertex"])
def test_a_call_whose_arguments_the_rule_leaves_open_matches_by_its_name(system: str) -> None:
    compiled = rule({"sequence": ["find", "book"]}, scorers=[system])

    assert score(compiled, "find", "book").label == "pass"


def test_a_mask_that_is_expected_as_it_is_matches() -> None:
    expect = {"tool": "find", "arguments": {"order": "[REDACTED]"}}

    assert [score(scorer(system, expect), MASKED).label for system in ("evalite", "vertex")] == ["pass"] * 2


def test_what_was_seen_beside_a_mask_decides() -> None:
    expect = {"tool": "find", "arguments": {"user": {"exact": {"mail": "ann@x.org", "plan": "pro"}}}}
    compiled = scorer("evalite", expect)

    assert score(compiled, ("find", {"user": {"mail": "****", "plan": "pro"}})).label == "incomplete"
    assert score(compiled, ("find", {"user": {"mail": "****", "plan": "free"}})).label == "fail"


def test_equal_calls_may_have_had_arguments_of_their_own() -> None:
    twice = rule({"sequence": ["find", "find"]}, scorers=["deepeval"])

    assert score(twice, ("find", {"x": 1}), ("find", {"x": 2})).label == "pass"
    assert score(twice, ("find", {"x": 1}), ("find", {"x": 1})).label == "fail"  # to the original they are one
    assert score(twice, "find", "find").label == "incomplete"


def test_each_of_several_calls_may_be_one_that_is_expected() -> None:
    expected = [{"tool": "find", "arguments": {"x": at}} for at in range(9)]
    compiled = rule(
        {"any_order": expected}, scorers=[{"system": "agentevals_lc", "trajectory_match_mode": "unordered"}]
    )

    seen = [("find", {"x": at}) for at in range(6)]
    assert score(compiled, *seen, "find", "find", "find").label == "incomplete"
    assert score(compiled, *seen, ("find", {"x": 0}), "find", "find").label == "fail"


@pytest.mark.parametrize(("kind", "passes"), [("command", "git *"), ("command", "sh")])
def test_a_shell_may_have_run_any_command(kind: str, passes: str) -> None:
    value = {"type": kind, "pattern": passes, "max": 0}
    compiled = rule(None, scorers=[{"system": "promptfoo", "assertion": "step-count", "value": value}])

    assert score(compiled, ("shell", {"command": "ls"})).label == "pass"
    assert score(compiled, "shell").label == "incomplete"
    assert score(compiled, "find").label == "pass"


def test_long_runs_without_arguments_are_incomplete_and_no_error() -> None:
    names = [f"t{at % 7}" for at in range(200)]
    expected = [{"tool": name, "arguments": {"query": f"value {at}"}} for at, name in enumerate(names)]

    for system in ("evalite", "vertex", "ragas_f1"):
        assert score(rule({"sequence": expected}, scorers=[system]), *names).label == "incomplete"
    by_name = rule({"sequence": expected}, scorers=[{"system": "strands_scorers", "scorer": "exact"}])
    assert score(by_name, *names).label == "pass"


def test_a_doubt_that_cannot_matter_does_not_hide_which_arguments_were_not_seen() -> None:
    found = score(scorer("evalite"), DROPPED, doubts=(Doubt("uncertain_duplicate", (0,)),))

    assert (found.label, found.details["unobserved"]) == ("incomplete", [0])


def test_calls_that_did_not_run_are_not_counted_among_those_unseen() -> None:
    refused = ToolCall("find", executed=False, step=0)

    found = score(scorer("evalite"), refused, ToolCall("find", step=1))

    assert found.details["unobserved"] == [1]
    assert found.outcomes[0] == "unscored"
