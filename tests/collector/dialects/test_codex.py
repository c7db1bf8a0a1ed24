"""Codex: spans of functions, and a log event with the arguments."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import called, doubts, log, run_of, span

TURN = span("session_task.turn", 1, attributes={"codex.turn.reasoning_effort": "low"}, scope="codex_exec", lasting=100)
STEP = span("handle_responses", 2, 1, 5, attributes={"tool_name": "shell"}, scope="codex_exec")
CALL = {"tool_name": "shell", "call_id": "c1", "codex.tool.phase": "dispatch", "conversation.id": "c"}
TOOL = span("shell", 3, 2, 6, attributes=CALL, scope="codex_exec")
DISPATCH = span("dispatch_tool_call_with_state", 4, 3, 7, scope="codex_exec")
SCORING = span("guardian_scoring", 5, 4, 7, attributes={"tool_name": "shell", "call_id": "c1"}, scope="codex_exec")
RESULT = {
    "event.name": "codex.tool_result",
    "tool_name": "shell",
    "call_id": "c1",
    "arguments": '{"cmd": "ls"}',
    "success": "false",
}


def test_a_call_and_the_event_with_its_arguments() -> None:
    run = run_of(TURN, STEP, TOOL, DISPATCH, SCORING, log("", 4, at=9, attributes=RESULT))
    (call,) = run.trajectory.calls
    assert (run.agent, call.name, call.id, call.arguments, call.status) == (
        "codex",
        "shell",
        "c1",
        {"cmd": "ls"},
        "error",
    )


def test_without_the_event_the_arguments_are_unknown() -> None:
    run = run_of(TURN, STEP, TOOL, DISPATCH, SCORING)
    assert (called(run), run.trajectory.calls[0].arguments) == (["shell"], None)


NAMED = {"tool_name": "pay", "tool_namespace": "mcp__shop", "call_id": "c1"}


def of_mcp(**result: Any) -> list[Any]:
    """A call of an MCP server's tool, with the events of its spans, and the log if that tells more."""
    ready = ("codex.tool_result_ready", {"event.name": "codex.tool_result_ready", **NAMED})
    told = ("event", {"event.name": "codex.tool_result", **NAMED, "success": result["success"]})
    tool = span(
        "mcp__shoppay", 3, 2, 6, attributes={**CALL, "tool_name": "mcp__shoppay"}, scope="codex_exec", events=[ready]
    )
    inside = span("dispatch_tool_call_with_state", 4, 3, 7, scope="codex_exec", events=[told])
    records = (
        [log("", 4, at=9, attributes={"event.name": "codex.tool_result", **NAMED, **result})] if len(result) > 1 else []
    )
    return [TURN, STEP, tool, inside, *records]


@pytest.mark.parametrize(
    ("namespace", "name"), [("mcp__shop", "mcp__shop__pay"), ("mcp__shop__", "mcp__shop__pay"), ("functions", "pay")]
)
def test_a_tool_of_an_mcp_server_is_one_call_with_the_name_of_both(namespace: str, name: str) -> None:
    items = of_mcp(success="true", arguments='{"order": 7}', output="Wall time: 0.1 seconds\nOutput:\npaid")
    for attributes in (items[2].events[0].attributes, items[3].events[0].attributes, items[4].attributes):
        attributes["tool_namespace"] = namespace
    (call,) = run_of(*items).trajectory.calls
    assert (call.name, call.id, call.arguments, call.status) == (name, "c1", {"order": 7}, "ok")


def test_without_logs_a_span_tells_that_the_call_failed_and_not_why() -> None:
    run = run_of(*of_mcp(success="false"))
    assert (called(run), run.trajectory.calls[0].status) == (["mcp__shop__pay"], "error")
    assert doubts(run) == ["uncertain_execution"]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("MCP error -32602: Input validation error", ["(mcp__shop__pay)"]),
        ("Wall time: 0.1 seconds\nOutput:\nThe tool call was rejected.", ["(mcp__shop__pay)"]),
        ("Wall time: 0.1 seconds\nOutput:\nno money left", ["mcp__shop__pay"]),
        ("unsupported call: pay", ["(mcp__shop__pay)"]),
        ("failed to parse function arguments: missing field `order` at line 1 column 2", ["(mcp__shop__pay)"]),
        ("unsupported custom tool call: mcp__shoppay", ["(mcp__shop__pay)"]),
        ("Wall time: 0.1 seconds\nOutput:\nunsupported call: 0900 123", ["mcp__shop__pay"]),
        ("Command blocked by PreToolUse hook: no way. Command: touch zz", ["(mcp__shop__pay)"]),
        ("approval policy is Never; reject command — you cannot ask for escalated permissions", ["(mcp__shop__pay)"]),
        ('exec_command failed: CreateProcess { message: "Rejected(\\"`touch zz` rejected: ', ["(mcp__shop__pay)"]),
        ("`touch zz` rejected: policy forbids commands starting with `touch`", ["(mcp__shop__pay)"]),
        ("Wall time: 0.1 seconds\nOutput:\n`x` rejected: policy forbids commands", ["mcp__shop__pay"]),
        ("unable to locate image at `/x.png`: No such file or directory (os error 2)", ["mcp__shop__pay"]),
    ],
)
def test_the_output_in_the_log_tells_whether_a_call_was_refused(output: str, expected: list[str]) -> None:
    run = run_of(*of_mcp(success="false", output=output))
    assert (called(run), doubts(run), run.trajectory.calls[0].status) == (expected, [], "error")


def test_a_call_without_a_result_may_have_been_blocked_by_a_hook() -> None:
    """0.171: neither a span nor a log record says so, and the call's own span ends well."""
    run = run_of(TURN, STEP, TOOL, DISPATCH, span("codex.hooks.command", 6, 4, 8, scope="codex_exec"))
    assert (called(run), doubts(run)) == (["shell"], ["uncertain_execution"])
