"""Recordings in the private words of tracers that nobody has seen: what the run did is the same, how it is told is not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from zlib import crc32

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests import otlp_data
from tests.truth.changes import Change, Stage
from tests.truth.recording import Recording, SpanRow, role

_PREFIXES = (
    ("gen_ai.", "acme."),
    ("openinference.span.", "acme.node."),
    ("llm.", "acme.request."),
    ("traceloop.entity.", "acme."),
    ("traceloop.span.", "acme.node."),
    ("traceloop.", "acme."),
    ("langfuse.observation.", "acme."),
    ("langfuse.", "acme."),
    ("mastra.", "acme."),
    ("mlflow.", "acme."),
    ("langsmith.", "acme."),
    ("ai.", "acme."),
    ("mcp.", "acme.server."),
)
_WORDS = (
    ("tool", "action"),
    ("operation", "op"),
    ("arguments", "payload"),
    ("parameters", "payload"),
    ("input", "given"),
    ("output", "came_back"),
    ("result", "came_back"),
    ("model", "engine"),
    ("agent", "worker"),
    ("messages", "lines"),
    ("kind", "sort"),
)
_ROLES = {"tool": "step", "agent": "work", "model": "request", "root": "start", "other": "inner"}
_CONTEXT = ("http.", "url.", "service.", "rightcall.", "exception.", "error.type")
_MAX_PARTS = 200

Rewrite = Callable[[Span], None]


def rewritten(item: Recording) -> Iterator[Change]:
    """The recording as each private vocabulary would tell it."""
    for label, rewrites in VOCABULARIES.items():
        yield Change(f"words: {label}", "", [Stage(0, [_rewritten(row, rewrites) for row in item.spans], [])])
    for kind in ("tool", "model"):
        rest = [row for row in item.spans if role(row.span) != kind]
        if len(rest) < len(item.spans):
            rows = [_rewritten(row, (_rename_prefixes,)) for row in rest]
            yield Change(f"words: prefixes, {kind} spans not traced", "", [Stage(0, _reparented(rows, item), [])])
            known = {row.span.span_id for row in rest}
            read = [
                _rewritten(row, (_rename_words, _rename_span)) if row.span.span_id not in known else row
                for row in item.spans
            ]
            yield Change(f"words: {kind} spans private, others known", "", [Stage(0, read, item.logs)])


def _rewritten(row: SpanRow, rewrites: Iterable[Rewrite]) -> SpanRow:
    span = Span()
    span.CopyFrom(row.span)
    for rewrite in rewrites:
        rewrite(span)
    # Two instrumentations stay two: none records each call twice.
    return SpanRow(row.resource, InstrumentationScope(name=f"acme.{crc32(row.scope.name.encode()):08x}"), span)


def _reparented(rows: Sequence[SpanRow], item: Recording) -> Sequence[SpanRow]:
    """The rows with the nearest parent that was traced: a tracer that records no such spans leaves no gaps."""
    traced = {row.span.span_id for row in rows}
    parents = {row.span.span_id: row.span.parent_span_id for row in item.spans}
    for row in rows:
        parent = row.span.parent_span_id
        while parent and parent not in traced and parent in parents:
            parent = parents[parent]
        row.span.parent_span_id = parent
    return rows


def _replace(span: Span, attributes: Iterable[KeyValue]) -> None:
    kept = list(attributes)
    del span.attributes[:]
    span.attributes.extend(kept)


def _renamed(key: str) -> str:
    if key.startswith(_CONTEXT):
        return key
    return next((new + key[len(old) :] for old, new in _PREFIXES if key.startswith(old)), f"acme.{key}")


def _attributes(span: Span) -> list[KeyValue]:
    """Those of the span and of its events."""
    return [*span.attributes, *(item for event in span.events for item in event.attributes)]


def _rename_prefixes(span: Span) -> None:
    for item in _attributes(span):
        item.key = _renamed(item.key)
    for event in span.events:
        event.name = _renamed(event.name)


def _rename_words(span: Span) -> None:
    _rename_prefixes(span)
    for item in _attributes(span):
        for old, new in _WORDS:
            item.key = item.key.replace(old, new)
    for event in span.events:
        for old, new in _WORDS:
            event.name = event.name.replace(old, new)


def _rename_span(span: Span) -> None:
    span.name = _ROLES[role(span)]


def _without_operation(span: Span) -> None:
    words = ("operation", "kind", "type")
    _replace(span, [item for item in span.attributes if not item.key.endswith(words)])


def _into_one(span: Span) -> None:
    values = {item.key: _plain(item) for item in span.attributes}
    _replace(span, otlp_data.attributes({"acme.data": json.dumps(values)}))


def _plain(item: KeyValue) -> object:
    value: object = next(iter(MessageToDict(item.value).values()), None)
    return value


def _into_event(span: Span) -> None:
    event = span.events.add(name="acme.details", time_unix_nano=span.start_time_unix_nano)
    event.attributes.extend(span.attributes)
    del span.attributes[:]


def _flattened(span: Span) -> None:
    parts: dict[str, str] = {}
    for item in span.attributes:
        for key, value in _leaves(item.key, _parsed(item.value.string_value)) if item.value.string_value else ():
            if len(parts) < _MAX_PARTS:
                parts[key] = value
    _replace(span, [item for item in span.attributes if not item.value.string_value])
    span.attributes.extend(otlp_data.attributes(parts))


def _parsed(text: str) -> object:
    try:
        value: object = json.loads(text)
    except ValueError:
        return text
    return value


def _leaves(key: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(f"{key}.{name}", inner)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _leaves(f"{key}.{number}", inner)
    else:
        yield key, value if isinstance(value, str) else json.dumps(value)


def _tools_at_root(span: Span) -> None:
    if role(span) == "tool":
        span.parent_span_id = b""


VOCABULARIES: Mapping[str, Sequence[Rewrite]] = {
    "other scope": (),
    "prefixes": (_rename_prefixes,),
    "prefixes, span names": (_rename_span, _rename_prefixes),
    "keys": (_rename_words,),
    "keys, span names": (_rename_span, _rename_words),
    "prefixes, no operation": (_rename_prefixes, _without_operation),
    "prefixes, no operation, span names": (_rename_span, _rename_prefixes, _without_operation),
    "one JSON attribute": (_rename_prefixes, _into_one),
    "one event": (_rename_prefixes, _into_event),
    "flattened": (_rename_prefixes, _flattened),
    "tool spans without parent": (_tools_at_root, _rename_prefixes),
}
"""What is done to each span, in this order."""
