"""The OpenTelemetry GenAI semantic conventions, current names and those deprecated since 1.36.

Messages are read where the release of the day puts them: attributes (JSON text or structured), span events, log events.
Strands (strands-agents 1.62, @strands-agents/sdk) keeps to these conventions but for a status attribute of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from collector.model import semconv
from collector.model.genai_span import IGNORED, Dialect, GenAISpan, Role, context_attributes, genai_span_of
from collector.model.span import LogRecord, Span
from collector.payloads.messages import may_contain_tool_calls, newest_tool_results, newest_user_input, result_status
from collector.payloads.refusals import is_refusal
from collector.payloads.values import name_of, parse_any

NAME: Final = "otel_genai"

_STRANDS_STATUS: Final = "gen_ai.tool.status"  # the span's own status stays OK where the tool is unknown
_ROLE_OF_EVENT: Final = {
    semconv.EVENT_USER_MESSAGE: "user",
    semconv.EVENT_ASSISTANT_MESSAGE: "assistant",
    semconv.EVENT_TOOL_MESSAGE: "tool",
}


def read_span(span: Span) -> GenAISpan | None:
    """What the span is by its ``gen_ai.operation.name``; one without is no agent, model or tool of this dialect."""
    operation = span.attributes.get(semconv.OPERATION_NAME)
    if type(operation) is not str:
        return None
    reader = _READERS.get(operation)
    return IGNORED if reader is None else reader(span)


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(semconv.TOOL_NAME)) or name_of(span.name.removeprefix("execute_tool "))
    genai_span.call_id = name_of(get(semconv.TOOL_CALL_ID))
    genai_span.arguments = get(semconv.TOOL_CALL_ARGUMENTS)
    if genai_span.arguments is None and span.events:
        genai_span.arguments = _event_value(span, semconv.EVENT_TOOL_MESSAGE, semconv.EVENT_CONTENT)
    genai_span.agent = name_of(get(semconv.AGENT_NAME))
    genai_span.conversation_id = name_of(get(semconv.CONVERSATION_ID))
    if get(_STRANDS_STATUS) == "error":
        genai_span.status = "error"
        told = _event_value(span, semconv.EVENT_CHOICE, semconv.EVENT_MESSAGE)
        genai_span.refused = genai_span.refused or (type(told) is str and is_refusal(told))
    return genai_span


def _read_agent(span: Span) -> GenAISpan:
    genai_span = _read_workflow(span)
    genai_span.role = Role.AGENT
    genai_span.name = name_of(span.attributes.get(semconv.AGENT_NAME)) or name_of(
        span.name.removeprefix("invoke_agent").strip()
    )
    return genai_span


def _read_workflow(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.OTHER, NAME)
    genai_span.conversation_id = name_of(get(semconv.CONVERSATION_ID)) or name_of(get(semconv.SESSION_ID))
    genai_span.response_id = name_of(get(semconv.RESPONSE_ID))
    genai_span.user_input = get(semconv.INPUT_MESSAGES)
    if genai_span.user_input is None and span.events:
        genai_span.user_input = _event_value(span, semconv.EVENT_USER_MESSAGE, semconv.EVENT_CONTENT)
        if genai_span.user_input is None:
            genai_span.user_input = _event_value(span, semconv.EVENT_INFERENCE_DETAILS, semconv.INPUT_MESSAGES)
    genai_span.attributes = context_attributes(span)
    return genai_span


def _read_model(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.MODEL, NAME)
    genai_span.response_id = name_of(get(semconv.RESPONSE_ID))
    genai_span.agent = name_of(get(semconv.AGENT_NAME))
    genai_span.conversation_id = name_of(get(semconv.CONVERSATION_ID))
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
    _tell(genai_span, output, messages)
    return genai_span


def _tell(genai_span: GenAISpan, output: object, messages: object) -> None:
    """Keep of a model's output and input what the run may need, no more: an open trace keeps its genai_spans."""
    if may_contain_tool_calls(output):
        genai_span.output = output
    if messages:
        genai_span.user_input = newest_user_input(messages)
        genai_span.results = newest_tool_results(messages)


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
    genai_span = GenAISpan(record.span_id, b"", record.time_ns, record.time_ns, Role.EVENT, NAME, record.resource)
    body = parse_any(record.body)
    reader(genai_span, record, body if isinstance(body, Mapping) else {"content": body})
    return genai_span


def _tell_details(genai_span: GenAISpan, record: LogRecord, body: Mapping[str, Any]) -> None:
    get = record.attributes.get
    _tell(genai_span, get(semconv.OUTPUT_MESSAGES), get(semconv.INPUT_MESSAGES))
    genai_span.conversation_id = name_of(get(semconv.CONVERSATION_ID))


def _tell_choice(genai_span: GenAISpan, record: LogRecord, body: Mapping[str, Any]) -> None:
    if may_contain_tool_calls(body):
        genai_span.output = body


def _tell_question(genai_span: GenAISpan, record: LogRecord, body: Mapping[str, Any]) -> None:
    genai_span.user_input = body.get("content")


def _tell_result(genai_span: GenAISpan, record: LogRecord, body: Mapping[str, Any]) -> None:
    call_id = name_of(body.get("id")) or name_of(body.get("tool_call_id"))
    outcome = result_status(body.get("content"))
    if outcome != "ok":
        genai_span.results = ((call_id, outcome),)


_LOG_READERS: Final[Mapping[str, Callable[[GenAISpan, LogRecord, Mapping[str, Any]], None]]] = {
    semconv.EVENT_INFERENCE_DETAILS: _tell_details,
    semconv.EVENT_CHOICE: _tell_choice,
    semconv.EVENT_USER_MESSAGE: _tell_question,
    semconv.EVENT_TOOL_MESSAGE: _tell_result,
}


DIALECT: Final = Dialect(
    name=NAME,
    keys=(semconv.OPERATION_NAME,),
    read_span=read_span,
    markers=(b"gen_ai",),
    attributes=frozenset({
        semconv.AGENT_NAME, semconv.CONVERSATION_ID, semconv.INPUT_MESSAGES, semconv.OUTPUT_MESSAGES, semconv.RESPONSE_ID,
        semconv.SESSION_ID, semconv.TOOL_CALL_ARGUMENTS, semconv.TOOL_CALL_ID, semconv.TOOL_NAME, semconv.WORKFLOW_NAME,
        semconv.ERROR_TYPE, semconv.HTTP_ROUTE, semconv.URL_PATH, _STRANDS_STATUS,
    }),
    read_log=read_log,
    output_attributes=(semconv.OUTPUT_MESSAGES, "gen_ai.workflow.output"),
    tool_definition_attributes=(semconv.TOOL_DEFINITIONS, "gen_ai.agent.tools"),
)  # fmt: skip
