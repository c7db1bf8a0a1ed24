"""What is read of spans and log records while some rules are in force: which attributes, and by which functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from collector import dialects
from collector.config.model import ContextConfig
from collector.judging import recorded_content
from collector.model import semconv
from collector.model.genai_span import GenAISpan, Role
from collector.model.span import LogRecord, Span
from collector.otlp.decode import Decoder, ReadSpan
from collector.results.hidden import log_reader, span_reader
from collector.results.redaction import Redaction
from collector.scoring.rule_files import LoadedRules

_ReadLog = Callable[[LogRecord], GenAISpan | None]


class Reader(NamedTuple):
    """Decodes spans and log records, and makes GenAI spans of them."""

    decoder: Decoder
    span: ReadSpan
    log: _ReadLog
    names: frozenset[str] | None
    """The attributes that are read of every span; None for all."""


def reader_for(
    rules: LoadedRules, context: ContextConfig, redaction: Redaction, dimensions: Sequence[str], *, content: bool
) -> Reader:
    """Returns what reads all that is needed, with ``content`` also what a judge is told."""
    # The decoder skips every other attribute. What is asked for here is paid for with each span of an agent.
    attributes = dialects.ATTRIBUTES.union(
        context.route, context.intent, semconv.TENANT_NAMES, rules.set.attributes, dimensions
    )
    prefixes = dialects.ATTRIBUTE_PREFIXES
    read_span: ReadSpan = dialects.read_span
    read_log: _ReadLog = dialects.read_log
    if content:  # costly, and used by nothing else
        read_span, read_log = recorded_content.read_span, recorded_content.read_log
        attributes, prefixes = attributes | recorded_content.ATTRIBUTES, (*prefixes, *recorded_content.PREFIXES)
    if rules.reads_all_attributes:
        prefixes = ("",)
    if dimensions:
        read_span = _with_attributes(dimensions, read_span)
    if redaction.hides_attributes:
        read_span, read_log = span_reader(read_span, redaction), log_reader(read_log, redaction)
    decoder = Decoder(attributes, prefixes, dialects.SCOPES, dialects.SHAPE_MARKERS, dialects.READING)
    return Reader(decoder, read_span, read_log, None if rules.reads_all_attributes else attributes)


def _with_attributes(names: Sequence[str], read_span: ReadSpan) -> ReadSpan:
    """Returns a reader that leaves these attributes on a model's requests, of which others are not needed."""

    def read(span: Span) -> GenAISpan | None:
        genai_span = read_span(span)
        if genai_span is not None and genai_span.role is Role.MODEL:
            genai_span.attributes = {name: span.attributes[name] for name in names if name in span.attributes}
        return genai_span

    return read
