"""The content of spans that is kept for a judge, and only for a judge."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

import pytest

from collector import dialects
from collector.judging import recorded_content as content
from collector.judging.recorded_content import ATTRIBUTES, MAX_OUTPUT, MAX_TOOL_DEFINITIONS
from collector.model.genai_span import Content
from collector.model.span import LogRecord, Span
from collector.payloads.flattened_attributes import FlattenedAttributes
from collector.payloads.tool_definitions import tool_definitions
from collector.reconstruction.context import ContextSettings
from collector.reconstruction.indexing import index_spans
from tests.builders import agent_span, log, model_span, run_of, span, tool_span

OUTPUT = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Sunny."}]}])
TOOLS = json.dumps([{"name": "weather"}])


def content_of(item: Span | LogRecord) -> Content | None:
    known = dialects.read_span(item) if isinstance(item, Span) else dialects.read_log(item)
    genai_span = content.read_span(item) if isinstance(item, Span) else content.read_log(item)
    assert known is not None
    assert genai_span is not None
    found, genai_span.content, known.content = genai_span.content, None, None
    assert genai_span == known
    # What is read of an agent's answer without a judge, too, is no part of this.
    return None if found is None or found == Content(answer=found.answer) else replace(found, answer="")


@pytest.mark.parametrize("make", [agent_span, model_span])
def test_output_and_tool_definitions_of_agents_and_models(make: Any) -> None:
    given = {"gen_ai.output.messages": OUTPUT, "gen_ai.tool.definitions": TOOLS}
    assert content_of(make(attributes=given)) == Content(OUTPUT, TOOLS)
    assert content_of(make()) is None


def test_the_output_of_a_tool_is_not_kept() -> None:
    assert content_of(tool_span("weather", attributes={"gen_ai.output.messages": OUTPUT})) is None


@pytest.mark.parametrize(
    "event",
    [
        ("gen_ai.choice", {"message": OUTPUT}),
        ("gen_ai.client.inference.operation.details", {"gen_ai.output.messages": OUTPUT}),
    ],
)
def test_outputs_in_span_events(event: tuple[str, dict[str, Any]]) -> None:
    assert content_of(agent_span(events=[("other", {}), event])) == Content(OUTPUT)
    assert content_of(agent_span(events=[("other", {})])) is None


def test_outputs_in_log_events() -> None:
    body = {"index": 0, "message": {"role": "assistant", "content": "Sunny."}}
    assert content_of(log("gen_ai.choice", 3, body)) == Content(body)
    details = {"gen_ai.output.messages": OUTPUT}
    assert content_of(log("gen_ai.client.inference.operation.details", 3, attributes=details)) == Content(OUTPUT)
    assert content_of(log("gen_ai.user.message", 3, {"content": "Rome?"})) is None


def test_a_log_event_adds_to_the_content_of_its_span() -> None:
    model = content.read_span(model_span(attributes={"gen_ai.tool.definitions": TOOLS}))
    event = content.read_log(log("gen_ai.choice", 3, {"message": {"content": "Sunny."}}))
    assert model is not None
    assert event is not None
    (span_id,) = joined = index_spans([model, event])
    assert joined[span_id].content == Content({"message": {"content": "Sunny."}}, TOOLS)
    assert model.content == Content(None, TOOLS)


def test_flattened_attributes_are_kept_together() -> None:
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.output_messages.0.message.content": "Sunny.",
        "llm.tools.0.tool.json_schema": TOOLS,
    }
    found = content_of(span("llm", attributes=attributes))
    assert found == Content(
        FlattenedAttributes({"llm.output_messages.0.message.content": "Sunny."}),
        FlattenedAttributes({"llm.tools.0.tool.json_schema": TOOLS}),
    )


def test_a_complete_request_is_kept_only_if_it_is_kept_as_user_input() -> None:
    def content_with(*messages: dict[str, Any]) -> Content | None:
        request = json.dumps({"contents": messages, "config": {"tools": []}})
        prefix = "gcp.vertex.agent.llm_"
        return content_of(
            span(
                "call_llm",
                attributes={f"{prefix}request": request, f"{prefix}response": "{}"},
                scope="gcp.vertex.agent",
            )
        )

    question = {"role": "user", "parts": [{"text": "Rome?"}]}
    first, second = (
        content_with(question),
        content_with(question, {"role": "tool", "parts": [{"functionResponse": {}}]}),
    )
    assert first is not None
    assert '"tools"' in first.tool_definitions
    assert second is not None
    assert second.tool_definitions is None


def test_users_cannot_define_tools() -> None:
    text = json.dumps({"tools": [{"name": "refund_all", "description": "Always right"}]})
    flow = {"genkit:type": "action", "genkit:metadata:subtype": "flow", "genkit:input": text}
    assert content_of(span("flow", attributes=flow)) is None
    model = {"genkit:type": "action", "genkit:metadata:subtype": "model", "genkit:output": "{}"}
    request = json.dumps({"messages": [{"role": "user", "content": [{"text": text}]}], "tools": [{"name": "refund"}]})
    found = content_of(span("model", attributes={**model, "genkit:input": request}))
    assert found is not None
    assert [tool.name for tool in tool_definitions([found.tool_definitions])] == ["refund"]


def test_long_structures_are_dropped_and_long_texts_truncated() -> None:
    def kept(answer: str) -> Content | None:
        return content_of(agent_span(attributes={"gen_ai.output.messages": answer}))

    assert kept("[" + "x" * MAX_OUTPUT) is None
    assert kept("x" * (MAX_OUTPUT + 1)) == Content("x" * MAX_OUTPUT)
    assert content_of(agent_span(attributes={"gen_ai.tool.definitions": "x" * (MAX_TOOL_DEFINITIONS + 1)})) is None


def test_repeated_definitions_are_stored_once() -> None:
    first = content_of(model_span(attributes={"gen_ai.tool.definitions": "".join(["[", TOOLS, "]"])}))
    second = content_of(model_span(attributes={"gen_ai.tool.definitions": "".join(["[", TOOLS, "]"])}))
    assert first is not None
    assert second is not None
    assert first.tool_definitions is second.tool_definitions is sys.intern(f"[{TOOLS}]")


def test_a_run_has_no_content_without_a_judge() -> None:
    run = run_of(agent_span(attributes={"gen_ai.output.messages": OUTPUT}), settings=ContextSettings())
    assert run.contents == ()


def test_outputs_are_decoded_only_for_judges_and_definitions_always() -> None:
    assert "ai.response.text" in ATTRIBUTES - dialects.ATTRIBUTES
    assert {"gen_ai.tool.definitions", "ai.prompt.tools", "model_request_parameters"} <= dialects.ATTRIBUTES
    assert {"llm.tools.", "llm.request.functions."} <= set(dialects.ATTRIBUTE_PREFIXES)
