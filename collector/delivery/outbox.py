"""What leaves the collector, for every exporter that takes it: each has a sending queue of its own.

So a backend that is down or slow holds up no other, until its queue is full and senders are asked to slow down.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from collector.component import SIGNALS, ExportRequest, Signal
from collector.delivery.sending_queue import HANDOVER, SendingQueue, recover
from collector.storage.spool import Spool
from collector.telemetry.metrics import Telemetry

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outlet:
    """The queue of one exporter and the signals it takes. ``mark`` tells its requests in the spool, if not by signal."""

    queue: SendingQueue
    signals: Sequence[Signal]
    mark: str = ""


class Outbox:
    """Puts each request into every queue that takes its signal. Spans of a signal that is ``off`` are counted as dropped."""

    def __init__(
        self, outlets: Sequence[Outlet], spool: Spool | None, telemetry: Telemetry, off: Sequence[Signal] = ()
    ) -> None:
        self._outlets, self._spool, self._off = outlets, spool, frozenset(off)
        self._queues: Mapping[Signal, Sequence[SendingQueue]] = {
            signal: [outlet.queue for outlet in outlets if signal in outlet.signals and outlet.mark != HANDOVER]
            for signal in SIGNALS
        }
        self._without_exporter = Counter[str]()
        self._dropped = telemetry.child(telemetry.dropped_spans, "exporter", "off")

    def __len__(self) -> int:
        return sum(len(outlet.queue) for outlet in self._outlets)

    @property
    def used_bytes(self) -> int:
        """Bytes of memory that the requests of all queues take."""
        # A request in several queues takes its memory once, and counts in each of them.
        return sum([outlet.queue.used_bytes for outlet in self._outlets])

    @property
    def full(self) -> bool:
        """Whether senders should be asked to slow down."""
        return any(outlet.queue.full for outlet in self._outlets)

    @property
    def dropped(self) -> int:
        """Requests dropped undelivered."""
        return sum(outlet.queue.dropped for outlet in self._outlets)

    def mark(self) -> Callable[[], bool]:
        """Returns what tells whether all that was put until now is delivered or given up."""
        counts = [(outlet.queue, outlet.queue.put_count) for outlet in self._outlets]
        return lambda: all(queue.delivered(count) for queue, count in counts)

    def put(self, request: ExportRequest, *, ahead: bool = False) -> None:
        """Add a request; ``ahead`` as of the spool."""
        if request.signal in self._off:
            self._dropped.inc(request.spans)
        # All share one payload: its bytes are not copied, whichever of the queues keep them in memory.
        first, *others = self._queues[request.signal] or (None,)
        for queue in others:  # each counts its own attempts
            queue.put(ExportRequest(request.signal, request.payload, request.items), ahead=ahead)
        if first is not None:
            first.put(request, ahead=ahead)

    def recover(self) -> Iterator[int | None]:
        """Queue what the spool holds from before the restart. Yields the spans of each request, None if it is damaged.

        Requests for an exporter that is not configured any more, or is off for that signal, stay until it is configured again.
        """
        if self._spool is None:
            return
        yield from recover(self._spool, self._queue_of)
        if self._without_exporter:
            _log.warning(
                "%d requests stay in the spool until an exporter for them is configured: %s",
                self._without_exporter.total(), ", ".join(self._without_exporter),
            )  # fmt: skip

    def _queue_of(self, mark: str) -> SendingQueue | None:
        signal, _, name = mark.partition("/")
        for outlet in self._outlets:
            if outlet.mark == name and signal in outlet.signals:
                return outlet.queue
        self._without_exporter[mark] += 1
        return None
