"""What is resumed from the spool at a start: open traces, requests that wait to be sent, spans that can only be forwarded."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from collector.assembly.held_spans import HeldSpans
from collector.component import ExportRequest
from collector.delivery.sending_queue import Outgoing
from collector.otlp import lazy
from collector.results.redaction import Redaction
from collector.storage.records import SpoolRecord
from collector.telemetry.metrics import Telemetry

_log = logging.getLogger(__name__)


def resume(traces: Iterator[bool], held: HeldSpans, queue: Outgoing | None, telemetry: Telemetry) -> Iterator[None]:
    """Restore ``traces``, which tell of each row whether it is lost, and then the queue, in steps of milliseconds."""
    lost = 0
    for is_lost in traces:
        lost += is_lost
        yield
    # Without these, spans in and out would not balance after a restart.
    telemetry.resumed_spans.inc(held.count)
    for spans in queue.recover() if queue is not None else ():
        lost += spans is None
        telemetry.resumed_spans.inc(spans or 0)
        yield
    if lost:
        _log.error("%d rows of the spool are lost", lost)
        telemetry.child(telemetry.dropped_spans, "spool", "unreadable").inc(lost)


def forward_unscored(record: SpoolRecord, redaction: Redaction, queue: Outgoing | None, telemetry: Telemetry) -> None:
    """Send the spans of a record without a verdict."""
    # The spool has spans as they were received; redaction comes with the verdict, which these never had.
    raws = [redaction.span(raw) for raw in record.raws]
    if raws and queue is not None:
        telemetry.resumed_spans.inc(len(raws))
        queue.put(ExportRequest("traces", lazy.join([(record.envelope, raws)]), len(raws)))
