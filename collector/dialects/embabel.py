"""Embabel (0.5, JVM): spans in the GenAI conventions, of which that of a call is written when the call has ended.

It lasts no time. How long the call took is an attribute.
"""

from __future__ import annotations

from typing import Final

from collector.model.dialect import Dialect
from collector.model.from_span import genai_span_of
from collector.model.genai_span import GenAISpan, Role
from collector.model.span import Span
from collector.payloads.values import name_of

NAME: Final = "embabel"

_TOOL_NAME: Final = "embabel.tool.name"
_MILLISECONDS: Final = "embabel.tool.duration_ms"
_MAX_DIGITS: Final = 12


def read_span(span: Span) -> GenAISpan | None:
    """Reads a call, as far as the conventions do not tell of it: from when it ran."""
    lasted = span.attributes.get(_MILLISECONDS)
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(span.attributes.get(_TOOL_NAME))
    if type(lasted) is str and len(lasted) <= _MAX_DIGITS and lasted.isdecimal():
        genai_span.start_ns = max(0, span.start_ns - int(lasted) * 1_000_000)
    return genai_span


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    keys=(_MILLISECONDS,),
    read_span=read_span,
    markers=(_MILLISECONDS.encode(),),
    attributes=frozenset({_TOOL_NAME}),
)
