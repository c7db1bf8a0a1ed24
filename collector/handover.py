"""Hands open traces over to where their further spans arrive, as this process leaves."""

from __future__ import annotations

from collections.abc import Callable

from collector.assembly.assembler import Assembler
from collector.assembly.trace import Trace
from collector.component import ExportRequest
from collector.delivery.batch import Batch
from collector.otlp.handed_over import with_seen_from
from collector.storage.journal import Journal
from collector.trace_pipeline import TracePipeline


def hand_over(
    assembler: Assembler,
    traces: TracePipeline,
    journal: Journal | None,
    seen_from: Callable[[Trace], int],
    put: Callable[[ExportRequest], None],
) -> int:
    """Put the held spans of open traces into requests, but for traces whose verdict is sure now. Returns how many traces.

    The others are forgotten. ``seen_from`` tells since when all that began of a trace was seen here, in wall time in ns:
    nothing else in these spans would put a run in doubt that lacks spans.
    """
    traces.abandon()
    batch, count = Batch("traces"), 0
    for trace in assembler.open.all():
        # What holds nothing has been forwarded already, all of it.
        if trace.held and not traces.release_if_sure(trace):
            seen_from_ns = seen_from(trace)
            for _, raw, envelope in trace.held_spans():
                batch.add(with_seen_from(envelope, seen_from_ns) if seen_from_ns else envelope, raw, 0.0)
            if journal is not None:
                journal.drop(trace)
            traces.drop(trace)
            count += 1
    while (request := batch.take()) is not None:
        put(request)
    return count
