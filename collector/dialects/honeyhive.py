"""HoneyHive (honeyhive 1.7 for Python): functions under ``@trace`` with an event type. Each argument has an attribute."""

from __future__ import annotations

import json
from typing import Any, Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, genai_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.values import name_of, parse_json

NAME: Final = "honeyhive"

_SCOPE: Final = "honeyhive."
"""Begins the scope's name; a number follows."""
_TYPE: Final = "honeyhive_event_type"
_NAME: Final = "honeyhive_event_name"
_INPUT: Final = "honeyhive_inputs."
_SESSION: Final = "honeyhive.session_id"
_ERROR: Final = "honeyhive_error"


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its event type, if it is of a function: HoneyHive types those of other instrumentations, too."""
    if not span.scope.name.startswith(_SCOPE):
        return None
    kind = span.attributes.get(_TYPE)
    if kind == "tool":
        return _read_tool(span)
    if kind == "chain" and not span.parent_span_id:
        conversation_id = name_of(span.attributes.get(_SESSION))
        return context_span_of(span, Role.OTHER, NAME, json.dumps(_inputs(span), default=str), conversation_id)
    return IGNORED if kind == "chain" else None


def _read_tool(span: Span) -> GenAISpan:
    # A failure has a span of its own beside that of the call.
    if _ERROR in span.attributes and _NAME not in span.attributes:
        return IGNORED
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(span.attributes.get(_NAME)) or name_of(span.name)
    genai_span.arguments = _inputs(span)
    return genai_span


def _inputs(span: Span) -> dict[str, Any]:
    """Returns the arguments: an object or a list is written as JSON, None as the text that Python has for it."""
    return {key.removeprefix(_INPUT): _value(value) for key, value in span.attributes.items() if key.startswith(_INPUT)}


def _value(value: object) -> object:
    if value == "None":
        return None
    parsed = parse_json(value) if type(value) is str and value[:1] in ("{", "[") else None
    return value if parsed is None else parsed


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    keys=(_TYPE,),
    read_span=read_span,
    markers=(b"honeyhive_event_type",),
    attributes=frozenset({_TYPE, _NAME, _SESSION, _ERROR, semconv.ERROR_TYPE}),
    prefixes=(_INPUT,),
)  # fmt: skip
