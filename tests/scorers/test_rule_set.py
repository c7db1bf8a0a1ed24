"""All rules in force: which rule is selected, and what they know of themselves."""

from __future__ import annotations

from typing import Any

import pytest

from scorers import RuleContext, RuleError, RuleSet, load_rules


def test_rules_are_selected_by_scope_and_shadows_apart() -> None:
    rules = load_rules(
        {
            "rules": [
                {"name": "shadow", "match": {}, "shadow": True},
                {"name": "whole", "match": {}, "scope": "trace"},
                {"name": "special", "match": {"route": "/x"}},
                {"name": "rest", "match": {}},
            ],
            "intents": [{"name": "refund", "keywords": ["refund"]}],
        }
    )

    def name(route: str | None, **keys: Any) -> str | None:
        found = rules.select(RuleContext(route=route), **keys)
        return found.rule.name if found else None

    assert (name("/x"), name("/y")) == ("special", "rest")
    assert (name("/x", scope="trace"), name("/x", scope="conversation")) == ("whole", None)
    assert (name("/x", shadow=True), name("/x", scope="trace", shadow=True)) == ("shadow", None)
    assert (rules.has_scope("trace"), rules.has_scope("conversation")) == (True, False)
    assert rules.find_intent("a refund, please").name == "refund"


def test_two_files_may_not_name_two_rules_alike() -> None:
    (one,) = load_rules({"rules": [{"name": "r", "match": {}}]}).rules
    with pytest.raises(RuleError, match="two rules are named r"):
        RuleSet([one, one])


@pytest.mark.parametrize(("scorers", "asks"), [(["trajectory"], False), (["trajectory", "mastra_llm"], True)])
def test_rules_know_whether_a_model_is_asked(scorers: list[str], asks: bool) -> None:
    assert load_rules({"rules": [{"name": "r", "match": {}, "scorers": scorers}]}).has_judges() is asks


def test_no_rules_select_nothing() -> None:
    assert RuleSet().select(RuleContext(route="/x")) is None
