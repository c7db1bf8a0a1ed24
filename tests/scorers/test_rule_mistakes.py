"""What is said of rules has to be true: a rule that is never used is selected for no run."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scorers import load_rules
from scorers.rule_mistakes import hiding
from scorers.rules.selection import RuleContext

NAMES = st.sampled_from(["a", "ab", "abc", "a*", "ab*", "*", "*b", "a?", "a[b]c", {"regex": "^ab"}, {"regex": "b"}])
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
