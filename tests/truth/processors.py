"""What SDK limits and a collector's processors do to every span of a trace: values are cut, masked or deleted, spans dropped.

Unlike a loss they do the same to each run of a service, so that a verdict that is wrong with one of them is wrong each time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.truth.changes import MS, Change, Stage
from tests.truth.recording import Recording, SpanRow, role

_LENGTHS: Final = (64, 128, 255, 1_024, 4_095)
"""Characters of a value: ``OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT``."""
_COUNTS: Final = (8, 16, 32)
"""Attributes of a span: ``OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT``."""
_EVENTS: Final = (1, 4)
_MASK: Final = "****"  # of the Collector's redaction processor
_SHORTEST_MS: Final = (1, 10)

_PYTHON: Final = KeyValue(key="telemetry.sdk.language", value=AnyValue(string_value="python"))

Edit = Callable[[Span], None]


def limits(item: Recording) -> Iterator[Change]:
    """Limits of an SDK: on the length of values, which nothing tells of, and on how many attributes and events a span has."""
    for length in _LENGTHS:
        yield _edited(item, "limit: value length", str(length), partial(_cut_values, most=length))
    for count in _COUNTS:
        yield _limited(item, count)
    if any(row.span.events for row in item.spans):
        for count in _EVENTS:
            yield _edited(item, "limit: event count", str(count), partial(_limit_events, most=count))


def filters(item: Recording) -> Iterator[Change]:
    """Spans of one role, one name, one kind, or shorter than a limit are dropped."""
    for label, what in (("role", _role), ("name", _name), ("kind", _kind)):
        for value in sorted({what(row) for row in item.spans}):
            yield from _filtered(item, f"by {label}", value, [what(row) == value for row in item.spans])
    for shortest in _SHORTEST_MS:
        took = [row.span.end_time_unix_nano - row.span.start_time_unix_nano for row in item.spans]
        yield from _filtered(item, "short spans", f"{shortest} ms", [ns < shortest * MS for ns in took])


def conversions(item: Recording) -> Iterator[Change]:
    """What older formats on the way have no place for: Zipkin's and Jaeger's know neither scopes nor structured values."""
    plain = InstrumentationScope()
    rows = [SpanRow(row.resource, plain, row.span) for row in item.spans]
    yield Change("converted: no scopes", "", [Stage(0, rows, item.logs)])
    rows = [SpanRow(Resource(), row.scope, row.span) for row in item.spans]
    yield Change("converted: no resources", "", [Stage(0, rows, item.logs)])
    for label, edit in (
        ("all values are text", _as_text),
        ("no kinds", lambda span: span.ClearField("kind")),
        ("no status messages", lambda span: span.status.ClearField("message")),
        ("microseconds", _in_microseconds),
    ):
        yield _edited(item, f"converted: {label}", "", edit)


def keys(item: Recording) -> Iterator[Change]:
    """One attribute is deleted from all spans, or its values are masked."""
    for key in sorted({one.key for row in item.spans for part in _parts(row.span) for one in part.attributes}):
        yield _edited(item, "key: deleted", key, partial(_delete, key=key))
        yield _edited(item, "key: masked", key, partial(_mask, key=key))


def _parts(span: Span) -> Iterator[Span | Span.Event]:
    yield span
    yield from span.events


def _role(row: SpanRow) -> str:
    return role(row.span)


def _name(row: SpanRow) -> str:
    return row.span.name


def _kind(row: SpanRow) -> str:
    return Span.SpanKind.Name(row.span.kind)


def _filtered(item: Recording, family: str, label: str, dropped: Sequence[bool]) -> Iterator[Change]:
    rest = [row for row, is_dropped in zip(item.spans, dropped, strict=True) if not is_dropped]
    lost = [row.span for row, is_dropped in zip(item.spans, dropped, strict=True) if is_dropped]
    if rest and lost:
        yield Change(f"filter: {family}", label, [Stage(0, rest, item.logs)], lost)


def _edited(item: Recording, family: str, label: str, edit: Edit) -> Change:
    rows = []
    for row in item.spans:
        span = Span()
        span.CopyFrom(row.span)
        edit(span)
        rows.append(SpanRow(row.resource, row.scope, span))
    return Change(family, label, [Stage(0, rows, item.logs)])


def _cut_values(span: Span, most: int) -> None:
    for part in _parts(span):
        for one in part.attributes:
            _cut(one.value, most)


def _cut(value: AnyValue, most: int) -> None:
    if value.HasField("string_value"):
        value.string_value = value.string_value[:most]
    elif value.HasField("array_value"):
        for inner in value.array_value.values:
            _cut(inner, most)


def _limited(item: Recording, most: int) -> Change:
    rows = []
    for row in item.spans:
        span = Span()
        span.CopyFrom(row.span)
        dropped = max(0, len(span.attributes) - most)
        if any(one == _PYTHON for one in row.resource.attributes):  # what was set first makes room
            del span.attributes[:dropped]
        else:
            del span.attributes[most:]
        span.dropped_attributes_count += dropped
        rows.append(SpanRow(row.resource, row.scope, span))
    return Change("limit: attribute count", str(most), [Stage(0, rows, item.logs)])


def _limit_events(span: Span, most: int) -> None:
    dropped = len(span.events) - most
    if dropped > 0:
        del span.events[:dropped]
        span.dropped_events_count += dropped


def _as_text(span: Span) -> None:
    for part in _parts(span):
        for one in part.attributes:
            if not one.value.HasField("string_value"):
                one.value.string_value = json.dumps(_plain(one.value))


def _plain(value: AnyValue) -> object:
    if value.HasField("array_value"):
        return [_plain(inner) for inner in value.array_value.values]
    if value.HasField("kvlist_value"):
        return {inner.key: _plain(inner.value) for inner in value.kvlist_value.values}
    kind = value.WhichOneof("value")
    return str(getattr(value, kind)) if kind == "bytes_value" else getattr(value, kind) if kind else None


def _in_microseconds(span: Span) -> None:
    span.start_time_unix_nano -= span.start_time_unix_nano % 1_000
    span.end_time_unix_nano -= span.end_time_unix_nano % 1_000


def _delete(span: Span, key: str) -> None:
    for part in _parts(span):
        for one in [one for one in part.attributes if one.key == key]:
            part.attributes.remove(one)


def _mask(span: Span, key: str) -> None:
    for part in _parts(span):
        for one in part.attributes:
            if one.key == key:
                one.CopyFrom(KeyValue(key=key, value=AnyValue(string_value=_MASK)))


FAMILIES: Final = {"limits": limits, "filters": filters, "keys": keys, "conversions": conversions}
