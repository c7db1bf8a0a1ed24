"""Redacts serialised spans and log records: the values of named attributes, and parts of any other text in them.

An attribute without a match keeps its bytes. Bytes that are not protobuf are returned unchanged: nobody downstream can
read them either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from google.protobuf.message import DecodeError as ProtobufError

from collector.otlp import schema

MASK = b"[redacted]"
_MAX_DEPTH = 32
MAX_WORK: Final = 20_000
"""Values looked at and parts masked of one span or log record. What is beyond is masked whole, or left out."""
_MASKED = schema.AnyValue(string_value=MASK).SerializeToString()


class Redactor:
    """Redacts serialised messages.

    ``is_hidden`` tells whether the value of a key is replaced whole; ``mask`` replaces the secret parts of any other text, at
    most so many, and returns how many there were.
    """

    def __init__(self, is_hidden: Callable[[bytes], bool], mask: Callable[[bytes, int], tuple[bytes, int]]) -> None:
        self._is_hidden, self._mask = is_hidden, mask
        self._left = MAX_WORK  # of the message that is being redacted

    def span(self, raw: bytes) -> bytes:
        """Returns a span with its attributes, events, links and status message redacted. Its name and trace state stay."""
        self._left = MAX_WORK
        return self._message(schema.Span, raw, self._in_span)

    def log_record(self, raw: bytes) -> bytes:
        """Returns a log record with its attributes, body and event name redacted."""
        self._left = MAX_WORK
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
        events = self._within(span.events)
        _replace(span.events, [self._message(schema.Event, event, self._in_event) for event in events])
        links = self._within(span.links)
        _replace(span.links, [self._message(schema.Link, link, self._in_link) for link in links])
        if span.status:
            span.status = self._message(schema.Status, span.status, self._in_status)

    def _in_event(self, event: Any) -> None:
        event.name = self._text(event.name)
        self._attributes(event.attributes)

    def _in_link(self, link: Any) -> None:
        self._attributes(link.attributes)

    def _in_status(self, status: Any) -> None:
        status.message = self._text(status.message)

    def _in_log_record(self, record: Any) -> None:
        record.event_name = self._text(record.event_name)
        self._attributes(record.attributes)
        if record.body:
            record.body = self._value(record.body, 0)

    def _attributes(self, attributes: Any) -> None:
        _replace(attributes, [self._pair(item, 0) for item in self._within(attributes)])

    def _within(self, items: Any) -> Any:
        """Returns as many of the items as may still be looked at."""
        most = max(0, self._left)
        # May fall below 0: from then on every text of the message is masked whole.
        self._left -= len(items)
        return items if self._left >= 0 else items[:most]

    def _text(self, text: bytes) -> bytes:
        if self._left <= 0 and text:
            return MASK
        masked, count = self._mask(text, self._left)
        self._left -= count
        # Where the budget ends in this text, nobody has looked at what follows the last match.
        return masked if self._left > 0 else MASK

    def _pair(self, raw: bytes, depth: int) -> bytes:
        pair = schema.KeyValue.FromString(raw)
        value = _MASKED if self._is_hidden(pair.key) else self._value(pair.value, depth)
        # In a value, keys are data of the sender's; those of attributes are names.
        key = self._text(pair.key) if depth else pair.key
        if value == pair.value and key == pair.key:
            return raw
        pair.key, pair.value = key, value
        changed: bytes = pair.SerializeToString()
        return changed

    def _value(self, raw: bytes, depth: int) -> bytes:
        if depth > _MAX_DEPTH:
            return bytes(_MASKED)  # too deep to look into
        value = schema.AnyValue.FromString(raw)
        kind = value.WhichOneof("value")
        if kind == "string_value":
            value.string_value = self._text(value.string_value)
        elif kind == "bytes_value":
            value.bytes_value = self._text(value.bytes_value)
        elif kind == "array_value":
            items = schema.Values.FromString(value.array_value)
            _replace(items.values, [self._value(item, depth + 1) for item in self._within(items.values)])
            value.array_value = items.SerializeToString()
        elif kind == "kvlist_value":
            pairs = schema.KeyValues.FromString(value.kvlist_value)
            _replace(pairs.values, [self._pair(pair, depth + 1) for pair in self._within(pairs.values)])
            value.kvlist_value = pairs.SerializeToString()
        changed: bytes = value.SerializeToString()
        return changed


def _replace(field: Any, items: list[bytes]) -> None:
    # Protobuf allows no assignment to a repeated field.
    del field[:]
    field.extend(items)
