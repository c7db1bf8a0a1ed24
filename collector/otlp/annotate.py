"""Encodes results: attributes appended to a serialised span, evaluation events as log records."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

from google.protobuf.message import DecodeError as ProtobufError
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue

from collector.byte_cache import ByteCache
from collector.model.semconv import OWN_PREFIXES
from collector.otlp import schema
from collector.otlp.lazy import Envelope
from collector.otlp.tags import ATTRIBUTE, KEY, STRING, VALUE
from collector.otlp.trim import MAX_ATTRIBUTES, MAX_FIELDS
from collector.otlp.wire import field, field_head, fields

AttributeValue = str | bool | int | float | tuple[str, ...]
Attributes = tuple[tuple[str, AttributeValue], ...]
"""Names and values. A tuple is hashable: most runs of a rule have the same attributes, whose encoding is cached."""

_OURS: Final = (OWN_PREFIXES[0].encode(), OWN_PREFIXES[1].encode())
_ONE_BYTE: Final = 128  # lengths below this take one byte
_INFO, _WARN = b"\x09", b"\x0d"  # SeverityNumber of an evaluation, and of one that failed to run
_of_spans: ByteCache[Attributes, bytes] = ByteCache(4 << 20)
_envelopes: ByteCache[tuple[bytes, str, str], Envelope] = ByteCache(4 << 20)


class Annotation:
    """Attributes to append to spans, encoded once for all of them."""

    def __init__(self, attributes: Attributes) -> None:
        self._attributes, self._encoded = attributes, _span_attributes(attributes)

    def on(self, raw: bytes) -> bytes:
        """Returns the span with the attributes appended; attributes of the same names are replaced.

        Appending a field to a protobuf message is concatenation, so the bytes of the span itself are unchanged.
        """
        # Senders may use our names, if only to forge a verdict. The search spares all other spans from being parsed.
        if raw.find(_OURS[0]) >= 0 or raw.find(_OURS[1]) >= 0:  # `in` tries a number first
            raw = _without(raw, frozenset([key.encode() for key, _ in self._attributes]))
        return raw + self._encoded


def annotate(raw: bytes, attributes: Attributes) -> bytes:
    """Returns the span with ``attributes`` appended, as `Annotation.on` does."""
    return Annotation(attributes).on(raw)


def log_record(
    time_ns: int,
    trace_id: bytes,
    span_id: bytes,
    own: Sequence[bytes],
    end: bytes,
    *,
    body: str = "",
    failed: bool,
) -> bytes:
    """Returns an event as a serialised ``LogRecord``, linked to its span by trace id and span id.

    ``own`` are the attributes of this event, by `record_attribute`; ``end`` is what many events have in common, by
    `record_end`. Its ``body`` is a text for people.
    """
    time = time_ns.to_bytes(8, "little")
    parts = [b"\x09", time, b"\x10", _WARN if failed else _INFO]
    if body:
        parts.append(field(0x2A, field(0x0A, body.encode())))
    parts += own
    parts += (field_head(0x4A, len(trace_id)), trace_id, field_head(0x52, len(span_id)), span_id, b"\x59", time, end)
    return b"".join(parts)


def record_attribute(key: str, value: AttributeValue) -> bytes:
    """Returns an attribute as a field of a ``LogRecord``."""
    encoded = _key_value(key, value)
    return field_head(0x32, len(encoded)) + encoded


def _span_attributes(attributes: Attributes) -> bytes:
    known = _of_spans.get(attributes)
    if known is None:
        encoded = _encode(schema.Span, attributes)
        return _of_spans.keep(attributes, encoded, 4 * len(encoded))
    return known


def record_end(event_name: str, attributes: Attributes) -> bytes:
    """Returns the end of a serialised ``LogRecord``: its event name, and attributes."""
    # Attributes stand before the ids where protobuf writes them, but parsers take fields in any order.
    return field(0x62, event_name.encode()) + _encode(schema.LogRecord, attributes)


def _encode(message: Any, attributes: Attributes) -> bytes:
    encoded: bytes = message(attributes=[_key_value(key, value) for key, value in attributes]).SerializeToString()
    return encoded


def _key_value(key: str, value: AttributeValue) -> bytes:
    if isinstance(value, str):
        name, text = key.encode(), value.encode()
        if len(name) < _ONE_BYTE and len(text) < _ONE_BYTE - 2:  # nearly always: 0a <key> 12 <value: 0a <text>>
            return b"".join(
                (
                    field_head(KEY, len(name)),
                    name,
                    field_head(VALUE, len(text) + 2),
                    field_head(STRING, len(text)),
                    text,
                )
            )
    return KeyValue(key=key, value=_any_value(value)).SerializeToString()


def _any_value(value: AttributeValue) -> AnyValue:
    if isinstance(value, str):
        return AnyValue(string_value=value)
    # Before int, which a bool is as well.
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    return AnyValue(array_value=ArrayValue(values=[AnyValue(string_value=item) for item in value]))


def _without(raw: bytes, keys: frozenset[bytes]) -> bytes:
    """Returns the span without attributes of these names, and without those after the first `MAX_ATTRIBUTES`.

    Of a span of more than `MAX_FIELDS` only these are left.
    """
    kept, attributes, (first, second) = list[bytes](), 0, _OURS
    # Field by field, and not as a message: to parse one with millions of fields takes long, however few are kept.
    with contextlib.suppress(ValueError):  # what comes after a field that OTLP does not know cannot be told
        for tag, at, value, end in islice(fields(raw), MAX_FIELDS):
            if tag == ATTRIBUTE:
                attributes += 1
                item = raw[value:end]
                if attributes > MAX_ATTRIBUTES or ((first in item or second in item) and _key(item) in keys):
                    continue
            kept.append(raw[at:end])
    return b"".join(kept)


def _key(attribute: bytes) -> bytes:
    """Returns the key of an attribute, b"" if it is not protobuf."""
    try:
        key: bytes = schema.KeyValue.FromString(attribute).key
    except ProtobufError:
        return b""
    return key


def events_envelope(resource: bytes, name: str, version: str) -> Envelope:
    """Returns the envelope of evaluation events: the resource of the evaluated run, the collector's instrumentation scope."""
    known = _envelopes.get((resource, name, version))
    if known is None:
        scope = schema.Scope(name=name.encode(), version=version.encode()).SerializeToString()
        known = Envelope(resource, schema.ScopeItems(scope=scope).SerializeToString())
        _envelopes.keep((resource, name, version), known, len(resource))
    return known
