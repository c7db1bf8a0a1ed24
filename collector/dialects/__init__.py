"""The table of dialects, and how a span or log record finds its own.

A span may speak two dialects at once (an OpenInference processor over native spans): the first in the table says what it
is, the next ones only fill in what the first left open.
"""

from __future__ import annotations

from typing import Final

from collector import semconv
from collector.reading import IGNORED, Dialect, Reading, Role, context_attributes, fill, reading_of
from collector.span import LogRecord, Span

from . import ai_sdk, genkit, google_adk, mastra, mcp, openinference, openllmetry, otel_genai, pydantic_ai

DIALECTS: Final[tuple[Dialect, ...]] = (
    openinference.DIALECT,  # its processors write over other dialects' spans, so it says what a span is
    ai_sdk.DIALECT,
    mastra.DIALECT,
    genkit.DIALECT,
    openllmetry.DIALECT,
    google_adk.DIALECT,
    pydantic_ai.DIALECT,
    mcp.DIALECT,
    otel_genai.DIALECT,  # last of those with a shape: the others keep to it where they do not leave it
)

_BY_KEY: Final = tuple((key, dialect) for dialect in DIALECTS for key in dialect.keys)
_BY_SCOPE: Final = {scope: dialect for dialect in DIALECTS for scope in dialect.scopes}
_WITH_LOGS: Final = tuple(dialect.read_log for dialect in DIALECTS if dialect.read_log is not None)

_CONTEXT_ATTRIBUTES: Final = (semconv.HTTP_ROUTE, semconv.URL_PATH, semconv.TOOLSCORE_ROUTE, semconv.TOOLSCORE_INTENT)

MARKERS: Final[tuple[bytes, ...]] = (
    *dict.fromkeys(marker for dialect in DIALECTS for marker in dialect.markers),
    semconv.HTTP_ROUTE.encode(),
)
"""A span that matters to a run contains one of these, or has no parent."""

ATTRIBUTES: Final[frozenset[str]] = frozenset().union(
    _CONTEXT_ATTRIBUTES, *(dialect.attributes.union(dialect.keys) for dialect in DIALECTS)
)
"""The attributes worth decoding: what some dialect looks at."""

ATTRIBUTE_PREFIXES: Final[tuple[str, ...]] = tuple(dict.fromkeys(p for dialect in DIALECTS for p in dialect.prefixes))


def read(span: Span) -> Reading | None:
    """What ``span`` means for an agent run.

    None: it carries some marker and no dialect understands it (a blind spot, to be counted). ``IGNORED``: understood,
    and not needed. A root, or a server span with a route, is at least context.
    """
    attributes = span.attributes
    reading = None
    dialect = _BY_SCOPE.get(span.scope.name)
    if dialect is not None:
        reading = dialect.read(span)
    for key, dialect in _BY_KEY:
        if key in attributes:
            other = dialect.read(span)
            if reading is None or reading is IGNORED:
                reading = other or reading
            elif other is not None and other.role == reading.role:
                fill(reading, other)
    if (reading is None or reading is IGNORED) and (not span.parent_span_id or semconv.HTTP_ROUTE in attributes):
        return _read_context(span)
    return reading


def _read_context(span: Span) -> Reading:
    reading = reading_of(span, Role.OTHER, "")
    reading.attributes = context_attributes(span)
    return reading


def read_log(record: LogRecord) -> Reading | None:
    """What a log record tells of a model request, or None where it is about something else."""
    for read_record in _WITH_LOGS:
        reading = read_record(record)
        if reading is not None:
            return reading
    return None
