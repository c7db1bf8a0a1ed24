"""The records of the spool as bytes.

inbox, SPANS, LOG, CONTEXT,   trace ids | links of each trace ... | resource | scope | span ...
       CUT
inbox, SHARED                 a resource or scope; records of the kinds above may have its row in their place
inbox, RUN                    as ``collector.scoring.conversations`` writes it
inbox, CONVERSATION           key, revision, truncated, is_over, known_forbidden as JSON
inbox, COLLECTED_FROM, READY, JOINING, KNOWN_SINCE
                              wall time in ns
inbox, BEGUN                  trace id
inbox, REFUSED                key | trace ids, side by side
inbox, GAP                    wall times in ns
finished                      trace id | links | ids of held spans | of other spans | of log records | anchors
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from collector.assembly.conversations import Conversation, ConversationKey
from collector.assembly.trace import Given, Trace
from collector.otlp.structure import Envelope
from collector.storage.packing import DAMAGED, pack, unpack

_TRACE_ID, _SPAN_ID, _LINK = 16, 8, 16  # bytes


class RecordKind(IntEnum):
    """What an inbox record holds."""

    SPANS = 0
    """GenAI spans of one open trace, and the parent links of all its spans in the same request."""
    LOG = 1
    """A log record of one open trace."""
    CONTEXT = 2
    """Parent links and roots of traces without an agent so far."""
    RUN = 3
    """One run of a conversation."""
    CONVERSATION = 4
    """What is known of a conversation beyond its runs."""
    SHARED = 5
    """A resource or scope to which records refer."""
    CUT = 6
    """As SPANS, of spans that were too large to be held: they were forwarded at once, and are here as they were read."""
    COLLECTED_FROM = 7
    """Since when all runs of conversations are collected."""
    READY = 8
    """From when on the process saw the traces of the records that follow."""
    JOINING = 9
    """Until when it joined others."""
    BEGUN = 10
    """Of the trace of records that follow, an earlier part was forgotten when it opened."""
    REFUSED = 11
    """A request that was refused, and the traces of which it has spans."""
    GAP = 12
    """A time at which nothing was read of what was sent."""
    KNOWN_SINCE = 13
    """As the traces of the records that follow opened, runs that had their verdict before then were forgotten."""


OF_SPANS: Final[Mapping[int, RecordKind]] = {
    int(kind): kind for kind in (RecordKind.SPANS, RecordKind.LOG, RecordKind.CONTEXT, RecordKind.CUT)
}
"""The kinds of records of spans or log records."""
_REFERS: Final = (1 << 4, 1 << 5)  # added to the kind of a record that has a row instead of the resource, of the scope
_OWN: Final = ~(_REFERS[0] | _REFERS[1])
_ROW = struct.Struct("<Q")
_TIME = struct.Struct("<Q")
_KEY = struct.Struct("<Q")
_GAP = struct.Struct("<QQ")
_ANCHOR = struct.Struct("<IB")  # revision, length of the anchor that follows


class SpoolRecord(NamedTuple):
    """A record of spans or log records as read back."""

    row: int
    kind: RecordKind
    links: dict[bytes, list[bytes]]
    envelope: Envelope
    raws: list[bytes]
    shared: tuple[int, ...] = ()
    """The rows to which it refers."""


class ConversationState(NamedTuple):
    """What is recorded of a conversation beyond its runs."""

    key: ConversationKey
    revision: int
    truncated: bool
    is_over: bool
    known_forbidden: frozenset[str] | None


def reference(kind: int, at: int, row: int) -> tuple[int, bytes]:
    """Returns kind and part of a record that has, instead of its resource (``at`` 0) or scope (1), a reference to a row."""
    return kind | _REFERS[at], _ROW.pack(row)


def own_kind(kind: int) -> int:
    """Returns the kind of a record, whether it refers to others or not."""
    return kind & _OWN


def read_record(row: int, kind: int, packed: bytes, shared: Mapping[int, bytes]) -> SpoolRecord:
    """Decode a record of spans or log records; ``shared`` are parts by row. Raises ValueError if it is damaged."""
    own, parts = OF_SPANS.get(own_kind(kind)), unpack(packed)
    ids = _split_ids(parts[0], _TRACE_ID) if parts else []
    if own is None or not ids or len(parts) < len(ids) + 3 or (own is RecordKind.LOG and len(parts) < 5):
        raise ValueError(DAMAGED)
    links = {trace_id: [_checked(parts[at], _LINK)] for at, trace_id in enumerate(ids, 1)}
    envelope, raws = parts[len(ids) + 1 : len(ids) + 3], parts[len(ids) + 3 :]
    rows = list[int]()
    if own != kind:
        for at, flag in enumerate(_REFERS):
            if kind & flag:
                rows.append(_row_in(envelope[at], shared))
                envelope[at] = shared[rows[-1]]
    return SpoolRecord(row, own, links, Envelope(envelope[0], envelope[1]), raws, tuple(rows))


def _row_in(reference: bytes, shared: Mapping[int, bytes]) -> int:
    if len(reference) != _ROW.size or (row := _ROW.unpack(reference)[0]) not in shared:
        raise ValueError(DAMAGED)
    return int(row)


def write_tombstone(trace: Trace) -> bytes:
    """Encode what recognises repeated and late spans of a closed trace."""
    held: list[bytes] = []
    others: list[bytes] = []
    logs: list[bytes] = []
    for key, span in trace.spans.items():
        # A log record has no span id: its key is a hash of its bytes,
        # and the column of its own keeps the two apart.
        if isinstance(key, int):
            logs.append(key.to_bytes(_SPAN_ID))
        elif span.annotatable or trace.annotates_root(span):
            held.append(key)
        else:
            others.append(key)
    for key, was_held in trace.seen.items():
        if isinstance(key, int):
            logs.append(key.to_bytes(_SPAN_ID))
        else:
            (held if was_held else others).append(key)
    anchors = [_ANCHOR.pack(given.revision, len(anchor)) + anchor for anchor, given in trace.verdicts.items()]
    return pack(
        [trace.trace_id, bytes(trace.links), b"".join(held), b"".join(others), b"".join(logs), b"".join(anchors)]
    )


def read_tombstone(packed: bytes, now: float) -> Trace:
    """Decode a tombstone into the trace it recognises spans for. Raises ValueError if it is damaged."""
    trace_id, links, held, others, logs, anchors = unpack(packed)
    if len(trace_id) != _TRACE_ID:
        raise ValueError(DAMAGED)
    seen: dict[bytes | int, bool] = dict.fromkeys(_split_ids(held, _SPAN_ID), True)
    seen.update(dict.fromkeys(_split_ids(others, _SPAN_ID), False))
    seen.update((int.from_bytes(key), False) for key in _split_ids(logs, _SPAN_ID))
    trace = Trace(trace_id, now, now, bytearray(_checked(links, _LINK)), seen=seen)
    try:
        trace.verdicts = {anchor: Given(revision) for anchor, revision in _read_anchors(anchors)}
    except struct.error:
        raise ValueError(DAMAGED) from None
    return trace


def write_time(time_ns: int) -> bytes:
    """Encode a wall time."""
    return _TIME.pack(time_ns)


def read_time(record: bytes) -> int:
    """Decode a wall time, in ns. Raises ValueError if it is damaged."""
    if len(record) != _TIME.size:
        raise ValueError(DAMAGED)
    time_ns: int = _TIME.unpack(record)[0]
    return time_ns


def write_refused(key: int, traces: Iterable[bytes]) -> bytes:
    """Encode a refused request."""
    return _KEY.pack(key) + b"".join(traces)


def read_refused(record: bytes) -> tuple[int, list[bytes]]:
    """Decode a refused request: its key, and the traces of which it has spans. Raises ValueError if it is damaged."""
    if len(record) < _KEY.size + _TRACE_ID:
        raise ValueError(DAMAGED)
    key: int = _KEY.unpack_from(record)[0]
    return key, _split_ids(record[_KEY.size :], _TRACE_ID)


def write_gap(begun_ns: int, ended_ns: int) -> bytes:
    """Encode a gap in what was received."""
    return _GAP.pack(begun_ns, ended_ns)


def read_gap(record: bytes) -> tuple[int, int]:
    """Decode a gap: when it began and ended, in ns of wall time. Raises ValueError if it is damaged."""
    if len(record) != _GAP.size:
        raise ValueError(DAMAGED)
    begun_ns, ended_ns = _GAP.unpack(record)
    return begun_ns, ended_ns


def write_conversation(conversation: Conversation) -> bytes:
    """Encode what is known of a conversation beyond its runs."""
    state = {name: getattr(conversation, name) for name in ConversationState._fields}
    known = conversation.known_forbidden
    return json.dumps({**state, "known_forbidden": None if known is None else sorted(known)}).encode()


def read_conversation(record: bytes) -> ConversationState:
    """Decode the state of a conversation. Raises ValueError if it is damaged."""
    try:
        state = json.loads(record)
        key, revision = ConversationKey(*state["key"]), int(state["revision"])
        # An earlier version wrote none.
        known = state.get("known_forbidden", None if revision else ())
        forbidden = None if known is None else frozenset(map(str, known))
        return ConversationState(key, revision, bool(state["truncated"]), bool(state["is_over"]), forbidden)
    except (KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(DAMAGED) from error


def _split_ids(ids: bytes, size: int) -> list[bytes]:
    _checked(ids, size)
    return [ids[at : at + size] for at in range(0, len(ids), size)]


def _checked(ids: bytes, size: int) -> bytes:
    if len(ids) % size:
        raise ValueError(DAMAGED)
    return ids


def _read_anchors(packed: bytes) -> Iterator[tuple[bytes, int]]:
    at = 0
    while at < len(packed):
        revision, size = _ANCHOR.unpack_from(packed, at)
        at += 5 + size
        if at > len(packed):
            raise ValueError(DAMAGED)
        yield packed[at - size : at], revision
