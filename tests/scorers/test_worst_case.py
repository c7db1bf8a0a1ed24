"""Which rules a hostile run can take beyond the limit of work, and where in the rule."""

from __future__ import annotations

from typing import Any

import pytest

from scorers import load_rules
from scorers.worst_case import Exceeded, _hostile_runs, exceeded_limit
from tests.operations import calls
from tests.scorers.examples import refund_file, rule


def argument(matcher: Any) -> dict[str, Any]:
    return {"sequence": ["b", {"tool": "a_*", "arguments": {"x": matcher}}]}


RECURSIVE = {
    "anyOf": [{"properties": {"n": {"$ref": "#"}}, "required": ["n"], "type": "object", "minProperties": at} for at in (0, 1)]
}  # fmt: skip


MANY = {"sequence": [{"tool": "a", "arguments": {"x": {"regex": "."}}}] * 400, "allow_extra": ["a"]}


@pytest.mark.parametrize(
    ("expect", "keys", "path", "part"),
    [
        (argument({"regex": "(a?){300}b"}), {}, ("arguments", "x", "regex"), "regex"),
        (
            {"tool": "a", "arguments": {"x": {"regex": "(a?){300}b"}}},
            {},
            ("expect", "arguments", "x", "regex"),
            "regex",
        ),
        (argument({"one_of": [{"regex": "(a?){300}b"}]}), {}, ("x", "one_of", 0, "regex"), "regex"),
        (argument({"subset": {"y": {"regex": "(a?){300}b"}}}), {}, ("x", "subset", "y", "regex"), "regex"),
        (
            argument({"fuzzy": "my order " * 9, "ratio": "weighted"}),
            {},
            ("arguments", "x", "fuzzy"),
            "fuzzy",
        ),
        (argument({"schema": RECURSIVE}), {}, ("arguments", "x", "schema"), "schema"),
        ({"sequence": [{"optional": f"t{at % 5}"} for at in range(300)]}, {}, ("expect",), "expect"),
        (
            MANY,
            {"scorers": ["trajectory", {"system": "adk", "match_type": "ANY_ORDER"}]},
            ("scorers", 1),
            "expected ones",
        ),
    ],
)
def test_rules_that_can_exceed_the_limit(expect: Any, keys: Any, path: Any, part: str) -> None:
    exceeded = exceeded_limit(rule(expect, **keys))

    assert exceeded is not None
    assert exceeded.path[-len(path) :] == path
    assert f"{part} exceeds the limit of 500000 units of work" in exceeded.message


@pytest.mark.parametrize(
    "expect",
    [
        argument({"regex": r"^ord_\d{4}-\d{2}$"}),
        argument({"fuzzy": "where is my order"}),
        argument({"schema": {"type": "array", "items": {"type": "object", "required": ["a"]}, "uniqueItems": True}}),
        argument({"exact": [1, {"a": 2}]}),
        {"any_order": [{"repeat": {"sequence": [*names]}, "min": 0} for names in ("ab", "cd")]},
        {"mode": "any_order", "tools": [f"t{at}" for at in range(100)]},
        None,
    ],
)
def test_ordinary_rules_stay_within_the_limit(expect: Any) -> None:
    assert exceeded_limit(rule(expect)) is None


def test_the_example_of_the_documentation_stays_within_the_limit() -> None:
    assert exceeded_limit(load_rules(refund_file()).rules[0]) is None


def test_the_same_rule_gives_the_same_answer() -> None:
    compiled = rule(argument({"regex": "(a?){300}b"}))

    assert exceeded_limit(compiled) == exceeded_limit(compiled)
    assert isinstance(exceeded_limit(compiled), Exceeded)


def test_a_hostile_run_is_scored_once() -> None:
    one, other = (rule({"sequence": ["a", {"any_order": ["b", "c"]}, "d"]}) for _ in range(2))
    assert calls(lambda: exceeded_limit(one)) < 1.2 * calls(
        lambda: [other.evaluate(run) for run in _hostile_runs(other.rule)]
    )
