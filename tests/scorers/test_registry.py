"""The registry: every name is that of a scorer of plain calls."""

from __future__ import annotations

import re
from typing import Any

import pytest

from scorers import SCORERS, RuleError, ToolCall, Trajectory, load_rules
from scorers.registry import JUDGES, VERSIONS
from scorers.system_options import lines
from tests.scorers import systems_table
from tests.scorers.systems.cases import NEEDED_OPTIONS


def test_every_scorer_has_a_version() -> None:
    assert SCORERS.keys() | JUDGES.keys() == VERSIONS.keys()


@pytest.mark.parametrize(
    ("name", "needs"),
    [
        ("deepeval_permission", "allowed_tools or denied_tools: a trace does not tell what was permitted"),
        ("mastra_checks", "the option 'check': which of calledTool, didNotCall,"),
        ("mastra_code", "expectedTool or expectedToolOrder"),
        ("promptfoo", "the option 'assertion': which of tool-used, tool-sequence, tool-args-match, step-count"),
        ("pydantic_evals", "the option 'evaluator': which of ToolCorrectness, TrajectoryMatch,"),
        ("strands_scorers", "the option 'scorer': which of exact, in_order, any_order, tool_called"),
    ],
)
def test_what_a_scorer_cannot_do_without_is_named_when_the_rule_is_loaded(name: str, needs: str) -> None:
    with pytest.raises(RuleError, match=re.escape(f"{name} needs {needs}")):
        load_rules({"rules": [{"name": "r", "match": {}, "expect": {"sequence": ["a"]}, "scorers": [name]}]})


@pytest.mark.parametrize(
    "scorer",
    [
        {"system": "deepeval_permission", "allowed_tools": ["a"]},
        {"system": "mastra_checks", "check": "didNotCall", "arg": "b"},
        {"system": "mastra_code", "expectedTool": "a"},
        {"system": "pydantic_evals", "evaluator": "MaxToolCalls", "max_calls": 1},
        {"system": "strands_scorers", "scorer": "tool_called", "tool": "a"},
        {"system": "vertex", "metric": "single_tool_use", "tool_name": "a"},
    ],
    ids=lambda scorer: scorer["system"],
)
@pytest.mark.parametrize("expect", [{"forbid": ["b*"]}, {"sequence": ["a*"]}])
def test_scorers_that_expect_what_their_options_say_need_no_pattern(
    scorer: dict[str, Any], expect: dict[str, Any]
) -> None:
    scorers = ["trajectory", scorer]
    rules = load_rules({"rules": [{"name": "r", "match": {}, "expect": expect, "scorers": scorers}]})

    evaluations = rules.rules[0].evaluate(Trajectory([ToolCall("a")]))

    assert [(one.score.value, one.score.label) for one in evaluations] == [(1.0, "pass")] * 2


def test_failed_calls_of_a_run_count_as_failed() -> None:
    scorers = [
        {"system": "mastra_checks", "check": "noToolErrors"},
        {"system": "mastra_trajectory", "maxRetriesPerTool": 0},
    ]
    rules = load_rules({"rules": [{"name": "r", "match": {}, "expect": {"sequence": ["a", "a"]}, "scorers": scorers}]})
    run = Trajectory([ToolCall("a", status="error"), ToolCall("a", status="ok", step=1)])

    checked, trajectory = rules.rules[0].evaluate(run)

    assert checked.score.details["errorCount"] == 1
    assert trajectory.score.details["toolFailures"]["totalRetries"] == 1


@pytest.mark.parametrize("name", sorted(SCORERS))
def test_every_scorer_scores_a_perfect_run_1(name: str) -> None:
    calls = [{"tool": "a", "args": {"x": 1}}]

    score = SCORERS[name](**NEEDED_OPTIONS.get(name, {}))(expected=calls, actual=calls)

    assert (score.value, score.label) == (1.0, "pass")


@pytest.mark.parametrize("name", sorted(SCORERS))
def test_every_scorer_refuses_unknown_options(name: str) -> None:
    with pytest.raises(ValueError, match="no_such_option"):
        SCORERS[name](**NEEDED_OPTIONS.get(name, {}), no_such_option=1)


def test_the_readme_has_the_table_of_all_scorers_as_it_is() -> None:
    assert systems_table.readme() == systems_table.README.read_text()


def test_the_list_for_a_terminal_has_every_scorer_and_option() -> None:
    text = "\n".join(lines())
    assert all(f"{name}  {version}" in text for name, version in VERSIONS.items())
    assert "    mode: exact, flexible (default none)" in text
    assert "    scorer: exact, in_order, any_order, tool_called (required)" in text
