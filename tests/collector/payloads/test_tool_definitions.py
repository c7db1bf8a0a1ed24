"""Tool definitions in every recorded format."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from collector.payloads.tool_definitions import MAX_DEPTH, MAX_NODES, MAX_TOOLS, tool_definitions
from scorers.judged.judge import ToolDefinition
from tests.strategies import json_values

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
DESCRIPTION = "Tells the weather"

SHAPES: dict[str, Any] = {
    "OpenTelemetry": [{"type": "function", "name": "weather", "description": DESCRIPTION, "parameters": SCHEMA}],
    "OpenAI": [{"type": "function", "function": {"name": "weather", "description": DESCRIPTION, "parameters": SCHEMA}}],
    "Anthropic": [{"name": "weather", "description": DESCRIPTION, "input_schema": SCHEMA}],
    "Bedrock": [{"toolSpec": {"name": "weather", "description": DESCRIPTION, "inputSchema": {"json": SCHEMA}}}],
    "Gemini": {"config": {"tools": [{"functionDeclarations": [
        {"name": "weather", "description": DESCRIPTION, "parameters": SCHEMA}
    ]}]}},
    "a whole request": {"model": "m", "tools": [{"name": "weather", "description": DESCRIPTION, "inputSchema": SCHEMA}]},
    "Vercel AI SDK": [json.dumps({"type": "function", "name": "weather", "description": DESCRIPTION, "inputSchema": SCHEMA})],
    "Pydantic AI": {"function_tools": [
        {"name": "weather", "description": DESCRIPTION, "parameters_json_schema": SCHEMA}
    ], "output_tools": []},
    "Pydantic AI's output": {"function_tools": [], "output_tools": [
        {"name": "weather", "description": DESCRIPTION, "parameters_json_schema": SCHEMA}
    ]},
    "Haystack": [{"type": "haystack.tools.tool.Tool", "data": {
        "name": "weather", "description": DESCRIPTION, "parameters": SCHEMA,
    }}],
    "OpenInference": {"llm": {"tools": [{"tool": {"json_schema": json.dumps(
        {"type": "function", "function": {"name": "weather", "description": DESCRIPTION, "parameters": SCHEMA}}
    )}}]}},
    "OpenInference over native spans": {"llm": {"tools": [{"tool": {
        "name": "weather", "description": DESCRIPTION, "json_schema": json.dumps(SCHEMA),
    }}]}},
    "old OpenLLMetry": {"llm": {"request": {"functions": [
        {"name": "weather", "description": DESCRIPTION, "parameters": json.dumps(SCHEMA)}
    ]}}},
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_definitions_are_found_in(shape: str) -> None:
    assert tool_definitions([SHAPES[shape]]) == [ToolDefinition("weather", DESCRIPTION, SCHEMA)]
    assert tool_definitions([json.dumps(SHAPES[shape])]) == [ToolDefinition("weather", DESCRIPTION, SCHEMA)]


def test_names_alone_are_definitions_too() -> None:
    names = ["weather", "mail"]
    for value in (names, json.dumps(names), str(names)):
        assert tool_definitions([value]) == [ToolDefinition("weather"), ToolDefinition("mail")]


@pytest.mark.parametrize(
    "value",
    [
        json.dumps({"id": "resp_1", "model": "m", "temperature": 1.0, "tool_choice": "auto"}),
        {"id": "resp_1", "object": "response", "tools": []},
        {"name": "server", "tools": []},
    ],
)
def test_what_has_tools_or_only_an_id_is_none(value: Any) -> None:
    assert tool_definitions([value]) == []


def test_each_name_once_by_the_fuller_definition() -> None:
    described = {"name": "weather", "description": DESCRIPTION}
    other = {"name": "weather", "description": "something else"}
    assert tool_definitions([["weather", "mail"], [described], [other]]) == [
        ToolDefinition("weather", DESCRIPTION), ToolDefinition("mail"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "value", [None, "", "weather", 7, {}, [], [None], [""], [{"type": "function"}], {"model": "m"}]
)
def test_values_without_definitions(value: Any) -> None:
    assert tool_definitions([value]) == []


def test_the_number_of_tools_is_bounded() -> None:
    assert len(tool_definitions([[f"t{at}" for at in range(9_000)]])) == MAX_TOOLS


@given(json_values)
def test_any_value_gives_definitions_or_none(value: Any) -> None:
    for tool in tool_definitions([value, json.dumps(value)]):
        assert tool.name
        assert isinstance(tool.description, str)


def test_deep_values_terminate() -> None:
    nested: Any = {"name": "weather"}
    for _ in range(5_000):
        nested = {"function": nested}
    assert tool_definitions([nested, [[[nested]]]]) == []


def test_depth_and_nodes_are_bounded() -> None:
    nested: Any = {"name": "weather"}
    for _ in range(MAX_DEPTH):
        nested = [nested]
    assert tool_definitions([nested]) == [ToolDefinition("weather")]
    assert tool_definitions([[nested]]) == []
    wrapped: Any = {"name": "weather"}
    for _ in range(MAX_DEPTH):
        wrapped = {"tools": wrapped}
    assert tool_definitions([wrapped]) == [ToolDefinition("weather")]
    assert tool_definitions([{"tools": wrapped}]) == []
    assert tool_definitions([[{}] * MAX_NODES + [{"name": "weather"}]]) == []
