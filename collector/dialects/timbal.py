"""Timbal (2.8): agents, models and tools, of which the metadata tells the type.

It exports its spans each time that one ends, those that go on as if they had ended well: such a span of a tool has no status.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, genai_span_of, model_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.values import name_of, parse_any

NAME: Final = "timbal"

_SCOPE: Final = "timbal"
_METADATA: Final = "timbal.metadata"
_INPUT: Final = "timbal.input"
_OUTPUT: Final = "timbal.output"
_STATUS: Final = "timbal.status.code"


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its type; one that goes on may have no metadata, and is the root."""
    metadata = parse_any(span.attributes.get(_METADATA))
    kind = metadata.get("type") if isinstance(metadata, Mapping) else None
    if kind == "Tool" and isinstance(metadata, Mapping):
        return _read_tool(span, metadata)
    if kind == "LLM":
        return model_span_of(span, NAME, span.attributes.get(_OUTPUT), span.attributes.get(_INPUT))
    if kind == "Agent" or not span.parent_span_id:
        genai_span = context_span_of(span, Role.AGENT, NAME, span.attributes.get(_INPUT))
        genai_span.name = _last_part(span.name)
        genai_span.note(traced_calls="all")
        return genai_span
    return IGNORED if type(kind) is str else None


def _read_tool(span: Span, metadata: Mapping[str, Any]) -> GenAISpan:
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name, genai_span.call_id = _last_part(span.name), name_of(metadata.get("tool_call_id"))
    genai_span.arguments = span.attributes.get(_INPUT)
    if _STATUS not in span.attributes:
        genai_span.status = "unset"
        genai_span.note(outcome="told")
    return genai_span


def _last_part(path: str) -> str | None:
    """Returns the name of what is at the end of a path: `clerk.pay` is a tool of an agent."""
    return name_of(path.rpartition(".")[2])


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(_SCOPE,),
    read_span=read_span,
    markers=(b"timbal.",),
    attributes=frozenset({_METADATA, _INPUT, _OUTPUT, _STATUS, semconv.ERROR_TYPE}),
    output_attributes=(_OUTPUT,),
)  # fmt: skip
