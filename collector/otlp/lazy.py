"""Split an OTLP request without decoding its spans, and put requests together again from raw spans.

A span that is not about agents costs a slice, a few comparisons and a substring search; it leaves as the bytes that
came in. Trace id, span id and parent id sit at fixed offsets when the encoder writes fields in order, as all known ones
do: the tags are checked, and a span whose tags differ is parsed properly instead.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import DecodeError as ProtobufError

from collector.errors import DecodeError
from collector.otlp import schema

# How an encoder that writes fields in order begins a span without trace state:
#   0a 10 <trace id> 12 08 <span id> 22 08 <parent span id>
_TRACE_TAG, _SPAN_TAG, _PARENT_TAG = b"\n\x10", b"\x12\x08", b'"\x08'
_unpack_ids = struct.Struct("2s16s2s8s2s8s").unpack_from
_NO_PARENT = bytes(8)


@dataclass(frozen=True, slots=True)
class Frame:
    """What surrounds spans in a request: resource and scope with their schema URLs, serialised without their items."""

    resource: bytes
    scope: bytes


@dataclass(slots=True)
class ScopeSpans:
    """The spans of one scope: all of them raw, and the indexes of those worth decoding."""

    frame: Frame
    spans: list[bytes]
    wanted: list[int]


@dataclass(slots=True)
class Split:
    """One request, split. ``links`` has for each trace the ids of span, parent, span, parent, ... (zero: no parent)."""

    raw: bytes
    scopes: list[ScopeSpans] = field(default_factory=list)
    links: dict[bytes, list[bytes]] = field(default_factory=dict)
    span_count: int = 0


def peel(raw: bytes) -> Iterable[tuple[Frame, Sequence[bytes]]]:
    """Yield each scope of a request of any signal as its frame and its raw items. Raises DecodeError."""
    try:
        for resource in map(schema.ResourceItems.FromString, schema.Request.FromString(raw).resources):
            scopes = list(resource.scopes)
            resource.ClearField("scopes")
            resource_frame = resource.SerializeToString()
            for scope in map(schema.ScopeItems.FromString, scopes):
                items = list(scope.items)
                scope.ClearField("items")
                yield Frame(resource_frame, scope.SerializeToString()), items
    except ProtobufError as error:
        raise DecodeError(f"the body is not an OTLP protobuf request: {error}") from None


def check(raw: bytes) -> None:
    """Raise DecodeError unless ``raw`` has the shape of a request."""
    for _ in peel(raw):
        pass


def split(raw: bytes, markers: Sequence[bytes]) -> Split:
    """Split a trace request. A span is wanted when its bytes hold one of ``markers`` or it has no parent.

    Raises DecodeError where the request, or a span that has to be parsed, is not protobuf.
    """
    result = Split(raw)
    present = [marker for marker in markers if marker in raw]  # once a request: most requests hold one or none
    for frame, spans in peel(raw):
        result.scopes.append(ScopeSpans(frame, list(spans), _wanted(spans, present, result.links)))
        result.span_count += len(spans)
    return result


def _wanted(spans: Sequence[bytes], markers: Sequence[bytes], links: dict[bytes, list[bytes]]) -> list[int]:
    """The indexes worth decoding; adds every span's parent link to ``links``. The hot loop: one turn a span."""
    wanted = []
    marker, others = (markers[0], markers[1:]) if markers else (None, ())
    for index, span in enumerate(spans):
        try:
            trace_tag, trace_id, span_tag, span_id, parent_tag, parent_id = _unpack_ids(span)
            in_order = trace_tag == _TRACE_TAG and span_tag == _SPAN_TAG and parent_tag == _PARENT_TAG
        except struct.error:  # shorter than its ids
            in_order = False
        if not in_order:
            try:
                trace_id, span_id, parent_id = _parse_ids(span)
            except ProtobufError:
                wanted.append(index)  # decoding it will say what is wrong
                continue
        known = links.get(trace_id)
        if known is None:
            links[trace_id] = [span_id, parent_id]
        else:
            known += (span_id, parent_id)
        if (marker and marker in span) or parent_id == _NO_PARENT or (others and any(m in span for m in others)):
            wanted.append(index)
    return wanted


def _parse_ids(raw: bytes) -> tuple[bytes, bytes, bytes]:
    span = schema.Span.FromString(raw)
    return span.trace_id, span.span_id[:8].ljust(8, b"\0"), span.parent_span_id[:8].ljust(8, b"\0")


def parent_links(packed: bytes) -> dict[bytes, bytes]:
    """Read links joined to one string, 16 bytes a span: span id to parent span id, b"" for a root."""
    parents = {packed[at : at + 8]: packed[at + 8 : at + 16] for at in range(0, len(packed), 16)}
    return {span: b"" if parent == _NO_PARENT else parent for span, parent in parents.items()}


def join(groups: Iterable[tuple[Frame, Sequence[bytes]]]) -> bytes:
    """Put a request together: items of one frame stay together, scopes of one resource share it, order is kept."""
    resources: dict[bytes, Any] = {}
    for frame, items in groups:
        resource = resources.get(frame.resource)
        if resource is None:
            resource = resources[frame.resource] = schema.ResourceItems.FromString(frame.resource)
        scope = schema.ScopeItems.FromString(frame.scope)
        scope.items.extend(items)
        resource.scopes.append(scope.SerializeToString())
    request = schema.Request()
    request.resources.extend(resource.SerializeToString() for resource in resources.values())
    serialized: bytes = request.SerializeToString()
    return serialized
