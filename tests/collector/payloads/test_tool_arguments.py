"""A tool's own arguments, out of what frameworks put around them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.payloads.tool_arguments import fits_parameters, is_schema, schema_names, tool_arguments
from collector.payloads.values import parse_arguments
from tests.operations import within

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "unit": {"type": "string"}}}
ZOD = {"def": {"type": "object", "shape": {"city": {}, "unit": {}}}, "type": "object"}
PARIS = {"city": "Paris"}
CONTEXT = "<workflows.context.context.Context object at 0x7fd7c3025550>"


@pytest.mark.parametrize(
    ("recorded", "schema"),
    [
        (PARIS, None),
        ({"args": [], "sanitize_inputs_outputs": True, "kwargs": PARIS}, None),
        ({"args": ["Paris"], "kwargs": {}}, SCHEMA),
        ({"args": ["Paris"], "kwargs": {}}, SCHEMA["properties"]),
        (["Paris"], ZOD),
        ([PARIS], None),
        ({"input": PARIS}, None),
        ({"input": json.dumps(PARIS)}, None),
        ({"input": PARIS, "options": None}, None),
        ({"type": "text", "value": "{'city': 'Paris'}"}, None),
        ({"input": PARIS, "options": None}, SCHEMA),
        ({"arguments": {"input": PARIS}}, None),
        ({"callId": "c", "name": "get_weather", "args": PARIS}, None),
        ({"name": "get_weather", "description": "", "parameters": PARIS}, None),
        ({"name": "get_weather", "arguments": PARIS}, None),
        ({"type": "tool_use", "name": "get_weather", "input": PARIS}, None),
        ({"kwargs": {"ctx": CONTEXT, **PARIS}, "args": []}, None),
        ({"type": "json", "value": PARIS}, None),
        ({"args": [PARIS, {"toolCallId": "c", "messages": []}]}, None),
        ([PARIS, {"abortSignal": {}}], SCHEMA),
        ([{"role": "tool", "content": json.dumps(PARIS)}], None),
    ],
)
def test_what_is_around_arguments_is_taken_off(recorded: Any, schema: Any) -> None:
    assert parse_arguments(tool_arguments(json.dumps(recorded), schema))[0] == PARIS


@pytest.mark.parametrize(
    "recorded",
    [
        {"input": "Paris"},
        {"name": "Ada", "input": {"age": 36}},
        {"query": {"city": "Paris"}},
        {"input": PARIS, "n": 1},
        {"args": [PARIS, {"city": "London"}]},
        {"input": PARIS, "options": {"depth": 2}},
        {"type": "text", "value": "Paris"},
        {},
    ],
)
def test_arguments_that_only_look_wrapped_stay(recorded: Any) -> None:
    assert parse_arguments(tool_arguments(json.dumps(recorded)))[0] == recorded


def test_a_parameter_with_the_name_of_a_wrapper_stays() -> None:
    schema = {"type": "object", "properties": {"input": {"type": "object"}}}
    assert parse_arguments(tool_arguments(json.dumps({"input": PARIS}), schema))[0] == {"input": PARIS}
    typed, schema = {"type": "json", "value": PARIS}, {"type": "object", "properties": {"type": {}, "value": {}}}
    assert parse_arguments(tool_arguments(json.dumps(typed), schema))[0] == typed


@pytest.mark.parametrize(
    ("tool", "is_call"), [("get_weather", True), ("maps__get_weather", True), ("invoice", False), (None, True)]
)
def test_an_object_with_a_name_and_arguments_is_a_call_of_the_tool_of_that_name(
    tool: str | None, is_call: bool
) -> None:
    recorded = {"name": "get_weather", "arguments": PARIS}
    expected = PARIS if is_call else recorded
    assert parse_arguments(tool_arguments(json.dumps(recorded), None, tool))[0] == expected


CONVERSATION = {"messages": [{"role": "user", "content": "Paris?"}, {"type": "ai", "content": ""}]}


@pytest.mark.parametrize(
    "recorded", [SCHEMA, {"$schema": "x", **SCHEMA}, ZOD, {"args": ["a", "b", "c"], "kwargs": {}}, CONVERSATION]
)
def test_what_cannot_be_told_is_unknown(recorded: Any) -> None:
    assert tool_arguments(json.dumps(recorded)) is None


def test_text_stays_text() -> None:
    assert tool_arguments("Paris") == "Paris"


def test_schemas() -> None:
    assert (schema_names(SCHEMA), schema_names(json.dumps(ZOD)), schema_names(PARIS)) == (("city", "unit"),) * 2 + ((),)
    assert not is_schema({})
    assert not is_schema(PARIS)


BOOKING = {
    "properties": {
        "city": {"type": "string", "title": "City"},
        "nights": {"type": "integer"},
        "tags": {"type": "array"},
    },
    "required": ["city", "nights", []],
}


@pytest.mark.parametrize(
    ("arguments", "schema", "fits"),
    [
        ({"city": "Oslo", "nights": 2}, BOOKING, True),
        ('{"city": "Oslo", "nights": 2}', json.dumps(BOOKING), True),
        ({"city": "Oslo"}, BOOKING, False),
        ({"city": "Oslo", "nights": "2"}, BOOKING, None),  # some take it for a number
        ({"city": "Oslo", "nights": True}, BOOKING, None),
        ({"city": "Oslo", "nights": "two"}, BOOKING, False),
        ({"city": "Oslo", "nights": [2]}, BOOKING, False),
        ({"city": "Oslo", "nights": ""}, BOOKING, None),
        ({"paid": "sure"}, {"properties": {"paid": {"type": "boolean"}}}, False),
        ({"paid": "Yes"}, {"properties": {"paid": {"type": "boolean"}}}, None),
        ({"price": "-inf"}, {"properties": {"price": {"type": "number"}}}, None),
        ({"price": "two"}, {"properties": {"price": {"anyOf": [{"type": "number"}, {"type": "string"}]}}}, True),
        ({"city": "Oslo", "nights": 2, "tags": []}, BOOKING, True),
        ({"tags": ["a", "b"]}, {"properties": {"tags": {"type": "array", "items": {"type": "string"}}}}, True),
        ({"tags": ["a", 1]}, {"properties": {"tags": {"type": "array", "items": {"type": "string"}}}}, None),
        ({"tags": [{}]}, {"properties": {"tags": {"type": "array", "items": {"type": "object"}}}}, None),
        ({"who": {"age": 3}}, {"properties": {"who": {"type": "object"}}}, True),
        (
            {"who": {"age": 3}},
            {"properties": {"who": {"type": "object", "properties": {"age": {"type": "integer"}}}}},
            True,
        ),
        (
            {"who": {"age": ""}},
            {"properties": {"who": {"type": "object", "properties": {"age": {"type": "integer"}}}}},
            None,
        ),
        (
            {"who": {}},
            {"properties": {"who": {"type": "object", "properties": {"age": {}}, "required": ["age"]}}},
            None,
        ),
        ({"by": None}, {"properties": {"by": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}, True),
        ({"by": 2}, {"properties": {"by": {"anyOf": [{"type": "string"}, {"type": "null"}, 7]}}}, None),
        ({"by": None}, {"properties": {"by": {"type": "string", "nullable": True}}}, True),
        ({}, {"properties": {"by": {"type": "string", "default": "car"}}, "required": ["by"]}, None),  # a strict schema
        ({}, {"properties": {"by": {"anyOf": [{"type": "null"}]}}, "required": ["by"]}, None),
        ({}, {"properties": {"by": {"anyOf": [{"type": "string"}]}}, "required": ["by"]}, False),
        ({"city": "Oslo", "nights": 2, "car": 1}, BOOKING, None),
        ({"city": "Oslo"}, {"properties": {"city": {"type": "string", "pattern": "^A"}}}, None),
        ({"city": "Oslo"}, {"properties": {"city": {"type": ["string"]}}}, None),
        ({"price": 2, "tags": ["a"]}, {"properties": {"price": {"type": "NUMBER"}, "tags": {"type": "ARRAY"}}}, True),
        ({"price": "two"}, {"properties": {"price": {"type": "NUMBER"}}}, False),
        ({}, {"properties": {}}, True),
        ({}, {"properties": [], "required": 7}, None),
        ("Oslo", BOOKING, None),
        ({"city": "Oslo"}, None, None),
    ],
)
def test_arguments_fit_the_parameters_of_a_tool(arguments: Any, schema: Any, *, fits: bool | None) -> None:
    assert fits_parameters(arguments, schema) is fits


def test_blanks_of_any_number_in_an_argument_take_no_time() -> None:
    with within(1.0):
        assert fits_parameters({"sum": " " * 40_000 + "x"}, {"properties": {"sum": {"type": "integer"}}}) is False
