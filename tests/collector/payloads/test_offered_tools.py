"""Whether requested calls fit the tools that were offered, in whatever form these were recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.payloads.flattened_attributes import FlattenedAttributes
from collector.payloads.messages import ToolCallPart
from collector.payloads.offered_tools import FITS, MAX_CALLS, MAX_DEFINITIONS, fits_of, offers_hosted
from collector.payloads.tool_definitions import MAX_TOOLS
from tests.strategies import json_values

PAY = {"name": "pay", "parameters": {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}}
CALLS = [
    ToolCallPart("1", "pay", '{"sum": 3}'),
    ToolCallPart("2", "pay", {"sum": "3"}),
    ToolCallPart("3", "pay", ""),
    ToolCallPart("4", "pay", None),
    ToolCallPart("5", "mail", {}),
]


@pytest.mark.parametrize(
    "definitions",
    [
        json.dumps([PAY]),
        [json.dumps(PAY)],
        FlattenedAttributes({"llm.tools.0.tool.json_schema": json.dumps({"function": PAY})}),
        FlattenedAttributes(
            {
                "llm.request.functions.0.name": "pay",
                "llm.request.functions.0.parameters": json.dumps(PAY["parameters"]),
            }
        ),
    ],
)
def test_each_call_is_compared_with_the_tool_of_its_name(definitions: Any) -> None:
    for _ in range(2):  # the second time from the cache
        assert [FITS[letter] for letter in fits_of(CALLS, definitions)] == ["fits", "", "misfit", "", "unknown"]


@pytest.mark.parametrize(
    "definitions",
    [None, 7, "", "[]", [], {}, [{"pay": 1}], [["pay"]], FlattenedAttributes({"a": ["pay"]}), "no JSON, but pay"],
)
def test_nothing_is_said_without_definitions(definitions: Any) -> None:
    assert not fits_of(CALLS, definitions)


@pytest.mark.parametrize(("numbers", "is_whole"), [((0, 1), True), ((1, 0), True), ((1,), False), ((0, 2), False)])
def test_a_list_of_which_tools_are_missing_tells_nothing(numbers: tuple[int, ...], is_whole: bool) -> None:
    tools = {f"llm.tools.{number}.tool.json_schema": json.dumps({**PAY, "name": f"t{number}"}) for number in numbers}
    for _ in range(2):  # the second time from the cache
        assert bool(fits_of(CALLS, FlattenedAttributes(tools))) is is_whole


def test_a_list_that_may_be_cut_tells_nothing() -> None:
    tools = [{"name": f"t{at}", "description": "x"} for at in range(MAX_TOOLS)]
    assert not fits_of(CALLS, json.dumps(tools))
    assert fits_of(CALLS, json.dumps(tools[1:])) == "uuuuu"
    assert not fits_of(CALLS, json.dumps([{**PAY, "description": "x" * MAX_DEFINITIONS}]))


def test_a_bounded_number_of_calls_is_looked_at() -> None:
    assert len(fits_of(CALLS * MAX_CALLS, json.dumps([PAY]))) == MAX_CALLS


@given(st.one_of(json_values, json_values.map(json.dumps)), json_values)
def test_any_definitions_and_arguments_are_taken(definitions: Any, arguments: Any) -> None:
    letters = fits_of([ToolCallPart(None, "pay", arguments)], definitions)
    assert set(letters) <= FITS.keys()


def test_the_form_of_an_output_is_no_tool() -> None:
    request = {
        "function_tools": [PAY],
        "output_tools": [{"name": "mail", "description": "The output", "kind": "output"}],
    }
    assert [FITS[letter] for letter in fits_of(CALLS, json.dumps(request))] == ["fits", "", "misfit", "", "output"]


@pytest.mark.parametrize(
    ("definitions", "expected"),
    [
        ('[{"type":"function","name":"mcp"},{"type":"web_search","filters":null}]', True),
        ('[{"type": "web_search_preview_2025_03_11"}]', True),
        ('[{"type":"mcp","server_label":"s"}]', True),
        (
            '[{"type":"function","name":"web_search","description":"\\"type\\":\\"mcp\\""},{"type":"local_shell"}]',
            False,
        ),
        (None, False),
    ],
)
def test_tools_that_openai_runs_are_told_from_those_of_the_application(definitions: object, *, expected: bool) -> None:
    assert offers_hosted(definitions) == expected
