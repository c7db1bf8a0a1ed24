"""Reads the log events in which older releases of the conventions have messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from collector.model import semconv
from collector.model.from_span import set_input, set_output
from collector.model.genai_span import CONVENTIONS, EVENT, GenAISpan
from collector.model.span import LogRecord
from collector.payloads.tool_results import tool_result
from collector.payloads.values import first_name, name_of, parse_any


def read_log(record: LogRecord) -> GenAISpan | None:
    """Reads an event about the model request whose span it names; None for any other log record."""
    event_name = record.event_name or record.attributes.get(semconv.EVENT_NAME)
    reader = _LOG_READERS.get(event_name) if type(event_name) is str else None
    if reader is None or not record.span_id:
        return None
    genai_span = GenAISpan(record.span_id, b"", record.time_ns, record.time_ns, EVENT, CONVENTIONS, record.resource)
    body = parse_any(record.body)
    reader(genai_span, record, body if isinstance(body, Mapping) else {"content": body})
    return genai_span


def _read_details(genai_span: GenAISpan, record: LogRecord, body: Mapping[str, Any]) -> None:
    get = record.attributes.get
    set_output(genai_span, get(semconv.OUTPUT_MESSAGES))
    set_input(genai_span, get(semconv.INPUT_MESSAGES))
    genai_span.conversation_id = name_of(get(semconv.CONVERSATION_ID))
    # It tells of a whole request, whose span it may not name: openlit writes it as a stream ends, in the span around.
    genai_span.response_id, genai_span.scope = name_of(get(semconv.RESPONSE_ID)), record.scope.name


def _read_choice(genai_span: GenAISpan, record: LogRecord, body: Mapping[str, Any]) -> None:
    set_output(genai_span, body)


def _read_user_message(genai_span: GenAISpan, record: LogRecord, body: Mapping[str, Any]) -> None:
    genai_span.user_input = body.get("content")


def _read_tool_message(genai_span: GenAISpan, record: LogRecord, body: Mapping[str, Any]) -> None:
    if body.get("content") is not None:  # else content is not captured, and nothing tells what came of the call
        genai_span.tool_results = (tool_result(first_name(body, ("id", "tool_call_id")), body["content"]),)


_LOG_READERS: Final[Mapping[str, Callable[[GenAISpan, LogRecord, Mapping[str, Any]], None]]] = {
    semconv.EVENT_INFERENCE_DETAILS: _read_details,
    semconv.EVENT_CHOICE: _read_choice,
    semconv.EVENT_USER_MESSAGE: _read_user_message,
    semconv.EVENT_TOOL_MESSAGE: _read_tool_message,
}
