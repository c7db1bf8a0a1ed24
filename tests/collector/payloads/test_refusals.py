"""The messages with which frameworks refuse a call."""

from __future__ import annotations

import pytest

from collector.payloads.refusals import MAX_CHARS, is_refusal


@pytest.mark.parametrize(
    "message",
    [
        "MCP error -32602: Tool delete_everything not found",
        "Tool 'delete_everything' not found in registry",
        "Error: delete_everything is not a valid tool, try one of [get_weather].",
        "Error: Received tool input did not match expected schema",
        "Unknown tool name: 'delete_everything'. Available tools: 'get_weather'",
        "Model tried to call unavailable tool 'delete_everything'.",
        "Tool delete_everything not found in agent travel_agent",
        '[\n  {\n    "expected": "string",\n    "code": "invalid_type",\n    "path": ["city"]\n  }\n]',
        'Error in tool \'get_weather\': [\n {\n "code": "invalid_type" }]',
    ],
)
def test_refusals(message: str) -> None:
    assert is_refusal(message)


@pytest.mark.parametrize(
    "message",
    [
        "",
        "card declined",
        "Order 42 not found",
        "the tool was not found",
        "x" * (MAX_CHARS + 1) + "MCP error -32602: no",
        '[{"code": "AF12"}]',
    ],
)
def test_failures_of_a_tool_that_ran(message: str) -> None:
    assert not is_refusal(message)
