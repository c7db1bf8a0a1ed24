"""Model Context Protocol spans."""

from __future__ import annotations

from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from tests.builders import agent_span, called, doubts, read_tool, run_of, span

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
