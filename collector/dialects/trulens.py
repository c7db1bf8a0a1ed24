"""TruLens (trulens-core 2.16): functions of an application that are instrumented with a type, ``ai.observability.span_type``.

Their arguments have an attribute each, and what they returned is a text: of a request to a model the repr of its response.
"""

from __future__ import annotations

import json
from typing import Any, Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import compare_with_offered, context_span_of, genai_span_of, model_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.values import name_of, parse_any

NAME: Final = "trulens"

_PREFIX: Final = "ai.observability."
_TYPE: Final = _PREFIX + "span_type"
_APP: Final = _PREFIX + "app_name"
_INPUT: Final = _PREFIX + "record_root.input"
_FUNCTION: Final = _PREFIX + "call.function"
_ARGUMENT: Final = _PREFIX + "call.kwargs."
_RETURNED: Final = _PREFIX + "call.return"
_ERROR: Final = _PREFIX + "call.error"
_MESSAGES: Final = _ARGUMENT + "messages"
_TOOLS: Final = _ARGUMENT + "tools"


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its type."""
    kind = span.attributes.get(_TYPE)
    if kind in ("tool", "MCP"):
        return _read_tool(span)
    if kind == "generation":
        return _read_model(span)
    if kind in ("record_root", "nested_record_root"):
        genai_span = context_span_of(span, Role.AGENT, NAME, span.attributes.get(_INPUT))
        genai_span.name = name_of(span.attributes.get(_APP))
        return genai_span
    if kind == "agent":
        genai_span = context_span_of(span, Role.AGENT, NAME)
        genai_span.name = _function(span)
        return genai_span
    return IGNORED


def _function(span: Span) -> str | None:
    """Returns the last part of the path of a function: ``shop.tools.pay`` is offered to a model as `pay`."""
    path = name_of(span.attributes.get(_FUNCTION)) or name_of(span.name)
    return None if path is None else name_of(path.rpartition(".")[2]) or path


def _arguments(span: Span) -> dict[str, Any]:
    return {
        key.removeprefix(_ARGUMENT): parse_any(value)
        for key, value in span.attributes.items()
        if key.startswith(_ARGUMENT)
    }


def _read_tool(span: Span) -> GenAISpan:
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name, genai_span.arguments = _function(span), _arguments(span)
    if span.attributes.get(_ERROR) is not None:
        genai_span.status = "error"
    return genai_span


def _read_model(span: Span) -> GenAISpan:
    genai_span = model_span_of(span, NAME, span.attributes.get(_RETURNED), span.attributes.get(_MESSAGES))
    tools = span.attributes.get(_TOOLS)
    if genai_span.output is not None and tools:
        definitions = tools if type(tools) is str else json.dumps([parse_any(tool) for tool in tools])
        compare_with_offered(genai_span, definitions)
    return genai_span


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    keys=(_TYPE,),
    read_span=read_span,
    markers=(_TYPE.encode(),),
    attributes=frozenset({_APP, _INPUT, _FUNCTION, _RETURNED, _ERROR, semconv.ERROR_TYPE}),
    prefixes=(_ARGUMENT,),
    output_attributes=(_RETURNED,),
)
