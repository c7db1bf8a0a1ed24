"""The texts of a run that a rule embeds."""

from __future__ import annotations

from typing import Any

import pytest

from scorers import ToolCall, Trajectory, compile_rules, parse_rules
from scorers.rule_set import RuleSet
from scorers.rules.semantic_texts import SemanticTexts

MEANS = {"semantic": "cancel my order"}


def texts(arguments: Any, calls: list[ToolCall], **rule: Any) -> list[str]:
    expect = {"sequence": [{"tool": "say", "arguments": arguments}]}
    (written,) = parse_rules({"rules": [{"name": "x", "expect": expect, **rule}]}).rules
    return list(SemanticTexts(written).of(Trajectory(calls)))


SAYING = ToolCall("say", {"text": "hello", "to": {"note": "bye"}, "n": 7})


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"text": MEANS}, ["hello"]),
        ({"n": MEANS}, ["7"]),
        ({"to": {"subset": {"note": MEANS, "n": 1}}}, ["bye"]),
        ({"text": {"one_of": ["a", MEANS]}}, ["hello"]),
        ({"to": MEANS}, []),
        ({"missing": MEANS}, []),
        ({"text": "hello"}, []),
        ({"text": {"subset": {"x": MEANS}}}, []),
    ],
    ids=str,
)
def test_the_arguments_that_semantic_matchers_read(arguments: Any, expected: list[str]) -> None:
    assert texts(arguments, [SAYING]) == expected


def test_only_calls_with_the_name_and_with_arguments() -> None:
    calls = [ToolCall("other", {"text": "no"}), ToolCall("say"), SAYING]
    assert texts({"text": MEANS}, calls) == ["hello"]


def test_tools_of_constraints_and_of_nested_patterns_count() -> None:
    tool = {"tool": "say", "arguments": {"text": MEANS}}
    nested = {"any_order": [{"optional": {"one_of": ["a", tool]}}, "b"]}
    (rule,) = parse_rules(
        {"rules": [{"name": "x", "expect": nested, "constraints": [{"precedence": ["b", tool]}]}]}
    ).rules
    assert list(SemanticTexts(rule).of(Trajectory([SAYING]))) == ["hello", "hello"]


@pytest.mark.parametrize("mode", [{}, {"mode": "in_order"}])
def test_the_tool_of_a_rule_that_expects_one_and_those_of_a_mode_count(mode: dict[str, Any]) -> None:
    tool = {"tool": "say", "arguments": {"text": MEANS}}
    expect = {**mode, "tools": [tool]} if mode else tool
    (rule,) = parse_rules({"rules": [{"name": "x", "expect": expect}]}).rules
    assert list(SemanticTexts(rule).of(Trajectory([SAYING]))) == ["hello"]


def test_a_rule_without_such_a_matcher_has_none() -> None:
    (rule,) = parse_rules({"rules": [{"name": "x", "expect": {"sequence": ["say"]}}]}).rules
    assert not SemanticTexts(rule)


def text_to_embed(rule_set: RuleSet, words: str) -> str | None:
    embedded: list[str] = []
    rule_set = RuleSet(rule_set.rules, rule_set.intents, lambda text: embedded.append(text) or [1.0])  # type: ignore[func-returns-value]
    del embedded[:]
    found = rule_set.text_to_embed(words)
    rule_set.find_intent(words)
    assert ([found] if found is not None else []) == embedded, "it returns exactly what find_intent embeds"
    return found


@pytest.mark.parametrize(
    ("words", "expected"),
    [("money back, please", None), ("I am unhappy", "I am unhappy"), ("  ", None), ("x" * 30_000, "x" * 20_000)],
    ids=["keyword", "example", "blank", "long"],
)
def test_a_text_with_a_keyword_is_not_embedded(words: str, expected: str | None) -> None:
    file = parse_rules({"intents": [{"name": "refund", "keywords": ["money back"], "examples": ["give it back"]}]})
    assert text_to_embed(RuleSet(compile_rules(file), file.intents), words) == expected


def test_without_embeddings_or_examples_nothing_is_embedded() -> None:
    file = parse_rules({"intents": [{"name": "refund", "keywords": ["money back"], "examples": ["give it back"]}]})
    assert RuleSet((), file.intents).text_to_embed("hello") is None
    assert not RuleSet((), file.intents).embeds
    assert RuleSet((), file.intents, lambda _: [1.0]).embeds
