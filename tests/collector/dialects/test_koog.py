"""Koog's spans of calls, and of the steps of an agent's graph around them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import agent_span, called, doubts, model_span, run_of, span, tool_span

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


def test_a_call_without_a_result_was_open_when_its_run_was_cancelled() -> None:
    attributes = {"gen_ai.provider.name": "koog", "gen_ai.tool.description": "", "koog.event.id": "9a5b"}
    run = run_of(agent_span(), tool_span("slow", {"what": "a"}, attributes=attributes, scope="shop", status=1))
    assert (run.trajectory.calls[0].status, doubts(run)) == ("unset", ["unobserved_results"])


def test_hidden_arguments_are_not_recorded() -> None:
    hidden = {"gen_ai.tool.call.arguments": "HIDDEN:non-empty", "gen_ai.tool.call.result": "HIDDEN:non-empty"}
    ran, failed = (
        span(f"execute_tool {name}", number, 1, at=20 * number, scope="ai.koog", attributes={
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.description": "", **hidden,
        }, status=status, message=message)
        for number, name, status, message in ((2, "search", 1, ""), (3, "pay", 2, "card declined"))
    )  # fmt: skip
    run = run_of(agent_span(), ran, failed)
    assert [(call.name, call.arguments, call.status) for call in run.trajectory.calls] == [
        ("search", None, "ok"),
        ("pay", None, "error"),
    ]
    assert doubts(run) == []


@pytest.mark.parametrize("has_told", [True, False])
@pytest.mark.parametrize(
    "words", ["Failed to parse literal '\"cheap\"' as an int value", "Encountered an unknown key 'nope' at element: $"]
)
def test_a_call_whose_arguments_could_not_be_parsed_did_not_run_if_the_model_was_told_so(
    words: str, *, has_told: bool
) -> None:
    asked = {"type": "tool_call", "id": "call_1", "name": "book", "arguments": {"nope": "x"}}
    told = {"type": "tool_call_response", "id": "call_1"}
    told["result"] = f"Tool with name 'book' failed to parse arguments due to the error: {words}"
    history = [{"role": "Assistant", "parts": [asked]}, {"role": "tool", "parts": [told]}]
    failed = tool("book", "Book a flight", number=3, at=20, call_id="call_1", status=2, message=words)
    asking = model_span([("call_1", "book", {"nope": "x"})], 2, lasting=9)
    last = model_span((), 4, at=40, lasting=9, input_messages=history if has_told else [])
    run = run_of(agent_span(), asking, failed, last)
    assert (called(run), doubts(run)) == ((["(book)"], []) if has_told else (["book"], ["uncertain_execution"]))


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


def test_a_run_beyond_its_limit_made_none_of_the_calls_that_were_asked_for_last() -> None:
    attributes = {
        "koog.event.id": "cb10",
        "error.type": "ai.koog.agents.core.agent.exception.AIAgentMaxNumberOfIterationsReachedException",
    }
    agent = agent_span(attributes=attributes, scope="shop", status=2, message="AI Agent has run into a problem")
    searched = tool_span(
        "search",
        {"city": "Rome"},
        2,
        at=20,
        call_id="call_8300",
        scope="shop",
        attributes={
            "gen_ai.provider.name": "koog",
            "gen_ai.tool.description": "search",
            "gen_ai.tool.call.result": '"AF1"',
        },
    )
    # The second is of a tool that ran before: its span may be thought to be missing.
    run = run_of(
        agent,
        model_span([("call_8300", "search", {"city": "Rome"})], 3, scope="shop"),
        searched,
        model_span([("call_ece8", "search", {"city": "Oslo"})], 4, at=40, scope="shop"),
    )
    assert (called(run), doubts(run)) == (["search", "(search)"], [])
