"""What came of a call in unknown words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.payloads.attribute_shapes import values_by_meaning
from collector.payloads.outcomes import has_unknown_status, says_failure
from tests.builders import agent_span, called, calls_of, other_doubts, run_of, span

PAY = {"to": "Ada", "sum": 5}
GIVEN = json.dumps(PAY)


@pytest.mark.parametrize("why", ["no such tool", "unknown tool 'pay'"])
def test_the_words_of_a_failed_call_may_say_that_there_is_no_such_tool(why: str) -> None:
    failed = span("tool.pay", 2, 1, attributes={"tool.args": GIVEN, "tool.ok": False, "tool.why": why})
    assert called(run_of(agent_span(), failed)) == ["(pay)"]


@pytest.mark.parametrize(("key", "value"), [("denied", True), ("rejected", "true"), ("bank.verdict", "invalid")])
def test_a_word_for_a_denial_is_more_likely_than_not_one(key: str, value: object) -> None:
    denied = span("tool.pay", 2, 1, attributes={"tool.args": GIVEN, key: value})
    run = run_of(agent_span(), denied)
    assert (called(run), other_doubts(run)) == (["(pay)"], ["uncertain_execution"])


@pytest.mark.parametrize(
    ("key", "value"),
    [("tool.state", "FAILED"), ("tool.status", "ERR"), ("tool.outcome", "crashed"), ("tool.status", 500)],
)
def test_words_for_a_failure(key: str, value: object) -> None:
    assert calls_of(span("tool.pay", 2, 1, attributes={"tool.args": GIVEN, key: value})) == [("pay", PAY, "error")]


@pytest.mark.parametrize("key", ["tool.args", "tool.input", "prompt"])
def test_what_a_failed_tool_was_given_may_be_about_tools(key: str) -> None:
    failed = span("tool.ask", 2, 1, attributes={key: "unknown tool", "tool.ok": False})
    assert called(run_of(agent_span(), failed)) == ["ask"]


@pytest.mark.parametrize(
    ("attributes", "failed"),
    [
        ({"error.code": "E1"}, True),
        ({"exception.message": "x"}, True),
        ({"failure_reason": "x"}, True),
        ({"is_failure": "yes"}, True),
        ({"success": "no"}, True),
        ({"state": "errored"}, True),
        ({"outcome": "KO"}, True),
        ({"tool.error": "[]"}, False),
        ({"tool.error": "no error"}, False),
        ({"threw": "false"}, False),
        ({"exit_code": 1}, False),
    ],
)
def test_words_and_flags_of_failures(attributes: dict[str, Any], failed: bool) -> None:
    assert says_failure(values_by_meaning(attributes)) is failed


@pytest.mark.parametrize(
    ("code", "unknown"), [(0, False), (1, True), (137, True), (200, False), ("1", True), ("0", False)]
)
def test_a_command_that_ends_with_a_code_may_be_one_that_failed(code: object, unknown: bool) -> None:
    assert has_unknown_status(values_by_meaning({"exit_code": code})) is unknown


@pytest.mark.parametrize("status", ["rejected", "refused", "skipped", "ignored: no such action"])
def test_a_call_of_which_nothing_but_a_denial_is_told_has_more_likely_not_run(status: str) -> None:
    denied = span("tool.pay", 2, 1, attributes={"tool.args": GIVEN, "tool.status": status})
    run = run_of(agent_span(), denied)
    assert (called(run), "uncertain_execution" in other_doubts(run)) == (["(pay)"], True)
    answered = span("tool.pay", 2, 1, attributes={"tool.args": GIVEN, "tool.status": status, "tool.output": "no money"})
    run = run_of(agent_span(), answered)
    assert (called(run), "uncertain_execution" in other_doubts(run)) == (["pay"], True)


def test_what_is_not_found_may_be_what_the_tool_looked_for() -> None:
    run = run_of(agent_span(), span("tool.pay", 2, 1, attributes={"tool.args": GIVEN, "tool.status": "not_found"}))
    assert (called(run), "uncertain_execution" in other_doubts(run)) == (["pay"], True)


@pytest.mark.parametrize(("outcome", "is_failure", "is_unknown"), [
    ('{"ok": true, "value": 3}', False, False),
    ('{"ok": false, "message": "no money"}', True, True),
    ("ok: [3]", False, False),
    ("failed: no money", True, True),
    ("3 seats: A, B, C", False, True),
])  # fmt: skip
def test_what_is_told_behind_the_word_of_a_status(outcome: str, is_failure: bool, is_unknown: bool) -> None:
    values = values_by_meaning({"tool.outcome": outcome})
    assert (says_failure(values), has_unknown_status(values)) == (is_failure, is_unknown)
