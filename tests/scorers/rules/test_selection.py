"""Rule selection: every key, first match wins, with and without the index."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorers.rules.model import Rule
from scorers.rules.selection import MAX_ATTRIBUTE, RuleContext, RuleIndex, select


class Holder:
    """The least a `RuleIndex` asks for."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule


def rules(*matches: dict[str, Any]) -> list[Rule]:
    return [Rule.model_validate({"name": f"r{at}", "match": match}) for at, match in enumerate(matches)]


@pytest.mark.parametrize(
    ("match", "context", "matches"),
    [
        ({}, RuleContext(), True),
        ({}, RuleContext(route="/x", agent="a"), True),
        ({"route": "/chat"}, RuleContext(route="/chat"), True),
        ({"route": "/chat"}, RuleContext(route="/chat/refund"), False),
        ({"route": "/chat"}, RuleContext(), False),
        ({"route": "/chat/*"}, RuleContext(route="/chat/refund"), True),
        ({"route": {"regex": "refund$"}}, RuleContext(route="/chat/refund"), True),
        ({"intent": "refund", "agent": "support-*"}, RuleContext(intent="refund", agent="support-1"), True),
        ({"intent": "refund", "agent": "support-*"}, RuleContext(intent="refund", agent="sales"), False),
        ({"service": "shop", "tenant": "acme"}, RuleContext(service="shop", tenant="acme"), True),
        ({"attributes": {"env": "prod-*"}}, RuleContext(attributes={"env": "prod-eu"}), True),
        ({"attributes": {"env": "prod-*"}}, RuleContext(attributes={}), False),
        ({"attributes": {"beta": "true"}}, RuleContext(attributes={"beta": True}), True),
        ({"attributes": {"shard": "[0-3]"}}, RuleContext(attributes={"shard": 2}), True),
        ({"attributes": {"env": "None"}}, RuleContext(attributes={"env": None}), False),
        ({"agent": "*"}, RuleContext(), False),
    ],
)
def test_a_rule_matches_runs_for_which_every_given_key_holds(
    match: dict[str, Any], context: RuleContext, *, matches: bool
) -> None:
    (rule,) = rules(match)

    assert select([rule], context) == (rule if matches else None)


def test_the_first_match_wins() -> None:
    general, special, last = rules({"route": "/chat/*"}, {"route": "/chat/refund"}, {})

    assert select([general, special, last], RuleContext(route="/chat/refund")) is general
    assert select([special, general, last], RuleContext(route="/chat/refund")) is special
    assert select([special, general, last], RuleContext(route="/other")) is last


values = st.sampled_from(["a", "b", "ab", None])
patterns = st.sampled_from(["a", "b", "ab", "a*", {"regex": "b"}])
matches = st.dictionaries(st.sampled_from(["route", "intent", "agent", "service", "tenant"]), patterns, max_size=3)


@given(st.lists(matches, max_size=8), st.builds(RuleContext, values, values, values, values, values))
def test_the_index_selects_the_same_rule_as_a_linear_scan(written: list[dict[str, Any]], context: RuleContext) -> None:
    all_rules = rules(*written)
    index = RuleIndex([Holder(rule) for rule in all_rules])

    found = index.select(context)

    assert (found.rule if found else None) == select(all_rules, context)


@pytest.mark.parametrize(
    ("text", "matches"), [("a" * (MAX_ATTRIBUTE - 1) + "b", True), ("a" * MAX_ATTRIBUTE + "b", False)]
)
def test_only_the_beginning_of_a_long_attribute_is_matched(text: str, *, matches: bool) -> None:
    made = rules({"attributes": {"x": {"regex": "b"}}})

    assert (select(made, RuleContext(attributes={"x": text})) is not None) is matches
