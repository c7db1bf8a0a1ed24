"""What is read from every span, whatever its dialect."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from collector import dialects
from collector.assembly.sizes import span_bytes
from collector.assembly.trace import Trace
from collector.model.genai_span import IGNORED, GenAISpan, Role, context_attributes, genai_span_of
from collector.model.span import Span
from collector.model.span_copies import fill_missing
from collector.payloads.values import MAX_TEXT
from tests.builders import EPOCH, MS, agent_span, model_span, result, span, tool_span, user


def test_ids_times_and_resource() -> None:
    made = span("x", 2, 1, at=5, lasting=3)
    genai_span = genai_span_of(made, Role.TOOL, "test")
    assert (genai_span.span_id, genai_span.parent_span_id) == (made.span_id, made.parent_span_id)
    assert (genai_span.start_ns, genai_span.end_ns) == (EPOCH + 5 * MS, EPOCH + 8 * MS)
    assert genai_span.resource is made.resource


@pytest.mark.parametrize(
    ("remote", "kind", "expected"),
    [(True, 1, True), (False, 2, False), (None, 2, True), (None, 5, True), (None, 1, False), (None, 3, False)],
)
def test_a_remote_parent_is_known_by_flags_or_else_by_the_kind(remote: bool | None, kind: int, expected: bool) -> None:
    assert genai_span_of(span(remote=remote, kind=kind), Role.OTHER, "test").remote_parent is expected


def test_a_refusal_is_known_by_the_status_or_the_exception() -> None:
    words = "MCP error -32602: Tool x not found"
    assert genai_span_of(span(status=2, message=words), Role.TOOL, "test").refusal
    assert genai_span_of(
        span(status=2, events=[("exception", {"exception.message": words})]), Role.TOOL, "test"
    ).refusal
    assert not genai_span_of(span(status=2, message="declined"), Role.TOOL, "test").refusal


def test_only_missing_fields_are_filled() -> None:
    mine, other = (genai_span_of(span(number=2, parent=1), Role.TOOL, name) for name in ("mine", "other"))
    mine.name, other.name, other.call_id, other.status = "a", "b", "c1", "error"
    fill_missing(mine, other)
    assert (mine.name, mine.call_id, mine.status, mine.dialect) == ("a", "c1", "error", "mine")


def test_what_may_have_failed_is_no_success_for_the_status_of_its_span() -> None:
    mine, other = (genai_span_of(span(number=2, parent=1), Role.TOOL, name) for name in ("mine", "other"))
    mine.tracing, other.status, other.name = "told", "ok", "a"
    fill_missing(mine, other)
    assert (mine.name, mine.status) == ("a", "unset")


def test_context_attributes_are_short_plain_values() -> None:
    assert context_attributes(
        span(attributes={"a": "x", "b": True, "c": 1.5, "d": "x" * 600, "e": ["x"], "f": None, "g": b"x"})
    ) == {
        "a": "x",
        "b": True,
        "c": 1.5,
    }


def test_a_genai_span_is_small() -> None:
    from collector import dialects  # noqa: PLC0415 - only this test reads

    genai_span = dialects.read_span(tool_span("get", {"city": "Paris"}))
    assert genai_span is not None
    assert sys.getsizeof(genai_span) <= 256
    assert not hasattr(genai_span, "__dict__")


def test_the_shared_ignored_span_is_not_modified() -> None:
    before = repr(IGNORED)
    from collector import dialects  # noqa: PLC0415

    dialects.read_span(span("x", 1, attributes={"gen_ai.operation.name": "embeddings", "http.route": "/a"}))
    dialects.read_span(agent_span())
    assert repr(IGNORED) == before
    assert isinstance(IGNORED, GenAISpan)


def conversation(turns: int) -> list[dict[str, Any]]:
    exchange = [{"role": "assistant", "parts": [{"type": "tool_call", "name": "look"}]}, result("c1", "fine " * 40)]
    return [user("Look again \N{ROCKET}. " * 50), *exchange * turns]


def histories_kept(form: Callable[[list[dict[str, Any]]], Span], turns: int = 30) -> tuple[int, list[object]]:
    """The size of a trace after so many requests, each with all before it, and the inputs that are kept."""
    trace, size = Trace(bytes(16), 0, 0, bytearray()), 0
    for number in range(1, turns + 1):
        read = dialects.read_span(form(conversation(number)))
        assert isinstance(read, GenAISpan)
        trace.spans[number] = read
        size += span_bytes(read, 100_000) - trace.keep_longest_history(read)
    return size, [read.history for read in trace.spans.values() if read.history is not None]


@pytest.mark.parametrize("name", ["text", "structured", "event"])
def test_of_a_conversation_that_grows_a_trace_keeps_one_input(name: str) -> None:
    key, event = "gen_ai.input.messages", "gen_ai.client.inference.operation.details"
    forms: dict[str, Callable[[list[dict[str, Any]]], Span]] = {
        "text": lambda messages: model_span(attributes={key: json.dumps(messages)}),
        "structured": lambda messages: model_span(attributes={key: messages}),
        "event": lambda messages: model_span(events=[(event, {key: messages})]),
    }
    size, kept = histories_kept(forms[name])
    assert kept == [json.dumps(conversation(30))]
    assert size < 60_000  # 30 inputs as objects take more than a megabyte


def test_an_input_that_is_too_long_for_a_text_stays_as_it_is() -> None:
    messages = [user("x" * MAX_TEXT), *conversation(1)]
    read = dialects.read_span(model_span(attributes={"gen_ai.input.messages": messages}))
    assert isinstance(read, GenAISpan)
    assert read.history is messages
