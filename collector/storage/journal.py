"""What the spool holds of open traces, finished traces and conversations: the owner of these rows.

A request leaves one record for each open trace in it (its GenAI spans, the parent links of all its spans) and one for all
traces in which no agent was seen yet (links and roots, which matter if an agent shows up later); its large resources and
scopes are shared by these. A finished trace leaves a tombstone: the ids of its spans, so that a repeated one is recognised, and
the anchors that have a verdict. What casts doubt on traces is recorded as well: from when on they were seen, and which opened
without a part that was forgotten; ``unreceived`` has the rest of that. The rows of conversations are in `conversation_rows`.

Records are deleted, and the tombstone is written, in the transaction that queues the trace's annotated spans and events:
until then nothing of them has left, so that verdicts made again after a crash are the first anybody sees. What a tombstone
does not bring back is the spans themselves: after a restart a late tool call is forwarded, and revises no earlier verdict.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from collector.assembly.seen_from import SeenFrom
from collector.assembly.trace import Trace
from collector.otlp.lazy import Envelope
from collector.storage.conversation_rows import ConversationRows
from collector.storage.packing import pack
from collector.storage.records import RecordKind, SpoolRecord, write_time, write_tombstone
from collector.storage.shared_parts import SharedParts
from collector.storage.spool import Spool

_TRACE_ID_SIZE = 16
_KNOWN_SINCE = 50  # rows: a trace that opened before those is taken for one that lacks nothing, if a restart comes
_NO_ENVELOPE = Envelope(b"", b"")


class JournaledScope(NamedTuple):
    """The raw spans of one scope of a request that a restart must bring back."""

    envelope: Envelope
    spans: dict[bytes, list[bytes]]
    """By trace id."""
    kind: RecordKind = RecordKind.SPANS


class _ContextRow(NamedTuple):
    stored: float
    trace_ids: Sequence[bytes]


@dataclass(slots=True, eq=False)
class _ClosedTrace:
    """A trace that has its verdict, and whose results are not queued for export yet."""

    trace_id: bytes
    rows: Sequence[int]
    """Its inbox records."""
    row: int
    """Of its tombstone."""
    tombstone: bytes | None
    """None once the trace is not remembered any more."""
    replaces: int | None
    """Row of the tombstone it had before it was reopened."""


class Journal:
    """Records the steps of one pipeline. Call ``commit`` in the step that queues what was made of closed traces.

    ``is_open`` says whether a trace is open. Context of a trace without an agent is kept for up to three times
    ``context_lifetime``, in seconds.
    """

    def __init__(self, spool: Spool, is_open: Callable[[bytes], bool], context_lifetime: float) -> None:
        self._spool, self._is_open, self._lifetime = spool, is_open, context_lifetime
        self._shared = SharedParts(spool)
        self.conversations = ConversationRows(spool)
        """Changed by the next commit."""
        self._rows: dict[bytes, list[int]] = {}  # inbox rows of open traces
        self._context: dict[int, _ContextRow] = {}
        self._next_sweep = 0.0
        self._waiting: dict[bytes, list[_ClosedTrace]] = {}  # closed; results not on their way yet; oldest first
        self._sent: list[_ClosedTrace] = []  # results on their way, queued by the next commit
        self._unwritten: dict[int, _ClosedTrace] = {}  # both of them, by row of the tombstone
        self._tombstones: dict[bytes, int] = {}  # latest row of each remembered or reopened trace
        self._evicted: list[int] = []  # tombstones to delete
        self._begun: dict[bytes, int] = {}  # rows read back that tell of traces that are to open
        self._known_since = deque[int]()  # rows that say since when runs were known, oldest first
        self._period: list[int] = []  # rows read back last that say from when on traces were seen
        self._period_counts = False  # whether there are records that follow them

    # ---- open traces

    def ready(self, seen_from: SeenFrom) -> None:
        """Store from when on the process sees the traces of the records that are stored next."""
        self._store_time(RecordKind.READY, seen_from.ready_ns)
        seen_from.on_joining = partial(self._store_time, RecordKind.JOINING)

    def _store_time(self, kind: RecordKind, time_ns: int) -> None:
        self._spool.store(kind, write_time(time_ns))

    def store_known_since(self, time_ns: int) -> None:
        """Store that, for traces that open from here on, runs that had their verdict before then are forgotten."""
        self._known_since.append(self._spool.store(RecordKind.KNOWN_SINCE, write_time(time_ns)))
        if len(self._known_since) > _KNOWN_SINCE:
            self._spool.delete("inbox", [self._known_since.popleft()])

    @property
    def received_until(self) -> int:
        """Until when the process before this one received what was sent to it, in ns of wall time; 0 if that is unknown."""
        return self._spool.received_until

    def record_receiving(self, until_ns: Callable[[], int]) -> None:
        """Record again and again until when this process receives what is sent to it."""
        self._spool.receiving = until_ns

    def store_request(
        self, links: Mapping[bytes, Sequence[bytes]], scopes: Sequence[JournaledScope], now: float
    ) -> None:
        """Store what a trace request brought."""
        scopes_of: dict[bytes, list[JournaledScope]] = {}
        for scope in scopes:
            for trace_id in scope.spans:
                scopes_of.setdefault(trace_id, []).append(scope)
        unclaimed: dict[bytes, None] = {}
        for trace_id, ids in links.items():
            if not self._is_open(trace_id):
                # Ids are stored side by side without a length, so those of another size could not be told apart.
                if len(trace_id) == _TRACE_ID_SIZE:
                    unclaimed[trace_id] = None
                continue
            # With the first record only: links belong to the trace, whatever scopes its spans have.
            link = b"".join(ids)
            for scope in scopes_of.get(trace_id, ()):
                self._store_of(trace_id, scope.kind, link, scope.envelope, scope.spans[trace_id])
                link = b""
            if link:
                self._store_of(trace_id, RecordKind.SPANS, link, _NO_ENVELOPE, ())
        if unclaimed:
            self._store_context(list(unclaimed), [b"".join(links[i]) for i in unclaimed], _NO_ENVELOPE, (), now)
            for scope in scopes:
                if roots := [trace_id for trace_id in scope.spans if trace_id in unclaimed]:
                    raws = [raw for root in roots for raw in scope.spans[root]]
                    self._store_context(roots, [b""] * len(roots), scope.envelope, raws, now)

    def store_begun(self, trace_id: bytes) -> None:
        """Store that a trace which opens lacks an earlier part."""
        self._rows.setdefault(trace_id, []).append(self._spool.store(RecordKind.BEGUN, trace_id))

    def store_log(self, trace_id: bytes, envelope: Envelope, raw: bytes) -> None:
        """Store a log record if its trace is open."""
        if self._is_open(trace_id):
            self._store_of(trace_id, RecordKind.LOG, b"", envelope, [raw])

    def drop(self, trace: Trace) -> None:
        """Delete the records of an open trace that goes on elsewhere, in the step that queues its spans for there."""
        self._delete_records(self._rows.pop(trace.trace_id, ()))

    def _store_of(
        self, trace_id: bytes, kind: RecordKind, link: bytes, envelope: Envelope, raws: Sequence[bytes]
    ) -> None:
        self._rows.setdefault(trace_id, []).append(self._store(kind, [trace_id, link], envelope, raws))

    def _store_context(
        self, trace_ids: list[bytes], links: list[bytes], envelope: Envelope, raws: Sequence[bytes], now: float
    ) -> None:
        row = self._store(RecordKind.CONTEXT, [b"".join(trace_ids), *links], envelope, raws)
        self._context[row] = _ContextRow(now, trace_ids)

    def _store(self, kind: RecordKind, head: Sequence[bytes], envelope: Envelope, raws: Sequence[bytes]) -> int:
        stored, parts, shared = self._shared.store(kind, envelope)
        row = self._spool.store(stored, pack([*head, *parts, *raws]))
        self._shared.use(row, shared)
        return row

    def _delete_records(self, rows: Sequence[int]) -> None:
        self._spool.delete("inbox", [*rows, *self._shared.release(rows)])

    def sweep(self, now: float) -> None:
        """Delete context that no trace can need any more."""
        if now < self._next_sweep:
            return
        self._next_sweep = now + self._lifetime
        # Twice, as the assembler keeps such context for up to two
        # lifetimes, and must not know it longer than the spool.
        expired = [row for row, context in self._context.items() if now - context.stored > 2 * self._lifetime]
        # A trace whose results are not queued is made again after a crash, and needs its context for that.
        closing = {closed.trace_id for closed in self._unwritten.values()}
        gone = [
            row for row in expired if not any(self._is_open(i) or i in closing for i in self._context[row].trace_ids)
        ]
        for row in gone:
            del self._context[row]
        if gone:
            self._delete_records(gone)

    # ---- closed traces

    def rows_of(self, trace_id: bytes) -> int:
        """Returns how many records an open trace has."""
        return len(self._rows.get(trace_id, ()))

    def close(self, trace: Trace, evicted: Iterable[Trace], rows: int | None = None) -> None:
        """Note that a trace was closed. Its records stay until ``sent`` and ``commit``: no result of it is queued yet.

        They are the first ``rows`` of those it has; the others are of the same trace, open again.
        """
        row = self._spool.next_id()
        replaces, self._tombstones[trace.trace_id] = self._tombstones.get(trace.trace_id), row
        records = self._rows.pop(trace.trace_id, [])
        if rows is not None:
            records, self._rows[trace.trace_id] = records[:rows], records[rows:]
        closed = _ClosedTrace(trace.trace_id, records, row, write_tombstone(trace), replaces)
        self._waiting.setdefault(trace.trace_id, []).append(closed)
        self._unwritten[row] = closed
        for other in evicted:
            self._evict(other.trace_id)

    def _evict(self, trace_id: bytes) -> None:
        row = self._tombstones.pop(trace_id)
        unwritten = self._unwritten.get(row)
        # A tombstone that is not written yet must never be: nothing would delete it any more.
        if unwritten is None:
            self._evicted.append(row)
        else:
            unwritten.tombstone = None

    @property
    def behind(self) -> bool:
        """Whether results that are many should be queued later."""
        return self._spool.behind

    def sent(self, trace_id: bytes) -> None:
        """Note that the results of the trace, closed once or the first of several times, are queued by the next commit."""
        waiting = self._waiting[trace_id]
        self._sent.append(waiting.pop(0))
        if not waiting:
            del self._waiting[trace_id]

    def commit(self) -> None:
        """Write what follows from all results sent so far being queued: in this step, or already."""
        self._spool.confirm()
        sent, self._sent = self._sent, []
        tombstones, self._evicted = self._evicted, []
        for closed in sent:
            del self._unwritten[closed.row]
            if closed.replaces is not None:
                tombstones.append(closed.replaces)
            if closed.tombstone is not None:
                self._spool.finish(closed.row, closed.tombstone)
        if sent:
            self._delete_records([row for closed in sent for row in closed.rows])
        if tombstones:
            self._spool.delete("finished", tombstones)
        self.conversations.commit()

    # ---- after a restart

    def tombstones(self) -> Iterator[tuple[int, bytes | None]]:
        """Yield row and tombstone of the traces that were finished, oldest first; None for what is damaged."""
        return self._spool.finished()

    def records(self) -> Iterator[tuple[int, int, bytes | None]]:
        """Yield row, kind and record of everything else, in the order in which it was stored; None for what is damaged."""
        return self._spool.inbox()

    def begin(self, row: int) -> int:
        """Note that a row is being restored. Returns how many starts in a row ended at it."""
        return self._spool.begin(row)

    def end(self) -> None:
        """Note that every row is restored."""
        self._spool.restored()
        self._end_period()
        self._spool.delete("inbox", self._begun.values())
        if unused := self._shared.end_restoring():
            self._spool.delete("inbox", unused)

    def restored_tombstone(self, trace: Trace, row: int) -> None:
        """Take over the tombstone of a trace."""
        self._tombstones[trace.trace_id] = row

    def restored(self, record: SpoolRecord, now: float) -> None:
        """Take over a record that was read back and added to the assembler."""
        self._period_counts = True
        self._shared.use(record.row, record.shared)
        trace_id = next(iter(record.links))
        if record.kind is RecordKind.CONTEXT:
            self._context[record.row] = _ContextRow(now, list(record.links))
        elif self._is_open(trace_id):
            rows = self._rows.setdefault(trace_id, [])
            rows.append(record.row)
            if trace_id in self._begun:
                rows.append(self._begun.pop(trace_id))
        else:
            self.discard(record.row)

    @property
    def shared_parts(self) -> Mapping[int, bytes]:
        """The parts to which the records read back next may refer, by row."""
        return self._shared.restored

    def restored_part(self, row: int, part: bytes) -> None:
        """Take over a part that was read back."""
        self._shared.restore(row, part)

    def restored_begun(self, trace_id: bytes, row: int) -> None:
        """Take over the record that a trace which is about to open lacks an earlier part."""
        self._begun[trace_id] = row

    def restored_known_since(self, row: int) -> None:
        """Take over a record that says since when runs were known."""
        self._known_since.append(row)

    def restored_period(self, row: int, *, begins: bool) -> None:
        """Take over a record that says from when on the traces of the records that follow were seen."""
        if begins:
            self._end_period()
        self._period.append(row)

    def _end_period(self) -> None:
        if not self._period_counts:
            self._spool.delete("inbox", self._period)
        self._period, self._period_counts = [], False

    def discard(self, row: int) -> None:
        """Delete a record that is of no use."""
        self._delete_records([row])

    def leave_out(self, table: str, row: int, record: bytes | None) -> None:
        """Delete a row that cannot be restored, but for a copy in quarantine; a damaged one, None, is there already."""
        if record is None:
            self._spool.delete(table, [row])
        else:
            self._spool.set_aside(table, row, record)
