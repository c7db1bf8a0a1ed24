"""Pydantic AI's instrumentation versions 1 to 6 (pydantic-ai 1.x and 2.x), where it departs from the GenAI conventions.

Agent and tool spans of 1.x have no operation name; versions 1 and 2 have their own attributes for arguments; version
1 writes a request's messages to one attribute, as a list of events.
"""

from __future__ import annotations

import re
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import MAX_EVENTS, context_span_of, genai_span_of, model_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.cut_values import is_cut
from collector.payloads.refusals import Refusal
from collector.payloads.stack_traces import refusal_by_hook_of_pydantic_ai
from collector.payloads.tool_results import tool_result
from collector.payloads.values import MAX_TEXT, find_text, first_name, first_value, name_of, parse_any

NAME: Final = "pydantic_ai"

_AGENT_NAME: Final = "agent_name"
_TRANSCRIPTS: Final = ("pydantic_ai.all_messages", "all_messages_events")
_NEW_FROM: Final = "pydantic_ai.new_message_index"
"""Which message of ``_TRANSCRIPTS[0]`` is the run's first, if it was given earlier ones."""
_WITHOUT_NEW_FROM: Final = ("0.", "1.0.")
"""How versions begin that do not tell."""
_ARGUMENTS: Final = "tool_arguments"
_RESULTS: Final = (semconv.TOOL_CALL_RESULT, "tool_response")
_EVENTS: Final = "events"
_FAILED_AT: Final = "pydantic_ai.tool.failure_stage"
"""Of calls that failed before they ran (2.6x): arguments that do not fit, or that their validator refused."""
_DEFERRED: Final = "pydantic_ai.tool.deferral.name"
"""Why the tool did not answer: it asks for an approval, or another process runs it (2.6x)."""
_ASKS: Final = "ApprovalRequired"
"""Whatever comes of that: a call that was approved runs anew, in a span of its own."""
_CANCELLED: Final = "asyncio.exceptions.CancelledError"
"""What ends the spans of calls beside one that fails and so ends the run. A function in a thread goes on."""
_OF_HOOK: Final = ("pydantic_ai.exceptions.ModelRetry", "pydantic_ai.exceptions.ToolFailed")
"""What a hook raised, before or after the tool. Raised by a tool they have other types (2.x): those of what they become."""
_RESULT: Final = "final_result"
_WAITING, _RUN_ELSEWHERE, _CALL = '{"calls":[', '{"calls":[{', '"part_kind":"tool-call"'
"""In place of a result: the calls that another process runs, and after them those for which a human is asked."""
_BEGINNINGS: Final = ('{"calls":[{"tool_name":"', '{"calls":[],"approvals":[{"tool_name":"')
"""How that begins, also where its end was cut off."""
_WAITING_ID: Final = re.compile(r'"tool_call_id":"([^"]{1,256})"')
_LIMIT: Final = "The next tool call(s) would exceed the tool_calls_limit"
"""With this a run ends in place of the calls of the last answer."""
_AGENT_SPANS: Final = ("agent run", "invoke_agent ")
_TOOL_SPANS: Final = ("running tool", "execute_tool ", "running output function")
_TOOL_GROUP: Final = "running tools"  # the span around the tools of one turn


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its name; None leaves it to the GenAI conventions."""
    if span.name == _TOOL_GROUP:
        return IGNORED
    if span.name.startswith(_TOOL_SPANS) and semconv.TOOL_NAME in span.attributes:
        return _read_tool(span)
    if _AGENT_NAME in span.attributes and span.name.startswith(_AGENT_SPANS):
        return _read_agent(span)
    return _read_events(span) if _EVENTS in span.attributes else None


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(semconv.TOOL_NAME))
    genai_span.call_id = name_of(get(semconv.TOOL_CALL_ID))
    genai_span.arguments = get(semconv.TOOL_CALL_ARGUMENTS, get(_ARGUMENTS))
    if get(_FAILED_AT) == "validation" or get(_DEFERRED) == _ASKS:
        genai_span.refusal = Refusal()
    genai_span.is_pending = _DEFERRED in span.attributes
    if genai_span.status == "error" and genai_span.refusal is None:  # 1.0: the exception has no words
        genai_span.refusal = tool_result(None, first_value(span.attributes, _RESULTS)).refusal or _refusal_by_hook(span)
    if genai_span.error_type == _CANCELLED and genai_span.refusal is None:
        genai_span.note(outcome="text")
    return genai_span


def _refusal_by_hook(span: Span) -> Refusal | None:
    """Returns what an exception tells of a hook that raised it in place of the tool."""
    for event in span.events[:MAX_EVENTS]:
        if event.name == semconv.EVENT_EXCEPTION:
            stack = event.attributes.get(semconv.EXCEPTION_STACK_TRACE)
            if stack is not None:
                return refusal_by_hook_of_pydantic_ai(stack)
            # Functions that take an output raise the same as hooks: only a stack trace tells them apart.
            return Refusal(is_sure=False) if event.attributes.get(semconv.EXCEPTION_TYPE) in _OF_HOOK else None
    return None


def _read_agent(span: Span) -> GenAISpan:
    transcript = first_value(span.attributes, _TRANSCRIPTS)
    if type(transcript) is not str or len(transcript) > MAX_TEXT:
        transcript = None
    genai_span = context_span_of(span, Role.AGENT, NAME, transcript)  # with history: the newest question is this run's
    genai_span.note(traced_calls="all", extent="fresh" if _was_given_nothing(span) else "")
    genai_span.name = first_name(span.attributes, (semconv.AGENT_NAME, _AGENT_NAME))
    result = span.attributes.get(_RESULT)
    if (
        type(result) is str
        and result.startswith(_WAITING)
        and (_CALL in result or (result.startswith(_BEGINNINGS) and is_cut(result)))
    ):
        genai_span.call_id = find_text(_WAITING_ID, result)
        genai_span.is_pending = genai_span.call_id is None
        if result.startswith(_RUN_ELSEWHERE):
            genai_span.note(outcome="told")
    elif _LIMIT in span.status_message:
        genai_span.refusal = Refusal(is_of_rest=True)
    return genai_span


def _is_cut_waiting(result: str) -> bool:
    return result.startswith(_BEGINNINGS) and is_cut(result)


def _was_given_nothing(span: Span) -> bool:
    """Whether an agent's span tells that its run began without earlier messages."""
    version = span.scope.version
    tells = _TRANSCRIPTS[0] in span.attributes and version != "" and not version.startswith(_WITHOUT_NEW_FROM)
    return tells and _NEW_FROM not in span.attributes and not span.lacks_attributes


def _read_events(span: Span) -> GenAISpan:
    """Reads a version 1 request: history and answer are one list, and only the choice is new."""
    events = parse_any(span.attributes[_EVENTS])
    objects = [event for event in events if isinstance(event, dict)] if isinstance(events, list) else []
    choices = [event for event in objects if event.get(semconv.EVENT_NAME) == semconv.EVENT_CHOICE]
    messages = [event for event in objects if event.get(semconv.EVENT_NAME) != semconv.EVENT_CHOICE]
    return model_span_of(span, NAME, choices, messages)


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=("pydantic-ai",),
    read_span=read_span,
    attributes=frozenset({
        _AGENT_NAME, *_TRANSCRIPTS, _NEW_FROM, _ARGUMENTS, _EVENTS, semconv.AGENT_NAME, semconv.TOOL_NAME, semconv.TOOL_CALL_ID,
        semconv.TOOL_CALL_ARGUMENTS, *_RESULTS, _FAILED_AT, _DEFERRED, _RESULT, semconv.ERROR_TYPE,
    }),
    output_attributes=(_RESULT,),
    tool_definition_attributes=("model_request_parameters",),
)  # fmt: skip
