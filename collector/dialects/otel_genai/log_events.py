"""Reads the log events in which older releases of the conventions have messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from collector.model import semconv
from collector.model.from_span import set_input, set_output
from collector.model.genai_span import CONVENTIONS, EVENT, GenAISpan
from collector.model.span import LogRecord
from collector.payloads.tool_results import tool_result
from collector.payloads.values import first_name, first_value, name_of, parse_any

_ELIDED: Final = "<elided>"
"""What Google's ADK writes in place of content that it is not to record."""
_OF_ADK: Final = (
    "Continue processing previous requests as instructed. Exit or provide a summary if no more outputs are needed.",
    "Handle the requests as specified in the System Instruction.",
)
"""What Google's ADK says in the user's place where the user said nothing last."""
_RESPONSES: Final = ("functionResponse", "function_response")
_MAX_TOLD: Final = 64
"""Results of one message that are read."""


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
    if body.get("content") != _ELIDED:
        set_output(genai_span, body)


def _read_user_message(genai_span: GenAISpan, record: LogRecord, body: Mapping[str, Any]) -> None:
    content = body.get("content")
    parts = content.get("parts") if isinstance(content, Mapping) else None
    if not isinstance(content, Mapping) or not isinstance(parts, list):
        genai_span.user_input = None if content == _ELIDED else content
        return
    # Google's ADK writes all that a model is told so: what it answered before, and what came of its calls, as well.
    responses = [first_value(part, _RESPONSES) for part in parts if isinstance(part, Mapping)]
    told = [response for response in responses if isinstance(response, Mapping)]
    if told:
        genai_span.tool_results = tuple(
            tool_result(first_name(one, ("id",)), one.get("response")) for one in told[:_MAX_TOLD]
        )
    elif content.get("role") != "model" and not any(
        isinstance(part, Mapping) and part.get("text") in _OF_ADK for part in parts[:1]
    ):
        genai_span.user_input = content


def _read_tool_message(genai_span: GenAISpan, record: LogRecord, body: Mapping[str, Any]) -> None:
    if body.get("content") is not None:  # else content is not captured, and nothing tells what came of the call
        genai_span.tool_results = (tool_result(first_name(body, ("id", "tool_call_id")), body["content"]),)


_LOG_READERS: Final[Mapping[str, Callable[[GenAISpan, LogRecord, Mapping[str, Any]], None]]] = {
    semconv.EVENT_INFERENCE_DETAILS: _read_details,
    semconv.EVENT_CHOICE: _read_choice,
    semconv.EVENT_USER_MESSAGE: _read_user_message,
    semconv.EVENT_TOOL_MESSAGE: _read_tool_message,
}
