"""Pydantic AI's instrumentation versions 1 to 6 (pydantic-ai 1.x and 2.x), where it leaves the GenAI conventions.

Agent and tool spans of 1.x have no operation name; versions 1 and 2 have argument attributes of their own; version 1
puts a request's messages into one attribute as a list of events.
"""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.genai_span import IGNORED, Dialect, GenAISpan, Role, context_attributes, genai_span_of
from collector.model.span import Span
from collector.payloads.messages import newest_tool_results, newest_user_input
from collector.payloads.values import MAX_TEXT, name_of, parse_any

NAME: Final = "pydantic_ai"

_AGENT_NAME: Final = "agent_name"
_TRANSCRIPTS: Final = ("pydantic_ai.all_messages", "all_messages_events")
_ARGUMENTS: Final = "tool_arguments"
_EVENTS: Final = "events"
_AGENT_SPANS: Final = ("agent run", "invoke_agent ")
_TOOL_SPANS: Final = ("running tool", "execute_tool ", "running output function")
_TOOL_GROUP: Final = "running tools"  # the span around the tools of one turn


def read_span(span: Span) -> GenAISpan | None:
    """What the span is by name; None leaves it to the GenAI conventions."""
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
    return genai_span


def _read_agent(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.AGENT, NAME)
    genai_span.tracing = "complete"
    genai_span.name = name_of(get(semconv.AGENT_NAME)) or name_of(get(_AGENT_NAME))
    transcript = next((text for key in _TRANSCRIPTS if (text := get(key))), None)
    if type(transcript) is str and len(transcript) <= MAX_TEXT:
        genai_span.user_input = transcript  # with history: the newest question is this run's
    genai_span.attributes = context_attributes(span)
    return genai_span


def _read_events(span: Span) -> GenAISpan:
    """A version 1 request: history and answer are one list, only the choice is new."""
    genai_span = genai_span_of(span, Role.MODEL, NAME)
    text = span.attributes[_EVENTS]
    events = parse_any(text)
    if isinstance(events, list):
        choices = [e for e in events if isinstance(e, dict) and e.get(semconv.EVENT_NAME) == semconv.EVENT_CHOICE]
        messages = [e for e in events if isinstance(e, dict) and e.get(semconv.EVENT_NAME) != semconv.EVENT_CHOICE]
        genai_span.output = choices or None
        genai_span.user_input = newest_user_input(messages)
        genai_span.results = newest_tool_results(messages)
    return genai_span


DIALECT: Final = Dialect(
    name=NAME,
    keys=(),
    scopes=("pydantic-ai",),
    read_span=read_span,
    attributes=frozenset({
        _AGENT_NAME, *_TRANSCRIPTS, _ARGUMENTS, _EVENTS, semconv.AGENT_NAME, semconv.TOOL_NAME, semconv.TOOL_CALL_ID,
        semconv.TOOL_CALL_ARGUMENTS, semconv.ERROR_TYPE,
    }),
    output_attributes=("final_result",),
    tool_definition_attributes=("model_request_parameters",),
)  # fmt: skip
