"""Braintrust (braintrust-sdk-java 0.3): spans typed by ``braintrust.span_attributes``, with what went in and out as JSON.

Around LangChain4j it leaves spans without attributes as well: those of an AI service's methods, each of which is an agent's
run, and of a tool that failed, which its exception tells.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import MAX_EVENTS, context_span_of, genai_span_of, model_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.refusals import Refusal
from collector.payloads.values import name_of, parse_any

NAME: Final = "braintrust"

_LANGCHAIN4J: Final = "braintrust-langchain4j"
_KIND: Final = "braintrust.span_attributes"
_INPUT: Final = "braintrust.input_json"
_OUTPUT: Final = "braintrust.output_json"
_STEPS: Final = ("task", "score", "eval", "automation", "facet", "preprocessor")
_EXCEPTIONS: Final = "dev.langchain4j.exception.Tool"
"""Begins the types with which LangChain4j's executor of tools fails; an AI service unwraps them."""
_OF_ARGUMENTS: Final = "dev.langchain4j.exception.ToolArgumentsException"  # thrown before the tool is called
_BEYOND_LIMIT: Final = re.compile(
    r"Something is wrong, exceeded \d+ (?:tool calling round trips|sequential tool invocations)\b"
)
"""An AI service ends with this in place of the calls of an answer."""
_MAX_TRACE: Final = 4_000
"""How much of a stack trace is searched."""
_UNREFLECTED: Final = re.compile(
    r"java\.lang\.IllegalArgumentException[^\n]*\n(?:\s+at (?:java\.base/)?(?:jdk\.internal|java\.lang)\.[^\n]+\n)+"
    r"\s+at dev\.langchain4j\.service\.tool\.DefaultToolExecutor\."
)
"""Java's reflection did not call the tool, whose arguments lack a number: LangChain4j before 1.19 does not look at them."""


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its type; None leaves one of another type to the other dialects."""
    attributes = parse_any(span.attributes.get(_KIND))
    kind = attributes.get("type") if isinstance(attributes, Mapping) else None
    if kind == "tool":
        return _read_tool(span)
    if kind == "llm":
        return model_span_of(span, NAME, span.attributes.get(_OUTPUT), span.attributes.get(_INPUT))
    if kind is None and span.scope.name == _LANGCHAIN4J:
        return _read_untyped(span)
    return IGNORED if kind in _STEPS else None


def _read_tool(span: Span) -> GenAISpan:
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(span.name)
    genai_span.arguments = span.attributes.get(_INPUT)
    return genai_span


def _read_untyped(span: Span) -> GenAISpan:
    raised = [event.attributes for event in span.events[:MAX_EVENTS] if event.name == semconv.EVENT_EXCEPTION]
    kinds = [kind for one in raised if type(kind := one.get(semconv.EXCEPTION_TYPE)) is str]
    is_refused = _OF_ARGUMENTS in kinds or any(
        _is_unreflected(one.get(semconv.EXCEPTION_STACK_TRACE)) for one in raised
    )
    if not is_refused and not any(kind.startswith(_EXCEPTIONS) for kind in kinds):
        genai_span = context_span_of(span, Role.AGENT, NAME)
        genai_span.name = name_of(span.name)
        if _BEYOND_LIMIT.match(span.status_message) is not None:
            genai_span.refusal = Refusal(is_of_rest=True)
        return genai_span
    genai_span = _read_tool(span)
    if is_refused:
        genai_span.refusal = Refusal()
    return genai_span


def _is_unreflected(trace: object) -> bool:
    return type(trace) is str and _UNREFLECTED.match(trace, 0, _MAX_TRACE) is not None


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    keys=(_KIND,),
    scopes=(_LANGCHAIN4J,),
    read_span=read_span,
    markers=(_KIND.encode(),),
    attributes=frozenset({_INPUT, _OUTPUT, semconv.ERROR_TYPE}),
    whole_scopes=(_LANGCHAIN4J,),
    output_attributes=(_OUTPUT,),
)
