"""Agenta (agenta 0.64): functions under ``@ag.instrument``, of the type that they are given. Each input has an attribute."""

from __future__ import annotations

import json
from typing import Any, Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, genai_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.values import name_of, parse_any

NAME: Final = "agenta"

_SCOPE: Final = "agenta.tracer"
_TYPE: Final = "ag.type.node"
_INPUT: Final = "ag.data.inputs."
_JSON: Final = "@ag.type=json:"
"""Before the text of a value that is none of the types that attributes have."""


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its type, which applications write in either case; None leaves others to their own dialects."""
    kind = span.attributes.get(_TYPE)
    if type(kind) is not str:
        return None
    kind = kind.lower()
    if kind == "tool":
        genai_span = genai_span_of(span, Role.TOOL, NAME)
        genai_span.name, genai_span.arguments = name_of(span.name), _inputs(span)
        return genai_span
    if kind == "agent" or not span.parent_span_id:
        inputs = _inputs(span)
        question = json.dumps(inputs, default=str) if inputs else None
        role = Role.AGENT if kind == "agent" else Role.OTHER
        genai_span = context_span_of(span, role, NAME, question)
        genai_span.name = name_of(span.name)
        return genai_span
    return None if kind in ("chat", "completion") else IGNORED


def _inputs(span: Span) -> dict[str, Any]:
    """Returns the inputs; those that are None are left out, and so nothing tells them from none."""
    return {
        key.removeprefix(_INPUT): parse_any(value[len(_JSON) :]) if str(value).startswith(_JSON) else value
        for key, value in span.attributes.items()
        if key.startswith(_INPUT)
    }


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(_SCOPE,),
    read_span=read_span,
    markers=(b"ag.type.node",),
    attributes=frozenset({_TYPE, semconv.ERROR_TYPE}),
    prefixes=(_INPUT,),
)  # fmt: skip
