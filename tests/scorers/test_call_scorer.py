"""Every system names mistakes in its options and passes what it was given; deep arguments raise ValueError."""

from __future__ import annotations

from typing import Any

import pytest

from scorers import SCORERS, RuleError, load_rules
from scorers.call_scorer import labelled_score, make_scorer
from scorers.calls import Call
from scorers.options import Options
from scorers.score import Score
from scorers.work import Work, WorkLimitError
from tests.scorers.systems.cases import SYSTEMS, calls, run


class Sample(Options):
    """A model like the systems' own."""

    mode: str = "a"


@pytest.mark.parametrize(
    ("system", "options", "nearest"),
    [
        ("evalite", {"mode": "flexibel"}, "flexible"),
        ("axion", {"parameter_matching_strategy": "fuzy"}, "fuzzy"),
        ("agentevals_lc", {"trajectory_match_mode": "strickt"}, "strict"),
        ("agentevals_lc", {"tool_args_match_overrides": {"a": "ignored"}}, "ignore"),
        ("adk", {"match_type": "IN_ODER"}, "IN_ORDER"),
        ("vertex", {"metric": "exact_mach"}, "exact_match"),
        ("deepeval", {"should_exact_mach": True}, "should_exact_match"),
        ("tool_choice", {"rubrik": "x"}, "rubric"),
    ],
)
def test_a_mistake_in_an_option_is_found_when_its_rule_is_loaded(
    system: str, options: dict[str, Any], nearest: str
) -> None:
    rule = {"name": "r", "match": {}, "expect": {"tool": "a"}, "scorers": [{"system": system, **options}]}
    with pytest.raises(RuleError, match=rf"{system} .*did you mean {nearest}\?"):
        load_rules({"rules": [rule]})


@pytest.mark.parametrize("name", sorted(SYSTEMS))
def test_every_system_refuses_unknown_options(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} has no option 'shrictness'"):
        SYSTEMS[name].create(shrictness=1)


@pytest.mark.parametrize("name", sorted(SYSTEMS))
def test_every_system_has_a_docstring_and_a_version(name: str) -> None:
    assert SYSTEMS[name].__doc__
    assert SYSTEMS[name].VERSION


def test_the_error_of_a_system_without_options() -> None:
    with pytest.raises(ValueError, match="tpmjs has no option 'mode'; it has none"):
        SYSTEMS["tpmjs"].create(mode="exact")


def test_the_scorer_passes_options_and_both_sides() -> None:
    seen: list[Any] = []

    def score(options: Sample, expected: list[Call], actual: list[Call]) -> Score:
        seen.extend((options.mode, expected, actual))
        return labelled_score(1.0, "seen", {})

    make_scorer(Sample(mode="z"), score)(expected=calls("a"), actual=calls("b"))
    assert seen == ["z", [Call("a")], [Call("b")]]


@pytest.mark.parametrize(
    ("value", "passed", "label"),
    [(1.0, None, "pass"), (0.99, None, "fail"), (None, None, "fail"), (0.5, True, "pass"), (1.0, False, "fail")],
)
def test_the_label_is_that_of_the_original_or_pass_for_1(value: float | None, passed: bool | None, label: str) -> None:
    assert labelled_score(value, "because", {}, passed=passed).label == label


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"in": value}
    return value


@pytest.mark.parametrize("name", ["evalite", "tpmjs", "ragas_f1", "vertex"])
def test_arguments_nested_too_deep_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="nested too deep"):
        run(SYSTEMS[name], calls(("a", nested(100_000))), calls(("a", nested(100_000))))


HUGE = ("a", {"x": 10**5000})
PRINTING = {"azure_tne", "mlflow_exact", "ragas_accuracy"}


@pytest.mark.parametrize("name", sorted(SYSTEMS))
def test_integers_too_long_to_print_give_a_score_or_a_value_error(name: str) -> None:
    options: dict[str, dict[str, Any]] = {
        "axion": {"check_parameters": True, "parameter_matching_strategy": "fuzzy"},
        "azure_tne": {"with_params": True},
        "deepeval": {"check_args": True},
        "deepeval_permission": {"denied_tools": []},
        "mastra_checks": {"check": "calledTool", "arg": "a"},
        "mastra_code": {"expectedTool": "a"},
        "mastra_llm": {"judge": {"evaluations": []}},
        "mastra_trajectory": {"typed": True, "noRedundantCalls": True},
        "promptfoo": {"assertion": "tool-used", "value": "a"},
        "pydantic_evals": {"evaluator": "ArgumentCorrectness", "tool_name": "a", "expected_arguments": HUGE[1]},
        "strands_scorers": {"scorer": "exact"},
        "tool_scorer": {"metric": "tool_correctness_args"},
    }
    try:
        value = run(SYSTEMS[name], calls(HUGE), calls(HUGE), **options.get(name, {})).value
    except ValueError:
        value = None
    assert value == (None if name in PRINTING else 1.0)


@pytest.mark.parametrize("name", ["azure_tne", "mlflow_exact", "ragas_accuracy"])
def test_printing_long_integers_takes_work(name: str) -> None:
    def score(number: int) -> Score:
        made = [{"tool": "a", "args": {"x": [number] * 100}}]
        return SCORERS[name]()(expected=made, actual=made, work=Work())

    assert score(2**63).value == 1
    with pytest.raises(WorkLimitError, match="the comparison of the calls"):
        score(10**4_000)
