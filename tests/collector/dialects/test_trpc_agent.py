"""tRPC-Agent-Go's spans, as its own telemetry writes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import agent_span, called, doubts, model_span, run_of, span

SCOPE = "trpc.agent.go"


def asking(name: str) -> Span:
    """A request that offers `pay`, and asks for a tool."""
    pay = {"name": "pay", "inputSchema": {"type": "object", "properties": {"x": {"type": "integer"}}}}
    offered = {"gen_ai.request.tool.definitions": json.dumps([pay])}
    return model_span([("c1", name, {"x": 1})], 2, at=1, lasting=30, attributes=offered, scope=SCOPE)


def answering(name: str, told: str) -> Span:
    call = {"type": "function", "function": {"name": name, "arguments": '{"x": 1}'}, "id": "c1"}
    result = {"role": "tool", "content": told, "tool_call_id": "c1"}
    messages = [{"role": "user", "content": "pay"}, {"role": "assistant", "tool_calls": [call]}, result]
    done = [{"index": 0, "message": {"role": "assistant", "content": "Done."}, "finish_reason": "stop"}]
    attributes = {"gen_ai.input.messages": json.dumps(messages), "gen_ai.output.messages": json.dumps(done)}
    return span("chat m", 9, 1, 50, attributes={"gen_ai.operation.name": "chat", **attributes}, scope=SCOPE)


def bare(name: str = "pay", number: int = 4, at: float = 10, **more: Any) -> Span:
    """The span of a call that failed beside others, or panicked."""
    return span(f"execute_tool {name}", number, 1, at, attributes={}, scope=SCOPE, **more)


@pytest.mark.parametrize(
    ("name", "told", "expected"),
    [
        ("pay", "tool execution error: Error: callable tool execution failed: the database is down", ["pay"]),
        ("pay", "tool execution panic: oh no", ["pay"]),
        ("drop", "tool execution error: executeToolCall: Error: tool not found", ["(drop)"]),
    ],
)
def test_a_call_whose_span_has_only_a_name_failed(name: str, told: str, expected: list[str]) -> None:
    run = run_of(agent_span(scope=SCOPE), asking(name), bare(name), answering(name, told))
    assert (called(run), doubts(run), run.trajectory.calls[0].status) == (expected, [], "error")


def test_where_no_content_is_recorded_such_a_call_may_have_been_refused() -> None:
    run = run_of(agent_span(scope=SCOPE), bare())
    assert (called(run), doubts(run), run.trajectory.calls[0].status) == (["pay"], ["uncertain_execution"], "error")


def test_a_panic() -> None:
    raised = ("exception", {"exception.type": ".string", "exception.message": "oh no"})
    run = run_of(agent_span(scope=SCOPE), bare(events=[raised]))
    assert (called(run), doubts(run), run.trajectory.calls[0].status) == (["pay"], [], "error")


def test_a_tool_that_does_not_exist() -> None:
    words = "executeToolCall: Error: tool not found"
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "<not found>",
        "gen_ai.tool.call.arguments": '{"x": 1}',
        "error.type": "_OTHER",
    }
    missing = span("execute_tool drop", 4, 1, 10, attributes=attributes, scope=SCOPE, status=2, message=words)
    run = run_of(agent_span(scope=SCOPE), asking("drop"), missing, answering("drop", words))
    assert (called(run), doubts(run), run.trajectory.calls[0].arguments) == (["(drop)"], [], {"x": 1})


@pytest.mark.parametrize(
    "why", ["unexpected end of JSON input", "invalid character '}' looking for beginning of value"]
)
def test_arguments_that_are_no_json(why: str) -> None:
    """The next request holds them, and what came of them, as words of the user."""
    given = '{"x": '
    answer = [{"index": 0, "message": {"role": "assistant", "tool_calls": [
        {"type": "function", "function": {"name": "pay", "arguments": given}, "id": "c1"},
    ]}}]  # fmt: skip
    asked = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps(answer)}
    words = f"Error: callable tool execution failed: {why}"
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "pay",
        "gen_ai.tool.call.arguments": given,
        "error.type": "_OTHER",
    }
    run = run_of(
        agent_span(scope=SCOPE),
        span("chat m", 2, 1, 1, 30, attributes=asked, scope=SCOPE),
        span("execute_tool pay", 4, 1, 10, attributes=attributes, scope=SCOPE, status=2, message=words),
    )
    assert (called(run), doubts(run)) == (["(pay)"], ["unreadable_arguments"])


def answered(content: object) -> Span:
    """A call of `pay`, of which the model was told so."""
    told = json.dumps(content, separators=(",", ":"))
    message = {"role": "tool", "content": told, "tool_id": "c1", "tool_name": "pay"}
    result = {"id": "", "object": "tool.response", "model": "m", "choices": [{"index": 0, "message": message}]}
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "pay",
        "gen_ai.tool.call.arguments": '{"x": 1}',
        "gen_ai.tool.call.result": json.dumps(result, separators=(",", ":")),
    }
    return span("execute_tool pay", 4, 1, 10, attributes=attributes, scope=SCOPE)


@pytest.mark.parametrize(
    ("answer", "in_doubt"), [("not allowed by policy", ["uncertain_execution"]), ("paid by our policy", [])]
)
def test_a_callback_may_have_answered_in_place_of_a_tool(answer: str, in_doubt: list[str]) -> None:
    run = run_of(agent_span(scope=SCOPE), answered(answer))
    assert (called(run), doubts(run), run.trajectory.calls[0].arguments) == (["pay"], in_doubt, {"x": 1})


@pytest.mark.parametrize(
    ("raised", "in_doubt"),
    [
        ("tool callback error: the amount is too large", ["uncertain_execution"]),
        ("Error: callable tool execution failed: the amount is too large", []),
    ],
)
def test_what_a_callback_raised_may_have_kept_the_tool_from_running(raised: str, in_doubt: list[str]) -> None:
    attributes = {**answered(raised).attributes, "error.type": "_OTHER", "error.message": raised}
    failed = span("execute_tool pay", 4, 1, 10, attributes=attributes, scope=SCOPE, status=2, message=raised)
    run = run_of(agent_span(scope=SCOPE), failed)
    assert (called(run), doubts(run), run.trajectory.calls[0].status) == (["pay"], in_doubt, "error")


def test_the_results_of_calls_made_at_once_are_no_call() -> None:
    merged = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "(merged tools)"}
    joined = span("execute_tool (merged tools)", 6, 1, 25, attributes=merged, scope=SCOPE)
    assert called(run_of(agent_span(scope=SCOPE), bare(), joined)) == ["pay"]


def test_a_run_that_ended_at_its_limit_made_none_of_the_calls_asked_for_last() -> None:
    ended = agent_span(scope=SCOPE, status=2, message="max tool iterations (2) exceeded")
    run = run_of(ended, asking("pay"))
    assert (run.agent, called(run), doubts(run)) == ("helper", ["(pay)"], [])


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"status": "denied", "tool": "pay", "reason": "not today"}, "(pay)"),
        ({"status": "approval_required", "tool": "pay", "reason": "a human must say"}, "(pay)"),
        ({"status": "denied", "tool": "card reader"}, "pay"),  # what a tool says of something else
    ],
)
def test_a_call_that_is_not_permitted_has_a_span_that_ends_well(told: dict[str, str], expected: str) -> None:
    content = json.dumps(told, separators=(",", ":"))
    run = run_of(agent_span(scope=SCOPE), asking("pay"), answered(told), answering("pay", content))
    assert (called(run), doubts(run)) == ([expected], [])


def node(name: str, number: int, parent: int, at: float, kind: str, **more: Any) -> Span:
    """A node of a graph, or what runs its tools."""
    attributes = {
        "gen_ai.operation.name": "workflow",
        "gen_ai.workflow.name": name,
        "gen_ai.workflow.type": kind,
        "gen_ai.workflow.request": "{}",
    }
    return span(f"workflow {name}", number, parent, at, 20, attributes=attributes, scope=SCOPE, **more)


def test_the_nodes_of_a_graph_are_no_calls() -> None:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay"}
    run = run_of(
        agent_span(scope=SCOPE),
        node("execute_graph flow", 5, 1, 0, "graph"),
        asking("pay"),
        node("execute_function_node tools", 6, 5, 9, "tool"),
        node("execute_tools_node", 7, 6, 9, "tool"),
        span("execute_tool pay", 4, 7, 10, 5, attributes=attributes, scope=SCOPE),
        answering("pay", "paid"),
    )
    assert (called(run), doubts(run)) == (["pay"], [])


def test_a_graph_that_waits_for_a_human_goes_on_in_another_trace() -> None:
    """The agent's own span ends well, and tells nothing (1.11)."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay"}
    words = "graph interrupted at node  (step 0): map[q:ok?]"
    run = run_of(
        agent_span(scope=SCOPE),
        node("execute_graph flow", 5, 1, 0, "graph"),
        asking("pay"),
        span("execute_tool pay", 4, 5, 10, 5, attributes=attributes, scope=SCOPE),
        node("execute_function_node gate", 6, 5, 50, "function", status=2, message=words),
    )
    assert (run.agent, called(run), doubts(run)) == ("helper", ["pay"], ["other_traces"])


def test_a_run_that_is_given_what_a_call_returned_began_in_another_trace() -> None:
    """The application made the call, and the model is told of those beside it, too, which ran before."""
    result = [{"role": "tool", "content": "paid", "tool_call_id": "c1", "name": "pay"}]
    agent = agent_span(attributes={"gen_ai.input.messages": json.dumps(result)}, scope=SCOPE)
    run = run_of(agent, answering("pay", "paid"))
    assert (run.agent, doubts(run)) == ("helper", ["other_traces", "uncertain_execution"])
