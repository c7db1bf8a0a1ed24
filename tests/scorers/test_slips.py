"""A fail tells of a call that has nearly the name of a missing one, and of nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from scorers import load_rules
from scorers.wording import is_misspelt
from tests.scorers.examples import run


def explained(expect: dict[str, Any], *calls: str) -> str:
    (rule,) = load_rules({"rules": [{"name": "x", "match": {}, "expect": expect}]}).rules
    return rule.evaluate(run(*calls))[0].score.explanation


SAID = "; search_order was called, not search_orders: is one of them misspelt?"


@pytest.mark.parametrize("extra", [{}, {"allow_extra": ["*"]}])
def test_a_missing_call_with_nearly_the_name_of_one_that_matches_nothing(extra: dict[str, Any]) -> None:
    wanted = {"sequence": ["search_orders", "refund"], **extra}
    assert explained(wanted, "search_order", "refund").endswith(SAID)
    assert SAID not in explained(wanted, "search_order", "search_orders")
    assert SAID not in explained(wanted, "search", "refund")


def test_a_call_that_matches_another_tool_of_the_rule_is_meant() -> None:
    assert SAID not in explained({"any_order": ["search_orders", "search_order"]}, "search_order")


def test_one_shape_says_of_each_run_what_was_called_in_it() -> None:
    (rule,) = load_rules(
        {"rules": [{"name": "x", "match": {}, "expect": {"mode": "in_order", "tools": ["refund"]}}]}
    ).rules
    said = [rule.evaluate(run(name))[0].score.explanation for name in ("refudn", "search", "re_fund")]
    assert [text.split("; ")[2:] for text in said] == [
        ["refudn was called, not refund: is one of them misspelt?"],
        [],
        ["re_fund was called, not refund: is one of them misspelt?"],
    ]


@pytest.mark.parametrize(
    ("name", "other", "slip"),
    [
        ("search_orders", "search_order", True),
        ("search_orders", "searchOrders", True),
        ("mcp.search", "mcp-search", True),
        ("amount", "amonut", True),
        ("amount", "amout", True),
        ("date", "rate", False),
        ("page_1", "page_2", False),
        ("page_12", "page_21", False),
        ("item", "item2", False),
        ("refund", "refund_card", False),
        ("refund", "refund", False),
        ("lat", "lats", False),
        ("abcd", "badc", False),
    ],
)
def test_a_slip_is_a_letter_too_many_two_swapped_or_another_way_to_write_words(
    name: str, other: str, slip: bool
) -> None:
    assert is_misspelt(name, other) is slip
    assert is_misspelt(other, name) is slip
