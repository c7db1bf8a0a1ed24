"""Split an OTLP request without decoding its spans, and put requests together again from raw spans.

A span that is not about agents costs a slice, a few comparisons and a substring search; it leaves as the bytes that
came in. Trace id, span id and parent id sit at fixed offsets when the encoder writes fields in order, as all known ones
do: the tags are checked, and a span whose tags differ is parsed properly instead.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import re2
from google.protobuf.message import DecodeError as ProtobufError

from collector.errors import DecodeError
from collector.otlp import schema

# How an encoder that writes fields in order begins a span that has a parent and no trace state:
#   0a 10 <trace id> 12 08 <span id> 22 08 <parent span id> 2a <size of the name> <name> 30 <kind>
_TRACE_TAG, _SPAN_TAG, _PARENT_TAG, _NAME_TAG, _KIND_TAG = b"\n\x10", b"\x12\x08", b'"\x08', 0x2A, 0x30
_unpack_ids = struct.Struct("2s16s2s8s2s8s").unpack_from
_NAME = 38  # offset of the name's tag
_MAX_SHORT = 127  # sizes up to this take one byte
_NO_PARENT = bytes(8)
# How it ends one that has flags: 85 01 <four bytes, lowest first>. Bit 0x100 says that bit 0x200 is set: whether the
# parent is remote. Without it, the kind decides.
_FLAGS_TAG, _LOCAL_END = b"\x85\x01", b"\x01\0\0"
_HAS_IS_REMOTE, _IS_REMOTE = 0x100, 0x200
_REMOTE_KINDS = frozenset({2, 5})  # server and consumer: called by another process
_COMMONEST = b"gen_ai.operation.name"  # in nearly every span that matters; the longer, the faster it is looked for
_MAX_KNOWN_SCOPES = 4096


class Envelope(NamedTuple):
    """What surrounds spans in a request: resource and scope with their schema URLs, serialised without their items."""

    resource: bytes
    scope: bytes


@dataclass(slots=True)
class ScopeSpans:
    """The spans of one scope: all of them raw, and the indexes of those worth decoding."""

    envelope: Envelope
    spans: list[bytes]
    wanted: list[int]


@dataclass(slots=True)
class Split:
    """One request, split. ``links`` has for each trace the ids of span, parent, span, parent, ... (zero: no parent)."""

    scopes: list[ScopeSpans] = field(default_factory=list)
    links: dict[bytes, list[bytes]] = field(default_factory=dict)
    span_count: int = 0


def iter_scopes(raw: bytes) -> Iterable[tuple[Envelope, Sequence[bytes]]]:
    """Yield each scope of a request of any signal as its envelope and its raw items. Raises DecodeError."""
    try:
        for resource in map(schema.ResourceItems.FromString, schema.Request.FromString(raw).resources):
            scopes = list(resource.scopes)
            resource.ClearField("scopes")
            resource_envelope = resource.SerializeToString()
            for scope in map(schema.ScopeItems.FromString, scopes):
                items = list(scope.items)
                scope.ClearField("items")
                yield Envelope(resource_envelope, scope.SerializeToString()), items
    except ProtobufError as error:
        raise DecodeError(f"the body is not an OTLP protobuf request: {error}") from None


def check(raw: bytes) -> None:
    """Raise DecodeError unless ``raw`` has the shape of a request."""
    for _ in iter_scopes(raw):
        pass


class SpanFilter:
    """Tells which spans are worth decoding: those that hold a marker, and all of certain scopes.

    The cost hardly grows with the number of markers: the commonest is looked for in every span, the others in all the
    remaining spans at once, by one linear-time automaton.
    """

    def __init__(self, markers: Iterable[bytes], scopes: Iterable[str] = ()) -> None:
        self._markers = re2.compile(b"|".join(re2.escape(marker) for marker in (_COMMONEST, *markers)))
        self._scopes = frozenset(scope.encode() for scope in scopes)
        self._known: dict[bytes, bool] = {}

    def find(self, envelope: Envelope, spans: Sequence[bytes], others: Sequence[int]) -> Iterable[int]:
        """Which of the spans at ``others`` are worth decoding, though the commonest marker is not in them.

        Raises DecodeError where the envelope's scope is not protobuf.
        """
        if self._is_whole(envelope.scope):
            return others
        if self._markers.search(b"".join([spans[index] for index in others])) is None:
            return ()
        return [index for index in others if self._markers.search(spans[index])]

    def _is_whole(self, scope: bytes) -> bool:
        known = self._known.get(scope)
        if known is None:
            try:
                name = schema.Scope.FromString(schema.ScopeItems.FromString(scope).scope).name
            except ProtobufError as error:
                raise DecodeError(f"a scope is not protobuf: {error}") from None
            if len(self._known) >= _MAX_KNOWN_SCOPES:
                self._known.clear()
            known = self._known[scope] = name in self._scopes
        return known


def split(raw: bytes, span_filter: SpanFilter) -> Split:
    """Split a trace request. A span is wanted when it is of interest, has no parent, or one in another process.

    Raises DecodeError where the request is not protobuf; a span that is not is wanted, and decoding it will tell.
    """
    result = Split()
    for envelope, items in iter_scopes(raw):
        spans = list(items)
        wanted, others = _look(spans, result.links)
        found = span_filter.find(envelope, spans, others)
        result.scopes.append(ScopeSpans(envelope, spans, sorted([*wanted, *found]) if found else wanted))
        result.span_count += len(spans)
    return result


def _look(spans: Sequence[bytes], links: dict[bytes, list[bytes]]) -> tuple[list[int], list[int]]:
    """The indexes of spans that have the commonest marker, or no parent in their own process; and of all others.

    Adds every span's parent link to ``links``. The hot loop: one turn a span.
    """
    wanted, others = [], []
    for index, span in enumerate(spans):
        try:
            trace_tag, trace_id, span_tag, span_id, parent_tag, parent_id = _unpack_ids(span)
            in_order = trace_tag == _TRACE_TAG and span_tag == _SPAN_TAG and parent_tag == _PARENT_TAG
            is_wanted = _COMMONEST in span or (
                span[-3:] != _LOCAL_END
                and (
                    span[-3] == 3
                    or span[41 + span[39]] in _REMOTE_KINDS
                    or span[38] != _NAME_TAG
                    or span[39] > _MAX_SHORT
                )
                and _has_remote_parent(span)
            )
        except (struct.error, IndexError, ProtobufError):  # shorter than what is looked at, or no span
            in_order = False
        if not in_order:
            try:
                trace_id, span_id, parent_id, is_remote = _parse_ids(span)
                is_wanted = is_remote or _COMMONEST in span
            except ProtobufError:
                wanted.append(index)
                continue
        known = links.get(trace_id)
        if known is None:
            links[trace_id] = [span_id, parent_id]
        else:
            known += (span_id, parent_id)
        if is_wanted or parent_id == _NO_PARENT:
            wanted.append(index)
        else:
            others.append(index)
    return wanted, others


def _has_remote_parent(span: bytes) -> bool:
    """Whether the parent of a span in order is in another process: by its flags where they say so, else by its kind."""
    end = span[-6:]
    if end.startswith(_FLAGS_TAG) and end[3] & (_HAS_IS_REMOTE >> 8):
        return bool(end[3] & (_IS_REMOTE >> 8))
    if span[_NAME] != _NAME_TAG or span[_NAME + 1] > _MAX_SHORT:
        return _parse_ids(span)[3]
    kind = _NAME + 2 + span[_NAME + 1]
    return span[kind] == _KIND_TAG and span[kind + 1] in _REMOTE_KINDS


def _parse_ids(raw: bytes) -> tuple[bytes, bytes, bytes, bool]:
    """Trace id, span id, parent span id, and whether the parent is remote, of a span in any order of fields."""
    span = schema.Span.FromString(raw)
    remote = bool(span.flags & _IS_REMOTE) if span.flags & _HAS_IS_REMOTE else span.kind in _REMOTE_KINDS
    return span.trace_id, span.span_id[:8].ljust(8, b"\0"), span.parent_span_id[:8].ljust(8, b"\0"), remote


def parent_links(packed: bytes) -> dict[bytes, bytes]:
    """Read links joined to one string, 16 bytes a span: span id to parent span id, b"" for a root."""
    parents = {packed[at : at + 8]: packed[at + 8 : at + 16] for at in range(0, len(packed), 16)}
    return {span: b"" if parent == _NO_PARENT else parent for span, parent in parents.items()}


def join(groups: Iterable[tuple[Envelope, Sequence[bytes]]]) -> bytes:
    """Put a request together: items of one envelope stay together, scopes of one resource share it, order is kept."""
    resources: dict[bytes, Any] = {}
    for envelope, items in groups:
        resource = resources.get(envelope.resource)
        if resource is None:
            resource = resources[envelope.resource] = schema.ResourceItems.FromString(envelope.resource)
        scope = schema.ScopeItems.FromString(envelope.scope)
        scope.items.extend(items)
        resource.scopes.append(scope.SerializeToString())
    request = schema.Request()
    request.resources.extend(resource.SerializeToString() for resource in resources.values())
    serialized: bytes = request.SerializeToString()
    return serialized
