"""On the way out: what was made of finished traces, gathered into requests, and what of it waits for a judge.

With ``judge.hold`` a trace with judged runs leaves when the last judgement came, or ``hold`` after its verdicts: its held
spans and its events together. Until then the spool keeps it as if it were open, so that after a crash all of it is made
again, and nothing is lost. Judgements of a trace that has left go by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collector.component import ExportRequest
from collector.config.model import Config
from collector.delivery.batch import Batch
from collector.delivery.sending_queue import SendingQueue
from collector.otlp.annotate import Attributes, annotate
from collector.results.redaction import Redaction
from collector.results.results import Framed
from collector.storage.journal import ClosedTrace, Journal


@dataclass(slots=True, eq=False)
class HeldExport:
    """One finished trace's held spans, as they leave, its events, and its records in the spool."""

    trace_id: bytes
    spans: Framed
    events: Framed
    closed: ClosedTrace | None = None
    span_ids: Sequence[bytes] = ()
    """Of the spans; empty where nothing can be added to them any more."""
    judgements: int = 0
    """How many are waited for."""
    due: float = 0.0
    size: int = 0


class HoldQueue:
    """Departures wait for at most ``judge.hold``, with ``traces.max_held_mib`` of spans; then they fill the batches."""

    def __init__(
        self, queue: SendingQueue | None, journal: Journal | None, redaction: Redaction, config: Config
    ) -> None:
        self._queue, self._journal, self._redaction = queue, journal, redaction
        self._hold = config.judge.hold if config.judge is not None else 0.0
        self._max_bytes = config.traces.max_held_mib << 20
        self._spans, self._events = Batch("traces"), Batch("logs")
        self._waiting: dict[bytes, HeldExport] = {}  # oldest first
        self._bytes = 0

    def add(self, departure: HeldExport, now: float) -> None:
        """Send it on, or let it wait where judgements are to come. The same trace's earlier one waits no longer."""
        if self._waiting:
            self._end_wait(departure.trace_id, now)
        departure.size = sum(len(raw) for _, raw in departure.spans) if departure.judgements and self._hold else 0
        if not departure.judgements or not self._hold or self._bytes + departure.size > self._max_bytes:
            self._leave(departure, now)
            return
        departure.due = now + self._hold
        self._waiting[departure.trace_id] = departure
        self._bytes += departure.size

    def judged(
        self,
        departure: HeldExport,
        events: Framed,
        attributes: Mapping[bytes, Attributes],
        now: float,
        *,
        awaited: bool,
    ) -> None:
        """Take what one judgement made, if anything; ``awaited`` if the departure may wait for it."""
        departure.judgements -= awaited
        if self._waiting.get(departure.trace_id) is not departure:
            self.add_events(events, now)
            return
        departure.events += events
        for at, span_id in enumerate(departure.span_ids):
            if span_id in attributes:
                envelope, raw = departure.spans[at]
                departure.spans[at] = envelope, self._redaction.span(annotate(raw, attributes[span_id]))
        if not departure.judgements:
            self._end_wait(departure.trace_id, now)

    def send(self, request: ExportRequest) -> None:
        """Send a request that waits for nothing."""
        if self._queue is not None:
            self._queue.put(request)

    def add_events(self, events: Framed, now: float) -> None:
        """Send events that wait for nothing."""
        for envelope, event in events:
            self._events.add(envelope, event, now)

    def advance(self, now: float) -> None:
        """Send on what waited for long enough."""
        while self._waiting and (oldest := next(iter(self._waiting.values()))).due <= now:
            self._end_wait(oldest.trace_id, now)

    def next_deadline(self) -> float | None:
        """When there is something to do."""
        waiting = next((departure.due for departure in self._waiting.values()), None)
        return min((due for due in (waiting, self._spans.due, self._events.due) if due is not None), default=None)

    def flush(self, now: float) -> None:
        """Send both batches when either should leave: with that, all that was made of traces is on its way."""
        if self._spans.ready(now) or self._events.ready(now):
            for batch in (self._spans, self._events):
                if (request := batch.take()) is not None:
                    self.send(request)
        if self._journal is not None and self._spans.due is None and self._events.due is None:
            self._journal.settle()

    def _end_wait(self, trace_id: bytes, now: float) -> None:
        departure = self._waiting.pop(trace_id, None)
        if departure is not None:
            self._bytes -= departure.size
            self._leave(departure, now)

    def _leave(self, departure: HeldExport, now: float) -> None:
        for envelope, span in departure.spans:
            self._spans.add(envelope, span, now)
        self.add_events(departure.events, now)
        if self._journal is not None and departure.closed is not None:
            self._journal.left(departure.closed)
        # A judgement under way may keep this for long; what has left need not stay with it.
        departure.spans, departure.events, departure.closed, departure.span_ids = [], [], None, ()
