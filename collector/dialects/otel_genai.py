"""The OpenTelemetry GenAI semantic conventions, current names and those deprecated since 1.36.

Messages are read where the release of the day puts them: attributes (JSON text or structured), span events, log events.
Strands (strands-agents 1.62, @strands-agents/sdk) keeps to these conventions but for a status attribute of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from collector.model import semconv
from collector.model.genai_span import IGNORED, Dialect, GenAISpan, Role, context_attributes, reading_of
from collector.model.span import LogRecord, Span
from collector.payloads.messages import may_hold_calls, newest_results, newest_user_input, outcome_of
from collector.payloads.refusals import is_refusal
from collector.payloads.values import name_of, parse_any

NAME: Final = "otel_genai"

_STRANDS_STATUS: Final = "gen_ai.tool.status"  # the span's own status stays OK where the tool is unknown
_ROLE_OF_EVENT: Final = {
    semconv.EVENT_USER_MESSAGE: "user",
    semconv.EVENT_ASSISTANT_MESSAGE: "assistant",
    semconv.EVENT_TOOL_MESSAGE: "tool",
}


def read(span: Span) -> GenAISpan | None:
    """What the span is by its ``gen_ai.operation.name``; one without is no agent, model or tool of this dialect."""
    operation = span.attributes.get(semconv.OPERATION_NAME)
    if type(operation) is not str:
        return None
    reader = _READERS.get(operation)
    return IGNORED if reader is None else reader(span)


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    reading = reading_of(span, Role.TOOL, NAME)
    reading.name = name_of(get(semconv.TOOL_NAME)) or name_of(span.name.removeprefix("execute_tool "))
    reading.call_id = name_of(get(semconv.TOOL_CALL_ID))
    reading.arguments = get(semconv.TOOL_CALL_ARGUMENTS)
    if reading.arguments is None and span.events:
        reading.arguments = _event_value(span, semconv.EVENT_TOOL_MESSAGE, semconv.EVENT_CONTENT)
    reading.agent = name_of(get(semconv.AGENT_NAME))
    reading.conversation_id = name_of(get(semconv.CONVERSATION_ID))
    if get(_STRANDS_STATUS) == "error":
        reading.status = "error"
        told = _event_value(span, semconv.EVENT_CHOICE, semconv.EVENT_MESSAGE)
        reading.refused = reading.refused or (type(told) is str and is_refusal(told))
    return reading


def _read_agent(span: Span) -> GenAISpan:
    reading = _read_workflow(span)
    reading.role = Role.AGENT
    reading.name = name_of(span.attributes.get(semconv.AGENT_NAME)) or name_of(
        span.name.removeprefix("invoke_agent").strip()
    )
    return reading


def _read_workflow(span: Span) -> GenAISpan:
    get = span.attributes.get
    reading = reading_of(span, Role.OTHER, NAME)
    reading.conversation_id = name_of(get(semconv.CONVERSATION_ID)) or name_of(get(semconv.SESSION_ID))
    reading.response_id = name_of(get(semconv.RESPONSE_ID))
    reading.user_input = get(semconv.INPUT_MESSAGES)
    if reading.user_input is None and span.events:
        reading.user_input = _event_value(span, semconv.EVENT_USER_MESSAGE, semconv.EVENT_CONTENT)
        if reading.user_input is None:
            reading.user_input = _event_value(span, semconv.EVENT_INFERENCE_DETAILS, semconv.INPUT_MESSAGES)
    reading.attributes = context_attributes(span)
    return reading


def _read_model(span: Span) -> GenAISpan:
    get = span.attributes.get
    reading = reading_of(span, Role.MODEL, NAME)
    reading.response_id = name_of(get(semconv.RESPONSE_ID))
    reading.agent = name_of(get(semconv.AGENT_NAME))
    reading.conversation_id = name_of(get(semconv.CONVERSATION_ID))
    output, messages = get(semconv.OUTPUT_MESSAGES), get(semconv.INPUT_MESSAGES)
    if span.events:
        for event in span.events:
            if event.name == semconv.EVENT_INFERENCE_DETAILS:
                output = output or event.attributes.get(semconv.OUTPUT_MESSAGES)
                messages = messages or event.attributes.get(semconv.INPUT_MESSAGES)
        if output is None:
            output = [
                event.attributes.get("message") for event in span.events if event.name == semconv.EVENT_CHOICE
            ] or None
        if messages is None:
            messages = [
                {"role": _ROLE_OF_EVENT[event.name], "content": event.attributes.get("content")}
                for event in span.events
                if event.name in _ROLE_OF_EVENT
            ]
    _tell(reading, output, messages)
    return reading


def _tell(reading: GenAISpan, output: object, messages: object) -> None:
    """Keep of a model's output and input what the run may need, no more: an open trace keeps its readings."""
    if may_hold_calls(output):
        reading.output = output
    if messages:
        reading.user_input = newest_user_input(messages)
        reading.results = newest_results(messages)


def _event_value(span: Span, event_name: str, key: str) -> object:
    for event in reversed(span.events):
        if event.name == event_name:
            return event.attributes.get(key)
    return None


_READERS: Final[Mapping[str, Callable[[Span], GenAISpan]]] = {
    "execute_tool": _read_tool,
    "invoke_agent": _read_agent,
    "invoke_workflow": _read_workflow,
    "chat": _read_model,
    "generate_content": _read_model,
    "text_completion": _read_model,
}


# --- log events ------------------------------------------------------------------------------------------------------


def read_log(record: LogRecord) -> GenAISpan | None:
    """What a log record tells of the model request whose span it names, or None where it is no such event."""
    event_name = record.event_name or record.attributes.get(semconv.EVENT_NAME)
    reader = _LOG_READERS.get(event_name) if type(event_name) is str else None
    if reader is None or not record.span_id:
        return None
    reading = GenAISpan(record.span_id, b"", record.time_ns, record.time_ns, Role.EVENT, NAME, record.resource)
    body = parse_any(record.body)
    reader(reading, record, body if isinstance(body, Mapping) else {"content": body})
    return reading


def _tell_details(reading: GenAISpan, record: LogRecord, body: Mapping[str, Any]) -> None:
    get = record.attributes.get
    _tell(reading, get(semconv.OUTPUT_MESSAGES), get(semconv.INPUT_MESSAGES))
    reading.conversation_id = name_of(get(semconv.CONVERSATION_ID))


def _tell_choice(reading: GenAISpan, record: LogRecord, body: Mapping[str, Any]) -> None:
    if may_hold_calls(body):
        reading.output = body


def _tell_question(reading: GenAISpan, record: LogRecord, body: Mapping[str, Any]) -> None:
    reading.user_input = body.get("content")


def _tell_result(reading: GenAISpan, record: LogRecord, body: Mapping[str, Any]) -> None:
    call_id = name_of(body.get("id")) or name_of(body.get("tool_call_id"))
    outcome = outcome_of(body.get("content"))
    if outcome != "ok":
        reading.results = ((call_id, outcome),)


_LOG_READERS: Final[Mapping[str, Callable[[GenAISpan, LogRecord, Mapping[str, Any]], None]]] = {
    semconv.EVENT_INFERENCE_DETAILS: _tell_details,
    semconv.EVENT_CHOICE: _tell_choice,
    semconv.EVENT_USER_MESSAGE: _tell_question,
    semconv.EVENT_TOOL_MESSAGE: _tell_result,
}


DIALECT: Final = Dialect(
    name=NAME,
    keys=(semconv.OPERATION_NAME,),
    read=read,
    markers=(b"gen_ai",),
    attributes=frozenset({
        semconv.AGENT_NAME, semconv.CONVERSATION_ID, semconv.INPUT_MESSAGES, semconv.OUTPUT_MESSAGES, semconv.RESPONSE_ID,
        semconv.SESSION_ID, semconv.TOOL_CALL_ARGUMENTS, semconv.TOOL_CALL_ID, semconv.TOOL_NAME, semconv.WORKFLOW_NAME,
        semconv.ERROR_TYPE, semconv.HTTP_ROUTE, semconv.URL_PATH, _STRANDS_STATUS,
    }),
    read_log=read_log,
    answers=(semconv.OUTPUT_MESSAGES, "gen_ai.workflow.output"),
    offers=(semconv.TOOL_DEFINITIONS, "gen_ai.agent.tools"),
)  # fmt: skip
