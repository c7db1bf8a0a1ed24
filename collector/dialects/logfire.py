"""Pydantic Logfire's own instrumentations: the OpenAI Agents SDK, and decorated functions (logfire 3.x, 4.x).

Pydantic AI, which Logfire shows too, writes its spans itself.
"""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.genai_span import IGNORED, Dialect, GenAISpan, Role, context_attributes, genai_span_of
from collector.model.span import Span
from collector.payloads.messages import may_contain_tool_calls, newest_tool_results, newest_user_input
from collector.payloads.values import name_of, parse_any

NAME: Final = "logfire"

_AGENTS_SCOPE: Final = "logfire.openai_agents"
_FUNCTIONS_SCOPE: Final = "logfire"
_NAME: Final = "name"
_INPUT: Final = "input"
_ERROR: Final = "error"
_GROUP: Final = "group_id"
_RESPONSE: Final = "response"
_RAW_INPUT: Final = "raw_input"

_TOOL_SPAN: Final = "Function: "
_AGENT_SPAN: Final = "Agent run: "
_TRACE_SPAN: Final = "OpenAI Agents trace: "
_DECORATED_TOOL: Final = "running tool "  # nothing else tells a decorated tool from another function
_NOT_ARGUMENTS: Final = ("logfire.", "code.", "thread.", "exception.")


def read_span(span: Span) -> GenAISpan | None:
    """What the span is by its name: a template, so fixed by the instrumentation."""
    if span.scope.name == _FUNCTIONS_SCOPE:
        return _read_function(span) if span.name.startswith(_DECORATED_TOOL) else None
    if span.name.startswith(_TOOL_SPAN):
        return _read_tool(span)
    if span.name.startswith((_AGENT_SPAN, _TRACE_SPAN)):
        return _read_context(span, Role.AGENT if span.name.startswith(_AGENT_SPAN) else Role.OTHER)
    return _read_model(span) if semconv.OPERATION_NAME in span.attributes else IGNORED


def _read_function(span: Span) -> GenAISpan:
    """A decorated function: one attribute an argument, under the argument's name."""
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(span.name.removeprefix(_DECORATED_TOOL))
    genai_span.arguments = {
        key: parse_any(value)
        for key, value in span.attributes.items()
        if key != "return" and not key.startswith(_NOT_ARGUMENTS)
    }
    return genai_span


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(_NAME))
    genai_span.arguments = get(_INPUT)
    if get(_ERROR) is not None:
        genai_span.status = "error"
    return genai_span


def _read_context(span: Span, role: Role) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, role, NAME)
    genai_span.name = name_of(get(_NAME))
    genai_span.conversation_id = name_of(get(_GROUP))
    genai_span.attributes = context_attributes(span)
    return genai_span


def _read_model(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.MODEL, NAME)
    if may_contain_tool_calls(get(_RESPONSE)):
        genai_span.output = get(_RESPONSE)
    messages = get(_RAW_INPUT)
    if messages:
        genai_span.user_input = newest_user_input(messages)
        genai_span.results = newest_tool_results(messages)
    return genai_span


DIALECT: Final = Dialect(
    name=NAME,
    keys=(),
    scopes=(_AGENTS_SCOPE, _FUNCTIONS_SCOPE),
    read_span=read_span,
    attributes=frozenset(
        {_NAME, _INPUT, _ERROR, _GROUP, _RESPONSE, _RAW_INPUT, semconv.OPERATION_NAME, semconv.ERROR_TYPE}
    ),
    whole_scopes=(_AGENTS_SCOPE, _FUNCTIONS_SCOPE),
    output_attributes=(_RESPONSE, "final_result"),
    tool_definition_attributes=("model_request_parameters",),
)
