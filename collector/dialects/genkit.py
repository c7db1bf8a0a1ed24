"""Firebase Genkit's own spans: flows, models and tools as actions, inputs and outputs as JSON."""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.genai_span import IGNORED, Dialect, GenAISpan, Role, context_attributes, reading_of
from collector.model.span import Span
from collector.payloads.messages import may_hold_calls, newest_results, newest_user_input
from collector.payloads.values import name_of

NAME: Final = "genkit"

_TYPE: Final = "genkit:type"
_SUBTYPE: Final = "genkit:metadata:subtype"
_NAME: Final = "genkit:name"
_INPUT: Final = "genkit:input"
_OUTPUT: Final = "genkit:output"
_STATE: Final = "genkit:state"
_SESSION: Final = "genkit:sessionId"

_AGENTS: Final = ("flow", "agent", "executablePrompt")


def read(span: Span) -> GenAISpan | None:
    """What the action is by its subtype; `generate` and other helpers are steps."""
    subtype = span.attributes.get(_SUBTYPE)
    if subtype == "tool" or subtype == "tool.v2":
        return _read_tool(span)
    if subtype == "model":
        return _read_model(span)
    return _read_flow(span) if subtype in _AGENTS else IGNORED


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    reading = reading_of(span, Role.TOOL, NAME)
    reading.name = name_of(get(_NAME)) or name_of(span.name)
    reading.arguments = get(_INPUT)
    if get(_STATE) == "error":
        reading.status = "error"
    return reading


def _read_model(span: Span) -> GenAISpan:
    get = span.attributes.get
    reading = reading_of(span, Role.MODEL, NAME)
    if may_hold_calls(get(_OUTPUT)):
        reading.output = get(_OUTPUT)
    messages = get(_INPUT)
    if messages:
        reading.user_input = newest_user_input(messages)
        reading.results = newest_results(messages)
    return reading


def _read_flow(span: Span) -> GenAISpan:
    get = span.attributes.get
    reading = reading_of(span, Role.AGENT, NAME)
    reading.tracing = "complete"
    reading.name = name_of(get(_NAME)) or name_of(span.name)
    reading.conversation_id = name_of(get(_SESSION))
    reading.user_input = get(_INPUT)
    reading.attributes = context_attributes(span)
    return reading


DIALECT: Final = Dialect(
    name=NAME,
    keys=(_TYPE,),
    read=read,
    markers=(b"genkit:metadata:subtype",),
    attributes=frozenset({_SUBTYPE, _NAME, _INPUT, _OUTPUT, _STATE, _SESSION, semconv.ERROR_TYPE}),
    answers=(_OUTPUT,),
    requests=(_INPUT,),
)
