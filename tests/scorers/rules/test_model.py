"""Rule files: shorthands, defaults, the JSON Schema for editors."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from scorers import RuleError, RuleFile, parse_rules
from scorers.rules.model import Expect, OneOf, Repeat, Rule, RuleTestCall, ScorerRef, Sequence, Tool
from tests.scorers.examples import refund_file


def one_rule(**keys: Any) -> Rule:
    return parse_rules({"rules": [{"name": "r", **keys}]}).rules[0]


def test_the_example_of_the_documentation_is_parsed_completely() -> None:
    file = parse_rules(refund_file())

    (rule,) = file.rules
    assert (rule.name, rule.scope, rule.pass_, rule.shadow) == ("refund", "run", 0.9, False)
    assert [ref.system for ref in rule.scorers] == ["trajectory", "evalite"]
    assert rule.scorers[1].options == {"mode": "flexible"}
    assert [constraint.template for constraint in rule.constraints] == ["precedence", "not_after"]
    assert file.tests[0].calls[0] == RuleTestCall(tool="lookup_order", arguments={"order_id": "ord_7"})
    assert file.intents[0].keywords == ["refund", "money back"]


def test_defaults() -> None:
    rule = one_rule()

    assert rule.match.model_dump(exclude_defaults=True) == {}
    assert (rule.pass_, rule.scope, rule.expect, rule.constraints) == (1.0, "run", None, [])
    assert [ref.system for ref in rule.scorers] == ["trajectory"]


@pytest.mark.parametrize("objective", [0, 1, 1.0, 95, "0.95", True, float("nan")])
def test_an_objective_that_can_never_or_only_just_be_kept_is_refused(objective: Any) -> None:
    assert one_rule(objective=0.95).objective == 0.95
    with pytest.raises(RuleError, match="objective"):
        one_rule(objective=objective)


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ({"sequence": ["a"]}, {"sequence": [{"tool": "a"}]}),
        ({"optional": "a"}, {"optional": {"tool": "a"}}),
        ({"repeat": "a"}, {"repeat": {"tool": "a"}, "min": 1}),
        ({"mode": "strict", "tools": ["a"]}, {"mode": "strict", "tools": [{"tool": "a", "arguments_mode": "subset"}]}),
    ],
)
def test_shorthands_equal_their_long_form(short: dict[str, Any], long: dict[str, Any]) -> None:
    assert one_rule(expect=short).expect == one_rule(expect=long).expect


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("a", RuleTestCall(tool="a")),
        ({"a": {}}, RuleTestCall(tool="a", arguments={})),
        ({"a": None}, RuleTestCall(tool="a")),
        ({"tool": "a"}, RuleTestCall(tool="a")),
        ({"tool": "a", "status": "error"}, RuleTestCall(tool="a", status="error")),
        ({"parallel": ["a"]}, RuleTestCall(parallel=[RuleTestCall(tool="a")])),
    ],
)
def test_shorthands_of_test_calls(call: Any, expected: RuleTestCall) -> None:
    assert RuleTestCall.model_validate(call) == expected


@pytest.mark.parametrize(
    ("expect", "element"),
    [
        ({}, None),
        ({"forbid": ["a"]}, None),
        ({"mode": "strict", "tools": []}, None),
        ({"tool": "a", "arguments": {"x": 1}}, Tool(tool="a", arguments={"x": 1})),
        ({"sequence": []}, Sequence(sequence=[])),
        ({"one_of": ["a"]}, OneOf(one_of=[Tool(tool="a")])),
        ({"repeat": "a", "min": 2, "max": 3}, Repeat(repeat=Tool(tool="a"), min=2, max=3)),
    ],
)
def test_the_pattern_of_an_expectation(expect: dict[str, Any], element: Any) -> None:
    assert Expect.model_validate(expect).element() == element


def test_literals_keep_their_type() -> None:
    arguments = {"a": True, "b": 1, "c": 1.0, "d": "1", "e": None, "f": [True, 1]}
    rule = one_rule(expect={"tool": "t", "arguments": arguments})

    assert rule.expect is not None
    assert repr(rule.expect.arguments) == repr(arguments)


def test_models_are_immutable() -> None:
    with pytest.raises(ValueError, match="frozen"):
        one_rule().name = "other"  # type: ignore[misc]


def test_a_scorer_may_be_named() -> None:
    refs = one_rule(scorers=["trajectory", {"system": "evalite", "name": "strict", "mode": "exact"}]).scorers

    assert [(ref.system, ref.name, ref.options) for ref in refs] == [
        ("trajectory", None, {}),
        ("evalite", "strict", {"mode": "exact"}),
    ]
    assert ScorerRef(system="trajectory") == refs[0]


SCHEMA = RuleFile.model_json_schema()


def in_sequence(element: Any) -> dict[str, Any]:
    return {"rules": [{"name": "r", "expect": {"sequence": [element]}}]}


@pytest.mark.parametrize(
    ("document", "valid"),
    [
        (refund_file(), True),
        (in_sequence("a"), True),
        (in_sequence({"tool": {"regex": "a"}}), True),
        (in_sequence({"repeat": {"any_order": ["a", "b"]}, "min": 1}), True),
        (in_sequence({"tool": "a", "arguments": {"x": 1, "y": {"min": 1, "max": 2}, "z": [1]}}), True),
        (in_sequence({"tol": "a"}), False),
        (in_sequence({"tool": "a", "arguments": {"x": {"regx": 1}}}), False),
        (in_sequence(5), False),
        ({"rules": [{"match": {}}]}, False),
        ({"rule": []}, False),
    ],
)
def test_the_json_schema_agrees_with_the_models(document: dict[str, Any], *, valid: bool) -> None:
    assert Draft202012Validator(SCHEMA).is_valid(document) is valid
