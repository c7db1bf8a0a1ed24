"""Redacts serialised spans and log records: the values of named attributes, and parts of any other text.

An attribute without a match keeps its bytes. Bytes that are not protobuf are returned unchanged: nobody downstream can
read them either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.message import DecodeError as ProtobufError

from collector.otlp import schema

MASK = b"[redacted]"
_MAX_DEPTH = 32
_MASKED = schema.AnyValue(string_value=MASK).SerializeToString()


class Redactor:
    """Redacts serialised messages.

    ``is_hidden`` tells whether the value of a key is replaced whole, ``mask`` replaces the secret parts of any other text.
    """

    def __init__(self, is_hidden: Callable[[bytes], bool], mask: Callable[[bytes], bytes]) -> None:
        self._is_hidden, self._mask = is_hidden, mask

    def span(self, raw: bytes) -> bytes:
        """Returns a span with its attributes, its events' attributes and its status message redacted."""
        return self._message(schema.Span, raw, self._in_span)

    def log_record(self, raw: bytes) -> bytes:
        """Returns a log record with its attributes and its body redacted."""
        return self._message(schema.LogRecord, raw, self._in_log_record)

    def _message(self, kind: Any, raw: bytes, change: Callable[[Any], None]) -> bytes:
        try:
            message = kind.FromString(raw)
            change(message)
            changed: bytes = message.SerializeToString()
        except ProtobufError:
            return raw
        return changed

    def _in_span(self, span: Any) -> None:
        self._attributes(span.attributes)
        _replace(span.events, [self._message(schema.Event, event, self._in_event) for event in span.events])
        if span.status:
            span.status = self._message(schema.Status, span.status, self._in_status)

    def _in_event(self, event: Any) -> None:
        self._attributes(event.attributes)

    def _in_status(self, status: Any) -> None:
        status.message = self._mask(status.message)

    def _in_log_record(self, record: Any) -> None:
        self._attributes(record.attributes)
        if record.body:
            record.body = self._value(record.body, 0)

    def _attributes(self, attributes: Any) -> None:
        _replace(attributes, [self._pair(item, 0) for item in attributes])

    def _pair(self, raw: bytes, depth: int) -> bytes:
        pair = schema.KeyValue.FromString(raw)
        value = _MASKED if self._is_hidden(pair.key) else self._value(pair.value, depth)
        if value == pair.value:
            return raw
        pair.value = value
        changed: bytes = pair.SerializeToString()
        return changed

    def _value(self, raw: bytes, depth: int) -> bytes:
        if depth > _MAX_DEPTH:
            return bytes(_MASKED)  # too deep to look into
        value = schema.AnyValue.FromString(raw)
        kind = value.WhichOneof("value")
        if kind == "string_value":
            value.string_value = self._mask(value.string_value)
        elif kind == "bytes_value":
            value.bytes_value = self._mask(value.bytes_value)
        elif kind == "array_value":
            items = schema.Values.FromString(value.array_value)
            _replace(items.values, [self._value(item, depth + 1) for item in items.values])
            value.array_value = items.SerializeToString()
        elif kind == "kvlist_value":
            pairs = schema.KeyValues.FromString(value.kvlist_value)
            _replace(pairs.values, [self._pair(pair, depth + 1) for pair in pairs.values])
            value.kvlist_value = pairs.SerializeToString()
        changed: bytes = value.SerializeToString()
        return changed


def _replace(field: Any, items: list[bytes]) -> None:
    del field[:]
    field.extend(items)
