"""The tests of a rule file: results, reasons, and the diff."""

from __future__ import annotations

from typing import Any

import pytest

from scorers import load_rules, parse_rules
from scorers.rule_tests import RuleTestResult, build_trajectory, run_tests
from tests.scorers.examples import refund_file

ORDER = {"lookup_order": {"order_id": "ord_7"}}
WRONG = 'wrong arguments; lookup_order.order_id: "7" does not match ^ord_'
HAPPY = [ORDER, "check_inventory", "check_policy", "refund_card"]


def result(**keys: Any) -> RuleTestResult:
    document = refund_file()
    document["tests"] = [{"name": "t", "rule": "refund", "calls": HAPPY, "passes": True, **keys}]
    (one,) = run_tests(parse_rules(document), load_rules(document))
    return one


def test_the_example_passes() -> None:
    document = refund_file()

    (one,) = run_tests(parse_rules(document), load_rules(document))

    assert one.passed
    assert one.text == "test 'happy path' of rule refund passes"


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"score": 1.0},
        {"calls": HAPPY[1:], "passes": False},
        {"calls": HAPPY[1:], "passes": False, "score": 0.857},
        {"calls": [ORDER, {"parallel": ["check_policy", "check_inventory"]}, "refund_card"]},
        {"calls": ["lookup_order", *HAPPY[1:]]},
        {"calls": [{"lookup_order": {}}, *HAPPY[1:]], "passes": False},
        {"context": {"route": "/chat/refund", "intent": "refund", "agent": "support-3"}},
    ],
)
def test_tests_that_pass(keys: dict[str, Any]) -> None:
    assert result(**keys).text == "test 't' of rule refund passes"


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"passes": False}, "expected fail, got pass: score 1.000 = 1 - 0/(4 + 4)"),
        ({"calls": []}, "expected pass, got fail: score 0.000 = 1 - 4/(4 + 0)"),
        ({"score": 0.9}, "expected score 0.9, got: score 1.000"),
        ({"rule": "refnd"}, "there is no such rule; did you mean refund?"),
        ({"context": {"route": "/chat/other"}}, "its context selects no rule"),
    ],
)
def test_reasons_of_tests_that_fail(keys: dict[str, Any], reason: str) -> None:
    failed = result(**keys)

    assert not failed.passed
    assert reason in failed.reason


@pytest.mark.parametrize(("tenant", "selects"), [("true", True), (True, True), (7, False), (None, False)])
def test_a_context_is_read_as_attributes_of_spans_are(tenant: Any, selects: bool) -> None:
    match = {"tenant": {"regex": "^true$|^None$"}}
    test = {"name": "t", "rule": "r", "calls": [], "passes": True, "context": {"tenant": tenant}}
    document = {"rules": [{"name": "r", "match": match}], "tests": [test]}
    (one,) = run_tests(parse_rules(document), load_rules(document))
    assert one.passed is selects


def test_expected_and_actual_calls_are_shown_side_by_side() -> None:
    failed = result(
        calls=[
            "refund_card",
            {"lookup_order": {"order_id": "7"}},
            {"parallel": ["check_inventory", "log_it"]},
            "search",
            {"delete_order": {"id": 7}},
        ]
    )

    assert failed.text.splitlines()[1:] == [
        "    expected                                   called",
        "  ~ refund_card                                refund_card                 out of order",
        '  ~ lookup_order(order_id={"regex": "^ord_"})  lookup_order(order_id="7")  ' + WRONG,
        "  = check_inventory                            check_inventory",
        "                                               log_it                      unscored; allowed as an extra",
        "  +                                            search                      extra",
        "  !                                            delete_order(id=7)          forbidden",
        "  - check_policy                                                           missing",
        "  ! precedence(check_policy, refund_card)                                  broken",
    ]


def test_a_missing_call_stands_where_it_was_due() -> None:
    document = {
        "rules": [{"name": "r", "expect": {"sequence": ["a", "b", "c", "d"]}}],
        "tests": [{"name": "t", "rule": "r", "calls": ["a", "c"], "passes": True}],
    }

    (failed,) = run_tests(parse_rules(document), load_rules(document))

    assert [(row["outcome"], row["expected"]) for row in failed.difference] == [
        ("matched", "a"), ("missing", "b"), ("matched", "c"), ("missing", "d"),
    ]  # fmt: skip


def test_a_rule_without_a_pattern_has_a_diff_too() -> None:
    document = {
        "rules": [{"name": "r", "constraints": [{"absence": "a"}]}],
        "tests": [{"name": "t", "rule": "r", "calls": ["a"], "passes": True}],
    }

    (failed,) = run_tests(parse_rules(document), load_rules(document))

    assert "broken absence(a) (cost 1)" in failed.reason
    assert failed.text.splitlines()[1:] == [
        "    expected    called",
        "                a       unscored",
        "  ! absence(a)          broken",
    ]


def test_the_calls_of_a_test_become_a_run() -> None:
    (test,) = parse_rules(
        {
            "tests": [
                {
                    "name": "t",
                    "rule": "r",
                    "passes": True,
                    "calls": [
                        "a",
                        {"parallel": [{"b": {"x": 1}}, {"parallel": ["c"]}]},
                        {"tool": "d", "status": "error", "executed": False},
                        {"e": {}},
                    ],
                }
            ]
        }
    ).tests

    calls = build_trajectory(test.calls).calls

    assert [(call.name, call.arguments, call.step) for call in calls] == [
        ("a", None, 0),
        ("b", {"x": 1}, 1),
        ("c", None, 1),
        ("d", None, 2),
        ("e", {}, 3),
    ]
    assert [(call.status, call.executed) for call in calls][3] == ("error", False)


@pytest.mark.parametrize(
    ("scorers", "reason"),
    [
        (["tool_choice"], "every scorer of the rule asks a model, which tests do not do"),
        (["tool_choice", "trajectory"], ""),
        (["trajectory", "tool_choice"], ""),
    ],
)
def test_a_scorer_that_asks_a_model_is_not_tested(scorers: list[str], reason: str) -> None:
    document = {
        "rules": [{"name": "r", "match": {}, "expect": {"sequence": ["a"]}, "scorers": scorers}],
        "tests": [{"name": "t", "rule": "r", "calls": ["a"], "passes": True}],
    }
    (only,) = run_tests(parse_rules(document), load_rules(document))
    assert only.reason == reason
