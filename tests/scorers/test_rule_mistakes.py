"""What is said of rules has to be true: a rule that is never used is selected for no run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorers import load_rules
from scorers.rule_mistakes import hiding, unseen
from scorers.rules.selection import RuleContext

GLOBS = ["a", "ab", "abc", "a*", "ab*", "*", "*b", "*b*", "a?", "a[b]c", "[a-c]*"]
REGEXES = ["^ab", "b", "^a(b|c)", "b$", "^ab?\\b", "[ab]", "^(a|c)", "ab?c", "a(?m)b$", "."]
NAMES = st.sampled_from([*GLOBS, *({"regex": regex} for regex in REGEXES)])
MATCHES = st.fixed_dictionaries(
    {}, optional={"route": NAMES, "agent": NAMES, "attributes": st.dictionaries(st.sampled_from(["x", "y"]), NAMES)}
)
TEXTS = st.sampled_from(["", "a", "ab", "abc", "abcd", "b", "cb"])
CONTEXTS = st.builds(
    RuleContext,
    st.none() | TEXTS,
    agent=st.none() | TEXTS,
    attributes=st.dictionaries(st.sampled_from(["x", "y"]), TEXTS),
)


@given(st.lists(MATCHES, min_size=2, max_size=4), CONTEXTS)
def test_no_run_is_scored_by_a_rule_that_another_before_it_hides(
    matches: list[dict[str, Any]], context: RuleContext
) -> None:
    rules = load_rules({"rules": [{"name": f"r{at}", "match": match} for at, match in enumerate(matches)]})
    selected = rules.select(context)
    names = [rule.rule.name for rule in rules.rules]
    if selected is not None and (hidden_by := hiding(selected.rule, rules)) is not None:
        assert names.index(hidden_by.name) > names.index(selected.rule.name)


@pytest.mark.parametrize(
    ("wider", "narrower"),
    [
        ("/api/*", "/api/v1/*"),
        ({"regex": "^/api/"}, "/api/v1/*"),
        ({"regex": "^/(api|app)/"}, {"regex": "^/api/v[12]/"}),
        ({"regex": "orders"}, "*/orders/*"),
        ({"regex": "order"}, {"regex": "orders?/"}),
        ("*orders*", {"regex": "^/api/.*/orders$"}),
        ("/[a-z]*", "/api/*"),
    ],
)
def test_a_rule_behind_one_that_matches_more_is_never_used(wider: Any, narrower: Any) -> None:
    rules = load_rules(
        {"rules": [{"name": "first", "match": {"route": wider}}, {"name": "second", "match": {"route": narrower}}]}
    )
    hidden_by = hiding(rules.rules[1].rule, rules)
    assert hidden_by is not None
    assert hidden_by.name == "first"


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"match": {"agent": "h\u00e9lper \U0001f600"}, "expect": {"sequence": ["a b", {"tool": {"regex": "\\s"}}]}}, []),
        ({"match": {"agent": "helper\u200b"}}, ["ZERO WIDTH SPACE (U+200B)"]),
        ({"match": {"attributes": {"x": {"regex": "^a\u00a0"}}}}, ["NO-BREAK SPACE (U+00A0)"]),
        ({"expect": {"sequence": ["a\n", {"optional": "a\n"}]}}, ["U+000A (U+000A)"]),
        ({"expect": {"sequence": ["a"], "forbid": ["delete_*\u202e"], "allow_extra": ["\ufeffb"]}},
         ["ZERO WIDTH NO-BREAK SPACE (U+FEFF)", "RIGHT-TO-LEFT OVERRIDE (U+202E)"]),
        ({"constraints": [{"absence": "a\u00ad"}]}, ["SOFT HYPHEN (U+00AD)"]),
    ],
)  # fmt: skip
def test_names_with_characters_that_nobody_sees(rule: dict[str, Any], said: list[str]) -> None:
    (compiled,) = load_rules({"rules": [{"name": "r", "match": {}, **rule}]}).rules
    found = list(unseen(compiled.rule))
    assert [text.partition(" nobody sees: ")[2] for text in found] == said
