"""The fallback: records of calls that a loop of one's own keeps in one value, in a list of its steps or in its events."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.builders import agent_span, calls_of, run_of, span

PAY = {"to": "Ada", "sum": 5}
GIVEN = json.dumps(PAY)
MADE = {"args": PAY, "result": "paid"}


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("x", {"tool": json.dumps({"name": "pay", "input": PAY, "output": "paid"})}),
        ("x", {"tool": {"name": "pay", "args": PAY, "result": "paid"}}),
        ("x", {"tool_call": json.dumps({"name": "pay", "arguments": PAY}), "tool_result": "paid"}),
        ("x", {"tool_call": "pay", "tool_call_args": GIVEN, "tool_call_result": "paid"}),
        ("x", {"toolUse": json.dumps({"toolUseId": "tooluse_1A", "name": "pay", "input": PAY}),
               "toolResult": json.dumps({"toolUseId": "tooluse_1A", "status": "success", "content": []})}),
        ("tool/pay", {"request": GIVEN, "response": "{}"}),
        ("tool_exec pay", {"args": GIVEN}),
        ("action:pay", {"args.to": "Ada", "args.sum": 5, "observation": "paid"}),
        ("exec tool pay", {"args": GIVEN}),
        ("handle_tool_call", {"name": "pay", "args": GIVEN}),
        ("dispatchTool", {"name": "pay", "arguments": GIVEN}),
        ("pay", {"is_tool": True, "args": GIVEN}),
        ("pay", {"tool": True, "args": GIVEN}),
        ("pay", {"layer": "tools", "args": GIVEN}),
    ],
)  # fmt: skip
def test_a_record_of_one_call(name: str, attributes: dict[str, Any]) -> None:
    assert [call[:2] for call in calls_of(span(name, 2, 1, attributes=attributes))] == [("pay", PAY)]


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("x", {"tool": json.dumps({"name": "pay", "description": "Pays."})}),
        ("x", {"tool_calls": "pay", "tool_calls_args": GIVEN}),
        ("x", {"is_tool": False, "args": GIVEN}),
        ("percept:scan", {"args.to": "Ada", "observation": "nobody"}),
        ("process_tool_calls", {"name": "pay", "args": GIVEN}),
    ],
)
def test_what_is_no_record_of_a_call(name: str, attributes: dict[str, Any]) -> None:
    assert calls_of(span(name, 2, 1, attributes=attributes)) == []


@pytest.mark.parametrize(
    "attributes",
    [
        {"tool_calls": json.dumps([{"name": "pay", **MADE}])},
        {"steps": json.dumps([{"thought": "x"}, {"tool": "pay", **MADE}, {"name": "x", **MADE}])},
        {"events": json.dumps([{"type": "user", "text": "x"}, {"type": "tool", "name": "pay", **MADE}])},
    ],
)
def test_a_list_of_what_was_done_may_hold_other_steps(attributes: dict[str, Any]) -> None:
    assert calls_of(span("loop", 2, 1, attributes=attributes)) == [("pay", PAY, "ok")]


@pytest.mark.parametrize(
    "attributes",
    [
        {"steps": json.dumps([{"name": "tool", **MADE}])},
        {"steps": json.dumps([{"tool": "pay", **MADE}, {"tool": "ask", "args": {}}])},  # of the second nothing was told
        {"tools": json.dumps([{"name": "pay", "parameters": {}}])},
        {"tool_calls": json.dumps([["pay", PAY]])},
    ],
)
def test_lists_of_something_else(attributes: dict[str, Any]) -> None:
    assert calls_of(span("loop", 2, 1, attributes=attributes)) == []


@pytest.mark.parametrize(
    ("started", "ended", "status"),
    [
        ("tool.invoked", "tool.succeeded", "ok"),
        ("tool_invoked", "tool_returned", "ok"),
        ("Calling tool", "Tool raised", "error"),
        ("tool", "tool", "ok"),
    ],
)
def test_events_in_other_words(started: str, ended: str, status: str) -> None:
    events = [(started, {"tool": "pay", "args": GIVEN}), (ended, {"tool": "pay", "result": "paid"})]
    run = run_of(agent_span(lasting=100), span("loop", 2, 1, 5, 50, events=events))
    assert [(call.name, call.arguments, call.status) for call in run.trajectory.calls] == [("pay", PAY, status)]


@pytest.mark.parametrize(
    ("last", "status"),
    [
        (("error", {"message": "no timer is running"}), "error"),
        (("failed", {}), "error"),
        (("output", {"result": "1h"}), "unset"),
    ],
)
def test_the_last_event_of_a_call_may_be_its_failure(last: tuple[str, dict[str, Any]], status: str) -> None:
    events = [("input", {"arguments": GIVEN}), ("error", {"message": "busy"}), last]
    events = events if status == "unset" else [events[0], last]
    run = run_of(agent_span(lasting=100), span("tool pay", 2, 1, 5, 50, events=events))
    assert [(call.name, call.arguments, call.status) for call in run.trajectory.calls] == [("pay", PAY, status)]
