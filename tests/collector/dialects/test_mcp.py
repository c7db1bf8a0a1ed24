"""Model Context Protocol spans."""

from __future__ import annotations

from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import (
    agent_span,
    called,
    doubts,
    model_span,
    other_doubts,
    read_tool,
    result,
    run_of,
    span,
    tool_span,
    user,
)

CALL = {"mcp.method.name": "tools/call"}


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        (
            "tools/call pay",
            {**CALL, "gen_ai.tool.name": "pay", "error.type": "tool_error"},
            ("pay", None, None, "error"),
        ),
        ("MCP send tools/call pay", CALL, ("pay", None, None, "unset")),
        (
            "tools/call pay",
            {**CALL, "gen_ai.tool.call.arguments": '{"n": 1}', "gen_ai.tool.call.id": "c1"},
            ("pay", "c1", {"n": 1}, "unset"),
        ),
        (
            "tools/call pay",
            {**CALL, "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay"},
            ("pay", None, None, "unset"),
        ),
        ("tools/call pay", {**CALL, "mcp.tool.arguments": '{"n": 1}'}, ("pay", None, {"n": 1}, "unset")),
    ],
)
def test_a_call(name: str, attributes: dict[str, str], expected: Any) -> None:
    assert read_tool(span(name, 2, 1, attributes=attributes)) == expected


@pytest.mark.parametrize("method", ["tools/list", "initialize", "server/discover", "prompts/get", 7])
def test_other_methods_are_ignored(method: Any) -> None:
    assert dialects.read_span(span("x", 2, 1, attributes={"mcp.method.name": method})) is IGNORED


def test_client_and_server_in_two_processes_are_one_call() -> None:
    run = run_of(
        span("agent", 1, attributes={"gen_ai.operation.name": "invoke_agent"}, lasting=100),
        span("MCP send tools/call pay", 2, 1, 1, 30, kind=3, attributes=CALL),
        span(
            "tools/call pay", 3, 2, 2, 20, kind=2, remote=True, status=2, attributes={**CALL, "gen_ai.tool.name": "pay"}
        ),
    )
    assert (called(run), run.trajectory.calls[0].status) == (["pay"], "error")


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, ["uncertain_execution"]),
        ({"message": "card declined"}, []),
        ({"attributes": {"gen_ai.tool.name": "pay", "gen_ai.tool.call.arguments": '{"n": 1}'}}, []),
    ],
)
def test_a_server_refuses_a_call_with_the_flag_of_a_failure(more: dict[str, Any], expected: list[str]) -> None:
    """Neither its words are recorded nor whether a tool ran; one that takes the same arguments next time did run."""
    failed = {**CALL, "error.type": "tool_error", **more.pop("attributes", {})}
    first = span("tools/call pay", 2, 1, 5, 5, kind=3, status=2, attributes=failed, **more)
    again = span(
        "tools/call pay", 3, 1, 20, 5, kind=3, attributes={k: v for k, v in failed.items() if k != "error.type"}
    )
    run = run_of(agent_span(lasting=100), first, again)
    assert (called(run), doubts(run)) == (["pay", "pay"], expected)


def test_the_framework_around_a_client_says_why_a_call_failed() -> None:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay"}
    outer = span("execute_tool pay", 2, 1, 5, 20, status=2, message="card declined", attributes=attributes)
    inner = span("tools/call pay", 3, 2, 6, 10, status=2, attributes={**CALL, "error.type": "tool_error"})
    run = run_of(agent_span(lasting=100), outer, inner)
    assert (called(run), doubts(run)) == (["pay"], [])


def client(kind: int = 3) -> Span:
    return span("MCP send tools/call pay", 4, 3, 11, 5, kind=kind, attributes=CALL, scope="mcp-python-sdk")


@pytest.mark.parametrize(
    ("told", "expected"),
    [([result("c1", "Error executing tool pay")], "error"), ([result("c1", "paid")], "ok"), ([], "unset")],
)
def test_the_client_in_python_ends_well_whatever_the_server_said(told: list[dict[str, Any]], expected: str) -> None:
    """Nor does a span in unknown words around it tell; what the model was told next does."""
    run = run_of(
        agent_span(lasting=100),
        model_span([("c1", "pay", {"n": 1})], 2, 1, at=1, lasting=5),
        span("MCP Tool: pay", 3, 1, 10, 8, attributes={"tool_name": "pay", "server_name": "shop"}),
        client(),
        model_span([], 5, 1, at=30, input_messages=told),
    )
    assert run.trajectory.calls[0].status == expected
    assert other_doubts(run) == ([] if told else ["unobserved_results"])


def test_the_server_or_a_framework_around_the_client_tells() -> None:
    served = span("tools/call pay", 5, 4, 12, 2, kind=2, remote=True, attributes=CALL, scope="mcp-python-sdk")
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay"}
    outer = span("execute_tool pay", 3, 1, 10, 8, attributes=attributes)
    assert doubts(run_of(agent_span(lasting=100), outer, client())) == []
    assert doubts(run_of(agent_span(lasting=100), span("client", 3, 1, 10, 8), client(), served)) == []
    assert doubts(run_of(agent_span(lasting=100), span("client", 3, 1, 10, 8), client())) == ["unobserved_results"]


def test_of_results_that_a_later_input_has_dropped_it_is_known_that_none_failed() -> None:
    # The longer input of the next turn is kept, and told of since the user's last message.
    turn = [user("pay"), result("c1", "paid")]
    run = run_of(
        agent_span(lasting=100),
        model_span([("c1", "pay", {"n": 1})], 2, 1, at=1, lasting=5),
        span("MCP Tool: pay", 3, 1, 10, 8, attributes={"tool_name": "pay", "server_name": "shop"}),
        client(),
        model_span(
            [], 5, 1, at=30, input_messages=[{"role": "tool", "parts": [{"type": "tool_call_response", "response": 1}]}]
        ),
        model_span([], 6, 1, at=50, input_messages=[*turn, user("thanks")]),
    )
    assert (run.trajectory.calls[0].status, other_doubts(run)) == ("ok", [])


def go(name: str, number: int, parent: int, at: float, kind: int, lasting: float = 10, **more: Any) -> Span:
    """A span of mcp-go (1.2), which leaves the tracer to the application."""
    return span(name, number, parent, at, lasting, kind=kind, scope="github.com/mark3labs/mcp-go/otel", **more)


def go_call(number: int, parent: int, at: float, tool: str, failure: str = "") -> list[Span]:
    """The client's span, the server's and that of the tool."""
    named = {"mcp.tool.name": tool}
    method = {"mcp.method": "tools/call"}
    ended = {"status": 2, "message": failure} if failure else {}
    return [
        go("mcp.tools/call", number, parent, at, 3, 10, attributes=method),
        go("mcp.tools/call", number + 1, number, at + 1, 2, 8, attributes={**method, **named}, **ended),
        go(f"tool.{tool}", number + 2, number + 1, at + 2, 1, 6, attributes=named, **ended),
    ]


def test_the_client_of_mcp_go_does_not_tell_the_tool_and_its_server_does() -> None:
    spans = [*go_call(2, 1, 10, "pay"), *go_call(5, 1, 30, "fail", "tool returned error result")]
    run = run_of(agent_span(), *spans)
    assert [(call.name, call.status) for call in run.trajectory.calls] == [("pay", "unset"), ("fail", "error")]
    assert other_doubts(run) == []
    run = run_of(agent_span(), *go_call(2, 1, 10, "pay")[:1])
    assert (called(run), "unrecorded_calls" in doubts(run)) == ([], True)


def test_what_mcp_go_records_inside_a_frameworks_call_is_that_call() -> None:
    run = run_of(
        agent_span(),
        tool_span("shop_pay", {"n": 1}, 2, at=9, lasting=15), *go_call(3, 2, 10, "pay"),
        tool_span("dispatch", {"n": 2}, 6, at=29, lasting=15), *go_call(7, 6, 30, "refund"),
    )  # fmt: skip
    assert called(run) == ["shop_pay", "dispatch", "refund"]


def test_other_methods_of_mcp_go_are_no_calls() -> None:
    listing = go("mcp.tools/list", 2, 1, 10, 3, attributes={"mcp.method": "tools/list"})
    assert dialects.read_span(listing) is IGNORED
