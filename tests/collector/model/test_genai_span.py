"""What is kept of a GenAI span, and of conversations that grow."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from collector import dialects
from collector.assembly.sizes import span_bytes
from collector.assembly.trace import Trace
from collector.model.genai_span import IGNORED, GenAISpan
from collector.model.span import Span
from collector.payloads.values import MAX_TEXT
from tests.builders import agent_span, model_span, result, span, tool_span, user


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
