"""Copies of what was read of a span: into the same span as another dialect reads it, or into another of its form."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

from collector.model.genai_span import GenAISpan
from collector.model.span import Resource

_FILLABLE: Final = tuple(
    f.name for f in fields(GenAISpan) if f.name not in ("span_id", "start_ns", "end_ns", "role", "dialect", "tracing")
)


def fill_missing(genai_span: GenAISpan, other: GenAISpan) -> None:
    """Copy from ``other`` what ``genai_span`` lacks: both were read from the same span, in two dialects.

    A failure that one of them tells stands, and so does that the span may not tell of one: its own status may say that all
    went well.
    """
    if other.status == "error":
        genai_span.status = "error"
    is_silent = genai_span.status == "unset" and genai_span.tracing.outcome == "told"
    mine, genai_span.tracing = genai_span.tracing, other.tracing
    genai_span.note(mine.outcome, mine.identity, mine.extent, mine.traced_calls)
    for name in _FILLABLE:
        known = getattr(genai_span, name)
        if not known or (known == "unset" and not is_silent):
            setattr(genai_span, name, getattr(other, name))


def like(
    span: GenAISpan, span_id: bytes, parent_span_id: bytes, start_ns: int, end_ns: int, resource: Resource
) -> GenAISpan:
    """Returns a span that tells the same as ``span`` under other ids, at another time, from another resource."""
    copied = GenAISpan(span_id, parent_span_id, start_ns, end_ns, span.role, span.dialect, resource, span.remote_parent)
    copied.name, copied.call_id, copied.arguments, copied.agent = span.name, span.call_id, span.arguments, span.agent
    copied.status, copied.error_type, copied.tracing = span.status, span.error_type, span.tracing
    copied.refusal, copied.is_pending, copied.finish = span.refusal, span.is_pending, span.finish
    copied.conversation_id, copied.response_id = span.conversation_id, span.response_id
    copied.output, copied.has_output, copied.tool_results = span.output, span.has_output, span.tool_results
    copied.history, copied.user_input = span.history, span.user_input
    copied.attributes, copied.content, copied.scope = span.attributes, span.content, span.scope
    return copied


def copy_of(span: GenAISpan) -> GenAISpan:
    """Returns a span with the same values, to change one of the two."""
    return like(span, span.span_id, span.parent_span_id, span.start_ns, span.end_ns, span.resource)
