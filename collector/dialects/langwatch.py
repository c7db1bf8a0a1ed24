"""LangWatch (langwatch 1.4 for Python): spans and functions with a type. What they were given and returned is typed JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, genai_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.values import UNREADABLE, name_of, parse_any

NAME: Final = "langwatch"

_SCOPE: Final = "langwatch"
_TYPE: Final = "langwatch.span.type"
_INPUT: Final = "langwatch.input"


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its type, if it is LangWatch's own: it types those of other instrumentations, too."""
    kind = span.attributes.get(_TYPE)
    if span.scope.name != _SCOPE or type(kind) is not str:
        return None
    given = parse_any(span.attributes.get(_INPUT))
    value = given.get("value") if isinstance(given, Mapping) else None
    if kind == "tool":
        genai_span = genai_span_of(span, Role.TOOL, NAME)
        genai_span.name = name_of(span.name)
        # Nothing is written for a function without parameters, as where the input is not captured.
        genai_span.arguments = value if value is None or isinstance(value, Mapping) else UNREADABLE
        return genai_span
    if kind == "agent" or not span.parent_span_id:
        genai_span = context_span_of(span, Role.AGENT if kind == "agent" else Role.OTHER, NAME, value)
        genai_span.name = name_of(span.name)
        return genai_span
    return IGNORED if kind in ("span", "chain", "workflow") else None


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(_SCOPE,),
    read_span=read_span,
    markers=(b"langwatch.span.type",),
    attributes=frozenset({_TYPE, _INPUT, semconv.ERROR_TYPE}),
)  # fmt: skip
