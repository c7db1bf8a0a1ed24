"""Hands open traces over to where their further spans arrive, as this process leaves."""

from __future__ import annotations

from collections.abc import Callable

from collector.assembly.assembler import Assembler
from collector.assembly.trace import Trace
from collector.component import ExportRequest
from collector.delivery.batch import Batch
from collector.otlp.handed_over import Handover, with_handover
from collector.otlp.structure import Envelope
from collector.storage.journal import Journal
from collector.trace_pipeline import TracePipeline


def hand_over(
    assembler: Assembler,
    traces: TracePipeline,
    journal: Journal | None,
    told_of: Callable[[Trace], Handover],
    put: Callable[[ExportRequest], None],
) -> int:
    """Put the held spans of open traces into requests, but for traces whose verdict is sure now. Returns how many traces.

    The others are forgotten. ``told_of`` returns what goes with the spans of a trace: nothing else in them would put a run in
    doubt that lacks spans.
    """
    traces.abandon()
    batch, count = Batch("traces"), 0
    for trace in assembler.open.all():
        # What holds nothing has been forwarded already, all of it.
        if trace.held and not traces.release_if_sure(trace):
            told, envelopes = told_of(trace), dict[Envelope, Envelope]()
            for _, raw, envelope in trace.held_spans():
                if envelope not in envelopes:  # nearly all spans of a trace have the same
                    envelopes[envelope] = with_handover(envelope, told)
                batch.add(envelopes[envelope], raw, 0.0)
            if journal is not None:
                journal.drop(trace)
            traces.drop(trace)
            count += 1
    while (request := batch.take()) is not None:
        put(request)
    return count
