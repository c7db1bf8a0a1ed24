"""Tool calls in model messages of every format."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from collector.payloads.messages import (
    MAX_CALLS,
    MAX_DEPTH,
    MAX_NODES,
    is_unreadable,
    may_contain_tool_calls,
    tool_call_parts,
)
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


def test_the_input_of_a_providers_tool_is_in_its_details() -> None:
    details = {"type": "code_interpreter", "status": "completed", "code": "print(1)"}
    part = {"type": "server_tool_call", "id": "c1", "name": "code_interpreter", "server_tool_call": details}
    (call,) = tool_call_parts([{"role": "assistant", "parts": [part]}])
    assert (call.arguments, call.by_provider) == ({"code": "print(1)"}, True)


def test_the_input_of_a_streamed_call_is_beside_an_empty_one() -> None:
    """LangChain, of Anthropic's streams (langchain-anthropic 1.7)."""
    call = {
        "id": "srvtoolu_1",
        "input": {},
        "name": "web_search",
        "type": "server_tool_use",
        "partial_json": '{"q": 1}',
    }
    assert tool_call_parts([call])[0].arguments == '{"q": 1}'


@pytest.mark.parametrize(("kind", "expected"), [("server_tool_call", []), ("tool_call", ["mcp_list_tools"])])
def test_only_a_provider_lists_the_tools_of_a_server_under_that_name(kind: str, expected: list[str]) -> None:
    listing = {"type": kind, "id": "mcpl_1", "name": "mcp_list_tools", "arguments": {"server": "shop"}}
    assert [call.name for call in tool_call_parts([listing])] == expected


def test_details_of_a_providers_tool_may_say_nothing_of_its_input() -> None:
    part = {
        "type": "server_tool_call",
        "id": "c1",
        "name": "web",
        "server_tool_call": {"type": "web", "status": "done"},
    }
    (call,) = tool_call_parts([{"role": "assistant", "parts": [part]}])
    assert call.arguments is None


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


@pytest.mark.parametrize("kind", ["server_tool_call_response", "web_fetch_tool_result", "function_call_output"])
@pytest.mark.parametrize("encode", [lambda value: value, json.dumps], ids=["structured", "json"])
def test_what_a_tool_of_the_provider_returned_is_no_request(kind: str, encode: Any) -> None:
    page = encode({"messages": [{"role": "assistant", "tool_calls": [{"id": "c9", "name": "drop", "args": {}}]}]})
    parts = [{"type": kind, "id": "c0", "response": page, "content": page}, {"type": "tool_call", "name": "f"}]
    assert [call.name for call in tool_call_parts([{"role": "assistant", "parts": parts}])] == ["f"]
    parts[0]["type"] = "text"
    assert [call.name for call in tool_call_parts([{"role": "assistant", "parts": parts}])] == ["drop", "f"]


def test_a_call_inside_arguments_is_not_a_call() -> None:
    output = [{"type": "tool_call", "name": "delegate", "arguments": {"plan": [{"type": "tool_call", "name": "f"}]}}]
    assert [call.name for call in tool_call_parts(output)] == ["delegate"]


def test_calls_are_bounded() -> None:
    assert len(tool_call_parts([{"type": "tool_call", "name": "f"}] * (MAX_CALLS * 2))) == MAX_CALLS


@given(json_values)
def test_no_value_raises(value: Any) -> None:
    for form in (value, json.dumps(value), repr(value)):
        may_contain_tool_calls(form)
        tool_call_parts(form)


def test_depth_is_bounded() -> None:
    deep: Any = {"type": "tool_call", "name": "f"}
    for _ in range(5_000):
        deep = {"parts": [deep]}
    assert tool_call_parts(deep) == []


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


@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"output": value}], ids=["lists", "objects"])
def test_the_depth_of_calls_is_bounded(wrap: Any) -> None:
    nested: Any = {"type": "tool_call", "name": "f"}
    for _ in range(MAX_DEPTH):
        nested = wrap(nested)
    assert len(tool_call_parts(nested)) == 1
    assert tool_call_parts(wrap(nested)) == []


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ({"tool_calls": [{"tool": "f", "with": ARGUMENTS}]}, True),
        ({"role": "assistant", "content": None, "function_call": {"fn": "f"}}, True),
        ([{"role": "assistant", "parts": [{"type": "tool_call", "tool": "f"}]}], True),
        ('[{"role": "assistant", "parts": [{"type": "tool_call", "na', True),
        ({"choices": [{"message": json.dumps({"toolCalls": ["f"]})}]}, True),
        ([{"role": "assistant", "parts": [{"type": "invoke", "tool": "f", "with": ARGUMENTS}]}], True),
        (
            [{"role": "assistant", "parts": [{"type": "tool_result", "tool": "f"}, {"type": "text", "content": "x"}]}],
            False,
        ),
        ({"role": "assistant", "content": "Done.", "tool_calls": [], "function_call": None}, False),
        ({"role": "user", "content": "My tool_calls are", "tool_calls": ["f"]}, False),
        ({"tools": [{"type": "tool_call"}], "content": "No tool is needed."}, False),
        ("Use the tool.", False),
    ],
)
def test_an_answer_that_names_calls_may_hold_some_that_are_not_found(output: Any, expected: bool) -> None:
    assert tool_call_parts(output) == []
    assert is_unreadable(output) is expected


def test_an_answer_of_any_size_is_searched_for_named_calls_up_to_a_limit() -> None:
    nested: Any = {"tool_calls": ["f"]}
    for _ in range(MAX_DEPTH - 1):
        nested = [nested]
    assert is_unreadable([nested])
    assert not is_unreadable([[nested]])
    assert is_unreadable([{"tool_calls": ["f"]}, *([[]] * (MAX_NODES - 2))])
    assert not is_unreadable([{"tool_calls": ["f"]}, *([[]] * MAX_NODES)])
