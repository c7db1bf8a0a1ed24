"""Results of tool calls in the messages that a model is given."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from collector.payloads.messages import MAX_DEPTH, MAX_NODES
from collector.payloads.tool_results import (
    MAX_PARTS,
    MAX_RESULT_DEPTH,
    TAIL,
    ToolResult,
    newest_tool_results,
    result_status,
)
from collector.payloads.values import MAX_TEXT
from tests.strategies import json_values


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ("Paris: 18 degrees", "ok"),
        ({"flights": []}, "ok"),
        ({"error": None, "id": 7}, "ok"),
        ("no errors found", "ok"),
        ("Error: card declined", "error"),
        ("CardDeclined: no", "ok"),  # a name like any other
        ("ValueError: no", "error"),
        ("An error occurred while paying. Try again.", "error"),
        ("Tool error: card declined", "error"),  # as an error handler of LangGraph's tools puts it
        # CAMEL
        (
            "Tool execution failed: Error executing tool 'pay': Execution of function pay failed. Error: declined",
            "error",
        ),
        ("An error of 2 percent", "ok"),
        ({"error": "card declined"}, "error"),
        ("The function `pay` failed and returned no result.", "error"),
        ("{'type': 'ValueError', 'message': 'no', 'traceback': 'Traceback'}", "error"),
        ("Unknown tool.", "unclear"),
        ('{"error": "card declined"}', "error"),
        ([{"text": "Error: card declined"}], "error"),
        ({"is_error": True, "content": "card declined"}, "error"),
        ([{"type": "document", "document": {"data": '{"result": "Error: no"}'}}], "error"),  # Cohere
        ([{"type": "document", "document": {"data": '{"result": "paid"}'}}], "ok"),
        ({"data": "Error: none was found"}, "ok"),  # any tool's own object
        ({"status": "error", "content": [{"text": "declined"}]}, "error"),
        ({"status": "FAILED", "reason": "declined"}, "open"),  # of the call, or of what the tool looked at
        ('{"status": "failed", "order": 7}', "open"),
        ({"status": "failed", "error": "declined"}, "error"),
        ({"status": "failed", "tool_call_id": "c1", "content": "declined"}, "error"),  # a framework's message
        ({"status": ["FAILED"]}, "ok"),
        ("Failed to pay: declined", "open"),  # of the call, or what the tool found out
        ({"result": "failed: declined"}, "open"),
        ("Failed checks: 0", "ok"),
        ({"success": False, "message": "declined"}, "open"),
        ('{"ok":false,"orders":[7]}', "open"),
        ({"success": "false"}, "ok"),
        ({"status": "rejected", "reason": "not approved"}, "unclear"),  # a loop's words, or what became of a claim
        ('{"status": "denied"}', "unclear"),
        ({"status": "rejected", "claim": 7}, "ok"),
        ({"status": ["denied"]}, "ok"),
        ("MCP error -32602: Tool delete_everything not found", "refused"),
        ({"error": True, "message": "Tool input validation failed for f"}, "refused"),
        ({"denied": True}, "unclear"),
        ({"response": {"denied": True, "reason": "too much"}}, "unclear"),
        ({"denied": True, "rows": []}, "ok"),
    ],
)
def test_the_status_of_a_result(result: Any, status: str) -> None:
    assert result_status(result) == status


FAILED: dict[str, Any] = {
    "OpenTelemetry": [{"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "Error: no"}]}],
    "OpenAI chat": [{"role": "tool", "tool_call_id": "c1", "content": "Error: no"}],
    "OpenAI responses": {"input": [{"type": "function_call_output", "call_id": "c1", "output": "Error: no"}]},
    "OpenAI Agents for JS": [{"type": "function_call_result", "callId": "c1", "id": "r1", "output": "Error: no"}],
    "Anthropic": [
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "is_error": True, "content": "Error"}],
        }
    ],
    "Bedrock": [{"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "status": "error", "content": []}}]}],
    "Gemini": {
        "contents": [{"role": "user", "parts": [{"functionResponse": {"id": "c1", "response": {"error": "no"}}}]}]
    },
    "Haystack": [
        {"role": "tool", "content": [{"tool_call_result": {"result": "x", "origin": {"id": "c1"}, "error": True}}]}
    ],
}


@pytest.mark.parametrize("shape", FAILED)
def test_a_failed_result_is_found_in(shape: str) -> None:
    assert newest_tool_results(json.dumps(FAILED[shape])) == (ToolResult("c1", failed=True),)
    assert newest_tool_results(FAILED[shape]) == (ToolResult("c1", failed=True),)


@pytest.mark.parametrize("answer", ['{"success": false}', "{'ok': False}", '{"text": "{\\"success\\":false}"}'])
def test_a_flag_that_a_tool_did_no_work_is_found_in_the_text_of_a_message(answer: str) -> None:
    messages = json.dumps([{"role": "tool", "tool_call_id": "c1", "content": answer}])
    assert newest_tool_results(messages) == (ToolResult("c1", failed=False, is_open=True),)


def test_only_results_after_the_models_last_message_count() -> None:
    output = {"role": "assistant", "parts": []}
    failed, fine = (
        FAILED["OpenTelemetry"][0],
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c2", "response": "ok"}]},
    )
    assert newest_tool_results(json.dumps([output, failed, output, fine])) == ()
    assert newest_tool_results(json.dumps([output, fine, failed])) == (
        ToolResult("c2", failed=False),
        ToolResult("c1", failed=True),
    )


def test_smolagents_passes_failures_as_messages_of_the_user() -> None:
    messages = [
        {
            "role": "user",
            "parts": [{"type": "text", "content": "Error:\nError executing tool 'f' with arguments {}: no"}],
        }
    ]
    assert newest_tool_results(json.dumps(messages)) == (ToolResult(None, failed=True),)


def test_openllmetry_gives_the_parts_of_a_message_of_vercels_sdk_as_its_text() -> None:
    parts = [
        {
            "type": "tool-result",
            "toolCallId": "c1",
            "toolName": "pay",
            "output": {"type": "json", "value": {"paid": 7}},
        },
        {
            "type": "tool-result",
            "toolCallId": "c2",
            "toolName": "ship",
            "output": {"type": "error-text", "value": "no"},
        },
    ]
    told = {"role": "tool", "parts": [{"type": "text", "content": json.dumps(parts)}]}
    results = newest_tool_results(json.dumps([{"role": "assistant", "parts": []}, told]))
    assert results == (ToolResult("c1", failed=False, name="pay"), ToolResult("c2", failed=True, name="ship"))
    spoken = {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": '[{"about": "tool-result"}]'}]}
    assert newest_tool_results([spoken]) == ()


def test_the_parts_around_a_result_are_bounded() -> None:
    nested: Any = "Error: no"
    for _ in range(MAX_RESULT_DEPTH):
        nested = [nested]
    assert (result_status(nested), result_status([nested])) == ("error", "ok")


def test_the_parts_of_a_tools_message_are_bounded() -> None:
    failed = {"type": "tool_result", "tool_use_id": "c1", "is_error": True, "content": "no"}
    assert newest_tool_results([{"role": "tool", "content": [{}, failed]}]) == (ToolResult("c1", failed=True),)
    assert newest_tool_results([{"role": "tool", "content": [{}] * MAX_PARTS + [failed]}]) == ()


@given(json_values)
def test_no_value_raises(value: Any) -> None:
    for form in (value, json.dumps(value), repr(value)):
        newest_tool_results(form)
        result_status(form)


def test_depth_and_nodes_are_bounded() -> None:
    deep: Any = FAILED["OpenAI chat"]
    for _ in range(MAX_DEPTH + 1):
        deep = [deep]
    assert newest_tool_results(deep) is None
    assert newest_tool_results([{}] * MAX_NODES + FAILED["OpenAI chat"]) is None


def test_only_the_end_of_a_text_is_searched() -> None:
    fine = {"role": "tool", "tool_call_id": "c2", "content": "x" * TAIL}
    assert newest_tool_results(json.dumps([*FAILED["OpenAI chat"], fine])) is None


def test_texts_that_are_too_long_are_not_searched() -> None:
    assert newest_tool_results("x" * MAX_TEXT + "Error executing tool 'f' with arguments {}: no") is None
