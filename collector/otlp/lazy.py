"""Splits OTLP requests without decoding their spans, and builds requests from raw spans.

A span that has nothing to do with agents costs a slice, a few comparisons and a substring search, and is forwarded as the
bytes that were received. Trace id, span id and parent id are at fixed offsets if the encoder writes fields in order, as all
known ones do: the tags are checked, and a span with other tags is parsed instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import re2
from google.protobuf.message import DecodeError as ProtobufError

from collector.byte_cache import ByteCache
from collector.otlp import schema
from collector.otlp.span_fields import NO_PARENT
from collector.otlp.structure import Envelope, Group, Items, Structure
from collector.otlp.tags import KIND, NAME, PARENT_ID_HEAD, RESOURCE, SPAN_ID_HEAD, TRACE_ID_HEAD
from collector.otlp.trim import may_be_flood, trim
from collector.otlp.wire import field_head, item_head, read_field, size_of

__all__ = ["Envelope"]  # the rest of this module is public by its names

# The start of a span with a parent and without trace state, as written by an encoder that writes fields in order:
#   0a 10 <trace id> 12 08 <span id> 22 08 <parent span id> 2a <length of the name> <name> 30 <kind>
_SPAN: Final = 18  # offsets of the span id's tag, the parent id's, and the name's after that
_PARENT: Final = 28
_NAME: Final = 38
_MAX_SHORT: Final = 127  # lengths up to this take one byte
_ID: Final = 8  # bytes of a span id
_LINK: Final = 16  # bytes: span id, parent id
_TRACE_ID_SIZE: Final = 16  # bytes
# The end of one with flags: 85 01 <four bytes, little-endian>. If bit 0x100 is set, bit 0x200 tells whether the parent is
# remote; otherwise the kind decides.
_FLAGS_TAG: Final = b"\x85\x01"
_LOCAL_END: Final = b"\x01\0\0"
_HAS_IS_REMOTE: Final = 0x100
_IS_REMOTE: Final = 0x200
_REMOTE_KINDS: Final = (2, 5)  # server and consumer: called by another process
_MOST_COMMON: Final = b"gen_ai.operation.name"  # in nearly every GenAI span; a longer needle is found faster
_PIECE: Final = 16 << 10  # bytes that are searched for it at once
_DESCRIPTION_TAG: Final = b"\n"  # of a resource in its part of a request, and of a scope in its part of a resource
_KNOWN_SCOPES: Final = 2 << 20  # bytes of scopes of which it is known whether all their spans are to be decoded
_MAX_HELD: Final = 4 << 20  # bytes of a span; a larger one is scored, but neither held nor annotated
_PORTION: Final = 16 << 10  # bytes of spans; decoding them takes up to 10 ms


class ScopeSpans:
    """The raw spans of one scope, and the indexes of those to decode."""

    __slots__ = ("envelope", "spans", "wanted", "whole")

    def __init__(self, envelope: Envelope, spans: Items, wanted: list[int], whole: bytes = b"") -> None:
        """``whole`` is the only span, if it is too large to be held; ``spans`` has what is read of it."""
        self.envelope, self.spans, self.wanted, self.whole = envelope, spans, wanted, whole

    def portions(self) -> Iterator[list[int]]:
        """The indexes of the spans to decode, in portions of at most 16 KiB or one span."""
        wanted, spans = self.wanted, self.spans
        if sum([spans.size(index) for index in wanted]) > _PORTION:
            start = size = 0
            for at, index in enumerate(wanted):
                size += spans.size(index)
                if size > _PORTION and at > start:
                    yield wanted[start:at]
                    start, size = at, spans.size(index)
            wanted = wanted[start:]
        if wanted:
            yield wanted


class Split:
    """A split request. ``links`` maps each trace id to the ids of span, parent, span, parent, ... (zeros: no parent)."""

    __slots__ = ("links", "scopes", "span_count")

    def __init__(self, scopes: list[ScopeSpans], links: dict[bytes, list[bytes]], span_count: int) -> None:
        self.scopes, self.links, self.span_count = scopes, links, span_count


def iter_scopes(raw: bytes) -> Iterator[Group]:
    """Yield the envelope and the raw items of each scope of a request of any signal. Raises DecodeError.

    A scope of more than a slice is yielded in parts.
    """
    for groups in Structure(raw).slices():
        yield from groups


class SpanFilter:
    """Selects the spans to decode: those that contain a marker, and all spans of certain scopes.

    The cost hardly grows with the number of markers: the most common one is searched for in every span, the others in all
    remaining spans at once, by one linear-time automaton.
    """

    def __init__(self, markers: Iterable[bytes], scopes: Iterable[str] = ()) -> None:
        self._markers = re2.compile(b"|".join(re2.escape(marker) for marker in (_MOST_COMMON, *markers)))
        self._scopes = frozenset(scope.encode() for scope in scopes)
        self._known: ByteCache[bytes, bool] = ByteCache(_KNOWN_SCOPES)

    def find(self, envelope: Envelope, spans: Items, others: Sequence[int]) -> Iterable[int]:
        """Returns which of the spans at ``others``, none of which contains the most common marker, to decode."""
        if self._is_whole(envelope.scope):
            return others
        if spans.are_large:  # to copy them takes longer than to search each where it is
            return [index for index in others if self._markers.search(spans.raw, *spans.place(index)) is not None]
        # One search for all of them; single spans are searched only after a hit, which is rare. A marker between two
        # spans, or where they meet, is then found in neither.
        if self._markers.search(b"".join(spans.pieces(others))) is None:
            return ()
        return [index for index in others if self._markers.search(spans[index])]

    def _is_whole(self, scope: bytes) -> bool:
        known = self._known.get(scope)
        if known is None:
            try:
                name = schema.Scope.FromString(schema.ScopeItems.FromString(scope).scope).name
            except ProtobufError:  # left to the decoder, too
                name = b""
            known = self._known.keep(scope, name in self._scopes, len(scope))
        return known


def split(groups: Iterable[Group], span_filter: SpanFilter) -> Split:
    """Split spans. A span is to be decoded if the filter selects it, or if it has no parent or a remote one.

    A span that is not protobuf is left to the decoder, which rejects it.
    """
    result = Split([], {}, 0)
    for envelope, items in groups:
        spans, whole = items, b""
        # Too large to be held: the whole span is forwarded without waiting, and only its trimmed form is read.
        # One that large is alone in its group.
        only = items[0] if len(items) == 1 else b""
        if len(only) > _MAX_HELD or may_be_flood(only):
            trimmed = trim(only)
            if len(trimmed) < len(only):
                spans, whole = Items(trimmed, [0, len(trimmed)]), only
        wanted, others = _classify(spans, result.links)
        found = span_filter.find(envelope, spans, others)
        result.scopes.append(ScopeSpans(envelope, spans, sorted([*wanted, *found]) if found else wanted, whole))
        result.span_count += len(spans)
    return result


def _classify(spans: Items, links: dict[bytes, list[bytes]]) -> tuple[list[int], list[int]]:
    """Returns the indexes of spans with the most common marker or without a local parent, and those of all others.

    Adds the parent link of every span to ``links``. A hot loop: one iteration per span, which is read where it is.
    """
    wanted: list[int] = []
    others: list[int] = []
    raw, positions = spans.raw, spans.positions
    known, known_id = list[bytes](), b""  # the links of the trace that the last span belongs to, and its id
    stop, marker = positions[-1] if positions else 0, -1  # where the last span ends, and the next marker begins
    for index in range(len(positions) // 2):
        at, end = positions[2 * index], positions[2 * index + 1]
        if marker < at:  # one search passes over all spans without a marker
            marker = _next_marker(raw, at, stop)
        is_wanted = marker + len(_MOST_COMMON) <= end
        in_order = (
            end - at > _NAME
            and raw[at] == TRACE_ID_HEAD[0]
            and raw[at + 1] == TRACE_ID_HEAD[1]
            and raw[at + _SPAN] == SPAN_ID_HEAD[0]
            and raw[at + _SPAN + 1] == SPAN_ID_HEAD[1]
        )
        has_parent = in_order and raw[at + _PARENT] == PARENT_ID_HEAD[0] and raw[at + _PARENT + 1] == PARENT_ID_HEAD[1]
        if not has_parent:
            # A root, if the name comes next and nothing after it looks like a parent.
            in_order = in_order and raw[at + _PARENT] == NAME and raw.find(PARENT_ID_HEAD, at + _PARENT, end) < 0
        # SDKs that write flags end a span with a local parent in `_LOCAL_END`: three comparisons, and it is done.
        elif not is_wanted and (raw[end - 3] != _LOCAL_END[0] or raw[end - 2] or raw[end - 1]):
            try:
                is_wanted = _may_have_remote_parent(raw, at, end) and _has_remote_parent(raw[at:end])
            except (IndexError, ProtobufError):  # not a span
                in_order = False
        if in_order:
            trace_id = raw[at + len(TRACE_ID_HEAD) : at + _SPAN]
            if trace_id != known_id:  # the spans of a trace mostly arrive together
                known, known_id = links.setdefault(trace_id, []), trace_id
            span_id = raw[at + _SPAN + 2 : at + _PARENT]
            parent_id = raw[at + _PARENT + 2 : at + _NAME] if has_parent else NO_PARENT
        else:
            try:
                trace_id, span_id, parent_id, is_remote = _parse_ids(raw[at:end])
            except ProtobufError:
                wanted.append(index)
                continue
            is_wanted = is_wanted or is_remote
            if len(trace_id) != _TRACE_ID_SIZE:  # nothing can be joined by it: forwarded unread
                continue
            known, known_id = links.setdefault(trace_id, []), trace_id
        known.append(span_id)
        known.append(parent_id)
        # A root is decoded whatever it is: it may carry the route, and stands in for an agent whose span is missing.
        if is_wanted or parent_id == NO_PARENT:
            wanted.append(index)
        else:
            others.append(index)
    return wanted, others


def _next_marker(raw: bytes, at: int, stop: int) -> int:
    # In pieces: CPython prepares each search of 30,000 bytes or more, which takes longer than to look at a few spans.
    while at < stop:
        end = min(at + _PIECE, stop)
        found = raw.find(_MOST_COMMON, at, end)
        if found >= 0:
            return found
        at = end if end == stop else end - len(_MOST_COMMON) + 1
    return stop


def _may_have_remote_parent(raw: bytes, at: int, end: int) -> bool:
    """Whether the flags or the kind of a span with fields in order may say so. Raises IndexError if it ends before both."""
    kind = at + _NAME + 3 + raw[at + _NAME + 1]
    if raw[end - 3] & 3 == 3:  # further bits of the flags may be set
        return True
    if kind >= end:
        raise IndexError
    return raw[kind] in _REMOTE_KINDS or raw[at + _NAME] != NAME or raw[at + _NAME + 1] > _MAX_SHORT


def _has_remote_parent(span: bytes) -> bool:
    """Returns whether a span with fields in order has a remote parent: by its flags if they tell, otherwise by its kind."""
    end = span[-6:]
    if end.startswith(_FLAGS_TAG) and end[3] & (_HAS_IS_REMOTE >> 8):
        return bool(end[3] & (_IS_REMOTE >> 8))
    if span[_NAME] != NAME or span[_NAME + 1] > _MAX_SHORT:
        return _parse_ids(span)[3]
    kind = _NAME + 2 + span[_NAME + 1]
    return span[kind] == KIND and span[kind + 1] in _REMOTE_KINDS


def _parse_ids(raw: bytes) -> tuple[bytes, bytes, bytes, bool]:
    """Returns trace id, span id, parent span id, and whether the parent is remote. Fields may be in any order."""
    span = schema.Span.FromString(raw)
    remote = bool(span.flags & _IS_REMOTE) if span.flags & _HAS_IS_REMOTE else span.kind in _REMOTE_KINDS
    # Cut or padded to 8 bytes: links are packed one after the other, and another size would shift all that follow.
    return span.trace_id, span.span_id[:8].ljust(8, b"\0"), span.parent_span_id[:8].ljust(8, b"\0"), remote


def trace_id_of(span: bytes) -> bytes:
    """Returns the trace id of a raw span. Raises protobuf's DecodeError where it is not at its place, and not a span."""
    if span.startswith(TRACE_ID_HEAD) and span.startswith(SPAN_ID_HEAD, _SPAN):
        return span[len(TRACE_ID_HEAD) : _SPAN]
    trace_id: bytes = schema.Span.FromString(span).trace_id
    return trace_id


def span_id_of(span: bytes) -> bytes:
    """Returns the span id of a raw span. Raises protobuf's DecodeError where it is not at its place, and not a span."""
    if span.startswith(TRACE_ID_HEAD) and span.startswith(SPAN_ID_HEAD, _SPAN):
        return span[_SPAN + len(SPAN_ID_HEAD) : _SPAN + len(SPAN_ID_HEAD) + 8]
    return _parse_ids(span)[1]


def parent_links(packed: bytes) -> dict[bytes, bytes]:
    """Returns parent span id by span id, b"" for a root, from concatenated links of 16 bytes each."""
    links, parent = dict[bytes, bytes](), b""
    for at in range(0, len(packed), _LINK):
        # Siblings share the id of their parent: compared by identity from here on, and hashed once.
        above = packed[at + _ID : at + _LINK]
        if above != parent:
            parent = b"" if above == NO_PARENT else above
        links[packed[at : at + _ID]] = parent
    return links


def join(groups: Iterable[tuple[Envelope, Iterable[bytes]]]) -> bytes:
    """Build a request: items of one envelope stay together, scopes of one resource share it, order is preserved."""
    return join_fields((envelope, fields_of(items)) for envelope, items in groups)


def fields_of(items: Iterable[bytes]) -> list[bytes]:
    """Returns the items as fields of a scope, head by head and item by item."""
    parts: list[bytes] = []
    for item in items:
        parts.append(item_head(len(item)))
        parts.append(item)
    return parts


def join_fields(groups: Iterable[tuple[Envelope, list[bytes]]]) -> bytes:
    """As `join`, of items that are fields of their scopes already."""
    resources: dict[bytes, list[bytes]] = {}
    for envelope, parts in groups:
        scopes = resources.get(envelope.resource)
        if scopes is None:
            scopes = resources[envelope.resource] = []
        before, after = _around_items(envelope.scope)
        scopes.append(item_head(len(before) + size_of(parts) + len(after)))
        scopes.append(before)
        scopes += parts
        scopes.append(after)
    request: list[bytes] = []
    for resource, scopes in resources.items():
        before, after = _around_items(resource)
        size = len(before) + size_of(scopes) + len(after)
        request += (field_head(RESOURCE, size), before, *scopes, after)
    # Each item is copied once, here.
    return b"".join(request)


def _around_items(description: bytes) -> tuple[bytes, bytes]:
    """Returns what stands before and after the items of a scope, or the scopes of a resource: fields keep their order."""
    if description[:1] != _DESCRIPTION_TAG:
        return b"", description
    _, start, end = read_field(description, 0)
    return description[:end] if end > start else b"", description[end:]  # an empty one is none, as in small requests
