"""The rule file that the documentation uses, and small builders of runs."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from math import factorial
from typing import Any

from scorers import CompiledRule, Doubt, ToolCall, Trajectory, load_rules
from scorers.conformance.expectation import compile_expectation
from scorers.conformance.pattern import Pattern
from scorers.doubts import MAX_ALTERNATIVES
from scorers.rules.model import Expect

_REFUND: dict[str, Any] = {
    "rules": [
        {
            "name": "refund",
            "match": {"route": "/chat/refund", "intent": "refund", "agent": "support-*"},
            "scope": "run",
            "expect": {
                "sequence": [
                    {"tool": "lookup_order", "arguments": {"order_id": {"regex": "^ord_"}}},
                    {"any_order": ["check_policy", "check_inventory"]},
                    {"optional": "notify_user"},
                    {"one_of": ["refund_card", "refund_credit"]},
                ],
                "allow_extra": ["log_*"],
                "forbid": ["delete_*"],
                "max_calls": 8,
            },
            "constraints": [
                {"precedence": ["check_policy", "refund_card"]},
                {"not_after": ["refund_card", "refund_credit"]},
            ],
            "scorers": ["trajectory", {"system": "evalite", "mode": "flexible"}],
            "pass": 0.9,
        }
    ],
    "intents": [
        {
            "name": "refund",
            "keywords": ["refund", "money back"],
            "regex": "\\bcharge(d)? twice\\b",
            "examples": ["I want my money back"],
        }
    ],
    "tests": [
        {
            "name": "happy path",
            "rule": "refund",
            "calls": [{"lookup_order": {"order_id": "ord_7"}}, "check_inventory", "check_policy", "refund_card"],
            "passes": True,
        }
    ],
}


def refund_file() -> dict[str, Any]:
    """The refund rule file as a YAML reader gives it; a fresh copy to change at will."""
    return copy.deepcopy(_REFUND)


def rule(expect: dict[str, Any] | None = None, **keys: Any) -> CompiledRule:
    """A compiled rule with this expectation."""
    expected = {} if expect is None else {"expect": expect}
    return load_rules({"rules": [{"name": "r", "match": {}, **expected, **keys}]}).rules[0]


def run(*calls: Any, steps: list[int] | None = None, doubts: Sequence[Doubt] = ()) -> Trajectory:
    """A run of names, (name, arguments) pairs or calls, each a step of its own unless ``steps`` is given."""
    made = []
    for at, call in enumerate(calls):
        step = steps[at] if steps else at
        if isinstance(call, ToolCall):
            made.append(replace(call, step=step))
        else:
            name, arguments = call if isinstance(call, tuple) else (call, None)
            made.append(ToolCall(name, arguments, step=step))
    return Trajectory(made, doubts=doubts)


def any_order(*places: int) -> Doubt:
    """Nothing orders the calls at these places; as recorded runs have it, more orders than are tried are not listed."""
    few = factorial(len(places)) <= MAX_ALTERNATIVES
    orders = tuple(tuple((at,) for at in order) for order in permutations(places)) if few else ()
    return Doubt("uncertain_order", places, orders=orders)


def pattern(expect: dict[str, Any]) -> Pattern:
    element = compile_expectation(Expect.model_validate(expect)).element
    assert element is not None
    return Pattern(element)


def inside(block: str) -> tuple[str, str]:
    """Boundary and content of a block, which has three lines whatever its content."""
    begin, content, end = block.split("\n")
    boundary = begin.removeprefix("BEGIN DATA ")
    assert end == f"END DATA {boundary}"
    return boundary, content
