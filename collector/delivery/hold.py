"""On the way out: results of finished traces are batched into requests; those of judged runs may wait for the judge first.

With ``judge.hold`` the held spans and events of a trace with judged runs leave together when the last judgement arrives, or
``hold`` seconds after its verdicts. Until then the spool keeps the trace as if it were open, so that after a crash all of it
is made again and nothing is lost. Judgements that arrive after the trace has left are exported as events of their own.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from collector.assembly.held_spans import HeldSpans
from collector.component import ExportRequest
from collector.delivery.batch import MAX_REQUEST_BYTES, Batch
from collector.delivery.sending_queue import Outgoing
from collector.otlp.annotate import Attributes, annotate
from collector.results.redaction import Redaction
from collector.results.results import EnvelopedItems

_MAX_AT_ONCE: Final = 2  # requests of results that are queued in one step, of up to 2 MiB each
_PACE: Final = 0.005  # seconds between steps in which more of them are queued


class HeldExport:
    """The results of one finished trace: its held spans as they will be exported, and its events."""

    def __init__(
        self,
        trace_id: bytes,
        spans: EnvelopedItems,
        events: EnvelopedItems,
        span_ids: Sequence[bytes] = (),
        awaited: int = 0,
    ) -> None:
        self.trace_id, self.spans, self.events = trace_id, spans, events
        self.span_ids = span_ids
        """Of the spans, where judgements may add attributes to them."""
        self.awaited = awaited
        """How many judgements are still to come."""
        self.due = 0.0
        self.size = 0
        """Bytes of its spans while it waits."""


class Record(Protocol):
    """What remembers which traces are not finished: the journal of the spool, or the offsets of a topic."""

    @property
    def behind(self) -> bool:
        """Whether what can wait should be queued later."""

    def sent(self, trace_id: bytes) -> None:
        """Note that the results of a trace are queued by the next commit."""

    def commit(self) -> None:
        """Note that all results sent so far are queued."""


class HoldQueue:
    """Results wait for judgements for at most ``hold`` seconds, and within the budget of ``held``; then they are batched."""

    def __init__(
        self, queue: Outgoing | None, record: Record | None, redaction: Redaction, held: HeldSpans, hold: float
    ) -> None:
        self._queue, self._record, self._redaction = queue, record, redaction
        self._held, self._hold = held, hold
        self._spans, self._events = Batch("traces"), Batch("logs")
        self._waiting: OrderedDict[bytes, HeldExport] = OrderedDict()  # oldest first
        self._next_part: float | None = None  # when more is queued of results that are too many for one step

    @property
    def held_spans(self) -> int:
        """Spans not in the sending queue yet: of open traces, of results that wait for a judge, and batched ones."""
        return self._held.count + len(self._spans)

    def add(self, export: HeldExport, now: float) -> None:
        """Send the results on, or hold them if judgements are to come. Earlier results of the same trace stop waiting."""
        # The earlier results leave first: a revision must not overtake the verdict that it revises.
        if self._waiting:
            self._end_wait(export.trace_id, now)
        if export.awaited and self._hold:
            size = sum(len(raw) for _, raw in export.spans)
            if self._held.has_room(size):
                export.size, export.due = size, now + self._hold
                self._waiting[export.trace_id] = export
                self._held.count += len(export.spans)
                self._held.bytes += size
                return
        self._release(export, now)

    def add_judgement(
        self,
        export: HeldExport,
        events: EnvelopedItems,
        attributes: Mapping[bytes, Attributes],
        now: float,
        *,
        awaited: bool,
    ) -> None:
        """Add what one judgement made, if anything; ``awaited`` if the results may wait for it."""
        export.awaited -= awaited
        # These results have left, or those of a later verdict of the same trace wait in their place.
        if self._waiting.get(export.trace_id) is not export:
            self.add_events(events, now)
            return
        export.events += events
        for at, span_id in enumerate(export.span_ids):
            if span_id in attributes:
                envelope, raw = export.spans[at]
                # Redacted once more: what the judge wrote may quote what `redact` hides.
                export.spans[at] = envelope, self._redaction.span(annotate(raw, attributes[span_id]))
        if not export.awaited:
            self._end_wait(export.trace_id, now)

    def send(self, request: ExportRequest, *, ahead: bool = False) -> None:
        """Queue a request that waits for nothing; one of results ``ahead``, where others belong to it."""
        if self._queue is not None:
            self._queue.put(request, ahead=ahead)

    def add_events(self, events: EnvelopedItems, now: float) -> None:
        """Batch events that wait for nothing."""
        for envelope, event in events:
            self._events.add(envelope, event, now)

    def advance(self, now: float) -> None:
        """Send on the results that have waited long enough."""
        # All wait equally long, so the oldest is always due first.
        while self._waiting and (oldest := next(iter(self._waiting.values()))).due <= now:
            self._end_wait(oldest.trace_id, now)

    def shed(self, now: float) -> None:
        """Send on the oldest waiting results while the budget of held spans is exceeded."""
        while self._held.exceeded() and self._waiting:
            self._end_wait(next(iter(self._waiting)), now)

    def next_deadline(self) -> float | None:
        """Returns when there is something to do, None for never."""
        if self._next_part is not None:
            return self._next_part
        oldest = next((export.due for export in self._waiting.values()), None)
        return min((due for due in (oldest, self._spans.due, self._events.due) if due is not None), default=None)

    def flush(self, now: float) -> None:
        """Queue both batches if either is ready. With that, all results sent on so far are queued, and can be committed."""
        if self._next_part is not None or self._spans.ready(now) or self._events.ready(now):
            self._queue_batches(now)
        if self._record is not None and not self._spans and not self._events:
            self._record.commit()

    def _queue_batches(self, now: float) -> None:
        """Queue as much as the record can take; all of it where the time is up."""
        # The results of a large trace would make one transaction of 60 MiB. So they are written ahead, in several,
        # and count for nothing until the commit, which is small.
        in_parts = not math.isinf(now) and (
            self._next_part is not None or self._spans.requests + self._events.requests > _MAX_AT_ONCE
        )
        waits = in_parts and self._is_behind()
        for batch in (self._spans, self._events):
            while not waits and (request := batch.take()) is not None:
                # A single result may be larger than what the spool writes at once, too.
                self.send(request, ahead=in_parts or len(request.payload) > MAX_REQUEST_BYTES)
                waits = in_parts and self._is_behind()
        self._next_part = now + _PACE if self._spans or self._events else None

    def _is_behind(self) -> bool:
        return self._record is not None and self._record.behind

    def _end_wait(self, trace_id: bytes, now: float) -> None:
        export = self._waiting.pop(trace_id, None)
        if export is not None:
            self._held.count -= len(export.spans)
            self._held.bytes -= export.size
            self._release(export, now)

    def _release(self, export: HeldExport, now: float) -> None:
        for envelope, span in export.spans:
            self._spans.add(envelope, span, now)
        self.add_events(export.events, now)
        if self._record is not None:
            self._record.sent(export.trace_id)
        # A judgement in progress may keep this object for long; what has left need not stay with it.
        export.spans, export.events, export.span_ids = [], [], ()
