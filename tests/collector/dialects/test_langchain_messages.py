"""LangChain's message of a result as tracers record it where a tool answers for what it raises (``handle_tool_error``)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.builders import called, read_tool, run_of, span


def recorded(tracer: str, message: dict[str, Any]) -> dict[str, Any]:
    """Returns the attributes of a tool's span in the words of a tracer, with the message in its form."""
    own = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "ToolMessage"], "kwargs": message}
    shown = " ".join(
        f"{key}={message[key]!r}" for key in ("content", "name", "tool_call_id", "status") if key in message
    )
    conventions = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "book"}
    records: dict[str, dict[str, Any]] = {
        "openinference": {
            "openinference.span.kind": "TOOL",
            "tool.name": "book",
            "output.value": json.dumps({"type": "tool", "data": message}),
        },
        "openinference 0.1.40": {"openinference.span.kind": "TOOL", "tool.name": "book", "output.value": shown},
        "langfuse": {"langfuse.observation.type": "tool", "langfuse.observation.output": json.dumps(message)},
        "langsmith": {"langsmith.span.kind": "tool", "gen_ai.completion": json.dumps({"output": message})},
        "mlflow": {"mlflow.spanType": '"TOOL"', "mlflow.spanOutputs": json.dumps(message)},
        "openllmetry": {
            "traceloop.span.kind": "tool",
            "traceloop.entity.name": "book",
            "traceloop.entity.output": json.dumps({"output": own, "kwargs": {"tags": ["seq:step:1"]}}),
        },
        "splunk": {**conventions, "gen_ai.tool.call.result": json.dumps(shown)},
    }
    return records[tracer]


TRACERS = ("openinference", "openinference 0.1.40", "langfuse", "langsmith", "mlflow", "openllmetry", "splunk")


@pytest.mark.parametrize("tracer", TRACERS)
@pytest.mark.parametrize(
    ("content", "status", "expected"),
    [
        ("seat 12A is taken", "error", "error"),
        ([{"type": "text", "text": "seat 12A is taken"}], "error", "error"),  # langchain-mcp-adapters 0.3
        ("status='error' is what the desk says", "success", "unset"),
        ('{"status": "error", "tool_call_id": "c9"}', None, "unset"),  # before there was a status
    ],
)
def test_a_failure_of_which_only_the_message_tells(tracer: str, content: Any, status: str, expected: str) -> None:
    message = {"content": content, "type": "tool", "name": "book", "tool_call_id": "call_1"}
    attributes = recorded(tracer, message if status is None else {**message, "status": status})
    assert read_tool(span("book", 2, 1, attributes=attributes))[3] == expected


@pytest.mark.parametrize("tracer", ["openinference", "langfuse", "langsmith", "mlflow", "openllmetry"])
def test_a_call_whose_arguments_langchain_refused_did_not_run(tracer: str) -> None:
    """With ``handle_validation_error``."""
    message = {"content": "Tool input validation error", "tool_call_id": "call_1", "status": "error"}
    assert called(run_of(span("book", 2, 1, attributes=recorded(tracer, message)))) == ["(book)"]
