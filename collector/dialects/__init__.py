"""The table of dialects, and how a span or log record finds its own.

A span may speak two dialects at once (an OpenInference processor over native spans): the first in the table says what it
is, the next ones only fill in what the first left open.
"""

from __future__ import annotations

from typing import Final

from collector.dialects import (
    ai_sdk,
    generic,
    genkit,
    google_adk,
    haystack,
    langfuse,
    langsmith,
    litellm,
    logfire,
    mastra,
    mcp,
    mlflow,
    openinference,
    openlit,
    openllmetry,
    otel_genai,
    pydantic_ai,
)
from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.genai_span import (
    IGNORED,
    GenAISpan,
    Role,
    context_attributes,
    fill_missing,
    genai_span_of,
    has_remote_parent,
)
from collector.model.span import LogRecord, Span

DIALECTS: Final[tuple[Dialect, ...]] = (
    openinference.DIALECT,  # its processors write over other dialects' spans, so it says what a span is
    ai_sdk.DIALECT,
    mastra.DIALECT,
    genkit.DIALECT,
    langsmith.DIALECT,
    langfuse.DIALECT,
    mlflow.DIALECT,
    haystack.DIALECT,
    openllmetry.DIALECT,
    google_adk.DIALECT,
    pydantic_ai.DIALECT,
    logfire.DIALECT,
    openlit.DIALECT,
    litellm.DIALECT,
    mcp.DIALECT,
    otel_genai.DIALECT,  # the others leave to it whatever keeps to the conventions
    generic.DIALECT,  # only where no other has an answer
)

_BY_SCOPE: Final = {scope: dialect for dialect in DIALECTS for scope in dialect.scopes}
_BY_KEY: Final = tuple((key, dialect) for dialect in DIALECTS for key in dialect.keys)
_OTHER_KEYS: Final = frozenset(key for key, dialect in _BY_KEY if dialect is not otel_genai.DIALECT)
_WITH_LOGS: Final = tuple(dialect.read_log for dialect in DIALECTS if dialect.read_log is not None)
_CONTEXT_ATTRIBUTES: Final = (semconv.HTTP_ROUTE, semconv.URL_PATH, semconv.RIGHTCALL_ROUTE, semconv.RIGHTCALL_INTENT)

MARKERS: Final[tuple[bytes, ...]] = (
    *dict.fromkeys(marker for dialect in DIALECTS for marker in dialect.markers),
    semconv.HTTP_ROUTE.encode(),
)
"""A span that matters to a run contains one of these, or has no parent in its process, or is of one of the SCOPES."""

SCOPES: Final[frozenset[str]] = frozenset(scope for dialect in DIALECTS for scope in dialect.whole_scopes)
"""Scopes whose spans all matter, and with all their attributes: some have no marker, some any attribute as argument."""

ATTRIBUTES: Final[frozenset[str]] = frozenset(semconv.EVENT_ATTRIBUTES).union(
    _CONTEXT_ATTRIBUTES, *(dialect.attributes.union(dialect.keys) for dialect in DIALECTS)
)
"""The attributes of spans, their events and log records worth decoding: what some dialect looks at."""

ATTRIBUTE_PREFIXES: Final[tuple[str, ...]] = tuple(dict.fromkeys(p for dialect in DIALECTS for p in dialect.prefixes))


def read_span(span: Span) -> GenAISpan | None:
    """What ``span`` means for an agent run.

    None: it carries some marker and no dialect understands it (a blind spot, to be counted). ``IGNORED``: understood,
    and not needed. A root, the first span of a process, or a server span with a route, is at least context.
    """
    attributes = span.attributes
    if span.scope.name not in _BY_SCOPE and _OTHER_KEYS.isdisjoint(
        attributes
    ):  # by far the most: the conventions alone
        genai_span = otel_genai.read_span(span)
    else:
        genai_span = _read_mixed(span)
    if genai_span is None:
        genai_span = generic.read_span(span)
    if not span.parent_span_id or semconv.HTTP_ROUTE in attributes or has_remote_parent(span):
        if genai_span is None or genai_span is IGNORED:
            genai_span = genai_span_of(span, Role.OTHER, "")
        if not genai_span.attributes:
            genai_span.attributes = context_attributes(span)
    return genai_span


def _read_mixed(span: Span) -> GenAISpan | None:
    dialect = _BY_SCOPE.get(span.scope.name)
    genai_span = None if dialect is None else dialect.read_span(span)
    if genai_span is IGNORED:
        return IGNORED
    for key, dialect in _BY_KEY:
        if key in span.attributes and (genai_span is None or genai_span.dialect != dialect.name):
            other = dialect.read_span(span)
            if genai_span is None or genai_span is IGNORED:
                genai_span = other or genai_span
            elif other is not None and other.role is genai_span.role:
                fill_missing(genai_span, other)
    return genai_span


def read_log(record: LogRecord) -> GenAISpan | None:
    """What a log record tells of a model request, or None where it is about something else."""
    for read_record in _WITH_LOGS:
        genai_span = read_record(record)
        if genai_span is not None:
            return genai_span
    return None
