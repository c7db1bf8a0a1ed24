"""Laminar (lmnr 0.7 for Python, @lmnr-ai/lmnr 0.8): functions under ``observe`` with a type.

Those of frameworks that have it built in name their tools in words of their own, so they are read by their shape (OpenHands).
"""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, genai_span_of, set_raised
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.values import UNREADABLE, name_of

NAME: Final = "laminar"

_SCOPE: Final = "lmnr.tracer"
_TYPE: Final = "lmnr.span.type"
_PATH: Final = "lmnr.span.path"
_INPUT: Final = "lmnr.span.input"
_SESSION: Final = "lmnr.association.properties.session_id"
_CALL_ID: Final = "lmnr.association.properties.metadata.tool_call_id"


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its type, which by default JavaScript leaves out."""
    kind = span.attributes.get(_TYPE, "DEFAULT")
    if span.scope.name != _SCOPE or _PATH not in span.attributes or _CALL_ID in span.attributes:
        return None
    if kind == "TOOL":
        genai_span = genai_span_of(span, Role.TOOL, NAME)
        given = span.attributes.get(_INPUT)
        # In JavaScript a list of what was passed, unless that is one object.
        genai_span.name = name_of(span.name)
        genai_span.arguments = UNREADABLE if type(given) is str and given[:1] == "[" else given
        set_raised(genai_span, span)  # JavaScript sets no status
        return genai_span
    # Frameworks that trace themselves export through Laminar's tracer, too (Vercel's AI SDK): their words prevail.
    if kind != "DEFAULT" or _INPUT not in span.attributes:
        return None
    if span.parent_span_id:
        return IGNORED
    conversation_id = name_of(span.attributes.get(_SESSION))
    genai_span = context_span_of(span, Role.OTHER, NAME, span.attributes.get(_INPUT), conversation_id)
    set_raised(genai_span, span)
    return genai_span


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(_SCOPE,),
    read_span=read_span,
    markers=(b"lmnr.span.path",),
    attributes=frozenset({_TYPE, _PATH, _INPUT, _SESSION, _CALL_ID, semconv.ERROR_TYPE}),
)  # fmt: skip
