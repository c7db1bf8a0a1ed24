"""Pydantic Logfire's own instrumentations: the OpenAI Agents SDK, and decorated functions (logfire 3.x, 4.x).

Pydantic AI, which Logfire also displays, writes its own spans.
"""

from __future__ import annotations

import json
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.genai_span import (
    IGNORED,
    GenAISpan,
    Role,
    context_span_of,
    genai_span_of,
    model_span_of,
    set_fits,
)
from collector.model.span import Span
from collector.payloads.messages import tool_call_parts
from collector.payloads.offered_tools import fits_of
from collector.payloads.refusals import find_refusal
from collector.payloads.values import name_of, parse_any

NAME: Final = "logfire"

_AGENTS_SCOPE: Final = "logfire.openai_agents"
_FUNCTIONS_SCOPE: Final = "logfire"
_NAME: Final = "name"
_INPUT: Final = "input"
_ERROR: Final = "error"
_GROUP: Final = "group_id"
_RESPONSE: Final = "response"
_OUTPUT: Final = "output"
_RAW_INPUT: Final = "raw_input"

_TOOL_SPAN: Final = "Function: "
_AGENT_SPAN: Final = "Agent run: "
_TRACE_SPAN: Final = "OpenAI Agents trace: "
_CHAT_SPAN: Final = "Chat completion with "
_DECORATED_TOOL: Final = "running tool "  # nothing else distinguishes a decorated tool from another function
_FUNCTION: Final = "code.function"
_NOT_ARGUMENTS: Final = ("logfire.", "code.", "thread.", "exception.")


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its name, a template, which is constant."""
    if span.scope.name == _FUNCTIONS_SCOPE:
        return _read_function(span, span.name.removeprefix(_DECORATED_TOOL)) if _is_decorated_tool(span) else None
    if span.name.startswith(_TOOL_SPAN):
        return _read_tool(span)
    if span.name.startswith((_AGENT_SPAN, _TRACE_SPAN)):
        return _read_context(span, Role.AGENT if span.name.startswith(_AGENT_SPAN) else Role.OTHER)
    if span.name.startswith(_CHAT_SPAN):
        return model_span_of(span, NAME, span.attributes.get(_OUTPUT), span.attributes.get(_INPUT))
    if semconv.OPERATION_NAME in span.attributes:
        return _read_model(span)
    return IGNORED


def _read_model(span: Span) -> GenAISpan:
    genai_span = model_span_of(span, NAME, span.attributes.get(_RESPONSE), span.attributes.get(_RAW_INPUT))
    response = parse_any(genai_span.output)
    # A response of OpenAI's repeats the tools of its request.
    if isinstance(response, dict) and response.get("tools"):
        set_fits(genai_span, fits_of(tool_call_parts(response), json.dumps(response["tools"])))
    return genai_span


def _is_decorated_tool(span: Span) -> bool:
    """Whether the span is the call of the function that its name tells: one that the application opens itself is not."""
    function = span.attributes.get(_FUNCTION)
    return type(function) is str and span.name == f"{_DECORATED_TOOL}{function.rsplit('.', 1)[-1]}"


def _read_function(span: Span, name: str) -> GenAISpan:
    """Reads a decorated function: one attribute per argument, under the argument's name."""
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(name)
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
    genai_span.is_pending = _INPUT in span.attributes and get(_OUTPUT) == "null" and get(_ERROR) is None
    if (error := get(_ERROR)) is not None:
        genai_span.status = "error"
        genai_span.refusal = find_refusal(error) if type(error) is str else None
    return genai_span


def _read_context(span: Span, role: Role) -> GenAISpan:
    genai_span = context_span_of(span, role, NAME, conversation_id=name_of(span.attributes.get(_GROUP)))
    genai_span.name = name_of(span.attributes.get(_NAME))
    return genai_span


DIALECT: Final = Dialect(
    name=NAME,
    keys=(),
    scopes=(_AGENTS_SCOPE, _FUNCTIONS_SCOPE),
    read_span=read_span,
    attributes=frozenset(
        {_NAME, _INPUT, _OUTPUT, _ERROR, _GROUP, _RESPONSE, _RAW_INPUT, semconv.OPERATION_NAME, semconv.ERROR_TYPE}
    ),
    whole_scopes=(_AGENTS_SCOPE, _FUNCTIONS_SCOPE),
    output_attributes=(_RESPONSE, "final_result"),
    tool_definition_attributes=("model_request_parameters",),
)
