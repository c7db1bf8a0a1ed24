"""Koog's spans of calls, and of the steps of an agent's graph around them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import agent_span, called, doubts, run_of, span, tool_span

MISSING = (
    "No argument provided for a required parameter: parameter #3 price of fun Tools.book_flight(kotlin.String, "
    "kotlin.String, kotlin.Double): kotlin.String"
)


def tool(name: str, description: str | None, **more: Any) -> Span:
    described = {} if description is None else {"gen_ai.tool.description": description}
    attributes = {"gen_ai.provider.name": "koog", "gen_ai.tool.call.result": "{}", **described}
    return tool_span(name, {"flight_id": "AF123"}, attributes=attributes, scope="ai.koog", **{"status": 1, **more})


@pytest.mark.parametrize(
    ("description", "expected"), [("Book a flight", ["book_flight"]), ("", ["book_flight"]), (None, ["(book_flight)"])]
)
def test_a_tool_that_koog_does_not_know_has_no_description(description: str | None, expected: list[str]) -> None:
    run = run_of(agent_span(), tool("book_flight", description))
    assert (called(run), doubts(run)) == (expected, [])


def test_the_steps_of_the_graph_repeat_calls_that_have_spans() -> None:
    call = {"id": "call_05638ecd23cd408ba841", "tool": "search"}
    asked = {"type": "ai.koog.prompt.message.Message.Tool.Call", **call, "parts": [{"text": '{"city": "Rome"}'}]}
    success = {"type": "ai.koog.agents.core.environment.ToolResultKind.Success"}
    ran = {**call, "toolArgs": {"city": "Rome"}, "content": '"AF1"', "resultKind": success, "result": "AF1"}
    for attributes in (
        {"koog.strategy.name": "single_run"},
        {"koog.node.id": "nodeCallLLM", "koog.node.output": json.dumps([asked])},
        {
            "koog.node.id": "nodeExecuteTool",
            "koog.node.input": json.dumps([call]),
            "koog.node.output": json.dumps([ran]),
        },
        {"koog.node.id": "nodeSendToolResult", "koog.node.input": json.dumps([ran])},
    ):
        step = span(
            "node", 3, 2, attributes={"gen_ai.conversation.id": "a4832baf", **attributes}, scope="shop", status=1
        )
        assert dialects.read_span(step) is IGNORED


def test_an_application_may_name_the_scope_of_koogs_spans() -> None:
    attributes = {"gen_ai.provider.name": "koog", "koog.event.id": "9a5b", "gen_ai.tool.call.result": "{}"}
    unknown = tool_span("book_flight", {}, attributes=attributes, scope="shop", status=1)
    assert called(run_of(agent_span(), unknown)) == ["(book_flight)"]


@pytest.mark.parametrize(
    ("name", "expected"), [("book_flight", (["(book_flight)"], [])), ("book", (["book"], ["uncertain_execution"]))]
)
def test_kotlins_reflection_names_the_function_that_it_did_not_call(
    name: str, expected: tuple[list[str], list[str]]
) -> None:
    failed = tool(
        name, "Book a flight", status=2, message=MISSING, events=[("exception", {"exception.message": MISSING})]
    )
    run = run_of(agent_span(), failed)
    assert (called(run), doubts(run)) == expected
