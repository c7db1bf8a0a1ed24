"""Firebase Genkit's own spans: flows, models and tools as actions, inputs and outputs as JSON."""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.genai_span import IGNORED, Dialect, GenAISpan, Role, context_attributes, genai_span_of
from collector.model.span import Span
from collector.payloads.messages import may_contain_tool_calls, newest_tool_results, newest_user_input
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


def read_span(span: Span) -> GenAISpan | None:
    """What the action is by its subtype; `generate` and other helpers are steps."""
    subtype = span.attributes.get(_SUBTYPE)
    if subtype == "tool" or subtype == "tool.v2":
        return _read_tool(span)
    if subtype == "model":
        return _read_model(span)
    return _read_flow(span) if subtype in _AGENTS else IGNORED


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(_NAME)) or name_of(span.name)
    genai_span.arguments = get(_INPUT)
    if get(_STATE) == "error":
        genai_span.status = "error"
    return genai_span


def _read_model(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.MODEL, NAME)
    if may_contain_tool_calls(get(_OUTPUT)):
        genai_span.output = get(_OUTPUT)
    messages = get(_INPUT)
    if messages:
        genai_span.user_input = newest_user_input(messages)
        genai_span.results = newest_tool_results(messages)
    return genai_span


def _read_flow(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.AGENT, NAME)
    genai_span.tracing = "complete"
    genai_span.name = name_of(get(_NAME)) or name_of(span.name)
    genai_span.conversation_id = name_of(get(_SESSION))
    genai_span.user_input = get(_INPUT)
    genai_span.attributes = context_attributes(span)
    return genai_span


DIALECT: Final = Dialect(
    name=NAME,
    keys=(_TYPE,),
    read_span=read_span,
    markers=(b"genkit:metadata:subtype",),
    attributes=frozenset({_SUBTYPE, _NAME, _INPUT, _OUTPUT, _STATE, _SESSION, semconv.ERROR_TYPE}),
    output_attributes=(_OUTPUT,),
    request_attributes=(_INPUT,),
)
