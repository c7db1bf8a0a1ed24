"""NVIDIA NeMo Agent Toolkit 1.9: spans of its functions, which OpenInference's kind calls chains.

A function that the workflow itself calls is a tool of its agent, or a step that its code takes without asking a model; so it
is in doubt. Requests to models have OpenInference's attributes, and are left to it.
"""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import genai_span_of
from collector.model.genai_span import GenAISpan, Role
from collector.model.span import Span
from collector.payloads.values import name_of

NAME: Final = "nat"

_KIND: Final = "nat.span.kind"
_FRAMEWORK: Final = "nat.framework"
_FUNCTION: Final = "nat.function.name"
_PARENT: Final = "nat.function.parent_name"
_WORKFLOW: Final = "<workflow>"
_OWN: Final = "unknown"
"""The framework of the toolkit's own functions: others are the steps of LangChain's graphs."""


def read_span(span: Span) -> GenAISpan | None:
    """Reads a function that the workflow calls; None for any other span."""
    get = span.attributes.get
    if get(_KIND) != "FUNCTION" or get(_PARENT) != _WORKFLOW or get(_FRAMEWORK) != _OWN:
        return None
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(_FUNCTION))
    genai_span.arguments = get(semconv.INPUT_VALUE)
    genai_span.note(identity="guessed")
    if semconv.OUTPUT_VALUE not in span.attributes:  # it may have failed: that too ends with the status of a success
        genai_span.status = "unset"
    return genai_span


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(NAME,),
    read_span=read_span,
    attributes=frozenset({_KIND, _FRAMEWORK, _FUNCTION, _PARENT, semconv.INPUT_VALUE, semconv.OUTPUT_VALUE}),
)
