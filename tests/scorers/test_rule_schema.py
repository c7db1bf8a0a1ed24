"""The JSON Schema of rule files accepts what the models accept, and lists the scorers."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from scorers import RuleError, load_rules
from scorers.registry import JUDGES, OPTIONS, SCORERS
from scorers.rule_schema import rule_schema

SCHEMA = Draft202012Validator(rule_schema())

TOOL = {"name": "search", "description": "finds", "parameters": {"type": "object"}}
GOOD: list[Any] = [
    {"system": "evalite", "weights": {"nameOnly": 0.1}},
    {"system": "mastra_trajectory", "weights": {"accuracy": 0.5}},
    "trajectory",
    "tool_choice",
    {"system": "evalite", "mode": "flexible"},
    {
        "system": "tool_choice",
        "name": "meaning",
        "sample_rate": 0.1,
        "rubric": "Look first.",
        "available_tools": [TOOL],
    },
    {"system": "mastra_llm", "availableTools": [{"id": "search", "description": "finds"}]},
]
BAD: list[Any] = [
    {"system": "evalite", "mode": "flexibel"},
    {"system": "evalite", "mod": "flexible"},
    {"system": "evalite", "weights": {"nameOnly": "much"}},
    {"system": "mastra_trajectory", "weights": {"nameOnly": 0.5}},
    {"system": "axion", "parameter_matching_strategy": "bogus"},
    {"system": "trajectory", "mode": "strict"},
    "tool_chioce",
    {"system": "evalight"},
    {"system": "evalite", "sample_rate": 0.1},
    {"system": "tool_choice", "sample_rate": 2},
    {"system": "tool_choice", "rubrik": "Look first."},
    {"system": "tool_choice", "rubric": 7},
    {"system": "tool_choice", "rubric": "x" * 4_001},
    {"system": "tool_choice", "available_tools": ["search"]},
    {"system": "tool_choice", "available_tools": [{"description": "finds"}]},
    {"system": "tool_choice", "available_tools": [{**TOOL, "schema": {}}]},
    {"system": "mastra_llm", "judge": "fine"},
]


def file(scorer: Any) -> dict[str, Any]:
    return {"rules": [{"name": "r", "match": {}, "expect": {"tool": "a"}, "scorers": [scorer]}]}


@pytest.mark.parametrize("scorer", GOOD, ids=str)
def test_the_schema_accepts_valid_rule_files(scorer: Any) -> None:
    SCHEMA.validate(file(scorer))
    load_rules(file(scorer))


@pytest.mark.parametrize("scorer", BAD, ids=str)
def test_the_schema_refuses_invalid_rule_files(scorer: Any) -> None:
    assert not SCHEMA.is_valid(file(scorer))
    with pytest.raises(RuleError):
        load_rules(file(scorer))


@pytest.mark.parametrize(
    "rule",
    [
        {"match": {"route": None}},
        {"expect": None},
        {"expect": {"sequence": None}},
        {"expect": {"tool": "a", "arguments": {"x": {"min": None, "max": 1}}}},
        {"expect": {"sequence": [{"tool": "a", "arguments": None}]}},
    ],
    ids=str,
)
def test_the_schema_refuses_keys_without_a_value(rule: dict[str, Any]) -> None:
    document = {"rules": [{"name": "r", "match": {}, **rule}]}
    assert not SCHEMA.is_valid(document)
    with pytest.raises(RuleError, match="has no value"):
        load_rules(document)


def test_the_schema_names_every_scorer() -> None:
    by_name, _ = SCHEMA.schema["$defs"]["ScorerRef"]["anyOf"]  # type: ignore[index]
    assert set(by_name["enum"]) == {*SCORERS, *JUDGES}
    assert {*SCORERS, *JUDGES} == OPTIONS.keys()
