"""CrewAI's own tracer (1.15), with which it exports to any OTLP endpoint: spans as it writes them, trimmed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model.span import Span
from collector.reconstruction.run import Run
from tests.builders import called, doubts, run_of, span

CREWAI = "crewai"
ROLE = {"crewai.agent.role": "helper"}


def written(name: str, operation: str, event: str, number: int, at: float, told: dict[str, Any], **more: Any) -> Span:
    attributes = {"gen_ai.operation.name": operation, "crewai.event_name": event, **ROLE, **told}
    return span(
        name, number, at=at, attributes=attributes, scope=CREWAI, **{"parent": 1, "lasting": 5, "status": 1} | more
    )


def agent() -> Span:
    told = {"gen_ai.agent.name": "61e6cfb56b82188ab32819cbecee7526"}
    event = "agent_execution_completed"
    return written("execute agent", "invoke_agent", event, 1, 0, told, parent=0, lasting=100)


def request(number: int, at: float, *parts: dict[str, Any]) -> Span:
    finish = "tool_call" if parts else "stop"
    answer = {"role": "assistant", "parts": parts or [{"type": "text", "content": "done"}], "finish_reason": finish}
    told = {"gen_ai.output.messages": json.dumps([answer])}
    return written("call llm", "chat", "llm_call_completed", number, at, told)


def asked(tool: str, call_id: str) -> dict[str, Any]:
    return {"type": "tool_call", "name": tool, "arguments": {"x": 1}, "id": call_id}


def call(tool: str, number: int, at: float, event: str = "tool_usage_finished", **told: Any) -> Span:
    attributes = {"gen_ai.tool.name": tool, "gen_ai.tool.call.arguments": '{"x": 1}', **told}
    name = "tool failure" if event == "tool_failure_detected" else "call tool"
    failed = "error.type" in told
    lasting = 0 if name == "tool failure" else 5
    return written(name, "execute_tool", event, number, at, attributes, status=2 if failed else 1, lasting=lasting)


def failure(tool: str, number: int, at: float, message: str, reason: str) -> Span:
    told = {"error.type": "_OTHER", "crewai.tool.failure.message": message, "crewai.tool.failure.reason": reason}
    return call(tool, number, at, "tool_failure_detected", **told)


def run(*calls: Span, tool: str = "pay") -> Run:
    return run_of(agent(), request(2, 2, asked(tool, "call_1")), *calls, request(9, 80))


def test_a_failure_has_a_second_span_and_is_one_call() -> None:
    told = {"error.type": "ValueError"}
    ended = run(call("pay", 3, 10, "tool_usage_error", **told), failure("pay", 4, 20, "declined", "exception"))
    assert called(ended) == ["pay"]
    assert [made.status for made in ended.trajectory.calls] == ["error"]


@pytest.mark.parametrize(
    ("reason", "message", "ran"),
    [
        ("tool_reported", "declined", True),
        ("mcp_error", "declined", True),
        ("usage_limit", "Tool 'pay' has reached its usage limit of 1 times and cannot be used anymore.", False),
        ("unknown_tool", "Tool not found", False),
        ("repeated_call", "again", False),
    ],
)
def test_the_reason_of_a_failure_tells_whether_the_tool_ran(reason: str, message: str, ran: bool) -> None:
    told = {
        "error.type": "_OTHER",
        "gen_ai.tool.call.result": json.dumps(message),
        "crewai.tool.failure.reason": reason,
    }
    ended = run(call("pay", 3, 10, **told), failure("pay", 4, 20, message, reason))
    assert (called(ended), doubts(ended)) == (["pay" if ran else "(pay)"], [])


def test_arguments_that_cannot_be_read_have_no_span_but_that_of_the_failure() -> None:
    ended = run(failure("pay", 4, 20, "Error: Failed to parse tool arguments as JSON", "invalid_input"))
    assert called(ended) == ["(pay)"]


def test_a_call_that_a_hook_blocked_ends_well_and_did_not_run() -> None:
    ended = run(call("pay", 3, 10, **{"gen_ai.tool.call.result": '"Tool execution blocked by hook. Tool: pay"'}))
    assert (called(ended), doubts(ended)) == (["(pay)"], [])


def test_what_a_tool_returned_is_no_refusal() -> None:
    ended = run(call("pay", 3, 10, **{"gen_ai.tool.call.result": '"paid"'}))
    assert (called(ended), doubts(ended), ended.agent) == (["pay"], [], "helper")
