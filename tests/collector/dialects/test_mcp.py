"""Model Context Protocol spans."""

from __future__ import annotations

from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from tests.builders import called, read_tool, run_of, span

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
