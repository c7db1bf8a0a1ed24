"""LlamaIndex's own exporter: spans of llama-index-observability-otel 0.7.0 over llama-index-core 0.14.25."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from collector.reconstruction.run import Run
from tests.builders import called, doubts, run_of, runs_of, span
from tests.operations import within

SCOPE = "llamaindex.opentelemetry.tracer"
FLIGHT = {"flight_id": "AF123", "passenger": "Ada Lovelace", "price": 199.5, "tags": ["window", "végétarien"]}


def method(name: str, number: int, parent: int = 1, at: float = 0, **more: Any) -> Span:
    return span(name, number, parent, at, scope=SCOPE, status=more.pop("status", 1), **more)


def agent(number: int = 1, parent: int = 0, at: float = 0, lasting: float = 1000) -> Span:
    return method("FunctionAgent.run", number, parent, at, lasting=lasting)


def tool(summary: str, number: int = 2, parent: int = 1, at: float = 20, **more: Any) -> Span:
    step = {
        "llamaindex.run_id": "Jx7GUsZCyx",
        "llamaindex.step.input_event": "ToolCall",
        "llamaindex.step.input_summary": summary,
    }
    return method("FunctionTool.acall", number, parent, at, attributes=step, **more)


ASKED: tuple[dict[str, Any], ...] = (
    {"role": "system", "additional_kwargs": {}, "blocks": [{"block_type": "text", "text": "Help."}]},
    {"role": "user", "additional_kwargs": {}, "blocks": [{"block_type": "text", "text": "Book AF123."}]},
)


def request(call_id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"id": call_id, "function": {"arguments": json.dumps(arguments), "name": name}, "type": "function"}


def answer(*calls: dict[str, Any], text: str = "") -> dict[str, str]:
    blocks: list[dict[str, Any]] = [{"block_type": "text", "text": text}] if text else []
    blocks += [
        {"block_type": "tool_call", "tool_call_id": call["id"], "tool_name": call["function"]["name"],
         "tool_kwargs": call["function"]["arguments"]}
        for call in calls
    ]  # fmt: skip
    return {
        "response.message.role": "assistant",
        "response.message.blocks": json.dumps(blocks),
        **({"response.message.additional_kwargs.tool_calls": json.dumps(calls)} if calls else {}),
    }


PARAMETERS = {
    "properties": {"flight_id": {"type": "string"}, "price": {"type": "number"}},
    "required": ["flight_id", "price"],
    "type": "object",
    "additionalProperties": False,
}
OFFERED = [{"type": "function", "function": {"name": "book_flight", "parameters": PARAMETERS, "strict": False}}]


def model(
    number: int,
    at: float,
    answered: dict[str, str] | None,
    *told: dict[str, Any],
    name: str = "OpenAI.achat",
    offered: list[dict[str, Any]] | None = None,
) -> Span:
    started = {"messages": json.dumps([*ASKED, *told]), "additional_kwargs.tools": json.dumps(offered or [])}
    events: list[tuple[str, dict[str, str]]] = [("LLMChatStartEvent", started)]
    if answered is not None:
        events.append(("LLMChatEndEvent", answered))
    return method(name, number, 1, at, events=events)


def told(call: dict[str, Any], text: str) -> list[dict[str, Any]]:
    return [
        {"role": "assistant", "additional_kwargs": {"tool_calls": [call]}, "blocks": []},
        {"role": "tool", "additional_kwargs": {"tool_call_id": call["id"]},
         "blocks": [{"block_type": "text", "text": text}]},
    ]  # fmt: skip


def calls_of(run: Run) -> list[tuple[str, Any, str]]:
    return [(call.name, call.arguments, call.status) for call in run.trajectory.calls]


def test_a_run() -> None:
    book = request("call_1b1", "book_flight", FLIGHT)
    run = run_of(
        agent(),
        model(3, 5, answer(book)),
        method("BaseWorkflowAgent.call_tool", 4, 1, 19, lasting=30),
        tool("ToolCall(tool_name='book_flight', tool_kwargs={4 keys}, tool_id='call_1b1')", 2, 4),
        model(5, 50, answer(text="Done."), *told(book, "AF123 is booked")),
    )
    assert calls_of(run) == [("book_flight", FLIGHT, "ok")]
    assert (run.user_input, run.dialect, doubts(run)) == ("Book AF123.", "llama_index", [])


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        ("ToolCall(tool_name='pay', tool_kwargs={'order_id': 42, 'to': \"O'Neill\"}, tool_id='c1')",
         ("pay", {"order_id": 42, "to": "O'Neill"})),
        ("ToolCall(tool_name='pay', tool_kwargs={}, tool_id='c1')", ("pay", {})),
        ("ToolCall(tool_name='pay', tool_kwargs={4 keys}, tool_id='c1')", ("pay", None)),
        ("ToolCall(tool_name='pay', tool_kwargs={'text': 'once upon a tim...", ("pay", None)),
    ],
)  # fmt: skip
def test_a_call_is_told_by_the_step_around_it(summary: str, expected: tuple[str, Any]) -> None:
    assert calls_of(run_of(agent(), tool(summary))) == [(*expected, "ok")]


def test_a_tool_that_raised() -> None:
    raised = ("exception", {"exception.type": "tools.CardDeclinedError", "exception.message": "card declined"})
    failed = tool(
        "ToolCall(tool_name='pay', tool_kwargs={}, tool_id='c1')", status=2, message="card declined", events=[raised]
    )
    run = run_of(agent(), failed)
    assert calls_of(run) == [("pay", {}, "error")]
    assert run.trajectory.calls[0].error_type == "tools.CardDeclinedError"


def test_a_streamed_answer_is_lost_and_later_requests_tell_of_its_calls() -> None:
    book = request("call_1b1", "book_flight", FLIGHT)
    run = run_of(
        agent(),
        model(3, 5, None, name="OpenAI.astream_chat"),
        tool("ToolCall(tool_name='book_flight', tool_kwargs={4 keys}, tool_id='call_1b1')"),
        model(5, 50, None, *told(book, "AF123 is booked"), name="OpenAI.astream_chat"),
    )
    assert (calls_of(run), doubts(run)) == ([("book_flight", FLIGHT, "ok")], [])


def test_a_tool_that_is_not_there_leaves_no_span() -> None:
    reserve = request("call_8b1", "reserve_flight", FLIGHT)
    text = "Tool reserve_flight not found. Please select a tool that is available."
    run = run_of(agent(), model(3, 5, answer(reserve)), model(5, 50, answer(text="Sorry."), *told(reserve, text)))
    assert (called(run), doubts(run)) == (["(reserve_flight)"], [])


def test_arguments_that_the_offered_tool_does_not_take_were_refused() -> None:
    short = {"flight_id": "AF123"}
    why = "book_flight() missing 1 required positional argument: 'price'"
    book = request("call_7b1", "book_flight", short)
    run = run_of(
        agent(),
        model(3, 5, answer(book), offered=OFFERED),
        tool(
            "ToolCall(tool_name='book_flight', tool_kwargs={'flight_id': 'AF123'}, tool_id='call_7b1')",
            status=2,
            message=why,
        ),
        model(5, 50, answer(text="Sorry."), *told(book, why), offered=OFFERED),
    )
    assert called(run) == ["(book_flight)"]


def test_calls_in_blocks_alone() -> None:
    book = request("call_1b1", "book_flight", FLIGHT)
    answered = {key: value for key, value in answer(book).items() if "additional_kwargs" not in key}
    read = dialects.read_span(model(3, 5, answered))
    assert read is not None
    run = run_of(
        agent(),
        model(3, 5, answered),
        tool("ToolCall(tool_name='book_flight', tool_kwargs={4 keys}, tool_id='call_1b1')"),
    )
    assert calls_of(run) == [("book_flight", FLIGHT, "ok")]


def test_an_agent_inside_a_tool_has_a_run_of_its_own() -> None:
    outer, inner = runs_of(
        agent(),
        tool("ToolCall(tool_name='ask_policy', tool_kwargs={}, tool_id='c1')", lasting=500),
        agent(3, 2, 25, lasting=400),
        tool("ToolCall(tool_name='lookup', tool_kwargs={}, tool_id='c2')", 4, 3, 30),
    )
    assert (called(outer), called(inner)) == (["ask_policy"], ["lookup"])


def test_a_tool_that_waited_for_a_human_is_one_call() -> None:
    """Its ``wait_for_event`` ends it with an exception, and it is run again when there is an answer."""
    called_danger = "ToolCall(tool_name='danger', tool_kwargs={'x': '1'}, tool_id='call_0050')"
    waiting = "Waiting for event <class 'workflows.events.HumanResponseEvent'>"
    run = run_of(agent(), tool(called_danger, status=2, message=waiting), tool(called_danger, 3, at=40))
    assert (called(run), doubts(run)) == (["(danger)", "danger"], [])


def test_a_tool_that_no_agent_called_has_no_name() -> None:
    assert "unrecorded_calls" in doubts(run_of(agent(), method("FunctionTool.call", 2)))


def test_steps_are_not_needed() -> None:
    step = {"llamaindex.step.input_event": "ToolCallResult", "llamaindex.step.input_summary": "ToolCallResult(...)"}
    assert dialects.read_span(method("BaseWorkflowAgent.aggregate_tool_results", 2, attributes=step)) is IGNORED


def test_a_name_of_any_length_takes_no_time() -> None:
    with within(1.0):
        assert dialects.read_span(method("Agent" * 20_000, 1)) is IGNORED
