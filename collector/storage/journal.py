"""What the spool keeps of open and finished traces, and how they come back after a crash.

A request leaves one record for each open trace in it (the spans that were read, the parent links of the others) and one
for all traces no agent was seen in yet (links and roots, which may matter to an agent that shows up later). A finished
trace leaves a mark: the ids of its spans, so that one sent again is recognised, and the anchors that have their verdict.

    record    trace ids | links of each trace ... | resource | scope | span ...
    mark      trace id | links | ids of held spans | ids of other spans | ids of log records | anchors

A conversation leaves a record for each run gathered, and one that says whether it has its verdict: as they are in memory.

Records are deleted, and the mark is written, in the transaction that queues the trace's annotated spans and events: until
then nothing of them has left, so that verdicts made again after a crash are the first anybody sees. What a mark does not
bring back is the spans themselves: after a restart a late tool call is passed on, and no verdict from before is revised.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from collector.assembly.assembler import Assembler
from collector.assembly.conversations import ConversationRun, Conversations
from collector.assembly.trace import Trace
from collector.otlp.lazy import Envelope
from collector.storage.spool import Spool

SPANS, LOG, CONTEXT, GATHERED, MARK = range(5)
"""Kinds of records: spans of one open trace, a log record of one, what may matter to traces not open yet; a run of a
conversation, what is noted of one."""
_ID, _SPAN = 16, 8  # bytes of a trace id, of a span id
_NO_FRAME = Envelope(b"", b"")


class SpoolRecord(NamedTuple):
    """A record as read back."""

    row: int
    kind: int
    links: dict[bytes, list[bytes]]
    envelope: Envelope
    raws: list[bytes]


Kept = list[tuple[Envelope, dict[bytes, list[bytes]]]]
"""Of each scope of a request, the raw spans that were read, by trace id."""


class ClosedTrace(NamedTuple):
    """A trace as it was when it was closed: its old and new mark, and the rows that were its."""

    trace: Trace
    before: int
    mark: int
    record: bytes
    rows: Sequence[int]
    context: Sequence[int]


class Journal:
    """Records what one pipeline takes and finishes. ``lifetime``: seconds for which a trace may stay without an agent."""

    def __init__(self, spool: Spool, assembler: Assembler, conversations: Conversations, lifetime: float) -> None:
        self._spool, self._assembler, self._lifetime = spool, assembler, lifetime
        self._conversations = conversations
        self._context: dict[int, float] = {}
        self._closed: dict[int, ClosedTrace] = {}
        self._done: list[ClosedTrace] = []
        self._next_sweep = 0.0

    # ---- in

    def request(self, links: Mapping[bytes, Sequence[bytes]], kept: Kept, now: float) -> None:
        """Keep what a trace request told."""
        unclaimed: list[bytes] = []
        for trace_id, ids in links.items():
            trace = self._assembler.opened(trace_id)
            if trace is None:
                if len(trace_id) == _ID:
                    unclaimed.append(trace_id)
                continue
            link = b"".join(ids)
            for envelope, spans in kept:
                raws = spans.get(trace_id)
                if raws is not None:
                    self._keep(trace, SPANS, [trace_id, link, *envelope, *raws])
                    link = b""
            if link:
                self._keep(trace, SPANS, [trace_id, link, *_NO_FRAME])
        if unclaimed:
            self._keep_context(unclaimed, links, kept, now)

    def _keep_context(
        self, unclaimed: list[bytes], links: Mapping[bytes, Sequence[bytes]], kept: Kept, now: float
    ) -> None:
        told = [b"".join(unclaimed), *(b"".join(links[trace_id]) for trace_id in unclaimed)]
        row = self._spool.keep(CONTEXT, pack([*told, *_NO_FRAME]))
        self._note_context(row, unclaimed, now)
        for envelope, spans in kept:
            roots = [trace_id for trace_id in unclaimed if trace_id in spans]
            if roots:
                ids = [b"".join(roots), *(b"" for _ in roots)]
                row = self._spool.keep(
                    CONTEXT, pack([*ids, *envelope, *(raw for root in roots for raw in spans[root])])
                )
                self._note_context(row, roots, now)

    def _note_context(self, row: int, trace_ids: Iterable[bytes], now: float) -> None:
        self._context[row] = now
        for trace_id in trace_ids:
            self._assembler.note_context(trace_id, row, now)

    def log(self, trace_id: bytes, envelope: Envelope, raw: bytes) -> None:
        """Keep a log record of an open trace."""
        trace = self._assembler.opened(trace_id)
        if trace is not None:
            self._keep(trace, LOG, [trace_id, b"", *envelope, raw])

    def _keep(self, trace: Trace, kind: int, parts: Sequence[bytes]) -> None:
        trace.note_row(self._spool.keep(kind, pack(parts)))

    # ---- out

    def close(self, trace: Trace) -> ClosedTrace:
        """The trace was closed. Its records stay until ``left`` and ``settle``: nothing made of it was queued yet."""
        before, trace.mark = trace.mark, self._spool.next_id()
        closed = ClosedTrace(trace, before, trace.mark, _mark(trace), trace.rows, trace.context)
        self._closed[closed.mark] = closed
        trace.rows, trace.context = (), ()
        return closed

    def left(self, closed: ClosedTrace) -> None:
        """What was made of the trace is on its way, and queued by the next ``settle``."""
        del self._closed[closed.mark]
        self._done.append(closed)

    def settle(self) -> None:
        """All that was made of closed traces is queued now, or was in this same step: their records may go."""
        done, self._done = self._done, []
        for closed in done:
            self._spool.drop("inbox", closed.rows)
            if closed.before:
                self._spool.drop("finished", [closed.before])
            if self._assembler.remembers(closed.trace):
                self._spool.finish(closed.mark, closed.record)
        if self._assembler.forgotten:
            self._spool.drop("finished", self._assembler.forgotten)
            self._assembler.forgotten = []
        changes, self._conversations.changes = self._conversations.changes, []
        for what, keep in changes:
            if keep:
                what.row = self._spool.keep(GATHERED if isinstance(what, ConversationRun) else MARK, what.record)
            elif what.row:
                self._spool.drop("inbox", [what.row])

    def sweep(self, now: float) -> None:
        """Drop context that no trace can need any more."""
        if now < self._next_sweep:
            return
        self._next_sweep = now + self._lifetime
        needed = {row for trace in self._assembler.open_traces() for row in trace.context}
        needed.update(row for closed in self._closed.values() for row in closed.context)
        gone = [row for row, since in self._context.items() if now - since > 2 * self._lifetime and row not in needed]
        for row in gone:
            del self._context[row]
        if gone:
            self._spool.drop("inbox", gone)

    # ---- after a restart

    def restore_finished(self, now: float) -> int:
        """Remember the traces that were finished; says how many marks could not be read."""
        unreadable = 0
        for row, mark in self._spool.finished():
            try:
                self._assembler.restore(_read_mark(row, mark, now))
            except ValueError:
                self._spool.drop("finished", [row])
                unreadable += 1
        return unreadable

    def records(self) -> Iterator[tuple[int, int, bytes]]:
        """What open traces were made of, in the order it came, for ``read_record``."""
        return self._spool.inbox()

    def restored(self, record: SpoolRecord, now: float) -> None:
        """A record was read back: say again whose it is."""
        if record.kind == CONTEXT:
            self._note_context(record.row, record.links, now)
            return
        trace = self._assembler.opened(next(iter(record.links)))
        if trace is None:
            self.discard(record.row)
        else:
            trace.note_row(record.row)

    def discard(self, row: int) -> None:
        """A record is of no use."""
        self._spool.drop("inbox", [row])


def read_record(row: int, kind: int, packed: bytes) -> SpoolRecord:
    """A record as it was kept. Raises ValueError where it is damaged."""
    parts = unpack(packed)
    ids = [parts[0][at : at + _ID] for at in range(0, len(parts[0]), _ID)] if parts else []
    if not ids or len(parts) < len(ids) + 3 or kind not in (SPANS, LOG, CONTEXT) or (kind == LOG and len(parts) < 5):
        raise ValueError("a record of the spool is damaged")
    links = dict(zip(ids, ([link] for link in parts[1 : len(ids) + 1]), strict=True))
    resource, scope, *raws = parts[len(ids) + 1 :]
    return SpoolRecord(row, kind, links, Envelope(resource, scope), raws)


def pack(parts: Sequence[bytes]) -> bytes:
    """Join parts so that ``unpack`` can part them again."""
    return struct.pack(f"<{len(parts) + 1}I", len(parts), *map(len, parts)) + b"".join(parts)


def unpack(packed: bytes) -> list[bytes]:
    """The parts of a record. Raises ValueError where it is damaged."""
    try:
        (count,) = struct.unpack_from("<I", packed)
        sizes = struct.unpack_from(f"<{min(count, len(packed))}I", packed, 4)
    except struct.error:
        raise ValueError("a record of the spool is damaged") from None
    if 4 * count + 4 + sum(sizes) != len(packed):
        raise ValueError("a record of the spool is damaged")
    parts, at = [], 4 * len(sizes) + 4
    for size in sizes:
        parts.append(packed[at : at + size])
        at += size
    return parts


def _mark(trace: Trace) -> bytes:
    held: list[bytes] = []
    others: list[bytes] = []
    logs: list[bytes] = []
    for key, span in trace.spans.items():
        if isinstance(key, int):
            logs.append(key.to_bytes(_SPAN))
        else:
            (held if span.annotatable else others).append(key)
    for key, was_held in trace.seen.items():
        if isinstance(key, int):
            logs.append(key.to_bytes(_SPAN))
        else:
            (held if was_held else others).append(key)
    anchors = b"".join(
        struct.pack("<IB", revision, len(anchor)) + anchor for anchor, (revision, _) in trace.verdicts.items()
    )
    return pack([trace.trace_id, bytes(trace.links), b"".join(held), b"".join(others), b"".join(logs), anchors])


def _read_mark(row: int, mark: bytes, now: float) -> Trace:
    """The trace of a mark. Raises ValueError where it is damaged."""
    trace_id, links, held, others, logs, anchors = unpack(mark)
    seen: dict[bytes | int, bool] = dict.fromkeys(_cut(held), True)
    seen.update(dict.fromkeys(_cut(others), False))
    seen.update((int.from_bytes(key), False) for key in _cut(logs))
    trace = Trace(trace_id, now, now, bytearray(links), seen=seen, mark=row)
    try:
        trace.verdicts = {anchor: (revision, 0) for anchor, revision in _anchors(anchors)}
    except struct.error:
        raise ValueError("a mark of the spool is damaged") from None
    return trace


def _cut(ids: bytes) -> list[bytes]:
    return [ids[at : at + _SPAN] for at in range(0, len(ids), _SPAN)]


def _anchors(packed: bytes) -> Iterator[tuple[bytes, int]]:
    at = 0
    while at < len(packed):
        revision, size = struct.unpack_from("<IB", packed, at)
        yield packed[at + 5 : at + 5 + size], revision
        at += 5 + size
