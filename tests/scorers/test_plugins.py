"""Scorers and matchers of other packages: what they get, what they may return, and that they harm nobody else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import pytest
from jsonschema import Draft202012Validator
from pydantic import Field

from scorers import (
    Call,
    CompiledRule,
    MatcherPlugin,
    Options,
    RuleError,
    Score,
    ScorerPlugin,
    ToolCall,
    Trajectory,
    load_rules,
)  # fmt: skip
from scorers.plugins import MATCHERS, SCORERS, Installed
from scorers.rule_schema import rule_schema
from scorers.score import Outcome
from scorers.work import Work

PACKAGE = "acme@1.0"
_T = TypeVar("_T")


class Calls(Options):
    most: int = Field(default=1, ge=0)


class Multiple(Options):
    of: int = 2


def unlimited(call: Callable[[], _T], work: Work, part: str) -> _T:
    return call()


def at_most(options: Calls, expected: list[Call], actual: list[Call]) -> Score:
    return Score(float(len(actual) <= options.most), "pass", f"{len(expected)} expected, {len(actual)} made")


def is_multiple(options: Multiple, value: Any) -> bool:
    return bool(value % options.of == 0)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[[object], None]:
    """Installs a plug-in as `mine`: an object, or a function that imports it."""

    def add(provided: object) -> None:
        load = provided if callable(provided) else lambda: provided
        if isinstance(provided, MatcherPlugin):
            monkeypatch.setitem(MATCHERS, "mine", Installed("mine", PACKAGE, MatcherPlugin, load, unlimited))
        else:
            monkeypatch.setitem(SCORERS, "mine", Installed("mine", PACKAGE, ScorerPlugin, load, unlimited))

    return add


def rule(*scorers: Any, expect: Mapping[str, Any] | None = None, passing: float = 1.0) -> CompiledRule:
    expect = expect or {"sequence": ["a", "b"]}
    (compiled,) = load_rules({"rules": [{"name": "r", "expect": expect, "scorers": scorers, "pass": passing}]}).rules
    return compiled


def problem(*scorers: Any, expect: Mapping[str, Any] | None = None) -> str:
    with pytest.raises(RuleError) as raised:
        rule(*scorers, expect=expect)
    return str(raised.value)


def run(*arguments: Mapping[str, Any] | None) -> Trajectory:
    return Trajectory([ToolCall("a", one, step=at) for at, one in enumerate(arguments)])


def test_a_scorer_gets_its_options_and_the_calls(install: Callable[[object], None]) -> None:
    install(ScorerPlugin(Calls, at_most))

    native, mine = rule("trajectory", {"system": "mine", "name": "few", "most": 3}).evaluate(run({}, {}))

    assert (mine.name, mine.version, mine.primary) == ("few", PACKAGE, False)
    assert (mine.score.value, mine.score.label) == (1.0, "pass")
    assert mine.score.explanation == "2 expected, 2 made"
    assert native.score.label == "fail"


def test_the_threshold_of_the_rule_decides_as_for_every_scorer(install: Callable[[object], None]) -> None:
    install(ScorerPlugin(Calls, lambda options, expected, actual: Score(0.5, "pass", "half")))

    assert [rule("mine", passing=p).evaluate(run())[0].score.label for p in (0.5, 0.6)] == ["pass", "fail"]


def test_one_that_reads_no_expectation_needs_no_pattern(install: Callable[[object], None]) -> None:
    install(ScorerPlugin(Calls, at_most))
    assert "this rule has no pattern" in problem("mine", expect={"forbid": ["x"]})

    install(ScorerPlugin(Calls, at_most, reads_expected=False))
    (mine,) = rule("mine", expect={"forbid": ["x"]}).evaluate(run({}))
    assert mine.score.explanation == "0 expected, 1 made"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mos": 3}, "mine has no option 'mos'; it has most; did you mean most?"),
        ({"most": -1}, "mine option 'most' must be at least 0, not -1"),
        ({"most": "3"}, "mine option 'most' must be a whole number, not '3'"),
    ],
)
def test_options_of_a_scorer_are_checked_when_the_rule_is_loaded(
    install: Callable[[object], None], options: dict[str, Any], message: str
) -> None:
    install(ScorerPlugin(Calls, at_most))

    assert problem("trajectory", {"system": "mine", **options}) == f"rules[0].scorers[1]: {message}"


def no_import() -> object:
    raise ImportError("no module named x")


def leaves() -> object:
    sys.exit(3)


@pytest.mark.parametrize(
    ("provided", "message"),
    [
        (no_import, "cannot be loaded: ImportError: no module named x"),
        (leaves, "cannot be loaded: SystemExit: 3"),
        (lambda: at_most, "must be a ScorerPlugin, not function"),
        (ScorerPlugin(dict, at_most), "its options must be a subclass of scorers.Options"),  # type: ignore[type-var, arg-type]
    ],
)
def test_what_cannot_be_used_is_an_error_that_names_the_package(
    install: Callable[[object], None], provided: object, message: str
) -> None:
    install(provided)

    found = problem("mine")

    assert found.startswith(f"rules[0].scorers[0]: scorer mine of {PACKAGE}")
    assert found.endswith(message)


def fails(options: Calls, expected: list[Call], actual: list[Call]) -> Score:
    raise KeyError("order_id")


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (0.5, "returned float, not a scorers.Score"),
        (Score(1.0, "passed", "x"), "returned the label 'passed', not pass, fail or error"),  # type: ignore[arg-type]
        (Score(1.0, "pass", "x", ["matched"]), "returned outcomes that are not one known outcome for each call made"),
        (Score(1.0, "pass", 7), "returned an explanation or names of missing tools that are not text"),  # type: ignore[arg-type]
        (Score(1.0, "pass", "x", missing=[7]), "returned an explanation or names of"),  # type: ignore[list-item]
        (Score(1.0, "pass", "x", details={"x": "a" * 20_001}), "returned details that are not a mapping of at most"),
        (Score(1.0, "pass", "x", details={"x": {1, 2}}), "raised TypeError: Object of type set"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_score_is_an_error(install: Callable[[object], None], returned: Any, message: str) -> None:
    install(ScorerPlugin(Calls, lambda options, expected, actual: returned))

    native, mine = rule("trajectory", "mine").evaluate(run({}, {}))

    assert (mine.score.label, mine.score.value) == ("error", None)
    assert f"scorer mine of {PACKAGE} {message}" in mine.score.explanation
    assert native.score.value == 0.5


def test_an_exception_is_an_error_of_this_evaluation_alone(install: Callable[[object], None]) -> None:
    install(ScorerPlugin(Calls, fails))

    native, mine = rule("trajectory", "mine").evaluate(run({}, {}))

    assert (
        mine.score.explanation == f"the scorer raised PluginError: scorer mine of {PACKAGE} raised KeyError: 'order_id'"
    )
    assert native.score.value == 0.5


def test_outcomes_are_those_of_the_calls_that_ran(install: Callable[[object], None]) -> None:
    outcomes: list[Outcome] = ["matched", "extra"]
    install(ScorerPlugin(Calls, lambda options, expected, actual: Score(0.5, "fail", "x", outcomes)))
    calls = [ToolCall("x", executed=False), ToolCall("a", step=1), ToolCall("b", step=2)]

    (mine,) = rule("mine").evaluate(Trajectory(calls))

    assert list(mine.score.outcomes) == ["unscored", "matched", "extra"]


def expecting(pattern: Any) -> dict[str, Any]:
    return {"tool": "a", "arguments": {"x": pattern}}


@pytest.mark.parametrize(
    ("pattern", "value", "matched"),
    [
        ({"mine": True}, 4, True),
        ({"mine": {}}, 3, False),
        ({"mine": {"of": 3}}, 3, True),
        ({"one_of": ["none", {"mine": {"of": 5}}]}, 10, True),
        ({"subset": {"y": {"mine": {"of": 5}}}}, {"y": 9}, False),
    ],
)
def test_a_matcher_gets_its_options_and_the_value(
    install: Callable[[object], None], pattern: Any, value: Any, matched: bool
) -> None:
    install(MatcherPlugin(Multiple, is_multiple))

    (evaluation,) = rule("trajectory", expect=expecting(pattern)).evaluate(run({"x": value}))

    assert list(evaluation.score.outcomes) == ["matched" if matched else "wrong_arguments"]


def test_a_matcher_is_not_asked_about_an_argument_that_is_missing(install: Callable[[object], None]) -> None:
    install(MatcherPlugin(Multiple, lambda options, value: True))
    compiled = rule("trajectory", expect=expecting({"mine": True}))

    assert [compiled.evaluate(run(one))[0].score.label for one in ({"x": None}, {})] == ["pass", "fail"]
    (row,) = compiled.difference(run({})).rows
    assert row.expected == 'a(x={"mine": true})'
    assert row.mismatches[0].sentence(values=False) == "x is missing: must be accepted by the matcher mine"


def test_a_matcher_that_raises_is_an_error_of_the_evaluations_that_need_it(install: Callable[[object], None]) -> None:
    install(MatcherPlugin(Multiple, is_multiple))
    compiled = rule("trajectory", expect=expecting({"mine": {"of": 0}}))

    (evaluation,) = compiled.evaluate(run({"x": 1}))

    assert evaluation.score.label == "error"
    assert f"matcher mine of {PACKAGE} raised ZeroDivisionError" in evaluation.score.explanation
    assert not compiled.difference(run({"x": 1})).rows


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ({"mine": {"off": 2}}, "mine has no option 'off'; it has of; did you mean of?"),
        ({"mine": 7}, "mine takes a mapping of options, or true"),
        ({"mine": {}, "min": 1}, "mine is a matcher of its own: min does not go with it"),
        ({"mune": {}}, "; did you mean mine?"),
    ],
)
def test_options_of_a_matcher_are_checked_when_the_rule_is_loaded(
    install: Callable[[object], None], pattern: Any, message: str
) -> None:
    install(MatcherPlugin(Multiple, is_multiple))

    found = problem("trajectory", expect=expecting(pattern))

    assert found.startswith("rules[0].expect.arguments.x: ")
    assert found.endswith(message)


def test_another_version_of_a_matcher_changes_the_digest_of_the_rule(
    install: Callable[[object], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    install(MatcherPlugin(Multiple, is_multiple))
    before = rule("trajectory", expect=expecting({"mine": True})).digest
    monkeypatch.setattr(MATCHERS["mine"], "package", "acme@1.1")

    assert rule("trajectory", expect=expecting({"mine": True})).digest != before


def test_the_schema_knows_what_is_installed_and_leaves_out_what_cannot_be_used(
    install: Callable[[object], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    install(MatcherPlugin(Multiple, is_multiple))
    install(ScorerPlugin(Calls, at_most))
    monkeypatch.setitem(SCORERS, "broken", Installed("broken", PACKAGE, ScorerPlugin, no_import, unlimited))
    schema = Draft202012Validator(rule_schema())

    def is_valid(scorer: Any, pattern: Any) -> bool:
        return schema.is_valid({"rules": [{"name": "r", "expect": expecting(pattern), "scorers": [scorer]}]})

    assert is_valid({"system": "mine", "most": 2}, {"mine": {"of": 3}})
    assert is_valid("mine", {"mine": True})
    assert not is_valid({"system": "mine", "mos": 2}, {"mine": True})
    assert not is_valid("mine", {"mine": {"off": 3}})
    assert not is_valid("mine", {"other": True})
