"""Finds what of a run was read from attributes whose values must not leave.

Dialects find the same under many attributes, and in spans of unknown words under any. So a span or log record that has a
hidden attribute is read once more, as it leaves: what is then read otherwise came from there, and is left out wherever the
run is told of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from collector.model.genai_span import IGNORED, Content, GenAISpan, Told
from collector.model.span import LogRecord, Span, SpanEvent, copied
from collector.results.redaction import Redaction

_NO_CONTENT: Final = Content()


def span_reader(
    read_span: Callable[[Span], GenAISpan | None], redaction: Redaction
) -> Callable[[Span], GenAISpan | None]:
    """Returns a reader of spans that notes what ``redaction`` hides of what it reads."""

    def read(span: Span) -> GenAISpan | None:
        genai_span = read_span(span)
        if genai_span is not None and genai_span is not IGNORED:
            leaving = copied(span, span.name, redaction.decoded(span.attributes))
            leaving.events = [
                SpanEvent(event.name, event.time_ns, redaction.decoded(event.attributes)) for event in span.events
            ]
            if leaving != span:
                _note_hidden(genai_span, read_span(leaving))
        return genai_span

    return read


def log_reader(
    read_log: Callable[[LogRecord], GenAISpan | None], redaction: Redaction
) -> Callable[[LogRecord], GenAISpan | None]:
    """Returns a reader of log records that notes what ``redaction`` hides of what it reads."""

    def read(record: LogRecord) -> GenAISpan | None:
        genai_span = read_log(record)
        if genai_span is not None:
            attributes, body = redaction.decoded(record.attributes), redaction.decoded(record.body)
            leaving = replace(record, attributes=attributes, body=body)
            if leaving != record:
                _note_hidden(genai_span, read_log(leaving))
        return genai_span

    return read


def _note_hidden(read: GenAISpan, leaving: GenAISpan | None) -> None:
    told, shown = _told(read), _told(leaving or IGNORED)
    hidden = frozenset([name for name, value in told.items() if value != shown[name]])
    if hidden:
        read.content = replace(read.content or _NO_CONTENT, hidden=hidden)


def _told(read: GenAISpan) -> dict[Told, Any]:
    """Returns what a run may take each of these from."""
    content = read.content or _NO_CONTENT
    return {
        "input": (read.user_input, read.history),
        "response": (read.output, read.history, content.output),
        "arguments": (read.arguments, read.output, read.history, read.tool_results),
        "tools": content.tool_definitions,
    }
