"""Verdicts as rows and rows as text."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest

from collector.offline import report
from collector.offline.gate import Gate, tally
from collector.offline.reasons import MAX_GROUPS, groups_of
from collector.runs.rows import Row, row_of
from scorers import FoundIntent, ToolCall, Trajectory, load_rules
from tests.collector.verdicts import evaluation, verdict_of
from tests.otlp_data import TRACE

GOOD = row_of(verdict_of("search", "book", outcomes=("matched", "matched")))
BAD = row_of(verdict_of("search", outcomes=("extra",), label="fail", value=0.5))
WHY = "score 1.000; incomplete: its span was not received"
PARTIAL = row_of(verdict_of("search", evaluations=[evaluation("incomplete", explanation=WHY)], doubts=["missing_span"]))
RULELESS = row_of(verdict_of("search", rule=None, evaluations=[]))
ROWS = [GOOD, BAD, PARTIAL, RULELESS]


def results(junit: str) -> list[str]:
    """The result of each test case in turn, the gate's last; "" for one that passed."""
    cases = ElementTree.fromstring(junit)
    return ["".join(child.tag for child in case if child.tag != "properties") for case in cases]


def test_a_row_has_the_fields_of_the_contract() -> None:
    assert list(GOOD) == [
        "trace_id", "span_id", "parent_span_id", "agent", "conversation_id", "route", "intent", "user_input", "dialect",
        "complete", "doubts", "release", "tool_calls", "rule", "evaluations",
    ]  # fmt: skip
    assert list(GOOD["tool_calls"][0]) == [
        "id", "name", "arguments", "status", "error_type", "start_ns", "end_ns", "span_id", "executed", "known_by", "step",
        "outcome",
    ]  # fmt: skip
    assert list(GOOD["evaluations"][0]) == ["name", "value", "label", "explanation", "details"]
    assert RULELESS["tool_calls"][0]["outcome"] is None


def test_an_intent_found_in_the_users_words_comes_with_its_reason() -> None:
    found = FoundIntent("refund", "keyword", "keyword 'money back'")
    assert row_of(verdict_of("search", run={"found_intent": found}))["intent_reason"] == "keyword 'money back'"


def test_jsonl_is_one_object_a_line() -> None:
    assert [json.loads(line) for line in "".join(report.jsonl(ROWS)).splitlines()] == ROWS


def test_what_other_rules_say_stands_on_the_line_of_the_run() -> None:
    shadow, talk = (
        row_of(verdict_of("search", shadow=True)),
        row_of(verdict_of("a", scope="conversation")),
    )
    first, second = (json.loads(line) for line in "".join(report.jsonl([BAD, shadow, GOOD, talk])).splitlines())
    assert (first.pop("also")[0]["shadow"], first) == (True, BAD)
    (also,) = second.pop("also")
    assert ((also["scope"], also["rule"], [call["name"] for call in also["tool_calls"]]), second) == (
        ("conversation", "weather", ["a"]),
        GOOD,
    )


def test_conversations_count_and_shadow_rules_do_not() -> None:
    failed: dict[str, Any] = {"label": "fail", "value": 0.0}
    rows = [
        GOOD,
        row_of(verdict_of(scope="conversation", **failed)),
        row_of(verdict_of(shadow=True, **failed)),
    ]
    assert tally(rows).mean == 0.5
    assert "1 run, 1 pass, 1 fail, mean score 0.500" in "".join(report.markdown(rows))
    assert "weather (conversation)" in "".join(report.markdown(rows))
    assert results("".join(report.junit(rows))) == ["", "failure", "skipped", ""]


def test_the_table_names_calls_outcomes_and_reasons() -> None:
    text = "".join(report.table(ROWS))
    for word in ("search", "extra", "0.500", "because", "4 runs, 1 pass, 1 fail, 1 incomplete, mean score 0.750"):
        assert word in text


def test_a_narrow_table_has_names_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    table = "".join(report.table([ROWS[0]]))
    columns = zip(*(line.split("│") for line in table.splitlines() if line.startswith("│")), strict=True)
    cells = ["".join(map(str.strip, column)) for column in columns]
    for name in (ROWS[0]["trace_id"], ROWS[0]["tool_calls"][0]["name"], ROWS[0]["evaluations"][0]["name"]):
        assert any(name in cell for cell in cells)


def test_markdown_survives_pipes_and_newlines() -> None:
    row = row_of(verdict_of("a|b", evaluations=[evaluation("fail", 0.0, explanation="two\nlines | one cell")]))
    lines = "".join(report.markdown([row])).splitlines()
    assert (
        lines[2]
        == f"| {TRACE.hex()} | helper | weather | a\\|b | trajectory | 0.000 | fail | two\\\\nlines \\| one cell |"
    )


def test_a_run_without_verdict_is_shown_with_the_sentence_that_says_why() -> None:
    assert (PARTIAL["complete"], PARTIAL["doubts"]) == (False, ["missing_span"])
    assert f"| incomplete | {WHY} |" in "".join(report.markdown(ROWS))
    for word in ("incomplete", "received"):
        assert word in "".join(report.table(ROWS))
    suite = ElementTree.fromstring("".join(report.junit(ROWS)))
    assert [skipped.get("message") for skipped in suite.iter("skipped")] == [WHY, "no_rule"]


@pytest.mark.parametrize("label", ["incomplete", "ambiguous"])
def test_only_what_is_decided_counts(label: Any) -> None:
    rows = [GOOD, row_of(verdict_of(label=label, value=0.0))]
    assert tally(rows).mean == 1.0
    assert f"2 runs, 1 pass, 0 fail, 1 {label}, mean score 1.000" in "".join(report.markdown(rows))
    assert ElementTree.fromstring("".join(report.junit(rows))).get("skipped") == "1"


def test_what_was_seen_of_an_incomplete_run_may_suffice_for_a_fail() -> None:
    row = row_of(verdict_of("search", label="fail", value=0.5, doubts=["missing_span"]))
    assert tally([GOOD, row]).mean == 0.75
    assert ElementTree.fromstring("".join(report.junit([row]))).get("failures") == "1"


def test_a_row_says_how_each_call_is_known() -> None:
    calls = [ToolCall("a"), ToolCall("b", known_by="result", step=1)]
    row = row_of(verdict_of("a", "b", run={"trajectory": Trajectory(calls)}))
    assert [call["known_by"] for call in row["tool_calls"]] == ["span", "result"]


def test_junit_has_a_failure_for_each_fail_and_a_skip_for_each_run_without_a_verdict() -> None:
    suite = ElementTree.fromstring("".join(report.junit(ROWS)))
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("5", "1", "2")
    assert results("".join(report.junit(ROWS))) == ["", "failure", "skipped", "skipped", ""]


def test_the_mean_counts_decided_runs_and_an_error_as_nothing() -> None:
    error = row_of(verdict_of(label="error", value=None))
    assert tally(ROWS).mean == 0.75
    assert tally([GOOD, error]).mean == 0.5
    assert tally([PARTIAL, RULELESS]).mean is None


RULES = load_rules({
    "rules": [{
        "name": "refund",
        "match": {},
        "expect": {
            "sequence": [{"tool": "lookup_order", "arguments": {"order_id": {"regex": "^ord_"}}}, "check_policy"],
            "forbid": ["delete_*"],
        },
    }]
})  # fmt: skip


def scored(*calls: tuple[str, Any], number: int = 1, words: str | None = None, **fields: Any) -> Row:
    """The row of a run with these calls, scored by the rule above."""
    trajectory = Trajectory([ToolCall(name, arguments, step=at) for at, (name, arguments) in enumerate(calls)])
    (rule,) = RULES.rules
    run = {"trace_id": bytes([number]) * 16, "trajectory": trajectory, "call_span_ids": (None,) * len(calls)}
    evaluations = rule.evaluate(trajectory)
    return row_of(
        verdict_of(
            rule="refund", evaluations=evaluations, compiled_rule=rule, run={**run, "user_input": words}, **fields
        )
    )


WRONG = [scored(("lookup_order", {"order_id": "7"}), ("check_policy", {}), number=number) for number in (1, 2, 3)]
MISSING = scored(("lookup_order", {"order_id": "ord_7"}), number=4)
WHY_WRONG = 'lookup_order.order_id: "7" does not match ^ord_'


@pytest.mark.parametrize("form", ["table", "markdown", "junit"])
def test_reports_show_expected_beside_called_with_the_value_that_differs(form: str) -> None:
    text = "".join(report.FORMATS[form]([*WRONG, MISSING], []))
    shown = "".join(ElementTree.fromstring(text).itertext()) if form == "junit" else text
    assert WHY_WRONG in shown
    assert "  - check_policy" in shown


def test_jsonl_has_the_difference_and_its_reasons_of_runs_that_are_no_pass() -> None:
    right = scored(("lookup_order", None), ("check_policy", None))
    good, bad = (json.loads(line) for line in "".join(report.jsonl([right, MISSING])).splitlines())
    assert "difference" not in good
    assert bad["reasons"] == ["missing check_policy"]
    assert bad["difference"][1] == {"outcome": "missing", "expected": "check_policy", "note": "missing"}


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_failures_are_grouped_by_reason_with_a_number_and_an_example(form: str) -> None:
    text = "".join(report.FORMATS[form]([MISSING, *WRONG], []))
    assert text.count("by refund") == 2
    groups = [group.sentence for group in groups_of([MISSING, *WRONG])]
    assert groups == [
        f"3 fail by refund: wrong arguments lookup_order.order_id (for example {'01' * 16})",
        f"1 fail by refund: missing check_policy ({'04' * 16})",
    ]
    assert all(row["trace_id"] in text for row in [MISSING, *WRONG])


def test_no_more_than_a_screen_of_reasons_is_listed() -> None:
    rows = [scored((f"tool_{number}", {}), number=number) for number in range(MAX_GROUPS + 3)]
    assert "".join(report.table(rows)).count("by refund") == MAX_GROUPS
    assert "3 more reasons" in "".join(report.table(rows))


def test_what_is_undecided_is_grouped_by_its_doubts_and_an_error_by_its_kind() -> None:
    error = evaluation("error", None, explanation="the scorer raised", details={"error.type": "ValueError"})
    groups = groups_of([PARTIAL, row_of(verdict_of(evaluations=[error]))])
    assert [(group.label, list(group.reasons)) for group in groups] == [
        ("incomplete", ["missing_span"]),
        ("error", ["ValueError"]),
    ]


def test_test_cases_have_the_same_names_whatever_the_trace_ids() -> None:
    def names(first: int) -> list[Any]:
        rows = [scored(number=first + at, words=words) for at, words in enumerate(["Refund  order 7", None, None])]
        return [case.get("name") for case in ElementTree.fromstring("".join(report.junit(rows)))]

    assert names(1) == names(7) == [
        "refund / trajectory / Refund order 7", "refund / trajectory", "refund / trajectory #2", "gate",
    ]  # fmt: skip


def test_no_runs_at_all_are_no_success() -> None:
    objections = Gate().objections(tally([]))
    suite = ElementTree.fromstring("".join(report.junit([], objections)))
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert "0 of 0 runs decided" in str(suite[0][0].get("message"))
    assert "Not met" in "".join(report.markdown([], objections))
