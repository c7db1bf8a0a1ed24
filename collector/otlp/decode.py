"""One span's or log record's bytes to plain data, reading the wanted attributes only.

Any bytes give a Span (LogRecord) or DecodeError, nothing else. Keys are compared as bytes; an attribute nobody wants
is skipped without looking at its value. Invalid UTF-8 is replaced, values nested deeper than 32 levels become None.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError as ProtobufError

from collector.errors import DecodeError
from collector.model.span import LogRecord, Resource, Scope, Span, SpanEvent
from collector.otlp import schema
from collector.otlp.lazy import Envelope

_MAX_DEPTH = 32  # agent arguments nest a few levels; protobuf itself stops at 100
_MAX_EVENTS = 256  # the SDKs' default limit is 128 a span
_MAX_VALUES = 64  # remembered of one key
_MAX_CACHED = 4096  # keys and envelopes come from senders, so what we remember of them is bounded
_KEY_TAG, _STRING_TAG = 0x0A, 0x0A  # of KeyValue.key and of AnyValue.string_value
_ONE_BYTE = 128  # lengths below this take one byte
_HAS_IS_REMOTE, _IS_REMOTE = 0x100, 0x200  # span flags, opentelemetry-proto trace/v1


@dataclass(slots=True)
class _Wanted:
    """A key that is wanted, and how many of its values may still be remembered."""

    name: str
    values_left: int = _MAX_VALUES


class _Keys(dict[bytes, _Wanted | None]):
    """Key as it stands on the wire to what is known of it, None for one nobody wants. Bounded."""

    def __init__(self, attributes: Iterable[str] | None, prefixes: Iterable[str] = ()) -> None:
        super().__init__()
        self._exact, self._prefixes = None if attributes is None else frozenset(attributes), tuple(prefixes)
        self.known: dict[bytes, tuple[str, str]] = {}
        """The first few texts of each key, by the whole attribute as it stands on the wire: names and kinds repeat."""

    def __missing__(self, key: bytes) -> _Wanted | None:
        text = key.decode("utf-8", "replace")
        is_wanted = self._exact is None or text in self._exact or text.startswith(self._prefixes)
        wanted = _Wanted(text) if is_wanted else None
        if len(self) < _MAX_CACHED and len(key) < _ONE_BYTE:
            self[key] = wanted
        return wanted


class Decoder:
    """Decodes spans and log records.

    ``attributes`` are wanted keys, ``prefixes`` beginnings of wanted keys; of the scopes in ``whole_scopes`` every
    attribute is wanted.
    """

    def __init__(
        self, attributes: Iterable[str], prefixes: Iterable[str] = (), whole_scopes: Iterable[str] = ()
    ) -> None:
        self._wanted, self._everything = _Keys(attributes, prefixes), _Keys(None)
        self._whole_scopes = frozenset(whole_scopes)
        self._envelopes: dict[Envelope, tuple[Resource, Scope]] = {}
        self._parent = b""

    def spans(self, raws: Iterable[bytes], envelope: Envelope) -> list[Span | None]:
        """Decode spans of one scope, None for each that is not protobuf. Raises DecodeError when the scope is not."""
        try:
            resource, scope = self._resource_and_scope(envelope)
        except ProtobufError as error:
            raise DecodeError(f"a resource or scope is not protobuf: {error}") from None
        keys = self._everything if scope.name in self._whole_scopes else self._wanted
        spans: list[Span | None] = []
        for raw in raws:
            try:
                spans.append(self._span(raw, resource, scope, keys))
            except ProtobufError:
                spans.append(None)
        return spans

    def _span(self, raw: bytes, resource: Resource, scope: Scope, keys: _Keys) -> Span:
        span = schema.Span.FromString(raw)
        events, flags, status = span.events, span.flags, span.status
        code, message = _status(status) if status else (0, "")
        parent = span.parent_span_id
        if parent == self._parent:  # siblings come together, and an open trace keeps the id of each one's parent
            parent = self._parent
        self._parent = parent
        return Span(
            span.trace_id,
            span.span_id,
            parent,
            span.name.decode("utf-8", "replace"),
            span.kind,
            span.start_ns,
            span.end_ns,
            code,
            message,
            bool(flags & _IS_REMOTE) if flags & _HAS_IS_REMOTE else None,
            _attributes(span.attributes, keys),
            [_event(event, keys) for event in events[:_MAX_EVENTS]] if events else (),
            resource,
            scope,
        )

    def log_record(self, raw: bytes, envelope: Envelope) -> LogRecord:
        """Decode one log record. Raises DecodeError."""
        try:
            resource, scope = self._resource_and_scope(envelope)
            record = schema.LogRecord.FromString(raw)
            return LogRecord(
                record.trace_id,
                record.span_id,
                record.event_name.decode("utf-8", "replace"),
                record.time_ns or record.observed_ns,
                _attributes(record.attributes, self._wanted),
                _any_value(record.body, 0),
                resource,
                scope,
            )
        except ProtobufError as error:
            raise DecodeError(f"a log record is not protobuf: {error}") from None

    def _resource_and_scope(self, envelope: Envelope) -> tuple[Resource, Scope]:
        known = self._envelopes.get(envelope)
        if known is None:
            resource = schema.Resource.FromString(schema.ResourceItems.FromString(envelope.resource).resource)
            scope = schema.Scope.FromString(schema.ScopeItems.FromString(envelope.scope).scope)
            known = (
                Resource(dict(_key_value(item, 0) for item in resource.attributes)),
                Scope(scope.name.decode("utf-8", "replace"), scope.version.decode("utf-8", "replace")),
            )
            if len(self._envelopes) >= _MAX_CACHED:
                self._envelopes.clear()
            self._envelopes[envelope] = known
        return known


def _attributes(items: Iterable[bytes], keys: _Keys) -> dict[str, Any]:
    """The wanted attributes. The hot loop: one turn an attribute.

    Nearly all are a short key with a short text: 0a <length> <key> 12 <length> 0a <length> <text>. The lengths are
    checked; an item in another order of fields has a key that nobody wants, or goes the long way.
    """
    found: dict[str, Any] = {}
    known = keys.known
    for item in items:
        if len(item) < _ONE_BYTE and item in known:
            name, found[name] = known[item]
            continue
        try:
            end = item[1] + 2
            wanted = keys[item[2:end]]
            if wanted is None and item[0] == _KEY_TAG and item[1] < _ONE_BYTE:
                continue
            text = item[end + 4 :]
            if wanted and len(text) == item[end + 3] == item[end + 1] - 2 and item[end + 2] == _STRING_TAG:
                value = found[wanted.name] = text.decode()
                if wanted.values_left and len(item) < _ONE_BYTE and len(known) < _MAX_CACHED:
                    wanted.values_left -= 1
                    known[item] = wanted.name, value
                continue
        except (IndexError, UnicodeDecodeError):
            pass
        pair = schema.KeyValue.FromString(item)
        wanted = keys[pair.key]
        if wanted is not None:
            found[wanted.name] = _any_value(pair.value, 0)
    return found


def _event(raw: bytes, keys: _Keys) -> SpanEvent:
    event = schema.Event.FromString(raw)
    return SpanEvent(event.name.decode("utf-8", "replace"), event.time_ns, _attributes(event.attributes, keys))


def _status(raw: bytes) -> tuple[int, str]:
    status = schema.Status.FromString(raw)
    return status.code, status.message.decode("utf-8", "replace")


def _key_value(raw: bytes, depth: int) -> tuple[str, Any]:
    pair = schema.KeyValue.FromString(raw)
    return pair.key.decode("utf-8", "replace"), _any_value(pair.value, depth)


def _any_value(raw: bytes, depth: int) -> Any:
    if not raw or depth > _MAX_DEPTH:
        return None
    value = schema.AnyValue.FromString(raw)
    kind = value.WhichOneof("value")
    if kind == "string_value":
        return value.string_value.decode("utf-8", "replace")
    if kind == "array_value":
        return [_any_value(item, depth + 1) for item in schema.Values.FromString(value.array_value).values]
    if kind == "kvlist_value":
        pairs = schema.KeyValues.FromString(value.kvlist_value).values
        return dict(_key_value(item, depth + 1) for item in pairs)
    return getattr(value, kind) if kind else None
