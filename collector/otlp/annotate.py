"""Write our findings: attributes appended to a span's bytes, evaluation events as log records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue

from collector.otlp import schema
from collector.otlp.lazy import Frame

AttributeValue = str | bool | int | float | Sequence[str]

_OURS = (b"toolscore.", b"gen_ai.evaluation.")
_INFO = 9  # SeverityNumber of an evaluation; WARN for one that failed to run
_WARN = 13


def key_value(key: str, value: AttributeValue) -> bytes:
    """One attribute as a serialised ``KeyValue``."""
    if isinstance(value, str) and len(value) <= 128:
        return _short_text(key, value)
    return KeyValue(key=key, value=_any_value(value)).SerializeToString()


@lru_cache(maxsize=4096)
def _short_text(key: str, value: str) -> bytes:
    """Names and labels repeat from span to span; explanations and ids are not worth remembering."""
    return KeyValue(key=key, value=AnyValue(string_value=value)).SerializeToString()


def _any_value(value: AttributeValue) -> AnyValue:
    if isinstance(value, str):
        return AnyValue(string_value=value)
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    return AnyValue(array_value=ArrayValue(values=[AnyValue(string_value=item) for item in value]))


def annotate(raw: bytes, attributes: Mapping[str, AttributeValue]) -> bytes:
    """Append ``attributes`` to a span; one that the span already has under the same name is replaced.

    Appending a field to a protobuf message is concatenation, so the span's own bytes stay as they were.
    """
    if any(prefix in raw for prefix in _OURS):
        raw = _without(raw, frozenset(key.encode() for key in attributes))
    added: bytes = schema.Span(
        attributes=[key_value(key, value) for key, value in attributes.items()]
    ).SerializeToString()
    return raw + added


def _without(raw: bytes, keys: frozenset[bytes]) -> bytes:
    span = schema.Span.FromString(raw)
    kept = [item for item in span.attributes if schema.KeyValue.FromString(item).key not in keys]
    if len(kept) == len(span.attributes):
        return raw
    del span.attributes[:]
    span.attributes.extend(kept)
    serialized: bytes = span.SerializeToString()
    return serialized


def log_record(
    event_name: str,
    time_ns: int,
    trace_id: bytes,
    span_id: bytes,
    attributes: Mapping[str, AttributeValue],
    *,
    failed: bool,
) -> bytes:
    """An event as a serialised ``LogRecord``, joined to its span by trace and span id."""
    serialized: bytes = schema.LogRecord(
        time_ns=time_ns,
        observed_ns=time_ns,
        severity=_WARN if failed else _INFO,
        attributes=[key_value(key, value) for key, value in attributes.items()],
        trace_id=trace_id,
        span_id=span_id,
        event_name=event_name.encode(),
    ).SerializeToString()
    return serialized


def events_frame(resource: bytes, name: str, version: str) -> Frame:
    """The frame of our events: the evaluated run's own resource, our instrumentation scope."""
    scope = schema.Scope(name=name.encode(), version=version.encode()).SerializeToString()
    return Frame(resource, schema.ScopeItems(scope=scope).SerializeToString())
