"""The OpenTelemetry GenAI semantic conventions, current names and those deprecated since 1.36.

Messages are read wherever one of the releases puts them: attributes (JSON text or structured), span events, log events.
Strands (strands-agents 1.62, @strands-agents/sdk) and rig (0.44) follow these conventions except for their own attributes of
what came of a call, Sentry (@sentry/node 10.78) except for the names of a model's answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.genai_span import (
    AGENT,
    EVENT,
    IGNORED,
    MODEL,
    OTHER,
    TOOL,
    CopiedField,
    GenAISpan,
    Role,
    context_span_of,
    doubt_failure,
    doubt_start,
    genai_span_of,
    model_span_of,
    set_input,
    set_output,
    set_raised,
)
from collector.model.span import LogRecord, Span, SpanEvent
from collector.payloads.function_parameters import PARAMETER, RETURNED, has_returned_error, parameters_of
from collector.payloads.messages import tool_call_parts
from collector.payloads.refusals import Refusal
from collector.payloads.run_steps import START, STATUS, run_steps
from collector.payloads.span_names import is_handoff
from collector.payloads.tool_arguments import RECORDS, arguments_of_record, arguments_told, is_schema, tool_arguments
from collector.payloads.tool_results import is_in_place_of_result, tool_result
from collector.payloads.values import MAX_NAME, first_name, first_value, known_name_of, name_of, parse_any, parse_json

NAME: Final = "otel_genai"

_TOOL_NAME: Final = "tool.name"  # OpenCode
_LIVEKIT: Final = "livekit-agents"
_STRANDS: Final = "strands"
_GENERAL: Final = ("tool_error", "_OTHER")
"""Types of errors that say no more than that there was one."""
_OUTCOME: Final = "gen_ai.tool.call.outcome"
"""The key of the outcome in rig: its spans have no status."""
_OUTCOME_ERROR: Final = "gen_ai.tool.error.type"
_NOT_RUN: Final = ("skipped", "denied")
_PERHAPS_NOT_RUN: Final = ("not_found", "permission_denied", "cancelled")
"""Errors in rig that a tool may have had, or rig before it ran the tool."""
_KOOG: Final = "ai.koog"  # the name of its scope, unless the application gives it another
_KOOG_EVENT: Final = "koog.event.id"
_CHATLAS: Final = "co.posit.python-package.chatlas"
_UNKNOWN: Final = "Unknown tool."  # chatlas 0.23; a tool that answers so has a description
_UNREFLECTED: Final = re.compile(
    r"No argument provided for a required parameter: parameter #\d+ \S+ of fun (?:[\w.]+\.)?(\w+)\("
)
"""Kotlin's reflection, which names the function that it did not call."""
_AI_SERVICE: Final = "langchain4j.aiservices."  # Quarkus LangChain4j: followed by class and method, without attributes
_MERGED: Final = "(merged tools)"  # Google ADK: a span for the results of parallel calls
_CALLS_ALONE: Final = ("gen_ai.response.tool_calls", "gen_ai.tool_calls")
"""Keys of the calls of an answer that has no messages: Sentry's, and the one of tracers of one's own."""
_JOINT: Final = ", "
_SENTRY_TEXT: Final = "gen_ai.response.text"
_SENTRY_TOOLS: Final = "gen_ai.request.available_tools"
_STRANDS_STATUS: Final = ("gen_ai.tool.status", "tool.status")
"""Keys of the outcome in Strands 1 and 0.x: the span's own status stays OK if the tool is unknown, and in 0.x if it failed."""
_ARGUMENTS: Final = tuple(
    f"gen_ai.tool.{key}"
    for key in ("args", "arguments", "input", "parameters", "call.args", "call.input", "call.parameters")
)  # of tracers that follow the conventions but for this name
_CONVERSATION_IDS: Final = (semconv.CONVERSATION_ID, semconv.SESSION_ID)
_THREAD: Final = "gen_ai.thread.id"
_OPENLLMETRY: Final = ("@traceloop/instrumentation-", "opentelemetry.instrumentation.")
_DOTTED: Final = (".chat", ".completion")  # of its spans without an operation: `bedrock.completion`
_ANTHROPIC: Final = (
    "@traceloop/instrumentation-anthropic", "opentelemetry.instrumentation.anthropic",
    "opentelemetry.instrumentation.genai.anthropic",
)  # fmt: skip
"""Anthropic's clients tell a failure by a flag, for which the conventions' messages have no place."""
_NO_FINISH, _NO_ARGUMENTS, _LOST = '"finish_reason":""', '"arguments":{}', '"arguments":null'
_STEPS: Final = frozenset({
    "create_agent", "embeddings", "execute_task", "handoff", "invoke_node", "plan", "rerank", "retrieval", "speech", "task",
    "transcription", "image_generation", "create_memory", "create_memory_store", "delete_memory", "delete_memory_store",
    "read_memory", "search_memory", "update_memory", "upsert_memory",
})  # fmt: skip
"""Operations that are neither a call nor a request to a model."""
_ROLE_OF_EVENT: Final = {
    semconv.EVENT_USER_MESSAGE: "user",
    semconv.EVENT_ASSISTANT_MESSAGE: "assistant",
    semconv.EVENT_TOOL_MESSAGE: "tool",
}


_OF_CHOICE: Final = (semconv.EVENT_MESSAGE, semconv.EVENT_CONTENT, semconv.EVENT_TOOL_CALLS)
_OF_MESSAGE: Final = (semconv.EVENT_CONTENT, semconv.EVENT_TOOL_CALLS, semconv.EVENT_ID)


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its ``gen_ai.operation.name``, else by its name; None if the conventions know neither."""
    operation = span.attributes.get(semconv.OPERATION_NAME)
    if type(operation) is not str:
        operation = _operation_in_name(span)
        if operation is None:
            return None
    reader = _READERS.get(operation) or _READERS.get(operation.lower())  # Microsoft Agent 365: `Chat`
    if reader is None:
        return IGNORED if operation in _STEPS else None
    return reader(span)


def _operation_in_name(span: Span) -> str | None:
    """Returns the operation that begins the span's name, as the conventions have it, if an attribute is of that operation."""
    if span.name.endswith(_DOTTED) and span.scope.name.startswith(_OPENLLMETRY):
        return "chat"
    if span.name.startswith(_AI_SERVICE):
        return "invoke_agent"
    operation = span.name.partition(" ")[0]
    evidence = _EVIDENCE.get(operation, ())
    return operation if any(key in span.attributes for key in evidence) else None


def _read_tool(span: Span) -> GenAISpan:
    attributes = span.attributes
    name = known_name_of(attributes.get(semconv.TOOL_NAME)) or name_of(attributes.get(_TOOL_NAME))
    if name is None and is_handoff(span.name):
        return IGNORED  # some tracers give it the operation of a call
    # A span that is named after the operation alone does not name its tool.
    if name is None and span.name != "execute_tool":
        name = name_of(span.name.removeprefix("execute_tool "))
    if name == _MERGED:
        return IGNORED
    genai_span = genai_span_of(span, TOOL, NAME)
    genai_span.name = name
    genai_span.call_id = known_name_of(attributes.get(semconv.TOOL_CALL_ID))
    genai_span.arguments = attributes.get(semconv.TOOL_CALL_ARGUMENTS)
    if type(genai_span.arguments) is str and genai_span.arguments.startswith(RECORDS):
        genai_span.arguments, call_id = arguments_of_record(genai_span.arguments)
        genai_span.call_id = genai_span.call_id or call_id
    if genai_span.arguments is None and span.events:
        genai_span.arguments = _arguments_in_message(
            _event_value(span, semconv.EVENT_TOOL_MESSAGE, semconv.EVENT_CONTENT)
        )
    if genai_span.arguments is None:
        genai_span.arguments = _other_arguments(attributes)
    genai_span.agent = name_of(attributes.get(semconv.AGENT_NAME))
    genai_span.conversation_id = name_of(attributes.get(semconv.CONVERSATION_ID))
    if span.events and genai_span.status == "unset" and semconv.TOOL_CALL_RESULT not in attributes:
        set_raised(genai_span, span)  # Quarkus LangChain4j
    result = attributes.get(semconv.TOOL_CALL_RESULT)
    if genai_span.status == "unset" and (is_in_place_of_result(result) or has_returned_error(attributes)):
        genai_span.status = "error"
    _read_in_words_of_its_own(genai_span, span)
    strands_status = first_value(attributes, _STRANDS_STATUS)
    # A tool that waits for a human's answer has neither status nor result.
    genai_span.is_pending = (
        strands_status is None and span.scope.name.startswith(_STRANDS) and semconv.TOOL_CALL_RESULT not in attributes
    )
    if strands_status == "error":
        genai_span.status = "error"
        told = _event_value(span, semconv.EVENT_CHOICE, semconv.EVENT_MESSAGE)
        genai_span.refusal = genai_span.refusal or tool_result(None, told).refusal
    elif genai_span.status == "error":
        _read_failure(genai_span, result)
        if genai_span.scope != _LIVEKIT and _has_no_words(span):
            doubt_failure(genai_span)
    return genai_span


def _read_in_words_of_its_own(genai_span: GenAISpan, span: Span) -> None:
    if _OUTCOME in span.attributes:
        _read_outcome(genai_span, span.attributes)
    elif genai_span.scope == _CHATLAS:
        if semconv.TOOL_DESCRIPTION not in span.attributes and span.status_message == _UNKNOWN:
            genai_span.refusal = Refusal()
    elif (genai_span.scope == _KOOG or _KOOG_EVENT in span.attributes) and _is_refused_by_koog(span, genai_span.name):
        genai_span.refusal = Refusal()


def _is_refused_by_koog(span: Span, tool: str | None) -> bool:
    """Whether Koog's span is of a call that did not run: that of a tool which it does not know has no description."""
    if semconv.TOOL_DESCRIPTION not in span.attributes:
        return True
    missing = _UNREFLECTED.match(span.status_message)
    return missing is not None and missing[1] == tool


def _read_outcome(genai_span: GenAISpan, attributes: Mapping[str, Any]) -> None:
    outcome = attributes[_OUTCOME]
    if outcome in _NOT_RUN:
        genai_span.refusal = Refusal()
    elif outcome == "success":
        genai_span.status = "ok"
    elif outcome == "error":
        kind = attributes.get(_OUTCOME_ERROR)
        genai_span.status, genai_span.error_type = "error", name_of(kind)
        genai_span.refusal = tool_result(None, attributes.get(semconv.TOOL_CALL_RESULT)).refusal
        if genai_span.refusal is None and (kind == "invalid_args" or kind in _PERHAPS_NOT_RUN):
            genai_span.refusal = Refusal(is_sure=False, is_of_arguments=kind == "invalid_args")


def _has_no_words(span: Span) -> bool:
    """Whether nothing but the general type of an error says that a call failed: Anthropic's SDK for JavaScript."""
    is_general = span.attributes.get(semconv.ERROR_TYPE) in _GENERAL
    return (
        is_general and not span.status_message and not span.events and semconv.TOOL_CALL_RESULT not in span.attributes
    )


def _read_failure(genai_span: GenAISpan, result: object) -> None:
    if result and genai_span.refusal is None:
        genai_span.refusal = tool_result(None, result).refusal  # Google ADK
    # LiveKit has one type for any failure, and neither words nor arguments where it may not record content.
    if genai_span.arguments in (None, "") and (result or genai_span.scope == _LIVEKIT):
        doubt_start(genai_span)


def _arguments_in_message(content: object) -> object:
    """Returns the arguments in the content of a message: they are it, or it is the call as a model requests it."""
    if type(content) is str and content[:1] == "[" and len(calls := tool_call_parts(content)) == 1:
        return calls[0].arguments
    return content


def _other_arguments(attributes: Mapping[str, Any]) -> object:
    """Returns the arguments under a name that is not the conventions'."""
    for key in _ARGUMENTS:
        if key in attributes and not is_schema(attributes[key]):
            return tool_arguments(attributes[key])
    if (told := arguments_told(attributes.get(semconv.INPUT_MESSAGES))) is not None:
        return told
    return parameters_of(attributes)


def _read_agent(span: Span) -> GenAISpan:
    genai_span = _read_context(span, AGENT)
    genai_span.name = name_of(span.attributes.get(semconv.AGENT_NAME)) or name_of(_agent_in_name(span.name))
    return genai_span


def _agent_in_name(name: str) -> str:
    if name.startswith(_AI_SERVICE):
        return name.removeprefix(_AI_SERVICE).partition(".")[0]
    return name.removeprefix("invoke_agent").strip()


def _read_workflow(span: Span) -> GenAISpan:
    return _read_context(span, OTHER)


def _read_context(span: Span, role: Role) -> GenAISpan:
    user_input = span.attributes.get(semconv.INPUT_MESSAGES)
    if user_input is None and span.events:
        user_input = _event_value(span, semconv.EVENT_USER_MESSAGE, semconv.EVENT_CONTENT)
        if user_input is None:
            user_input = _event_value(span, semconv.EVENT_INFERENCE_DETAILS, semconv.INPUT_MESSAGES)
    genai_span = context_span_of(span, role, NAME, user_input, first_name(span.attributes, _CONVERSATION_IDS))
    genai_span.response_id = name_of(span.attributes.get(semconv.RESPONSE_ID))
    return genai_span


def _read_model(span: Span) -> GenAISpan:
    attributes = span.attributes
    output, messages = attributes.get(semconv.OUTPUT_MESSAGES), attributes.get(semconv.INPUT_MESSAGES)
    if span.events:
        output, messages = _messages_in_events(span.events, output, messages)
    if output is None:
        output = _joined_calls(attributes) or _answer_in_parts(attributes)
    is_anthropic = span.scope.name in _ANTHROPIC
    genai_span = model_span_of(span, NAME, _without_lost(output) if is_anthropic else output, messages)
    genai_span.tracing = "lossy" if is_anthropic else ""
    genai_span.response_id = name_of(attributes.get(semconv.RESPONSE_ID))
    genai_span.agent = name_of(attributes.get(semconv.AGENT_NAME))
    genai_span.conversation_id = name_of(attributes.get(semconv.CONVERSATION_ID))
    return genai_span


def _without_lost(output: object) -> object:
    """Returns an answer in which no call has arguments that are not its own.

    OpenLLMetry for JavaScript (0.27) gives each call of a stream an empty object, and the answer no reason why it ended.
    """
    return output.replace(_NO_ARGUMENTS, _LOST) if type(output) is str and _NO_FINISH in output else output


def _read_steps(span: Span) -> GenAISpan:
    """Reads the list of what a run in the service did (azure-ai-agents): all turns at once, and no request."""
    steps = run_steps(((event.name, event.attributes) for event in span.events), semconv.EVENT_BODY)
    genai_span = model_span_of(span, NAME, None, steps.messages)
    genai_span.user_input = None
    if not steps.is_whole:
        genai_span.finish, genai_span.history = "tool_calls", None
    elif steps.messages:
        genai_span.tracing = "memory"
    genai_span.has_output = steps.is_whole
    genai_span.conversation_id = name_of(span.attributes.get(_THREAD))
    return genai_span


def _joined_calls(attributes: Mapping[str, Any]) -> object:
    """Returns the calls of an answer that are in the attributes of a tool's span, one after the other (openlit 1.7)."""
    names, ids, arguments = (
        attributes.get(key) for key in (semconv.TOOL_NAME, semconv.TOOL_CALL_ID, semconv.TOOL_CALL_ARGUMENTS)
    )
    if type(names) is not str or type(ids) is not str or type(arguments) is not str:
        return None
    each = (names.split(_JOINT), ids.split(_JOINT), parse_json(f"[{arguments}]") or ())
    if len({len(parts) for parts in each}) > 1:
        return None
    return [
        {"type": "tool_call", "name": name, "id": call_id, "arguments": given}
        for name, call_id, given in zip(*each, strict=True)
    ]


def _answer_in_parts(attributes: Mapping[str, Any]) -> object:
    """Returns a model's answer where its calls are in an attribute of their own and its text in another, as Sentry has it."""
    calls = parse_any(first_value(attributes, _CALLS_ALONE))
    if calls is None or isinstance(calls, (bool, int, float)):  # some write how many there are
        return attributes.get(_SENTRY_TEXT)
    return {"tool_calls": [parse_any(call) for call in calls] if isinstance(calls, (list, tuple)) else calls}


def _messages_in_events(events: Sequence[SpanEvent], output: Any, messages: Any) -> tuple[Any, Any]:
    """Returns a model's output and input, completed from span events."""
    for event in events:
        if event.name == semconv.EVENT_INFERENCE_DETAILS:
            output = output or event.attributes.get(semconv.OUTPUT_MESSAGES)
            messages = messages or event.attributes.get(semconv.INPUT_MESSAGES)
        elif event.name == semconv.EVENT_COMPLETION:
            output = output or event.attributes.get(semconv.COMPLETION)
        elif event.name == semconv.EVENT_PROMPT:
            messages = messages or event.attributes.get(semconv.PROMPT)
    if output is None:
        choices = [_body(event, _OF_CHOICE) for event in events if event.name == semconv.EVENT_CHOICE]
        output = choices or None
    if messages is None:
        messages = [
            {"role": _ROLE_OF_EVENT[event.name], **_body(event, _OF_MESSAGE)}
            for event in events
            if event.name in _ROLE_OF_EVENT
        ]
    return output, messages


def _body(event: SpanEvent, keys: Sequence[str]) -> dict[str, Any]:
    """Returns what an event holds under ``keys``, in attributes or, as JSON, in one."""
    body = parse_any(event.attributes.get(semconv.EVENT_BODY))
    fields = body if isinstance(body, Mapping) else event.attributes
    return {key: fields[key] for key in keys if key in fields}


def _event_value(span: Span, event_name: str, key: str) -> object:
    for event in reversed(span.events):
        if event.name == event_name:
            return event.attributes.get(key)
    return None


_READERS: Final[Mapping[str, Callable[[Span], GenAISpan]]] = {
    "execute_tool": _read_tool,
    "invoke_agent": _read_agent,
    "invoke_workflow": _read_workflow,
    # `completion` in the names of Quarkus LangChain4j's spans, `chat.completions` in Semantic Kernel for Java
    **dict.fromkeys(("chat", "chat.completions", "completion", "generate_content", "text_completion"), _read_model),
    "list_run_steps": _read_steps,
}
_OF_MODEL: Final = (semconv.INPUT_MESSAGES, semconv.OUTPUT_MESSAGES, *semconv.FINISH_REASONS)
_EVIDENCE: Final[Mapping[str, tuple[str, ...]]] = {
    "execute_tool": (semconv.TOOL_NAME, semconv.TOOL_CALL_ID, semconv.TOOL_CALL_ARGUMENTS),
    "invoke_agent": (semconv.AGENT_NAME, semconv.CONVERSATION_ID, semconv.INPUT_MESSAGES, semconv.OUTPUT_MESSAGES),
    "invoke_workflow": (semconv.WORKFLOW_NAME,),
    "chat": _OF_MODEL,
    "completion": _OF_MODEL,
    "generate_content": _OF_MODEL,
    "text_completion": _OF_MODEL,
}
"""The attributes of each operation that tell it from another of that name."""


FIELDS_OF: Final[Mapping[Role, Mapping[str, CopiedField]]] = {
    TOOL: {
        semconv.TOOL_CALL_ID: "call_id",
        semconv.TOOL_CALL_ARGUMENTS: "arguments",
        semconv.CONVERSATION_ID: "conversation_id",
    },
    AGENT: {semconv.CONVERSATION_ID: "conversation_id", semconv.RESPONSE_ID: "response_id"},
    MODEL: {semconv.CONVERSATION_ID: "conversation_id", semconv.RESPONSE_ID: "response_id"},
}
"""The fields that are the very text of an attribute, where that `is_copied`: nothing else that is read depends on it."""


def is_copied(field: CopiedField, text: str) -> bool:
    """Whether the field is the text as it is, and the text tells nothing else."""
    if field == "arguments":
        return bool(text) and not text.startswith(RECORDS)
    return 0 < len(text) <= MAX_NAME and text[0] != "<"


# --- log events ------------------------------------------------------------------------------------------------------


def read_log(record: LogRecord) -> GenAISpan | None:
    """Reads an event about the model request whose span it names; None for any other log record."""
    event_name = record.event_name or record.attributes.get(semconv.EVENT_NAME)
    reader = _LOG_READERS.get(event_name) if type(event_name) is str else None
    if reader is None or not record.span_id:
        return None
    genai_span = GenAISpan(record.span_id, b"", record.time_ns, record.time_ns, EVENT, NAME, record.resource)
    body = parse_any(record.body)
    reader(genai_span, record, body if isinstance(body, Mapping) else {"content": body})
    return genai_span


def _read_details(genai_span: GenAISpan, record: LogRecord, body: Mapping[str, Any]) -> None:
    get = record.attributes.get
    set_output(genai_span, get(semconv.OUTPUT_MESSAGES))
    set_input(genai_span, get(semconv.INPUT_MESSAGES))
    genai_span.conversation_id = name_of(get(semconv.CONVERSATION_ID))


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


DIALECT: Final = Dialect(
    name=NAME,
    keys=(semconv.OPERATION_NAME,),
    read_span=read_span,
    markers=(b"gen_ai", _AI_SERVICE.encode()),
    attributes=frozenset({
        semconv.AGENT_NAME, *_CONVERSATION_IDS, semconv.INPUT_MESSAGES, semconv.OUTPUT_MESSAGES, semconv.RESPONSE_ID,
        semconv.TOOL_CALL_ARGUMENTS, semconv.TOOL_CALL_ID, semconv.TOOL_NAME, semconv.TOOL_DESCRIPTION,
        semconv.WORKFLOW_NAME,
        semconv.ERROR_TYPE, semconv.HTTP_ROUTE, semconv.URL_PATH, *_STRANDS_STATUS, _OUTCOME, _OUTCOME_ERROR, _TOOL_NAME,
        *_CALLS_ALONE, _SENTRY_TEXT, _THREAD, STATUS, START, _KOOG_EVENT,
        *_ARGUMENTS, RETURNED,
    }),
    prefixes=(PARAMETER,),
    read_log=read_log,
    log_markers=(b"gen_ai.",),
    output_attributes=(semconv.OUTPUT_MESSAGES, "gen_ai.workflow.output"),
    tool_definition_attributes=(
        semconv.TOOL_DEFINITIONS, "gen_ai.request.tool.definitions", "gen_ai.agent.tools", _SENTRY_TOOLS,
    ),
)  # fmt: skip
