"""Verdicts as rows and rows as text."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest

from collector.offline import report
from scorers import FoundIntent, ToolCall, Trajectory
from tests.collector.verdicts import evaluation, verdict_of

GOOD = report.row_of(verdict_of("search", "book", outcomes=("matched", "matched")))
BAD = report.row_of(verdict_of("search", outcomes=("extra",), label="fail", value=0.5))
WHY = "score 1.000; incomplete: its span was not received"
PARTIAL = report.row_of(
    verdict_of("search", evaluations=[evaluation("incomplete", explanation=WHY)], doubts=["missing_span"])
)
RULELESS = report.row_of(verdict_of("search", rule=None, evaluations=[]))
ROWS = [GOOD, BAD, PARTIAL, RULELESS]


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
    assert report.row_of(verdict_of("search", run={"found_intent": found}))["intent_reason"] == "keyword 'money back'"


def test_jsonl_is_one_object_a_line() -> None:
    assert [json.loads(line) for line in report.jsonl(ROWS).splitlines()] == ROWS


def test_what_other_rules_say_stands_on_the_line_of_the_run() -> None:
    shadow, talk = (
        report.row_of(verdict_of("search", shadow=True)),
        report.row_of(verdict_of("a", scope="conversation")),
    )
    first, second = (json.loads(line) for line in report.jsonl([BAD, shadow, GOOD, talk]).splitlines())
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
        report.row_of(verdict_of(scope="conversation", **failed)),
        report.row_of(verdict_of(shadow=True, **failed)),
    ]
    assert report.mean_score(rows) == 0.5
    assert "1 runs, 1 pass, 1 fail, mean score 0.500" in report.markdown(rows)
    assert "weather (conversation)" in report.markdown(rows)
    suite = ElementTree.fromstring(report.junit(rows))
    assert [[child.tag for child in case] for case in suite] == [[], ["failure"], ["skipped"]]


def test_the_table_names_calls_outcomes_and_reasons() -> None:
    text = report.table(ROWS)
    for word in ("search", "extra", "0.500", "because", "4 runs, 1 pass, 1 fail, 1 incomplete, mean score 0.750"):
        assert word in text


def test_markdown_survives_pipes_and_newlines() -> None:
    row = report.row_of(verdict_of("a|b", evaluations=[evaluation("fail", 0.0, explanation="two\nlines | one cell")]))
    lines = report.markdown([row]).splitlines()
    assert lines[2] == "| helper | weather | a\\|b | trajectory | 0.000 | fail | two\\\\nlines \\| one cell |"


def test_a_run_without_verdict_is_shown_with_the_sentence_that_says_why() -> None:
    assert (PARTIAL["complete"], PARTIAL["doubts"]) == (False, ["missing_span"])
    assert f"| incomplete | {WHY} |" in report.markdown(ROWS)
    for word in ("incomplete", "received"):
        assert word in report.table(ROWS)
    suite = ElementTree.fromstring(report.junit(ROWS))
    assert [skipped.get("message") for skipped in suite.iter("skipped")] == [WHY]


@pytest.mark.parametrize("label", ["incomplete", "ambiguous"])
def test_only_what_is_decided_counts(label: Any) -> None:
    rows = [GOOD, report.row_of(verdict_of(label=label, value=0.0))]
    assert report.mean_score(rows) == 1.0
    assert f"2 runs, 1 pass, 0 fail, 1 {label}, mean score 1.000" in report.markdown(rows)
    assert ElementTree.fromstring(report.junit(rows)).get("skipped") == "1"


def test_what_was_seen_of_an_incomplete_run_may_suffice_for_a_fail() -> None:
    row = report.row_of(verdict_of("search", label="fail", value=0.5, doubts=["missing_span"]))
    assert report.mean_score([GOOD, row]) == 0.75
    assert ElementTree.fromstring(report.junit([row])).get("failures") == "1"


def test_a_row_says_how_each_call_is_known() -> None:
    calls = [ToolCall("a"), ToolCall("b", known_by="result", step=1)]
    row = report.row_of(verdict_of("a", "b", run={"trajectory": Trajectory(calls)}))
    assert [call["known_by"] for call in row["tool_calls"]] == ["span", "result"]


def test_junit_has_a_failure_for_each_fail_and_a_skip_for_each_incomplete_run() -> None:
    suite = ElementTree.fromstring(report.junit(ROWS))
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    assert [[child.tag for child in case] for case in suite] == [[], ["failure"], ["skipped"]]


def test_the_mean_counts_decided_runs_and_an_error_as_nothing() -> None:
    error = report.row_of(verdict_of(label="error", value=None))
    assert report.mean_score(ROWS) == 0.75
    assert report.mean_score([GOOD, error]) == 0.5
    assert report.mean_score([PARTIAL, RULELESS]) is None
