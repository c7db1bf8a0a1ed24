"""Decodes the bytes of a span or log record to plain data, with the selected attributes only.

Any bytes give a Span (LogRecord) or DecodeError, nothing else. Keys are compared as bytes; the value of an attribute that
is not selected is skipped unread. Invalid UTF-8 is replaced, values nested deeper than 32 levels become None.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from typing import Any, Final

import re2
from google.protobuf.message import DecodeError as ProtobufError

from collector.byte_cache import ByteCache
from collector.errors import DecodeError
from collector.model.dialect import Reading
from collector.model.genai_span import IGNORED, UNREAD, GenAISpan
from collector.model.span import LogRecord, Resource, Scope, Span, SpanEvent
from collector.otlp import schema
from collector.otlp.attribute_keys import ONE_BYTE, AttributeKeys
from collector.otlp.span_fields import NO_PARENT, SpanFields, attribute_fields, span_fields
from collector.otlp.span_forms import SpanForms
from collector.otlp.structure import Envelope
from collector.otlp.tags import KEY, STRING, VALUE
from collector.otlp.trim import MAX_ATTRIBUTES
from collector.otlp.wire import read_length

_MAX_DEPTH: Final = 32  # levels of a value that are read: arguments nest a few; protobuf itself stops at 100
_MAX_EVENTS: Final = 256  # events of a span that are read: the default limit of SDKs is 128 per span
_MAX_EVENT_ATTRIBUTES: Final = 128  # attributes of an event that are read: the default limit of SDKs
_MAX_OF_EVENTS: Final = 5_000  # attributes of all events of a span; with those of the span itself at most 10,000
_MAX_ITEMS: Final = 10_000  # items that are read of an attribute that is a list or map, at all levels together
_LARGE: Final = 2 * MAX_ATTRIBUTES  # bytes of a span; a smaller one cannot have more attributes
_ENVELOPES: Final = 16 << 20  # bytes of cached resources and scopes, as received and as decoded
_MAX_RESOURCE_ATTRIBUTES: Final = 128  # the default of SDKs
_MAX_RESOURCE_ATTRIBUTE: Final = 4 << 10  # bytes
_MAX_RESOURCE: Final = 16 << 10  # bytes
ReadSpan = Callable[[Span], GenAISpan | None]
"""How the dialects read a span: ``dialects.read_span``, or one that keeps more."""
_HAS_IS_REMOTE: Final = 0x1  # of the second byte of a span's flags, opentelemetry-proto trace/v1
_IS_REMOTE: Final = 0x2


def _is_missing_something(genai_span: GenAISpan | None) -> bool:
    """Whether attributes that nobody selected may tell more: the span was not understood, or the call has no arguments."""
    if genai_span is None or genai_span.lacks_arguments:
        return True
    return not genai_span.dialect and genai_span is not IGNORED


class Decoder:
    """Decodes spans and log records.

    Selects the keys in ``attributes``, keys that start with one of ``prefixes``, and every attribute of the scopes in
    ``whole_scopes``. A span that contains one of ``markers``, and that is not understood by what was selected, or is a tool
    call without arguments and has an attribute that may be of them, is decoded once more, with every attribute. Every means
    all but Rightcall's own. The first of the markers is the most common one. With a ``reading``, spans of one form are
    decoded once.
    """

    def __init__(
        self,
        attributes: Collection[str],
        prefixes: Iterable[str] = (),
        whole_scopes: Iterable[str] = (),
        markers: Sequence[bytes] = (),
        reading: Reading | None = None,
    ) -> None:
        self._forms = None if reading is None else SpanForms(reading)
        self._common = markers[0] if markers else b""
        self._markers = re2.compile(b"|".join(map(re2.escape, markers))) if markers else None
        self._selected, self._all = AttributeKeys(attributes, prefixes), AttributeKeys(attributes, ("",))
        self._whole_scopes = frozenset(whole_scopes)
        self._envelopes: ByteCache[Envelope, tuple[Resource, Scope]] = ByteCache(_ENVELOPES)
        self._parent = b""

    def spans(self, raws: Iterable[bytes], envelope: Envelope) -> list[Span | None]:
        """Decode the spans of one scope; None for each that is not protobuf. Raises DecodeError if the scope is not."""
        resource, scope = self._envelope(envelope)
        keys = self._keys_of(scope)
        return [self._span_if_any(raw, resource, scope, keys) for raw in raws]

    def scope_name(self, envelope: Envelope) -> str:
        """Returns the name of a scope. Raises DecodeError if it is not protobuf."""
        return self._envelope(envelope)[1].name

    def read(
        self, raws: Iterable[bytes], envelope: Envelope, read_span: ReadSpan
    ) -> list[tuple[bytes, GenAISpan] | None]:
        """Returns the trace id of each span with what ``read_span`` makes of it, ``UNREAD`` for nothing.

        None for a span that is not protobuf. Raises DecodeError if the scope is not.
        """
        resource, scope = self._envelope(envelope)
        keys, forms = self._keys_of(scope), self._forms
        read: list[tuple[bytes, GenAISpan] | None] = []
        for raw in raws:
            genai_span = None if forms is None else forms.read(raw, resource, scope)
            if genai_span is not None:
                genai_span.parent_span_id = self._shared(genai_span.parent_span_id)
                read.append((raw[2:18], genai_span))
                continue
            span = self._span_if_any(raw, resource, scope, keys)
            read.append(None if span is None else (span.trace_id, self._read(raw, span, keys, read_span)))
        return read

    def _read(self, raw: bytes, span: Span, keys: AttributeKeys, read_span: ReadSpan) -> GenAISpan:
        genai_span, is_whole = read_span(span), False
        # Twice only where the selection was too small: most spans need few of their attributes.
        if _is_missing_something(genai_span) and self._is_marked(raw):
            is_whole = True
            try:  # noqa: SIM105 - `suppress` takes as long as all else here
                genai_span = read_span(self._whole(raw, span, genai_span))
            except ProtobufError:  # in an attribute that nobody selected
                pass
        if genai_span is None:
            return UNREAD
        if genai_span is not IGNORED and self._forms is not None:
            self._forms.learn(raw, span, genai_span, (self._all if is_whole else keys).is_selected)
        return genai_span

    def _whole(self, raw: bytes, span: Span, genai_span: GenAISpan | None) -> Span:
        """Returns the span with all attributes that matter. Raises ProtobufError."""
        # Of a call nothing else can tell more, unless it stands for its run and keeps what rules may match.
        if genai_span is not None and genai_span.lacks_arguments and not genai_span.attributes:
            fields = span_fields(raw)
            if fields is not None and not span.events and not self._selected.hides_call(attribute_fields(raw, fields)):
                span.is_whole = True
                return span
        return self._span(raw, span.resource, span.scope, self._all)

    def _is_marked(self, raw: bytes) -> bool:
        # The first one alone: nearly all have it, and to call the engine takes twenty times as long.
        return self._markers is not None and (raw.find(self._common) >= 0 or self._markers.search(raw) is not None)

    def _keys_of(self, scope: Scope) -> AttributeKeys:
        return self._all if scope.name in self._whole_scopes else self._selected

    def _envelope(self, envelope: Envelope) -> tuple[Resource, Scope]:
        try:
            return self._resource_and_scope(envelope)
        except ProtobufError as error:
            raise DecodeError(f"a resource or scope is not protobuf: {error}") from None

    def _shared(self, parent: bytes) -> bytes:
        """Returns the id of a parent, b"" for none: siblings arrive together, and share the id that an open trace keeps."""
        if parent != self._parent:
            self._parent = b"" if parent == NO_PARENT else parent
        return self._parent

    def _span_if_any(self, raw: bytes, resource: Resource, scope: Scope, keys: AttributeKeys) -> Span | None:
        try:
            return self._span(raw, resource, scope, keys)
        except ProtobufError:
            # It costs only itself: the other spans of the scope are read.
            return None

    def _span(self, raw: bytes, resource: Resource, scope: Scope, keys: AttributeKeys) -> Span:
        parsed: list[bytes] = []
        lacks_attributes = lacks_events = False  # a span that tells of what was dropped is left to protobuf
        fields = span_fields(raw)
        if fields is None:
            parsed, fields, lacks_attributes, lacks_events = _parsed_fields(raw)
        trace_id, span_id, parent, name, kind, start_ns, end_ns, first, last, events, status, flags = fields
        attributes = _attributes(parsed, keys) if parsed else {}
        _read_attributes(raw, first, last, keys, attributes)
        code, message = _status(status) if status else (0, "")
        return Span(
            trace_id,
            span_id,
            self._shared(parent),
            name.decode("utf-8", "replace"),
            kind,
            start_ns,
            end_ns,
            code,
            message,
            bool(flags & _IS_REMOTE) if flags & _HAS_IS_REMOTE else None,
            attributes,
            _events(events, keys, MAX_ATTRIBUTES - (len(parsed) or len(attribute_fields(raw, fields))))
            if events
            else (),
            resource,
            scope,
            keys is self._all,
            lacks_attributes,
            lacks_events,
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
                _attributes(record.attributes[:MAX_ATTRIBUTES], self._selected),
                _any_value(record.body),
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
                Resource(dict(_key_value(item, 0, [_MAX_ITEMS]) for item in _of_use(resource.attributes))),
                Scope(scope.name.decode("utf-8", "replace"), scope.version.decode("utf-8", "replace")),
            )
            self._envelopes.keep(envelope, known, 4 * (len(envelope.resource) + len(envelope.scope)))
        return known


def _of_use(attributes: Iterable[bytes]) -> Iterable[bytes]:
    """The attributes of a resource that rules may match: every trace keeps its resources, so they are small."""
    room = _MAX_RESOURCE
    for item in islice(attributes, _MAX_RESOURCE_ATTRIBUTES):
        if len(item) <= min(room, _MAX_RESOURCE_ATTRIBUTE):
            room -= len(item)
            yield item


def _parsed_fields(raw: bytes) -> tuple[list[bytes], SpanFields, bool, bool]:
    """Returns the attributes of a span with its fields in any order, the others, and whether attributes or events were dropped.

    Raises ProtobufError.
    """
    span = schema.Span.FromString(raw)
    attributes = span.attributes[:MAX_ATTRIBUTES] if len(raw) > _LARGE else list(span.attributes)
    return attributes, (
        span.trace_id, span.span_id, span.parent_span_id, span.name, span.kind, span.start_ns, span.end_ns,
        0, 0, span.events, span.status, span.flags >> 8,
    ), span.dropped_attributes_count > 0, span.dropped_events_count > 0  # fmt: skip


def _attributes(items: Iterable[bytes], keys: AttributeKeys) -> dict[str, Any]:
    """Returns the selected attributes."""
    found: dict[str, Any] = {}
    for item in items:
        _read_attribute(item, keys, found)
    return found


def _read_attributes(raw: bytes, at: int, end: int, keys: AttributeKeys, found: dict[str, Any]) -> None:
    """Add the selected attributes among those that ``span_fields`` found in a span."""
    strings = keys.strings
    while at < end:
        size = raw[at + 1]
        at += 2
        if size < ONE_BYTE:
            attribute = raw[at : at + size]
            known = strings.get(attribute)
            if known is not None:
                found[known[0]] = known[1]
            else:
                _read_attribute(attribute, keys, found)
        else:
            size, at = read_length(raw, at - 1)
            _read_long(raw, at, at + size, keys, found)
        at += size


def _read_long(raw: bytes, at: int, end: int, keys: AttributeKeys, found: dict[str, Any]) -> None:
    """Add the attribute that takes these bytes of a span if it is selected. Of a text no copy is made but the text."""
    value = at + 2 + raw[at + 1]  # where it begins, if the key is short: its tag
    if raw[at] == KEY and raw[at + 1] < ONE_BYTE and value < end:
        name = raw[at + 2 : value]
        key = keys.by_bytes.get(name) or keys.look_up(name)
        if not key.is_selected:
            return
        start = _start_of_text(raw, value, end)
        if start:
            try:
                found[key.name] = raw[start:end].decode()
                return
            except UnicodeDecodeError:  # protobuf replaces what is no UTF-8
                pass
    _read_attribute(raw[at:end], keys, found)


def _start_of_text(raw: bytes, at: int, end: int) -> int:
    """Returns where the text begins that is the value from ``at`` to ``end``; 0 if that is another value, or none."""
    try:
        size, inner = read_length(raw, at + 1)
        if raw[at] == VALUE and raw[inner] == STRING and inner + size == end:
            size, start = read_length(raw, inner + 1)
            return start if start + size == end else 0
    except (IndexError, ValueError):  # protobuf finds what is wrong with it
        pass
    return 0


def _read_attribute(attribute: bytes, keys: AttributeKeys, found: dict[str, Any]) -> None:
    """Add the attribute if it is selected. A hot function: called for each attribute that is not known.

    Nearly all have a short key and a string: 0a <length> <key> 12 <length> 0a <length> <string>. The lengths are checked; an
    attribute with another field order has a key that is not selected, or is parsed in full.
    """
    end = len(attribute)
    if end > 1 and attribute[0] == KEY and attribute[1] < ONE_BYTE:
        value = attribute[1] + 2  # where it begins: its tag
        name = attribute[2:value]
        key = keys.by_bytes.get(name) or keys.look_up(name)
        if not key.is_selected:
            return
        size = end - value - 4  # of a short string
        if (
            0 <= size < ONE_BYTE - 2
            and attribute[value + 2] == STRING
            and attribute[value + 3] == size == attribute[value + 1] - 2
        ):
            try:
                found[key.name] = keys.text(key, attribute, value + 4)
                return
            except UnicodeDecodeError:  # protobuf replaces what is no UTF-8
                pass
    pair = schema.KeyValue.FromString(attribute)
    key = keys.look_up(pair.key)
    if key.is_selected:
        found[key.name] = _any_value(pair.value)


def _events(raws: Iterable[bytes], keys: AttributeKeys, left: int) -> list[SpanEvent]:
    """Returns the events with at most ``left`` attributes: a span is decoded at one go, with those of its events."""
    events, left = list[SpanEvent](), min(left, _MAX_OF_EVENTS)
    for raw in islice(raws, _MAX_EVENTS):
        event = schema.Event.FromString(raw)
        read = event.attributes[: min(_MAX_EVENT_ATTRIBUTES, left)]
        left -= len(read)
        events.append(SpanEvent(event.name.decode("utf-8", "replace"), event.time_ns, _attributes(read, keys)))
    return events


def _status(raw: bytes) -> tuple[int, str]:
    status = schema.Status.FromString(raw)
    return status.code, status.message.decode("utf-8", "replace")


def _key_value(raw: bytes, depth: int, room: list[int]) -> tuple[str, Any]:
    pair = schema.KeyValue.FromString(raw)
    return pair.key.decode("utf-8", "replace"), _nested(pair.value, depth, room)


def _any_value(raw: bytes) -> Any:
    # A list, so that all levels of the value draw on one budget: nested lists would multiply a limit for each.
    return _nested(raw, 0, [_MAX_ITEMS])


def _text_if_any(value: bytes) -> str | bytes:
    """Returns bytes as the text that they are the UTF-8 of: LangSmith (0.4) writes its JSON as bytes."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def _nested(raw: bytes, depth: int, room: list[int]) -> Any:
    """Returns a value; ``room`` holds how many more items may be read, those beyond are left out."""
    if not raw or depth > _MAX_DEPTH:
        return None
    value = schema.AnyValue.FromString(raw)
    kind = value.WhichOneof("value")
    if kind == "string_value":
        return value.string_value.decode("utf-8", "replace")
    if kind == "bytes_value":
        return _text_if_any(value.bytes_value)
    if kind == "array_value":
        items = schema.Values.FromString(value.array_value).values[: room[0]]
        room[0] -= len(items)
        return [_nested(item, depth + 1, room) for item in items]
    if kind == "kvlist_value":
        pairs = schema.KeyValues.FromString(value.kvlist_value).values[: room[0]]
        room[0] -= len(pairs)
        return dict(_key_value(item, depth + 1, room) for item in pairs)
    return getattr(value, kind) if kind else None
