"""Runs and model requests of LlamaIndex as two instrumentations record them: OpenInference, and one beside it."""

from __future__ import annotations

import json
from typing import Any

from collector.model.span import Span
from tests.builders import asked, called, doubts, model_span, result, run_of, runs_of, span_of_kind

OI, TL, OFFICIAL = (
    "openinference.instrumentation.llama_index",
    "opentelemetry.instrumentation.llamaindex",
    "opentelemetry.instrumentation.genai.openai",
)


def oi(kind: str, name: str, number: int, parent: int, at: float, lasting: float, **attributes: Any) -> Span:
    return span_of_kind(
        "openinference.span.kind", kind, name, number, parent, at, lasting, attributes=attributes, scope=OI, status=1
    )


def tool(name: str, number: int, parent: int, at: float, lasting: float = 10, given: str = "{}") -> Span:
    more = {"tool.name": name, "input.value": f'{{"kwargs": {given}}}'}
    return oi("TOOL", "FunctionTool.acall", number, parent, at, lasting, **more)


def task(name: str, number: int, parent: int, at: float) -> Span:
    told = {"traceloop.entity.input": '{"kwargs": {}}', "traceloop.entity.output": json.dumps({"tool_name": name})}
    return span_of_kind(
        "traceloop.span.kind", "task", "FunctionTool.task", number, parent, at, attributes=told, scope=TL
    )


def workflow(number: int, parent: int, lasting: float) -> Span:
    name = "FunctionAgent.workflow"
    return span_of_kind("traceloop.span.kind", "workflow", name, number, parent, lasting=lasting, scope=TL)


def test_a_run_whose_second_record_ends_with_its_first_step_is_one_run() -> None:
    """OpenLLMetry 0.62 ends the span of a workflow before the rest of it, which is inside all the same."""
    run = run_of(
        oi("CHAIN", "FunctionAgent.run", 1, 0, 0, 100), workflow(2, 1, 20),
        tool("get", 3, 1, 30), task("get", 4, 2, 30), tool("mail", 5, 1, 60), task("mail", 6, 2, 60),
    )  # fmt: skip
    assert (called(run), doubts(run)) == (["get", "mail"], [])


def test_a_call_of_an_inner_agent_that_one_of_two_libraries_does_not_see_is_no_second_call_of_the_outer() -> None:
    outer, inner = runs_of(
        oi("CHAIN", "FunctionAgent.run", 1, 0, 0, 100), workflow(2, 1, 95),
        tool("ask", 3, 1, 30, 40), oi("CHAIN", "FunctionAgent.run", 4, 3, 35, 30), tool("look", 5, 4, 40),
        task("look", 6, 2, 40), tool("mail", 7, 1, 80), task("mail", 8, 2, 80),
    )  # fmt: skip
    assert (called(outer), called(inner)) == (["ask", "mail"], ["look"])


def test_a_streamed_request_whose_first_record_ends_when_the_stream_begins_is_one_request() -> None:
    """OpenInference's span of LlamaIndex ends, and then that of the model's client begins."""
    told: list[dict[str, Any]] = []

    def turn(number: int, at: float, city: str) -> list[Span]:
        given, call = json.dumps({"city": city}), "llm.output_messages.0.message.tool_calls.0.tool_call."
        words = {call + "id": "call_0", call + "function.name": "get", call + "function.arguments": given}
        calls = [("call_0", "get", {"city": city})]
        model = model_span(calls, number + 1, 1, at=at + 2, lasting=20, scope=OFFICIAL, input_messages=told)
        told.extend([asked(*calls), result("call_0", "18 degrees")])
        return [
            oi("LLM", "OpenAI.astream_chat", number, 1, at, 1, **words),
            model,
            tool("get", number + 2, 1, at + 30, given=given),
        ]

    run = run_of(
        oi("CHAIN", "FunctionAgent.run", 1, 0, 0, 200), *turn(2, 10, "Rome"), *turn(5, 60, "Oslo"),
        model_span([], 8, 1, at=150, scope=OFFICIAL, input_messages=told),
    )  # fmt: skip
    assert [call.arguments for call in run.trajectory.calls] == [{"city": "Rome"}, {"city": "Oslo"}]
    assert doubts(run) == []
