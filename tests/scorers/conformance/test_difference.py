"""What differs between a rule and a run, in two columns: bounded, printable, and without values unless asked for."""

from __future__ import annotations

from typing import Any

import pytest

from scorers.conformance.difference import MAX_ROWS, Difference, DifferenceRow, columns, show_tool
from scorers.conformance.scorer import TrajectoryScorer
from scorers.rules.mismatches import Mismatch
from scorers.rules.model import Rule, Tool
from scorers.trajectory import ToolCall, Trajectory

EXPECT = {
    "sequence": [
        {"tool": "lookup", "arguments": {"id": {"regex": "^ord_"}}},
        "check",
        {"any_order": ["a", "b"]},
        "send",
    ],
    "allow_extra": ["log_*"],
    "forbid": ["delete_*"],
    "max_calls": 6,
}


def call(name: str, step: int, arguments: dict[str, Any] | None = None) -> ToolCall:
    return ToolCall(name, arguments=arguments, step=step)


def difference(*calls: ToolCall, expect: dict[str, Any] = EXPECT) -> Difference:
    scorer = TrajectoryScorer(Rule.model_validate({"name": "refund", "match": {}, "expect": expect}))
    return scorer.difference(Trajectory(list(calls)))


CALLED = (
    call("lookup", 0, {"id": "7"}), call("log_1", 1), call("a", 2), call("b", 3), call("delete_order", 4), call("more", 5),
    call("log_2", 6),
)  # fmt: skip


def test_columns_line_up_whatever_characters_are_in_them() -> None:
    rows = [
        {"outcome": "extra", "called": called, "note": "extra"}
        for called in ("查询订单", "e\u0301te\u0301", "조회", "plain")
    ]
    assert columns(rows) == [
        "    expected  called",
        "  +           查询订单  extra",
        "  +           e\u0301te\u0301       extra",
        "  +           조회      extra",
        "  +           plain     extra",
    ]


def test_a_missing_call_stands_where_it_was_due_and_a_broken_limit_last() -> None:
    assert difference(*CALLED).lines(values=True) == [
        "    expected                       called",
        '  ~ lookup(id={"regex": "^ord_"})  lookup(id="7")  wrong arguments; lookup.id: "7" does not match ^ord_',
        "                                   log_1           unscored; allowed as an extra",
        "  - check                                          missing",
        "  = a                              a",
        "  = b                              b",
        "  !                                delete_order    forbidden",
        "  +                                more            extra",
        "                                   log_2           unscored; allowed as an extra",
        "  - send                                           missing",
        "  ! max_calls 6                                    broken",
    ]


def test_a_call_that_is_not_scored_says_why() -> None:
    calls = (
        ToolCall("lookup", step=0, status="error"), call("lookup", 1), ToolCall("check", step=2, executed=False),
        call("log_1", 3),
    )  # fmt: skip
    expect = {"sequence": ["lookup"], "allow_extra": ["log_*"], "retries": "collapse"}
    assert [row.get("note") for row in difference(*calls, expect=expect).data(values=False)] == [
        "unscored; failed and was retried", None, "unscored; not executed", "unscored; allowed as an extra",
    ]  # fmt: skip
    # Without a pattern no call is extra, and one that is not forbidden may still break a constraint.
    assert [row.note(values=False) for row in difference(call("a", 0), expect={"forbid": ["b"]}).rows] == ["unscored"]


def test_no_value_is_shown_unless_asked_for() -> None:
    lines = difference(*CALLED).lines(values=False)

    assert lines[1] == (
        '  ~ lookup(id={"regex": "^ord_"})  lookup        wrong arguments; lookup.id does not match ^ord_'
    )
    assert not [line for line in lines if '"7"' in line]


def test_reasons_are_named_once_without_what_is_right_or_allowed() -> None:
    assert difference(*CALLED, call("more", 7)).reasons == (
        "wrong arguments lookup.id", "missing check", "forbidden delete_order", "extra more", "missing send",
        "broken max_calls 6",
    )  # fmt: skip


def test_each_argument_that_differs_is_a_reason_and_a_bounded_number_is_noted() -> None:
    row = DifferenceRow(
        "wrong_arguments", "f", "f", call("f", 0), [Mismatch(f"k{at}", 1, "is wrong") for at in range(9)]
    )

    assert list(row.reasons()) == [f"wrong arguments f.k{at}" for at in range(9)]
    assert row.note(values=False).count("f.k") == 8


def test_of_a_long_run_only_what_differs_is_shown() -> None:
    names = [f"t{at}" for at in range(MAX_ROWS + 1)]
    calls = [call(name, at) for at, name in enumerate(names) if at != 70]
    lines = difference(*calls, call("delete_all", 200), expect={"sequence": names, "forbid": ["delete_*"]}).lines(
        values=False
    )

    assert lines == [
        "    expected  called",
        "  - t70                   missing",
        "  !           delete_all  forbidden",
        "    ... and 100 more",
    ]


def test_of_as_many_rows_as_are_shown_none_is_left_out() -> None:
    rows = [{"outcome": "matched", "expected": "a", "called": "a"}] * MAX_ROWS

    assert columns(rows) == ["    expected  called", *["  = a         a"] * MAX_ROWS]
    assert columns([*rows, rows[0]]) == ["    expected  called", f"    ... and {MAX_ROWS + 1} more"]
    assert columns([]) == []


def test_of_rows_that_differ_a_bounded_number_is_shown() -> None:
    lines = columns([{"outcome": "extra", "called": "x", "note": "extra"}] * (MAX_ROWS + 3))

    assert len(lines) == MAX_ROWS + 2
    assert lines[-1] == "    ... and 3 more"


def test_arguments_that_were_not_captured_are_not_shown() -> None:
    data = difference(call("lookup", 0), expect={"sequence": ["lookup"]}).data(values=True)

    assert data == [{"outcome": "matched", "expected": "lookup", "called": "lookup"}]


@pytest.mark.parametrize("name", ["\x1b[31m", "x" * 500])
def test_names_of_agents_are_shortened_and_escaped(name: str) -> None:
    _, line = difference(call(name, 0), expect={"sequence": []}).lines(values=True)

    assert line.isprintable()
    assert len(line) < 150


def test_a_pattern_is_shown_as_the_rule_has_it() -> None:
    assert (
        show_tool(Tool.model_validate({"tool": "f", "arguments": {"a": 1, "b": {"regex": "x"}}}))
        == 'f(a=1, b={"regex": "x"})'
    )
    assert show_tool(Tool.model_validate({"tool": "f"})) == "f"
