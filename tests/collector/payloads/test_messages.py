"""Tool calls and results in model messages of every format."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from collector.payloads.messages import (
    MAX_CALLS,
    MAX_DEPTH,
    MAX_NODES,
    MAX_PARTS,
    MAX_RESULT_DEPTH,
    TAIL,
    ToolResult,
    may_contain_tool_calls,
    newest_tool_results,
    result_status,
    told_calls,
    tool_call_parts,
)
from collector.payloads.user_input import newest_user_input
from collector.payloads.values import MAX_TEXT
from tests.strategies import json_values

ARGUMENTS = {"city": "Paris"}
AS_TEXT = json.dumps(ARGUMENTS)

SHAPES: dict[str, Any] = {
    "OpenTelemetry": [
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "f", "arguments": ARGUMENTS}]}
    ],
    "OpenAI chat": {"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": AS_TEXT}}]},
    "OpenAI choices": {
        "choices": [{"message": {"tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": AS_TEXT}}]}}]
    },
    "OpenAI responses": {
        "output": [{"type": "function_call", "id": "fc_9", "call_id": "c1", "name": "f", "arguments": AS_TEXT}]
    },
    "Anthropic": {
        "content": [{"type": "text", "text": "hm"}, {"type": "tool_use", "id": "c1", "name": "f", "input": ARGUMENTS}]
    },
    "Bedrock": [{"toolUse": {"toolUseId": "c1", "name": "f", "input": ARGUMENTS}}],
    "Strands JS": [{"type": "toolUse", "name": "f", "toolUseId": "c1", "input": ARGUMENTS}],
    "Gemini": {"content": {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "f", "args": ARGUMENTS}}]}},
    "Google ADK": {"content": {"parts": [{"function_call": {"id": "c1", "name": "f", "args": ARGUMENTS}}]}},
    "LangChain": {"tool_calls": [{"name": "f", "args": ARGUMENTS, "id": "c1", "type": "tool_call"}]},
    "Langfuse": {"role": "assistant", "tool_calls": [{"name": "f", "args": ARGUMENTS, "id": "c1"}]},
    "Vercel AI SDK": [{"toolCallId": "c1", "toolName": "f", "input": AS_TEXT}],
    "Mastra's piece of a stream": {"toolName": "f", "toolCallId": "c1", "toolInput": ARGUMENTS},
    "Genkit": {"message": {"content": [{"toolRequest": {"name": "f", "ref": "c1", "input": ARGUMENTS}}]}},
    "Haystack": {"replies": [{"content": [{"tool_call": {"tool_name": "f", "arguments": ARGUMENTS, "id": "c1"}}]}]},
    "a server's tool": [
        {"parts": [{"type": "server_tool_call", "id": "c1", "name": "f", "server_tool_call": {"arguments": ARGUMENTS}}]}
    ],
    "a part encoded on its own": [
        {"parts": [json.dumps({"type": "tool_call", "id": "c1", "name": "f", "arguments": ARGUMENTS})]}
    ],
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("encode", [lambda value: value, json.dumps, repr], ids=["structured", "json", "repr"])
def test_a_call_is_found_in(shape: str, encode: Any) -> None:
    output = encode(SHAPES[shape])
    assert may_contain_tool_calls(output)
    (call,) = tool_call_parts(output)
    arguments = json.loads(call.arguments) if isinstance(call.arguments, str) else call.arguments
    assert (call.id, call.name, arguments) == ("c1", "f", ARGUMENTS)


def test_calls_are_in_the_order_of_the_message() -> None:
    output = {"parts": [{"type": "tool_call", "name": name} for name in "abc"]}
    assert [call.name for call in tool_call_parts(output)] == ["a", "b", "c"]


def test_a_call_recorded_in_two_formats_counts_once() -> None:
    message = {"tool_calls": SHAPES["LangChain"]["tool_calls"], "additional_kwargs": SHAPES["OpenAI chat"]}
    assert len(tool_call_parts({"generations": [[{"message": {"kwargs": message}}]]})) == 1


def test_equal_calls_without_ids_are_two() -> None:
    assert len(tool_call_parts([{"type": "tool_call", "name": "f"}] * 2)) == 2


@pytest.mark.parametrize(
    "output",
    [
        "I called the tool_call function for you.",
        {"tools": [{"type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        [{"role": "user", "parts": [{"type": "tool_call", "name": "f"}]}],
        [{"type": "tool_call_response", "id": "c1", "response": {"name": "f"}}],
        {"tool_calls": [{"id": "c1"}], "function_call": None},
        {"type": "function", "function": {"name": "f", "description": "a definition", "parameters": {}}},
        None,
        7,
    ],
)
def test_values_without_calls(output: Any) -> None:
    assert tool_call_parts(output) == []


def test_a_call_inside_arguments_is_not_a_call() -> None:
    output = [{"type": "tool_call", "name": "delegate", "arguments": {"plan": [{"type": "tool_call", "name": "f"}]}}]
    assert [call.name for call in tool_call_parts(output)] == ["delegate"]


def test_calls_are_bounded() -> None:
    assert len(tool_call_parts([{"type": "tool_call", "name": "f"}] * (MAX_CALLS * 2))) == MAX_CALLS


# --- results


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
        ("An error of 2 percent", "ok"),
        ({"error": "card declined"}, "error"),
        ('{"error": "card declined"}', "error"),
        ([{"text": "Error: card declined"}], "error"),
        ({"is_error": True, "content": "card declined"}, "error"),
        ({"status": "error", "content": [{"text": "declined"}]}, "error"),
        ("MCP error -32602: Tool delete_everything not found", "refused"),
        ({"error": True, "message": "Tool input validation failed for f"}, "refused"),
    ],
)
def test_the_status_of_a_result(result: Any, status: str) -> None:
    assert result_status(result) == status


FAILED: dict[str, Any] = {
    "OpenTelemetry": [{"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "Error: no"}]}],
    "OpenAI chat": [{"role": "tool", "tool_call_id": "c1", "content": "Error: no"}],
    "OpenAI responses": {"input": [{"type": "function_call_output", "call_id": "c1", "output": "Error: no"}]},
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


def test_only_results_after_the_models_last_message_count() -> None:
    output = {"role": "assistant", "parts": []}
    failed, fine = (
        FAILED["OpenTelemetry"][0],
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c2", "response": "ok"}]},
    )
    assert newest_tool_results(json.dumps([output, failed, output, fine])) is None
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


# --- the user


def test_input_is_kept_if_the_newest_message_is_the_users() -> None:
    messages = '[{"role": "system"}, {"role": "user", "content": "hi"}]'
    assert newest_user_input(messages) == messages
    assert newest_user_input(messages[:-1] + ', {"role": "assistant"}, {"role": "tool"}]') is None
    assert newest_user_input('{"messages": [{"role": "user"}], "tools": [{"type": "function"}]}') is not None
    assert newest_user_input([{"role": "user", "content": "hi"}]) is not None
    assert newest_user_input([{"role": "user"}, {"role": "tool"}]) is None
    assert newest_user_input("") is None


@given(json_values)
def test_no_value_raises(value: Any) -> None:
    for form in (value, json.dumps(value), repr(value)):
        may_contain_tool_calls(form)
        tool_call_parts(form)
        newest_tool_results(form)
        newest_user_input(form)
        result_status(form)


def test_depth_is_bounded() -> None:
    deep: Any = {"type": "tool_call", "name": "f"}
    for _ in range(5_000):
        deep = {"parts": [deep]}
    assert tool_call_parts(deep) == []
    deep_result: Any = FAILED["OpenAI chat"]
    for _ in range(MAX_DEPTH + 1):
        deep_result = [deep_result]
    assert newest_tool_results(deep_result) is None


def test_the_depth_of_parts_encoded_separately_is_bounded() -> None:
    nested: Any = json.dumps({"type": "tool_call", "name": "f"})
    for _ in range(MAX_DEPTH - 1):
        nested = [nested]
    assert len(tool_call_parts(nested)) == 1
    assert tool_call_parts([nested]) == []


def test_nodes_are_bounded() -> None:
    call = {"type": "tool_call", "name": "f"}
    assert len(tool_call_parts([{}] * (MAX_NODES - 2) + [call])) == 1
    assert tool_call_parts([{}] * MAX_NODES + [call]) == []
    assert newest_tool_results([{}] * MAX_NODES + FAILED["OpenAI chat"]) is None


def test_the_parts_around_a_result_are_bounded() -> None:
    nested: Any = "Error: no"
    for _ in range(MAX_RESULT_DEPTH):
        nested = [nested]
    assert (result_status(nested), result_status([nested])) == ("error", "ok")


def test_the_parts_of_a_tools_message_are_bounded() -> None:
    failed = {"type": "tool_result", "tool_use_id": "c1", "is_error": True, "content": "no"}
    assert newest_tool_results([{"role": "tool", "content": [{}, failed]}]) == (ToolResult("c1", failed=True),)
    assert newest_tool_results([{"role": "tool", "content": [{}] * MAX_PARTS + [failed]}]) is None


def test_only_the_end_of_a_text_is_searched() -> None:
    long = "x" * TAIL
    assert newest_user_input(json.dumps([{"role": "user", "content": long}])) is None
    fine = {"role": "tool", "tool_call_id": "c2", "content": long}
    assert newest_tool_results(json.dumps([*FAILED["OpenAI chat"], fine])) is None


def test_texts_that_are_too_long_are_not_searched() -> None:
    long = "x" * MAX_TEXT
    assert newest_user_input(long + '{"role": "user", "content": "hi"}') is None
    assert newest_tool_results(long + "Error executing tool 'f' with arguments {}: no") is None


@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"output": value}], ids=["lists", "objects"])
def test_the_depth_of_calls_is_bounded(wrap: Any) -> None:
    nested: Any = {"type": "tool_call", "name": "f"}
    for _ in range(MAX_DEPTH):
        nested = wrap(nested)
    assert len(tool_call_parts(nested)) == 1
    assert tool_call_parts(wrap(nested)) == []


def test_koogs_roles_begin_with_a_capital_and_its_results_are_followed_by_an_empty_message() -> None:
    asked = {"role": "Assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "pay", "arguments": {"n": 1}}]}
    told = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "result": "Error: declined"}]}
    again = {"role": "User", "parts": [{"type": "text", "content": "Once more."}]}
    messages = [asked, told, {"role": "User", "parts": []}]
    assert [(call.id, call.status) for call in told_calls(messages)] == [("c1", "error")]
    assert told_calls([*messages, again]) == []
