"""Spans indexed by id, with log events merged into their model spans."""

from __future__ import annotations

from itertools import count

import pytest

from collector.model.genai_span import Role
from collector.model.span import LogRecord, Span
from collector.model.span_copies import copy_of
from collector.payloads.tool_results import ToolResult
from collector.reconstruction.indexing import index_spans
from collector.resumable import Resumable
from tests.builders import (
    agent_span,
    asked,
    doubts,
    genai_spans,
    log,
    model_span,
    reconstruct,
    run_of,
    span,
    span_id,
    tool_span,
)

FAILED = log("gen_ai.tool.message", 4, {"id": "c1", "content": "Error: no"}, at=21)
ITEMS: list[Span | LogRecord] = [
    agent_span(),
    model_span([("c1", "get", {})], 2, at=1),
    tool_span("get", {}, 3, at=12),
    model_span(number=4, at=20),
    FAILED,
    log("gen_ai.user.message", 4, {"content": "again"}, at=22),
]


def test_repeated_spans_and_events_count_once() -> None:
    once, twice = index_spans(genai_spans(ITEMS)), index_spans(genai_spans(ITEMS * 2))
    assert list(once) == [span_id(1), span_id(2), span_id(3), span_id(4)]
    assert twice == once
    assert once[span_id(4)].tool_results == (ToolResult("c1", failed=True),)
    assert once[span_id(4)].user_input == "again"


def test_the_given_spans_are_not_modified() -> None:
    spans = genai_spans(ITEMS)
    before = [copy_of(span) for span in spans]
    index_spans(spans)
    assert spans == before


def test_an_event_without_its_span_is_a_model_request_of_its_own() -> None:
    events = genai_spans([FAILED])
    (model,) = index_spans(events).values()
    assert (model.role, model.parent_span_id, model.tool_results) == (
        Role.MODEL,
        span_id(4),
        (ToolResult("c1", failed=True),),
    )
    assert (events[0].role, events[0].span_id) == (Role.EVENT, span_id(4))


def test_events_merged_again_change_no_run() -> None:
    spans = genai_spans(ITEMS)
    parents = {item.span_id: item.parent_span_id for item in ITEMS if isinstance(item, Span)}
    first = reconstruct(spans, parents)
    assert reconstruct(spans, parents) == first


def test_events_of_many_spans_are_indexed_in_slices() -> None:
    events = genai_spans(
        [log("gen_ai.user.message", number, {"content": "go on"}, at=number) for number in range(1, 2_001)]
    )
    work = Resumable(lambda: index_spans(events), count().__next__)
    while not work.resume(0.0):
        pass
    assert len(work.result) == 2_000
    assert work.slices > 3


def test_results_that_span_and_event_hold_both_count_once() -> None:
    """openlit writes a model's whole input twice."""
    texts = ("Error: declined", "Error: no", "paid")
    messages = [{"role": "tool", "parts": [{"type": "text", "content": text}]} for text in texts]
    details = log("gen_ai.client.inference.operation.details", 4, attributes={"gen_ai.input.messages": messages}, at=21)
    once = index_spans(genai_spans([model_span(number=4, at=20, input_messages=messages)]))
    both = index_spans(genai_spans([model_span(number=4, at=20, input_messages=messages), details]))
    assert once[span_id(4)].tool_results == both[span_id(4)].tool_results


@pytest.mark.parametrize("ids", [{}, {"gen_ai.response.id": "r1"}])
def test_an_event_that_names_the_span_around_its_request_is_no_further_request(ids: dict[str, str]) -> None:
    """openlit 1.45 writes it as a stream ends, in the span of the application."""
    details = ids | {"gen_ai.output.messages": [asked(("c1", "pay", {}))]}
    request = model_span([("c1", "pay", "{}")], number=4, parent=2, at=20, lasting=10, attributes=ids)
    event = log("gen_ai.client.inference.operation.details", 2, attributes=details, at=29)
    assert list(index_spans(genai_spans([request, event]))) == [span_id(4)]
    run = run_of(span("POST", 2, lasting=50), request, event)
    assert run.trajectory.calls[0].status == "unset"  # no later request tells that it did not fail


@pytest.mark.parametrize(
    ("of_event", "at", "is_alone"),
    [
        ({"gen_ai.response.id": "r2"}, 29, True),
        ({"gen_ai.response.id": "r1"}, 31, True),  # its span had ended
        ({}, 29, True),  # of either
        ({"gen_ai.response.id": "r1"}, 29, False),
    ],
)
def test_an_event_of_a_request_that_has_no_span_is_a_request(
    of_event: dict[str, str], at: float, is_alone: bool
) -> None:
    first, second = {"gen_ai.response.id": "r1"}, {"gen_ai.response.id": "r3"}
    requests = [
        model_span(number=4, parent=2, at=20, lasting=10, attributes=first),
        model_span(number=5, parent=2, at=20, lasting=10, attributes=second),
    ]
    details = of_event | {
        "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": "Hi"}]}]
    }
    event = log("gen_ai.client.inference.operation.details", 2, attributes=details, at=at)
    assert len(index_spans(genai_spans([*requests, event]))) == (3 if is_alone else 2)


def test_a_trace_of_one_request_that_events_tell_was_told_of_results_goes_on_from_another() -> None:
    # As OpenTelemetry's agent for Java records OpenAI's client, where no span is around the requests.
    pay = {"id": "call_1", "type": "function", "function": {"name": "pay", "arguments": '{"order": 7}'}}
    told = [
        log("gen_ai.user.message", 1, {"content": "Pay."}, at=1),
        log("gen_ai.assistant.message", 1, {"tool_calls": [pay]}, at=2),
        log("gen_ai.tool.message", 1, {"id": "call_1", "content": "paid"}, at=3),
        log("gen_ai.choice", 1, {"index": 0, "finish_reason": "stop", "message": {"content": "Done."}}, at=4),
    ]
    chat = {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ["stop"]}
    alone, inside = span("chat", 1, attributes=chat), span("chat", 1, 9, attributes=chat)
    assert doubts(run_of(alone, *told)) == ["other_traces"]
    assert doubts(run_of(alone, told[0], told[3])) == []
    assert "other_traces" not in doubts(run_of(agent_span(number=9), inside, *told))
