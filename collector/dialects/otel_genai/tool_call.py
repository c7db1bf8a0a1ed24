"""Reads ``execute_tool`` spans, and what some frameworks say of a call in attributes of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from collector.dialects.otel_genai import langchain, microsoft, quarkus
from collector.dialects.otel_genai.span_events import arguments_in_events, event_value
from collector.model import semconv
from collector.model.from_span import (
    ANTHROPIC_SDK,
    doubt_failure,
    doubt_start,
    genai_span_of,
    note_agent_of_claude,
    set_raised,
)  # fmt: skip
from collector.model.genai_span import CONVENTIONS, IGNORED, TOOL, GenAISpan
from collector.model.span import Span
from collector.payloads.function_parameters import RETURNED, is_returned_error, parameters_of
from collector.payloads.messages import are_stand_ins, arguments_of_provider
from collector.payloads.outcomes import says_failure
from collector.payloads.refusals import (
    DENIED_BY_TOOL,
    Refusal,
    find_refusal,
    guardrail_refusal,
    is_interrupt,
    is_refusal,
    may_be_blocked,
)
from collector.payloads.span_names import is_handoff
from collector.payloads.told_failures import failure_in_message, is_in_place_of_result
from collector.payloads.tool_arguments import RECORDS, arguments_of_record, arguments_told, is_schema, tool_arguments
from collector.payloads.tool_results import is_denial, is_mcp_failure, response_told, tool_result
from collector.payloads.values import first_value, known_name_of, name_of, parse_any
from scorers.trajectory import Status

_TOOL_NAME: Final = "tool.name"  # OpenCode
LIVEKIT: Final = "livekit-agents"
_LIVEKIT_RESULT: Final = "lk.pii.function_tool.output"
"""Where LiveKit says why a call failed, in its own words: in the attribute of a result it does not."""
STRANDS: Final = "strands"
"""Begins the names of its scopes."""
_STRANDS_JS: Final = "strands-agents"
STRANDS_START: Final = "gen_ai.event.start_time"
"""On each span of Strands, whose scope for JavaScript has the name of the service, if that has one (`OTEL_SERVICE_NAME`)."""
_OPENAI_AGENTS: Final = ".openai_agents"
_LOGFIRE_CLAUDE: Final = "logfire.claude_agent_sdk"
"""It begins the span of a call before anybody may allow that, and ends it with a result or an error, or with the run."""
_GOOGLE_GENAI: Final = "opentelemetry.instrumentation.google_genai"
AI_SDK_7: Final = "gen_ai"
"""The scope of Vercel's AI SDK 7."""
_TOOL_TYPE, _OF_PROVIDER = "gen_ai.tool.type", "extension"
"""Of Vercel's AI SDK 7: a provider's tool has its result in the answer that calls it, but where it waits for an approval."""
_GENERAL: Final = ("tool_error", "_OTHER")
"""Types of errors that say no more than that there was one."""
_MLFLOW: Final = "mlflow.tracing.provider"
_AG2: Final = "opentelemetry.instrumentation.ag2"
_TELL_RESULTS: Final = (
    AI_SDK_7, "agent_framework", _AG2, "opentelemetry.instrumentation.genai.llama_index",
    _MLFLOW, "semantic_kernel.functions.kernel_function",
)  # fmt: skip
"""They record what each call returned whose arguments they record, and leave the status of one that was cancelled as it is,
or in LlamaIndex of one that ended to wait for a human."""
_SAMPLED: Final = "gen_ai.evaluation.sampled"
"""On all spans of Splunk's util-genai: with LlamaIndex (0.1.2) a call has neither a result nor a failure, with others both."""
_BEYOND_LIMIT: Final = ("agent_framework", "ToolException")
"""The type of error of a call beyond a function's limit in Microsoft's Agent Framework, which a tool may raise as well."""
_OUTCOME: Final = "gen_ai.tool.call.outcome"
"""The key of the outcome in rig: its spans have no status."""
_OUTCOME_ERROR: Final = "gen_ai.tool.error.type"
_TARGET, _OF_RIG = "target", "rig_agent::"
_NOT_RUN: Final = ("skipped", "denied")
_PERHAPS_NOT_RUN: Final = ("not_found", "permission_denied", "cancelled")
"""Errors in rig that a tool may have had, or rig before it ran the tool."""
_SESSION: Final = "anthropic.session.id"
"""On a call that a program makes for an agent that Anthropic runs, whose requests and further calls leave no spans there."""
_CONTENT, _NO_CONTENT = "anthropic.tool_result.content", "[]"
COMPLETION: Final = "tanstack.ai.completion.reason"
"""Of a call that was open when a run of TanStack AI was aborted: also by a hook, in place of the call."""
_COPILOT: Final = "github.copilot"
_SERVER_HASH: Final = "github.copilot.tool.parameters.mcp_server_name_hash"
"""Where Copilot CLI may not record content, it writes hashes in place of the names of an MCP server and its tool."""
_ANY_FAILURE: Final = "Tool failed"
"""What it then says of a tool that failed, of one that it does not have, and of arguments that do not fit."""
_KOOG: Final = "ai.koog"  # the name of its scope, unless the application gives it another
_KOOG_EVENT: Final = "koog.event.id"
_HIDDEN: Final = "HIDDEN:"
"""Begins what Koog writes in place of content."""
_CHATLAS: Final = "co.posit.python-package.chatlas"
_UNKNOWN: Final = "Unknown tool."  # chatlas 0.23; a tool that answers so has a description
_UNREFLECTED: Final = re.compile(
    r"No argument provided for a required parameter: parameter #\d+ \S+ of fun (?:[\w.]+\.)?(\w+)\("
)
"""Kotlin's reflection, which names the function that it did not call."""
_CREW: Final = "gen_ai.crewai.component"
"""LoongSuite (0.9) ends the span of a call well that CrewAI did not let run: what the model was told of it is its result."""
_MERGED: Final = "(merged tools)"  # Google ADK: a span for the results of parallel calls
_STRANDS_STATUS: Final = ("gen_ai.tool.status", "tool.status")
"""Keys of the outcome in Strands 1 and 0.x: the span's own status stays OK if the tool is unknown, and in 0.x if it failed."""
_ARGUMENTS: Final = tuple(
    f"gen_ai.tool.{key}"
    for key in ("args", "arguments", "input", "parameters", "call.args", "call.input", "call.parameters")
)  # of tracers that follow the conventions but for this name
_ERRORS: Final = (
    semconv.ERROR_MESSAGE, "error", "tool.error", "gen_ai.tool.error", "gen_ai.tool.error.message", "tool.is_error",
)  # fmt: skip
"""Where tracers of one's own put the words of a failure, or its flag, with neither a status nor a type beside them."""
_SUCCESS: Final = ("success", "tool.success", "gen_ai.tool.success")
_OUTPUT_TOOL: Final = "IMPORTANT: This StructuredOutputTool "
"""Begins the description of what Strands (1.62) offers as a tool, and is the form of an agent's output."""
_OUTPUT_IN_JS: Final = "strands_structured_output"
"""The name of that in Strands for JavaScript (1.19), whose spans have no descriptions."""
_AWAITED: Final = "FunctionToolResult(tool="
"""Begins what OpenAI Agents has in place of the result of a call that waits for an approval, under OpenLIT (1.45)."""
ATTRIBUTES: Final = (
    semconv.TOOL_CALL_ARGUMENTS, semconv.TOOL_CALL_ID, semconv.TOOL_NAME, semconv.TOOL_DESCRIPTION, *_STRANDS_STATUS,
    _TOOL_TYPE, _OUTCOME, _OUTCOME_ERROR, _TARGET, _TOOL_NAME, _KOOG_EVENT, _CREW, _SAMPLED, COMPLETION, *_ARGUMENTS, RETURNED,
    *_ERRORS, *_SUCCESS, _LIVEKIT_RESULT, _SERVER_HASH, _SESSION, _CONTENT,
)  # fmt: skip
"""What is read of a call beside what all spans have."""
_ANSWERED_BY_HOOKS: Final = (
    _AG2, "opentelemetry.instrumentation.genai.agno", "openlit.instrumentation.agno",
    "semantic_kernel.functions.kernel_function",
)  # fmt: skip
"""Scopes for Agno, AG2 and Semantic Kernel, whose hooks, middleware and filters answer inside the span of a call, in place of
its tool."""


def read_tool(span: Span) -> GenAISpan:
    """Reads the call of a tool, or IGNORED for a span that is none."""
    attributes = span.attributes
    name = _name_of_tool(span)
    if name == _MERGED or (name is None and is_handoff(span.name)):  # some tracers give it the operation of a call
        return IGNORED
    genai_span = genai_span_of(span, TOOL, CONVENTIONS)
    name_strands(genai_span, span)
    genai_span.name = name
    genai_span.call_id = langchain.call_id_of(span)
    _read_arguments(genai_span, span)
    genai_span.agent = name_of(attributes.get(semconv.AGENT_NAME))
    genai_span.conversation_id = name_of(attributes.get(semconv.CONVERSATION_ID))
    if span.events and genai_span.status == "unset" and semconv.TOOL_CALL_RESULT not in attributes:
        set_raised(genai_span, span)  # Quarkus LangChain4j
    result = microsoft.returned(span)
    if genai_span.status != "error" and _tells_failure(genai_span.status, span, result):
        genai_span.status = "error"
    _read_in_words_of_its_own(genai_span, span)
    if _SESSION in attributes:
        genai_span.note(traced_calls="own")
    strands_status = first_value(attributes, _STRANDS_STATUS)
    if semconv.TOOL_CALL_RESULT not in attributes or _is_awaited(result):
        _note_pending(genai_span, span, strands_status)
    if genai_span.scope == _LOGFIRE_CLAUDE:
        note_agent_of_claude(genai_span, result)
    _read_refusal(genai_span, span, result, strands_status)
    microsoft.read_arguments(genai_span)
    # Last: of a call that failed these words tell that it had arguments.
    if type(genai_span.arguments) is str and genai_span.arguments.startswith(_HIDDEN):
        genai_span.arguments = None
    return genai_span


def _read_refusal(genai_span: GenAISpan, span: Span, result: object, strands_status: object) -> None:
    """Read why a call failed, or was refused."""
    description = span.attributes.get(semconv.TOOL_DESCRIPTION)
    is_output = type(description) is str and description.startswith(_OUTPUT_TOOL)
    if is_output or (genai_span.name == _OUTPUT_IN_JS and genai_span.scope.startswith(STRANDS)):
        genai_span.refusal = Refusal()
    elif strands_status == "error":
        _read_failure_of_strands(genai_span, span)
    elif genai_span.status == "error":
        _read_failure(genai_span, span, result)
    elif _CREW in span.attributes and type(result) is str and is_refusal(result, genai_span.name):
        genai_span.status, genai_span.refusal = "error", Refusal()
    elif genai_span.refusal is None:
        genai_span.refusal = _refusal_in_result(genai_span.scope, result)


def _name_of_tool(span: Span) -> str | None:
    attributes = span.attributes
    name = known_name_of(attributes.get(semconv.TOOL_NAME)) or name_of(attributes.get(_TOOL_NAME))
    # A span that is named after the operation alone does not name its tool, nor does one with the name of a handoff.
    if name is None and span.name != "execute_tool" and not is_handoff(span.name):
        name = name_of(span.name.removeprefix("execute_tool "))
    if _SERVER_HASH in attributes and name is not None and name.startswith(f"{attributes[_SERVER_HASH]}/"):
        return None
    return name


def name_strands(genai_span: GenAISpan, span: Span) -> None:
    """Name the scope of a span of Strands for JavaScript as where the service has no name."""
    if STRANDS_START in span.attributes and not genai_span.scope.startswith(STRANDS):
        genai_span.scope = _STRANDS_JS


def _refusal_in_result(scope: str, result: object) -> Refusal | None:
    """Returns what a result says of a call whose span ended well, if it reads like a refusal."""
    # Vercel's AI SDK leaves no span of a call that was denied.
    if scope in _ANSWERED_BY_HOOKS and may_be_blocked(result):
        return Refusal(is_sure=False)
    return DENIED_BY_TOOL if scope == AI_SDK_7 and is_denial(result) else guardrail_refusal(scope, result)


def _read_arguments(call: GenAISpan, span: Span) -> None:
    call.arguments = span.attributes.get(semconv.TOOL_CALL_ARGUMENTS)
    if type(call.arguments) is str and call.arguments.startswith(RECORDS):
        call.arguments, call_id = arguments_of_record(call.arguments)
        call.call_id = call.call_id or call_id
    if call.arguments is None and span.events:
        call.arguments = arguments_in_events(span)
    if call.arguments is None:
        call.arguments = _other_arguments(span.attributes)
    if are_stand_ins(call.arguments, call.call_id):
        result = parse_any(span.attributes.get(semconv.TOOL_CALL_RESULT))
        call.arguments = arguments_of_provider(result) if isinstance(result, Mapping) else None


def _is_awaited(result: object) -> bool:
    return type(result) is str and result.startswith(_AWAITED)


def _note_pending(call: GenAISpan, span: Span, strands_status: object) -> None:
    """Note of a call without a result that it waits for a human's answer, or was cancelled: neither has a status."""
    if call.scope == _AG2 and call.status != "error" and _TOOL_TYPE in span.attributes:
        call.note(extent="apart")  # perhaps of a tool that the client has: no model is asked after it
    # What raised an exception that is no question to a human has ended: a processor may have deleted the status.
    is_of_strands = strands_status is None and call.scope.startswith(STRANDS) and call.error_type is None
    call.is_pending = call.is_pending or is_of_strands or _lacks_result(call, span)
    if call.is_pending:
        if call.scope == _LOGFIRE_CLAUDE:
            call.note(outcome="asked")
    elif _would_tell_result(call, span):
        call.status = "unset"
        call.note(outcome="told")
        # So ends, too, the span of a call of OpenAI Agents that waits for an approval.
        call.is_pending = call.scope == _MLFLOW


def _would_tell_result(call: GenAISpan, span: Span) -> bool:
    # MLflow ends well the span of a function that was cancelled.
    is_open = call.status == "unset" or (call.status == "ok" and call.scope == _MLFLOW)
    is_recorded = call.arguments is not None and (call.scope in _TELL_RESULTS or _SAMPLED in span.attributes)
    # Anthropic's SDK has a status for each call but one that the application cancelled.
    return is_open and (is_recorded or call.scope.startswith(ANTHROPIC_SDK))


def _lacks_result(call: GenAISpan, span: Span) -> bool:
    """Whether the tracer records the result of each call whose arguments it records, but of one that waits for an approval.

    Without content no call of OpenAI Agents has a result: then it tells whether the model was asked after it.
    """
    scope = call.scope
    if call.status == "error":
        return False
    if scope.endswith(_OPENAI_AGENTS):
        return True  # also with the status of a success (v2 0.1)
    return (call.arguments is not None and call.status == "unset") and (
        scope == _LOGFIRE_CLAUDE or (scope == AI_SDK_7 and span.attributes.get(_TOOL_TYPE) == _OF_PROVIDER)
    )


def _tells_failure(status: Status, span: Span, result: object) -> bool:
    """Whether what a call returned says that it failed, and the span's own status does not."""
    attributes = span.attributes
    # The second: Splunk's util-genai 0.1. The last: a server of MCP, and OpenAI Agents, whose spans end well all the same.
    if is_mcp_failure(result) or failure_in_message(result) is not None or is_in_place_of_result(result):
        return True
    returned = attributes.get(RETURNED, result if span.scope.name == _GOOGLE_GENAI else None)
    return status == "unset" and (is_returned_error(returned) or _is_flagged(attributes))


def _is_flagged(attributes: Mapping[str, Any]) -> bool:
    """Whether words or a flag beside a call, in a tracer's own keys, say that it failed."""
    return says_failure({
        "failure": [attributes[key] for key in _ERRORS if key in attributes and attributes[key] not in (None, "")],
        "success": [attributes[key] for key in _SUCCESS if key in attributes],
    })  # fmt: skip


def _words_of_error(attributes: Mapping[str, Any]) -> str | None:
    return next((words for key in _ERRORS if type(words := attributes.get(key)) is str and words), None)


def _read_in_words_of_its_own(genai_span: GenAISpan, span: Span) -> None:
    if _OUTCOME in span.attributes:
        _read_outcome(genai_span, span.attributes)
    elif _ended_without_outcome(span):
        genai_span.note(outcome="told", extent="nested")
        genai_span.refusal = Refusal(is_sure=False)
    elif COMPLETION in span.attributes:
        genai_span.refusal = Refusal(is_sure=False)
    elif genai_span.scope == _CHATLAS:
        if span.status_message == _UNKNOWN:
            genai_span.refusal = Refusal(is_sure=semconv.TOOL_DESCRIPTION not in span.attributes)
    elif span.name.startswith(quarkus.CALL):
        quarkus.read_call(genai_span, span)
    elif genai_span.scope == _KOOG or _KOOG_EVENT in span.attributes:
        _read_koog(genai_span, span)


def _read_koog(call: GenAISpan, span: Span) -> None:
    if _is_refused_by_koog(span, call.name):
        call.refusal = Refusal()
    elif call.status == "ok" and semconv.TOOL_CALL_RESULT not in span.attributes:
        # A call that ended has a result, be it hidden. The spans of those that a cancelled run left open end well.
        call.status = "unset"
        call.note(outcome="told")


def _is_refused_by_koog(span: Span, tool: str | None) -> bool:
    """Whether Koog's span is of a call that did not run: that of a tool which it does not know has no description."""
    if semconv.TOOL_DESCRIPTION not in span.attributes:
        return True
    missing = _UNREFLECTED.match(span.status_message)
    return missing is not None and missing[1] == tool


def _ended_without_outcome(span: Span) -> bool:
    """Whether it is of a call in rig that was cancelled with its run, or panicked, or in place of which a hook ended the run:
    what becomes of any other is written.
    """
    target = span.attributes.get(_TARGET)
    return type(target) is str and target.startswith(_OF_RIG) and semconv.TOOL_NAME in span.attributes


def _read_outcome(genai_span: GenAISpan, attributes: Mapping[str, Any]) -> None:
    outcome = attributes[_OUTCOME]
    genai_span.note(extent="nested")
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
    kind = span.attributes.get(semconv.ERROR_TYPE)
    return (
        type(kind) is str
        and (kind in _GENERAL or kind.islower() or (span.scope.name, kind) == _BEYOND_LIMIT)
        and not span.status_message
        and not span.events
        and semconv.TOOL_CALL_RESULT not in span.attributes
        and span.attributes.get(_CONTENT, _NO_CONTENT) == _NO_CONTENT
    )


def _read_failure(genai_span: GenAISpan, span: Span, result: object) -> None:
    result = result or first_value(span.attributes, (_LIVEKIT_RESULT, _CONTENT))
    if result and genai_span.refusal is None:
        genai_span.refusal = tool_result(None, result).refusal  # Google ADK
    if genai_span.refusal is None and (words := _words_of_error(span.attributes)) is not None:
        genai_span.refusal, genai_span.is_pending = find_refusal(words), genai_span.is_pending or is_interrupt(words)
    # LiveKit has one type for any failure, and neither words nor arguments where it may not record content.
    if genai_span.arguments in (None, "") and (result or genai_span.scope == LIVEKIT):
        doubt_start(genai_span)
    is_unsaid = genai_span.scope == _COPILOT and span.status_message == _ANY_FAILURE
    if is_unsaid or (genai_span.scope != LIVEKIT and _has_no_words(span)):
        doubt_failure(genai_span)


def _read_failure_of_strands(genai_span: GenAISpan, span: Span) -> None:
    """Read why a call failed in Strands, which writes `Error: ` before what a tool raised.

    The words of a hook that cancels a call (1.x) are its own, and nothing else tells them from those of a tool that answers
    that it failed: neither raises anything, which 1.62 records. Its span's status has the words as well.
    """
    genai_span.status = "error"
    words = event_value(span, semconv.EVENT_CHOICE, semconv.EVENT_MESSAGE)
    if words is None:
        messages = event_value(span, semconv.EVENT_INFERENCE_DETAILS, semconv.OUTPUT_MESSAGES)
        words = response_told(span.attributes.get(semconv.OUTPUT_MESSAGES) if messages is None else messages)
    words = words or span.attributes.get(semconv.OUTPUT_VALUE) or span.status_message
    told = tool_result(None, words)
    genai_span.refusal = genai_span.refusal or told.refusal
    was_raised = any(event.name == semconv.EVENT_EXCEPTION for event in span.events)
    if genai_span.refusal is None and words and not told.failed and not was_raised:
        genai_span.refusal = Refusal(is_sure=False)


def _other_arguments(attributes: Mapping[str, Any]) -> object:
    """Returns the arguments under a name that is not the conventions'."""
    for key in _ARGUMENTS:
        if key in attributes and not is_schema(attributes[key]):
            return tool_arguments(attributes[key])
    if (told := arguments_told(attributes.get(semconv.INPUT_MESSAGES))) is not None:
        return told
    return parameters_of(attributes)
