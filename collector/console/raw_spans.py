"""The raw spans of a run as they were stored: what was exported of them, redacted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from collector.errors import DecodeError
from collector.otlp.json import from_protobuf
from collector.otlp.lazy import iter_scopes, join, span_id_of
from collector.otlp.structure import Envelope
from collector.runs.database import RunsDatabase

MAX_SHOWN: Final = 30_000
"""Characters of raw spans on the page of a run; the JSON has all of them."""


def as_otlp_json(database: RunsDatabase, trace_id: str) -> bytes:
    """Returns the stored spans of a trace as a line of OTLP/JSON, each once. Raises StoreUnreadableError."""
    try:
        return from_protobuf("traces", join(_spans(database, trace_id)))
    except DecodeError:  # a sender may write into a span what is no OTLP: it was held and exported as it is
        return b'{"resourceSpans": []}\n'


def shown(database: RunsDatabase, trace_id: str) -> tuple[str, bool]:
    """Returns them for people, and whether that is all."""
    document = json.loads(as_otlp_json(database, trace_id))
    text = json.dumps(document, indent=2, ensure_ascii=False) if document.get("resourceSpans") else ""
    return text[:MAX_SHOWN], len(text) <= MAX_SHOWN


def _spans(database: RunsDatabase, trace_id: str) -> Iterator[tuple[Envelope, list[bytes]]]:
    seen: set[bytes] = set()
    # A span may be stored with several verdicts: that on its run, on the whole trace, and those of shadow rules.
    for request in database.spans(trace_id):
        for envelope, spans in iter_scopes(request):
            new = [span for span in spans if span_id_of(span) not in seen]
            seen.update(span_id_of(span) for span in new)
            if new:
                yield envelope, new
