"""LangChain's message of a result as tracers record it where a tool answers for what it raises (``handle_tool_error``)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model.span import Span
from collector.reconstruction.run import Run
from tests.builders import agent_span, called, doubts, read_tool, run_of, span, span_of_kind, tool_span


def recorded(tracer: str, message: dict[str, Any]) -> dict[str, Any]:
    """Returns the attributes of a tool's span in the words of a tracer, with the message in its form."""
    own = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "ToolMessage"], "kwargs": message}
    shown = " ".join(
        f"{key}={message[key]!r}" for key in ("content", "name", "tool_call_id", "status") if key in message
    )
    conventions = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "book"}
    records: dict[str, dict[str, Any]] = {
        "openinference": {
            "openinference.span.kind": "TOOL",
            "tool.name": "book",
            "output.value": json.dumps({"type": "tool", "data": message}),
        },
        "openinference 0.1.40": {"openinference.span.kind": "TOOL", "tool.name": "book", "output.value": shown},
        "langfuse": {"langfuse.observation.type": "tool", "langfuse.observation.output": json.dumps(message)},
        "langsmith": {"langsmith.span.kind": "tool", "gen_ai.completion": json.dumps({"output": message})},
        "mlflow": {"mlflow.spanType": '"TOOL"', "mlflow.spanOutputs": json.dumps(message)},
        "openllmetry": {
            "traceloop.span.kind": "tool",
            "traceloop.entity.name": "book",
            "traceloop.entity.output": json.dumps({"output": own, "kwargs": {"tags": ["seq:step:1"]}}),
        },
        "splunk": {**conventions, "gen_ai.tool.call.result": json.dumps(shown)},
    }
    return records[tracer]


TRACERS = ("openinference", "openinference 0.1.40", "langfuse", "langsmith", "mlflow", "openllmetry", "splunk")


@pytest.mark.parametrize("tracer", TRACERS)
@pytest.mark.parametrize(
    ("content", "status", "expected"),
    [
        ("seat 12A is taken", "error", "error"),
        ([{"type": "text", "text": "seat 12A is taken"}], "error", "error"),  # langchain-mcp-adapters 0.3
        ("status='error' is what the desk says", "success", "unset"),
        ('{"status": "error", "tool_call_id": "c9"}', None, "unset"),  # before there was a status
    ],
)
def test_a_failure_of_which_only_the_message_tells(tracer: str, content: Any, status: str, expected: str) -> None:
    message = {"content": content, "type": "tool", "name": "book", "tool_call_id": "call_1"}
    attributes = recorded(tracer, message if status is None else {**message, "status": status})
    assert read_tool(span("book", 2, 1, attributes=attributes))[3] == expected


@pytest.mark.parametrize("tracer", ["openinference", "langfuse", "langsmith", "mlflow", "openllmetry"])
def test_a_call_whose_arguments_langchain_refused_did_not_run(tracer: str) -> None:
    """With ``handle_validation_error``."""
    message = {"content": "Tool input validation error", "tool_call_id": "call_1", "status": "error"}
    assert called(run_of(span("book", 2, 1, attributes=recorded(tracer, message)))) == ["(book)"]


ASKED = {"name": "book", "args": {"seat": "12A"}, "id": "call_1", "type": "tool_call"}


def interrupted(tracer: str, integration: str | None) -> list[Span]:
    """The spans of a graph whose model asked for a tool, and which then ended: it waits for a human, perhaps."""
    metadata: dict[str, str | None]
    answer = {"role": "assistant", "content": "", "tool_calls": [ASKED]}
    if tracer == "langfuse":
        kind = "langfuse.observation.type"
        metadata = {"langfuse.observation.metadata.ls_integration": json.dumps(integration)}
        output = {"langfuse.observation.output": json.dumps(answer)}
        kinds = ("chain", "generation")
    elif tracer == "langsmith":
        kind = "langsmith.span.kind"
        metadata = {"langsmith.metadata.ls_integration": integration}
        output, kinds = {"gen_ai.completion": json.dumps(answer)}, ("chain", "llm")
    elif tracer == "mlflow":
        kind, kinds = "mlflow.spanType", ('"CHAIN"', '"CHAT_MODEL"')
        metadata = {"metadata": json.dumps({"ls_integration": integration})}
        output = {"mlflow.spanOutputs": json.dumps(answer)}
    else:
        kind, kinds = "openinference.span.kind", ("CHAIN", "LLM")
        metadata = {"metadata": json.dumps({"ls_integration": integration})}
        call = "llm.output_messages.0.message.tool_calls.0.tool_call"
        output = {
            f"{call}.id": "call_1",
            f"{call}.function.name": "book",
            f"{call}.function.arguments": '{"seat": "12A"}',
        }
    scope = "openinference.instrumentation.langchain"
    graph = span_of_kind(kind, kinds[0], "LangGraph", 1, lasting=100, attributes=metadata, scope=scope)
    return [graph, span_of_kind(kind, kinds[1], "ChatOpenAI", 2, 1, 5, attributes=output, scope=scope)]


@pytest.mark.parametrize("tracer", ["openinference", "langfuse", "langsmith", "mlflow"])
def test_a_call_that_a_graph_ended_before_did_not_run(tracer: str) -> None:
    """LangChain's own agents leave a span for each call; another graph may call a function, or never have begun."""
    for integration in ("langchain_create_agent", "deepagents"):
        run = run_of(*interrupted(tracer, integration))
        assert (called(run), doubts(run)) == (["(book)"], [])
    for other in ("langgraph", None):
        assert "uncertain_execution" in doubts(run_of(*interrupted(tracer, other)))


INVALID = {"type": "invalid_tool_call", "id": "call_1", "name": "book", "args": '{"seat": 12, "car', "error": "no JSON"}


def answer_of_langchain(*, calls: list[Any], invalid: list[Any], **kwargs: Any) -> dict[str, Any]:
    """Returns what OpenInference has of an answer: attributes for each call, and all of it in LangChain's own form."""
    message = {"kwargs": {**kwargs, "tool_calls": calls, "invalid_tool_calls": invalid}}
    flattened: dict[str, Any] = {}
    for at, call in enumerate([*calls, *kwargs.get("additional_kwargs", {}).get("tool_calls", ())]):
        name = f"llm.output_messages.0.message.tool_calls.{at}.tool_call"
        function = call.get("function") or {"name": call["name"], "arguments": json.dumps(call["args"])}
        flattened |= {f"{name}.id": call["id"]} | {f"{name}.function.{key}": value for key, value in function.items()}
    return {**flattened, "output.value": json.dumps({"generations": [[{"text": "", "message": message}]]})}


def graph_of_langchain(*steps: Span) -> Run:
    kind, scope = "openinference.span.kind", "openinference.instrumentation.langchain"
    metadata = {"metadata": json.dumps({"ls_integration": "langchain_create_agent"})}
    return run_of(span_of_kind(kind, "CHAIN", "shop", 1, lasting=100, attributes=metadata, scope=scope), *steps)


def step_of_langchain(kind: str, number: int, attributes: dict[str, Any]) -> Span:
    scope, name = "openinference.instrumentation.langchain", "ChatOpenAI" if kind == "LLM" else "pay"
    attributes = {"llm.finish_reason": "tool_calls", **attributes}
    return span_of_kind(
        "openinference.span.kind", kind, name, number, 1, 10 * number, attributes=attributes, scope=scope
    )


def test_langchain_runs_no_call_whose_arguments_are_no_json() -> None:
    """OpenInference (0.1.80) has attributes for the other calls alone."""
    raw = {"id": "call_1", "type": "function", "function": {"name": "book", "arguments": INVALID["args"]}}
    for kept in ({}, {"additional_kwargs": {"tool_calls": [raw]}}):  # before langchain-openai 1.0
        asked = answer_of_langchain(calls=[], invalid=[INVALID], **kept)
        run = graph_of_langchain(step_of_langchain("LLM", 2, asked))
        assert (called(run), doubts(run)) == (["(book)"], ["unreadable_arguments"])


def test_langchain_tells_its_model_of_calls_whose_arguments_are_no_json() -> None:
    paid = {"name": "pay", "args": {"sum": 5}, "id": "call_2", "type": "tool_call"}
    words = "Tool call book with id call_1 could not be executed - arguments were malformed or truncated."
    told = [
        {"type": "ai", "content": "", "tool_calls": [paid], "invalid_tool_calls": [INVALID]},
        {"type": "tool", "content": words, "tool_call_id": "call_1", "name": "book", "status": "error"},
        {"type": "tool", "content": "paid", "tool_call_id": "call_2", "name": "pay", "status": "success"},
    ]
    run = graph_of_langchain(
        step_of_langchain("LLM", 2, answer_of_langchain(calls=[paid], invalid=[INVALID])),
        step_of_langchain("TOOL", 4, {"tool.name": "pay", "input.value": '{"sum": 5}', "output.value": "paid"}),
        step_of_langchain("LLM", 6, {"input.value": json.dumps({"messages": [told]}), "llm.finish_reason": "stop"}),
    )
    assert sorted(called(run)) == ["(book)", "pay"]
    assert set(doubts(run)) == {"unreadable_arguments"}


def test_a_run_that_goes_on_with_what_an_earlier_trace_asked_for() -> None:
    """The human approved one call, and answered another in the tool's place. Only the longest input is kept."""
    own = {"lc_source": "hitl_interrupt_decision", "lc_data": {"decision": "respond"}}
    paid = {"name": "pay", "args": {"sum": 5}, "id": "call_2", "type": "tool_call"}
    told = [
        {"type": "ai", "content": "", "tool_calls": [ASKED, paid]},
        {"type": "tool", "content": "I did.", "tool_call_id": "call_2", "name": "pay", "additional_kwargs": own},
        {"type": "tool", "content": "fine", "tool_call_id": "call_1", "name": "book"},
    ]
    kind, scope = "openinference.span.kind", "openinference.instrumentation.langchain"
    result = {"type": "tool", "data": {"content": "fine", "tool_call_id": "call_1", "status": "success"}}
    call = {"input.value": "12A", "output.value": json.dumps(result)}
    model = {"input.value": json.dumps({"messages": [told]}), "output.value": "Done."}
    run = run_of(
        span_of_kind(kind, "CHAIN", "LangGraph", 1, lasting=100, scope=scope),
        span_of_kind(kind, "TOOL", "book", 2, 1, 5, attributes=call, scope=scope),
        span_of_kind(kind, "LLM", "ChatOpenAI", 3, 1, 20, attributes={"output.value": "Really."}, scope=scope),
        span_of_kind(kind, "LLM", "ChatOpenAI", 4, 1, 40, attributes=model, scope=scope),
    )
    assert sorted(called(run)) == ["(pay)", "book"]
    assert {call.name: call.arguments for call in run.trajectory.calls} == {"book": {"seat": "12A"}, "pay": {"sum": 5}}


@pytest.mark.parametrize(("called_at", "expected"), [(5, ["other_traces"]), (40, [])])
def test_an_agent_that_begins_with_a_call_goes_on_from_another_trace(called_at: int, expected: list[str]) -> None:
    """opentelemetry-instrumentation-genai-langchain 1.3b0 without content: nothing else says what a human answered."""
    scope = "opentelemetry.instrumentation.genai.langchain"
    chat: dict[str, Any] = {"gen_ai.operation.name": "chat"}
    run = run_of(
        agent_span(number=1, lasting=90, scope=scope),
        span("chat x", 2, 1, 20, 5, attributes={**chat, "gen_ai.response.finish_reasons": ["tool_calls"]}, scope=scope),
        tool_span("pay", None, 3, 1, at=called_at, lasting=1, scope=scope),
        span("chat x", 4, 1, 60, 5, attributes={**chat, "gen_ai.response.finish_reasons": ["stop"]}, scope=scope),
    )
    assert (called(run), [doubt for doubt in doubts(run) if doubt == "other_traces"]) == (["pay"], expected)
