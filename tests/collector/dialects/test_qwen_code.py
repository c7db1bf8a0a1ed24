"""Qwen Code's traces (0.24)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import called, doubts, result, run_of, runs_of, span, steps

SESSION = "efe2f7d6-6d3f-4b75-9762-a73a22f65378"


def qwen(name: str, number: int, parent: int, at: float, lasting: float = 10, **more: Any) -> Span:
    attributes = {"session.id": SESSION, **more.pop("attributes", {})}
    return span(f"qwen-code.{name}", number, parent, at, lasting, attributes=attributes, scope="qwen-code", **more)


def agent(number: int = 1, parent: int = 0, at: float = 0, name: str = "qwen-code", lasting: float = 300) -> Span:
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": name,
        "gen_ai.conversation.id": SESSION,
    }
    kind = "interaction" if name == "qwen-code" else "subagent"
    return qwen(kind, number, parent, at, lasting, attributes=attributes)


def request(
    number: int,
    at: float,
    finish: str,
    parent: int = 1,
    context: str = "interaction",
    more: dict[str, str] | None = None,
) -> Span:
    attributes = {
        "gen_ai.operation.name": "chat",
        "llm_request.context": context,
        "gen_ai.response.finish_reasons": [finish],
        **(more or {}),
    }
    return qwen("llm_request", number, parent, at, attributes=attributes)


def hook(number: int, parent: int, at: float, event: str) -> Span:
    """No hook is configured: its span tells of an error all the same."""
    attributes = {"hook_event": event, "tool.name": "pay", "success": False, "error.type": "hook_error"}
    message = "hook runner returned no output without error detail"
    return qwen("hook", number, parent, at, 1, status=2, message=message, attributes=attributes)


def call(number: int, at: float, failure: str | None = None, message: str = "", **more: Any) -> Span:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "pay",
        "gen_ai.tool.call.id": f"call_{number}",
        "gen_ai.agent.name": "qwen-code",
        "success": failure is None,
        **({} if failure is None else {"tool.failure_kind": failure, "error.type": failure}),
        **more,
    }
    status = 0 if failure in (None, "cancelled") else 2
    return qwen("tool", number, 1, at, 20, status=status, message=message, attributes=attributes)


def execution(number: int, parent: int, at: float, *, success: bool = True) -> Span:
    attributes: dict[str, Any] = {"gen_ai.tool.name": "pay", "tool.call_id": f"call_{parent}", "success": success}
    ended: dict[str, Any] = {} if success else {"status": 2, "message": "Tool execution failed"}
    return qwen("tool.execution", number, parent, at, 5, attributes=attributes, **ended)


def test_a_call_is_that_of_its_execution_and_not_of_its_hooks() -> None:
    run = run_of(
        agent(), request(2, 0, "tool_calls"),
        call(3, 15), hook(4, 3, 16, "PreToolUse"), execution(5, 3, 20), hook(6, 3, 30, "PostToolUse"),
        request(7, 40, "tool_calls"), call(8, 55, "tool_error", "Tool execution failed"), execution(9, 8, 60, success=False),
        request(10, 80, "stop"),
    )  # fmt: skip
    assert (run.agent, run.conversation_id) == ("qwen-code", SESSION)
    assert [(one.id, one.status, one.executed) for one in run.trajectory.calls] == [
        ("call_3", "ok", True),
        ("call_8", "error", True),
    ]
    assert (steps(run), doubts(run)) == ([0, 1], [])


@pytest.mark.parametrize(
    ("failure", "message", "expected"),
    [
        ("non_interactive_denied", "Non-interactive mode declined permission", (["(pay)"], [])),
        ("permission_denied", "Permission denied for tool", (["(pay)"], [])),
        ("pre_hook_blocked", "Tool execution blocked by hook", (["(pay)"], [])),
        ("tool_exception", "Tool execution failed with exception", (["pay"], ["uncertain_execution"])),
        ("cancelled", "", (["pay"], ["uncertain_execution"])),
    ],
)
def test_what_stopped_a_call_before_it_ran(failure: str, message: str, expected: Any) -> None:
    run = run_of(agent(), request(2, 0, "tool_calls"), call(3, 15, failure, message), request(7, 40, "stop"))
    assert (called(run), doubts(run)) == expected


@pytest.mark.parametrize(
    ("inside", "expected"), [([execution(4, 3, 20)], []), ([], ["uncertain_execution"])], ids=["began", "unknown"]
)
def test_a_tool_that_was_not_offered_ran_where_its_execution_shows_it(inside: list[Span], expected: list[str]) -> None:
    """Tools of MCP servers are kept back until the model has searched for them."""
    offered = {"gen_ai.tool.definitions": json.dumps([{"type": "function", "name": "tool_search", "parameters": {}}])}
    parts = [{"type": "tool_call", "id": "call_3", "name": "pay", "arguments": {"n": 1}}]
    asked = {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts}])}
    run = run_of(
        agent(),
        request(2, 0, "tool_calls", more=offered | asked),
        call(3, 15, **{"gen_ai.tool.call.arguments": '{"n": 1}'}),
        *inside,
        request(7, 40, "stop", more=offered),
    )
    assert (called(run), doubts(run)) == (["pay"], expected)


def test_a_tool_that_is_called_through_another_is_one_call() -> None:
    """A tool of an MCP server, whose name and arguments are those of `tool_call`; the span has the id of that call."""
    given = {"name": "pay", "arguments": {"n": 1}}
    parts = [{"type": "tool_call", "id": "call_3", "name": "tool_call", "arguments": given}]
    told = [{"role": "assistant", "parts": parts}, result("call_3", "paid")]
    run = run_of(
        agent(),
        request(2, 0, "tool_calls", more={"gen_ai.output.messages": json.dumps(told[:1])}),
        call(3, 15, **{"gen_ai.tool.call.arguments": '{"n": 1}'}),
        execution(4, 3, 20),
        request(7, 40, "stop", more={"gen_ai.input.messages": json.dumps(told)}),
    )
    assert (called(run), steps(run), doubts(run)) == (["pay"], [0], [])
    assert run.trajectory.calls[0].arguments == {"n": 1}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("File path must be absolute, but was relative: 7.", (["read"], ["uncertain_execution"])),
        ("params must NOT have additional properties", (["read"], ["uncertain_execution"])),
    ],
)
def test_a_result_of_a_call_without_a_span_may_be_what_its_tool_says_of_the_arguments(told: str, expected: Any) -> None:
    parts = [{"type": "tool_call", "id": "c1", "name": "read", "arguments": {"file_path": 7}}]
    asked = {"role": "assistant", "parts": parts}
    run = run_of(
        agent(),
        request(2, 0, "tool_calls", more={"gen_ai.output.messages": json.dumps([asked])}),
        request(7, 40, "stop", more={"gen_ai.input.messages": json.dumps([asked, result("c1", told)])}),
    )
    assert (called(run), [one for one in doubts(run) if one != "unobserved_results"]) == expected


def test_a_call_that_was_denied_without_a_span() -> None:
    """A rule forbids the tool: the model is told, and nothing else is recorded."""
    asked = [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "pay", "arguments": {"n": 1}}]}]
    told = 'Qwen Code requires permission to use "pay", but that permission was declined. Matching deny rule: "pay".'
    run = run_of(
        agent(),
        request(2, 0, "tool_calls", more={"gen_ai.output.messages": json.dumps(asked)}),
        request(7, 40, "stop", more={"gen_ai.input.messages": json.dumps([*asked, result("c1", told)])}),
    )
    assert (called(run), doubts(run)) == (["(pay)"], [])


def test_a_subagent_is_a_run_and_a_request_aside_is_none() -> None:
    (run,) = runs_of(agent(name="general-purpose"), request(2, 0, "stop", context="subagent"))
    assert (run.agent, called(run), doubts(run)) == ("general-purpose", [], [])
    assert runs_of(request(20, 5, "stop", parent=0, context="standalone")) == []
