"""After a restart: open traces and conversations read back from the spool, a few spans at a time.

Nothing in the spool can keep the process from starting: a row that is damaged, or at which restoring raises, is left out. So
is a row at which two starts in succession ended, because it crashes or hangs the process or takes all its memory; its spans
are forwarded without a verdict, unless a start ended at that too.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial

from collector.assembly.assembler import Assembler
from collector.assembly.conversations import Conversations
from collector.assembly.gaps import Gaps
from collector.assembly.refused_traces import RefusedTraces
from collector.assembly.seen_from import SeenFrom
from collector.errors import DecodeError
from collector.model.genai_span import IGNORED, UNREAD, GenAISpan, Role
from collector.otlp.decode import Decoder, ReadSpan
from collector.otlp.handed_over import handover_of
from collector.otlp.structure import Envelope
from collector.scoring.conversations import restore
from collector.storage.journal import Journal
from collector.storage.packing import DAMAGED
from collector.storage.records import (
    OF_SPANS,
    RecordKind,
    SpoolRecord,
    own_kind,
    read_conversation,
    read_gap,
    read_record,
    read_refused,
    read_time,
    read_tombstone,
)

_log = logging.getLogger(__name__)
_SLICE = 50  # spans restored in one step
_MAX_ENDED = 2  # starts that may end at a row before it is left out


AddLog = Callable[[Envelope, bytes, float, SeenFrom | None], bytes]
"""How a log record is added to its trace."""

Forward = Callable[[SpoolRecord], None]
"""How the spans of a record are forwarded without a verdict."""


class Recovery:
    """Fills an assembler, conversations, refused traces and gaps from a journal."""

    def __init__(  # noqa: PLR0913, PLR0917 - what it fills, and what it reads with
        self,
        journal: Journal,
        assembler: Assembler,
        conversations: Conversations,
        refused: RefusedTraces,
        gaps: Gaps,
        decoder: Decoder,
        read_span: ReadSpan,
        add_log: AddLog,
        forward: Forward,
        now: Callable[[], float],
    ) -> None:
        self._journal, self._assembler, self._conversations = journal, assembler, conversations
        self._refused, self._gaps = refused, gaps
        self._decoder, self._read_span, self._add_log = decoder, read_span, add_log
        self._forward, self._now = forward, now
        self._seen_from: SeenFrom | None = None  # of the records that follow

    def run(self) -> Iterator[bool]:
        """Restore everything, in steps of milliseconds. Yields after each whether a row was lost."""
        # Tombstones first: spans of a trace that was reopened must find what it had before.
        for row, tombstone in self._journal.tombstones():
            yield from self._restore("finished", row, tombstone, self._tombstone)
        for row, kind, record in self._journal.records():
            spans = kind if record is not None and own_kind(kind) == RecordKind.SPANS else None
            yield from self._restore("inbox", row, record, partial(self._record, kind), spans=spans)
        self._journal.end()

    def _restore(
        self,
        table: str,
        row: int,
        record: bytes | None,
        steps: Callable[[int, bytes], Iterator[None]],
        *,
        spans: int | None = None,
    ) -> Iterator[bool]:
        """``spans`` is the kind of a record that could be forwarded without being restored."""
        # Written before the row is touched: a process that is killed at it can say nothing afterwards.
        ended = self._journal.begin(row)
        if record is not None and ended < _MAX_ENDED:
            try:
                for _ in steps(row, record):
                    yield False
            except (ValueError, DecodeError):
                # Forwarding reads the same bytes: what is damaged must not reach the backend.
                spans = None
            except Exception:  # noqa: BLE001 - a bug, or a record nobody expected, must not end the process at every start
                _log.exception("row %d of %s could not be restored", row, table)
            else:
                yield False
                return
        if ended >= _MAX_ENDED:
            _log.error("the process ended %d times while row %d of %s was restored", ended, row, table)
        is_forwarded = (
            spans is not None
            and record is not None
            # A third start that ended here ended at the forwarding.
            and ended <= _MAX_ENDED
            and self._try_to_forward(row, spans, record)
        )
        self._journal.leave_out(table, row, record)
        yield not is_forwarded

    def _try_to_forward(self, row: int, kind: int, packed: bytes) -> bool:
        try:
            record = read_record(row, kind, packed, self._journal.shared_parts)
            self._forward(record)
        except Exception:  # noqa: BLE001 - as above
            _log.exception("row %d could not be forwarded", row)
            return False
        _log.error("the %d spans of row %d are forwarded without a verdict", len(record.raws), row)
        return True

    def _tombstone(self, row: int, packed: bytes) -> Iterator[None]:
        trace = read_tombstone(packed, self._now())
        self._assembler.restore(trace)
        self._journal.restored_tombstone(trace, row)
        yield

    def _record(self, kind: int, row: int, packed: bytes) -> Iterator[None]:
        # The times of the process before mean nothing on this clock: every trace is as if it had just arrived.
        now = self._now()
        if own_kind(kind) in OF_SPANS:  # nearly all
            record = read_record(row, kind, packed, self._journal.shared_parts)
            yield from self._replay(record, now)
            self._journal.restored(record, now)
        elif kind == RecordKind.CONVERSATION:
            state = read_conversation(packed)
            evicted = self._conversations.restore_state(
                state.key, state.revision, now, truncated=state.truncated, is_over=state.is_over,
                known_forbidden=state.known_forbidden,
            )  # fmt: skip
            self._journal.conversations.restored_state(state.key, row, evicted)
        elif kind == RecordKind.RUN:
            run = restore(packed)
            self._conversations.restore_run(run, now)
            self._journal.conversations.restored_run(run, row)
        elif kind == RecordKind.COLLECTED_FROM:
            self._conversations.collected_from = read_time(packed)
            self._journal.conversations.restored_collecting(row)
        elif kind in (RecordKind.READY, RecordKind.JOINING):
            self._restore_period(kind, row, read_time(packed))
        elif kind == RecordKind.KNOWN_SINCE:
            self._assembler.scored.restore(read_time(packed))
            self._journal.restored_known_since(row)
        elif kind == RecordKind.BEGUN:
            self._assembler.scored.add_begun(packed)
            self._journal.restored_begun(packed, row)
        elif kind == RecordKind.REFUSED:
            self._refused.restore(*read_refused(packed), row)
        elif kind == RecordKind.GAP:
            self._gaps.restore(*read_gap(packed), row)
        elif kind == RecordKind.SHARED:
            self._journal.restored_part(row, packed)
        else:
            raise ValueError(DAMAGED)

    def _restore_period(self, kind: int, row: int, time_ns: int) -> None:
        if kind == RecordKind.READY:
            self._seen_from = self._assembler.was_ready(time_ns)
        elif self._seen_from is not None:
            self._seen_from.joins_until(time_ns)
        self._journal.restored_period(row, begins=kind == RecordKind.READY)

    def _replay(self, record: SpoolRecord, now: float) -> Iterator[None]:
        """Repeat what was done when these spans were received, without forwarding any."""
        self._assembler.link(record.links, now)
        if record.kind is RecordKind.LOG:
            self._add_log(record.envelope, record.raws[0], now, self._seen_from)
            return
        handover = handover_of(record.envelope)
        for at in range(0, len(record.raws), _SLICE):
            raws = record.raws[at : at + _SLICE]
            for raw, both in zip(raws, self._decoder.read(raws, record.envelope, self._read_span), strict=True):
                if both is None:
                    continue
                trace_id, span = both
                if span is not UNREAD and span is not IGNORED:
                    self._add(record, trace_id, span, raw, now)
                    if handover is not None and (trace := self._assembler.open.get(trace_id)) is not None:
                        # It is not known any more when it opened: perhaps with this span.
                        trace.take_over(handover, handover.seen_from_ns)
            yield

    def _add(self, record: SpoolRecord, trace_id: bytes, span: GenAISpan, raw: bytes, now: float) -> None:
        is_context = record.kind is RecordKind.CONTEXT
        if not is_context or (span.role == Role.OTHER and not self._assembler.is_closed(trace_id)):
            may_hold = record.kind is not RecordKind.CUT
            envelope = record.envelope
            self._assembler.add(trace_id, span.span_id, span, raw, envelope, now, self._seen_from, may_hold=may_hold)
