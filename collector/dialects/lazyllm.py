"""LazyLLM (1.4): a span for each module and flow of an agent, typed by ``lazyllm.semantic_type``.

Its manager of tools has the type of a tool, and holds all calls of a turn; below it each tool that runs is a module without a
type, which is known by the form of its input. The attributes of Langfuse are beside its own, and say less.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import compare_with_offered, context_span_of, genai_span_of, model_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.offered_tools import tools_in_request
from collector.payloads.values import name_of, parse_any, parse_json

NAME: Final = "lazyllm"

_SCOPE: Final = "lazyllm.tracing"
_TYPE: Final = "lazyllm.semantic_type"
_ENTITY: Final = "lazyllm.entity.name"
_INPUT: Final = "lazyllm.io.input"
_OUTPUT: Final = "lazyllm.io.output"
_STATUS: Final = "lazyllm.status"
_CHECKED: Final = "_ValidatedToolInput(value="
"""Begins the input of a tool: what its manager makes of the arguments once they fit it."""


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its type, and a module without one by its input."""
    kind = span.attributes.get(_TYPE)
    if kind == "llm":
        return _read_model(span)
    if kind == "agent":
        genai_span = context_span_of(span, Role.AGENT, NAME, span.attributes.get(_INPUT))
        genai_span.name = name_of(span.attributes.get(semconv.AGENT_NAME)) or name_of(span.attributes.get(_ENTITY))
        return genai_span
    if kind == "tool":
        return genai_span_of(span, Role.GROUP, NAME)
    given = span.attributes.get(_INPUT)
    return _read_tool(span, given) if kind is None and type(given) is str and _CHECKED in given else IGNORED


def _read_tool(span: Span, given: str) -> GenAISpan:
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(span.attributes.get(_ENTITY)) or name_of(span.name)
    genai_span.arguments = _checked(given)
    if span.attributes.get(_STATUS) == "error":
        genai_span.status = "error"
    return genai_span


def _checked(given: str) -> Any:
    """Returns the arguments in the repr of what the manager checked; None if it was cut off."""
    inputs = parse_json(given)
    values = inputs.get("args") if isinstance(inputs, Mapping) else None
    text = values[0] if isinstance(values, list) and values else None
    if type(text) is not str or not text.startswith(_CHECKED) or not text.endswith(")"):
        return None
    arguments = parse_any(text[len(_CHECKED) : -1])
    return arguments if isinstance(arguments, Mapping) else None


def _read_model(span: Span) -> GenAISpan:
    given = span.attributes.get(_INPUT)
    genai_span = model_span_of(span, NAME, span.attributes.get(_OUTPUT), given)
    if genai_span.output is not None:
        compare_with_offered(genai_span, tools_in_request(given))
    return genai_span


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(_SCOPE,),
    read_span=read_span,
    markers=(_TYPE.encode(), _CHECKED.encode()),
    attributes=frozenset({_TYPE, _ENTITY, _INPUT, _OUTPUT, _STATUS, semconv.AGENT_NAME, semconv.ERROR_TYPE}),
    output_attributes=(_OUTPUT,),
    request_attributes=(_INPUT,),
)
