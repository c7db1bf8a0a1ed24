"""Rule selection: every key, first match wins, with and without the index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorers.rules.model import Rule
from scorers.rules.names import MAX_LENGTH
from scorers.rules.selection import (
    MAX_ATTRIBUTE,
    MAX_SELECTED,
    MAX_TRIED,
    CompiledMatch,
    RuleContext,
    RuleIndex,
    mismatches,
    select,
)


class Holder:
    """The least a `RuleIndex` asks for."""

    def __init__(self, rule: Rule) -> None:
        self.rule, self.match = rule, CompiledMatch(rule.match)


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


texts = ["a", "b", "ab", "abc", "ba", "", "é1", "x|y"]
values = st.sampled_from([*texts, None])
patterns = st.sampled_from([
    *texts[:5], "é1", "a*", "ab*c", "?b", "[ab]*", "*", {"regex": "b"}, {"regex": "^a"}, {"regex": "^ab$"}, {"regex": r"\Aab?"},
    {"regex": "^*ba"}, {"regex": "^a|b"}, {"regex": "^(ab|ba)$"}, {"regex": "^é1"}, {"regex": "(?i)^A"}, {"regex": "^(?i)A"},
    "*b", "?*a*", {"regex": "b+$"}, {"regex": r"x\|"}, {"regex": "[ab]b"},
    {"regex": r"^ab?\b"}, {"regex": "^"}, {"regex": "^a{0}b"}, {"regex": r"^x\|y"},
])  # fmt: skip
keys = st.sampled_from(["route", "intent", "agent", "service", "tenant"])
attributes = st.dictionaries(st.sampled_from(["x", "y"]), patterns, max_size=2)
matches = st.builds(
    lambda match, attributes: {**match, **({"attributes": attributes} if attributes else {})},
    st.dictionaries(keys, patterns, max_size=3),
    attributes,
)
contexts = st.builds(
    RuleContext, *[values] * 5, st.dictionaries(st.sampled_from(["x", "y", "z"]), st.sampled_from([*texts, 1, True]))
)


@given(st.lists(matches, max_size=8), st.booleans(), contexts)
def test_the_index_selects_the_same_rule_as_a_linear_scan(
    written: list[dict[str, Any]], beside_many: bool, context: RuleContext
) -> None:
    all_rules = rules(*written, *({"route": f"*!{at}!*"} for at in range(40 if beside_many else 0)))
    index = RuleIndex([Holder(rule) for rule in all_rules])

    found, again = index.select(context), index.select(context)

    assert (found.rule if found else None) == select(all_rules, context)
    assert again is found, "it is remembered"


@pytest.mark.parametrize(
    ("text", "matches"), [("a" * (MAX_ATTRIBUTE - 1) + "b", True), ("a" * MAX_ATTRIBUTE + "b", False)]
)
def test_only_the_beginning_of_a_long_attribute_is_matched(text: str, *, matches: bool) -> None:
    made = rules({"attributes": {"x": {"regex": "b"}}})

    assert (select(made, RuleContext(attributes={"x": text})) is not None) is matches


def test_what_is_remembered_tells_every_key_apart() -> None:
    index = RuleIndex(
        [Holder(rule) for rule in rules(*({key: "x"} for key in ("route", "intent", "agent", "service", "tenant")))]
    )
    for at, key in enumerate(("route", "intent", "agent", "service", "tenant")):
        for value, wanted in (("x", f"r{at}"), ("y", None), ("x", f"r{at}")):
            keys: dict[str, Any] = {key: value}
            found = index.select(RuleContext(**keys))
            assert (found.rule.name if found else None) == wanted


def test_rules_that_look_at_attributes_are_selected_anew_for_each_run() -> None:
    index = RuleIndex([Holder(rule) for rule in rules({"attributes": {"env": "prod"}})])
    found = [index.select(RuleContext(attributes={"env": env})) is not None for env in ("prod", "test", "prod")]
    assert found == [True, False, True]


def test_how_many_keys_of_runs_are_remembered_is_limited() -> None:
    index = RuleIndex([Holder(rule) for rule in rules({"route": "/x"})])
    for at in range(MAX_SELECTED + 10):
        index.select(RuleContext(route="/x", agent=f"a{at}"))
        assert len(index._selected) <= MAX_SELECTED
    index.select(RuleContext(route="/x", agent="a" * MAX_LENGTH))
    assert not any(len(agent or "") > 10 for _, _, agent, _, _ in index._selected), "long texts are not kept"


MANY = 1_000


@pytest.mark.parametrize(
    ("match", "context"),
    [
        (lambda at: {"route": f"/r{at}"}, RuleContext(route="/r7")),
        (lambda at: {"route": f"/r{at}/*"}, RuleContext(route="/r7/x")),
        (lambda at: {"route": f"/r{at}/*/end"}, RuleContext(route="/r7/x/end")),
        (lambda at: {"route": "/chat", "agent": f"a{at}"}, RuleContext(route="/chat", agent="a7")),
        (lambda at: {"route": "/chat", "agent": f"a{at}-*"}, RuleContext(route="/chat", agent="a7-x")),
        (lambda at: {"attributes": {"team": f"t{at}"}}, RuleContext(attributes={"team": "t7"})),
        (lambda at: {"attributes": {"team": {"regex": f"^t{at}$"}}}, RuleContext(attributes={"team": "t7"})),
        (lambda at: {"attributes": {f"k{at}": "x"}}, RuleContext(attributes={"k7": "x"})),
        (lambda at: {"route": f"*/r{at}/*"}, RuleContext(route="/v1/r7/x")),
        (lambda at: {"route": f"/api/*/customers/r{at}-x"}, RuleContext(route="/api/v2/customers/r7-x")),
        (lambda at: {"attributes": {"team": {"regex": f"r{at}-team"}}}, RuleContext(attributes={"team": "my r7-team"})),
        (
            lambda at: {"attributes": {"team": {"regex": f"r{at}-team"}}},
            RuleContext(attributes={"team": "r7-team" * 999}),
        ),
        (
            lambda at: {"attributes": {"team": {"regex": rf"\d+\.r{at}[-_]x*y"}}},
            RuleContext(attributes={"team": "1.r7-y"}),
        ),
    ],
    ids=[
        "route",
        "glob",
        "inner glob",
        "agent of a route",
        "agents of a route",
        "attribute",
        "regex",
        "key",
        "glob of an end",
        "glob of both ends",
        "part",
        "part of a long text",
        "part of a regex",
    ],
)
def test_a_lookup_tests_few_of_many_rules(match: Callable[[int], dict[str, Any]], context: RuleContext) -> None:
    index = RuleIndex([Holder(rule) for rule in rules(*(match(at) for at in range(MANY)))])

    tested = index.candidates(context)

    assert tested == [7]


@pytest.mark.parametrize(
    ("known", "unknown", "first"),
    [
        ({"service": "shop"}, ["agent"], "r1"),
        ({"service": "other"}, ["agent"], "r4"),
        ({"service": "other", "agent": "admin-1"}, ["route"], "r0"),
        ({"service": "shop", "route": "/chat"}, ["agent", "tenant"], "r1"),
        ({"service": "other", "route": "/chat"}, ["agent", "tenant"], "r2"),
        ({"service": "other", "route": "/chat"}, ["tenant"], "r2"),
        ({"service": "other", "route": "/else"}, ["tenant", "intent"], "r4"),
        ({"service": "other"}, [], "r4"),
    ],
    ids=str,
)
def test_a_rule_may_match_by_keys_that_are_unknown(known: dict[str, Any], unknown: list[str], first: str) -> None:
    asked: list[dict[str, Any]] = [
        {"agent": "admin-*", "route": "/admin"},
        {"agent": {"regex": "^.*$"}, "service": "shop"},
        {"tenant": "acme", "route": "/chat"},
        {"attributes": {"agent": "any"}},
        {},
    ]
    found = RuleIndex([Holder(rule) for rule in rules(*asked)]).select(RuleContext(**known), frozenset(unknown))
    assert found is not None
    assert found.rule.name == first


def test_the_closest_rule_misses_by_the_fewest_keys_and_is_the_first_of_these() -> None:
    asked: list[dict[str, Any]] = [
        {"route": "/a", "agent": "shop"},
        {"route": "/b", "attributes": {"env": "prod"}},
        {"route": "/c", "agent": "help-*"},
    ]
    index = RuleIndex([Holder(rule) for rule in rules(*asked)])

    def closest(context: RuleContext) -> tuple[str, list[str]]:
        found = index.closest(context)
        assert found is not None
        return found[0].rule.name, found[1]

    assert closest(RuleContext(route="/x", agent="shop")) == ("r0", ["route"])
    assert closest(RuleContext(route="/b", attributes={"env": "test"})) == ("r1", ["attribute env"])
    assert closest(RuleContext(agent="help-1")) == ("r2", ["route"])
    assert closest(RuleContext()) == ("r0", ["route", "agent"])
    assert RuleIndex[Holder]([]).closest(RuleContext()) is None


def test_only_so_many_rules_are_tried_for_the_closest() -> None:
    far = [{"route": f"/{at}", "agent": "a"} for at in range(MAX_TRIED)]
    index = RuleIndex([Holder(rule) for rule in rules(*far, {"route": "/near"})])
    found = index.closest(RuleContext())
    assert found is not None
    assert found[0].rule.name == "r0"


@given(contexts, st.lists(matches, min_size=1, max_size=3))
def test_a_rule_differs_in_no_key_where_it_matches(context: RuleContext, asked: list[dict[str, Any]]) -> None:
    for rule in rules(*asked):
        match = CompiledMatch(rule.match)
        assert match(context) is (match.differing(context) == [])
        assert len(match.differing(context)) == len(mismatches(rule.match, context))
