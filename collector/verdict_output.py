"""What happens to verdicts once they are made: counted, judged by a model where a rule asks for that, exported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import inf
from typing import Final, NamedTuple

from collector.assembly.trace import Trace
from collector.clock import Clock
from collector.delivery.hold import HeldExport, HoldQueue
from collector.judging.queue import JudgeQueue
from collector.otlp.structure import Envelope
from collector.results.results import EnvelopedItems, Results
from collector.results.span_attributes import judged_attributes
from collector.results.verdict_counter import VerdictCounter
from collector.scoring.select_and_score import Scored
from collector.scoring.verdict import Verdict
from collector.telemetry.metrics import Telemetry

_COUNTS_EVERY: Final = 0.1
"""Seconds: to add to a series with an exemplar takes as long as to score a run, however many verdicts it counts."""


class Archive(NamedTuple):
    """What keeps verdicts for people: told of each, with the spans of its trace as they leave, and of judgements."""

    offer: Callable[[Verdict, Sequence[tuple[Envelope, bytes]]], None]
    add_judgement: Callable[[Verdict], None]


class VerdictOutput:
    """The end of the pipeline, for traces and conversations alike. Without ``judge_queue`` no run is judged."""

    def __init__(
        self,
        telemetry: Telemetry,
        results: Results,
        hold_queue: HoldQueue,
        clock: Clock,
        judge_queue: JudgeQueue | None,
        on_verdict: Callable[[Verdict], None] | None,
        archive: Archive | None,
    ) -> None:
        self._telemetry, self._results, self._hold_queue, self._clock = telemetry, results, hold_queue, clock
        self._judge_queue, self._on_verdict, self._archive = judge_queue, on_verdict, archive
        self._counter = VerdictCounter(telemetry)
        self._seconds: list[float] = []
        self._next_counts = -inf

    def record(self, trace: Trace, scored: Scored, seconds: float) -> None:
        """Record in a trace the verdicts that were given in that time, and count those that revise an earlier one."""
        self._seconds.append(seconds)
        for anchor, verdict in scored.given.items():
            before = trace.verdict_before(anchor, scored.parts.get(anchor, ()))
            if before is not None:
                self._telemetry.child(self._telemetry.verdict_revisions, before.label or "unknown", verdict.label).inc()
            trace.record_verdict(anchor, verdict)

    def count(self, verdicts: Iterable[Verdict], spans: EnvelopedItems) -> None:
        """Count the verdicts and hand them to the listeners; ``spans`` are those of their trace, as they leave."""
        for verdict in verdicts:
            self._counter.count(verdict)
            if self._on_verdict is not None:
                self._on_verdict(verdict)
            if self._archive is not None:
                self._archive.offer(verdict, spans)

    def export_events(self, verdicts: Sequence[Verdict], resource: bytes) -> None:
        """Export the events of verdicts whose spans have left."""
        self._hold_queue.add_events(self._results.events(verdicts, resource), self._clock.now())

    def submit_for_judging(
        self, verdicts: Sequence[Verdict], export: HeldExport, resource_of: Callable[[Verdict], bytes], size: int
    ) -> None:
        """Submit the runs whose rules have judges; ``export`` awaits the judgements, which go under ``resource_of``.

        All these runs together take about ``size`` bytes.
        """
        if self._judge_queue is None:
            return
        for verdict in verdicts:
            if verdict.judges:
                awaited = not verdict.shadow  # nothing is written on spans for shadow rules, so none waits for them
                deliver = partial(self._deliver_judgement, export, resource_of(verdict), awaited)
                submitted = self._judge_queue.submit(verdict, deliver, size // len(verdicts))
                export.awaited += submitted if awaited else 0

    def _deliver_judgement(self, export: HeldExport, resource: bytes, awaited: bool, judgement: Verdict | None) -> None:
        """Count and export one judgement; None if there will be none."""
        events: EnvelopedItems = []
        attributes = {}
        if judgement is not None:
            events, attributes = self._results.events([judgement], resource), judged_attributes(judgement)
            self._counter.count(judgement)
            if self._archive is not None:
                self._archive.add_judgement(judgement)
        # Also where there is no judgement: held results wait for the number of them, not for their content.
        self._hold_queue.add_judgement(export, events, attributes, self._clock.now(), awaited=awaited)

    def flush(self, now: float) -> None:
        """Bring the counts to /metrics, unless that was done just now, and queue what is ready to be sent."""
        if now >= self._next_counts:
            self._next_counts = now + _COUNTS_EVERY
            self._flush_counts()
        self._hold_queue.flush(now)

    def next_deadline(self) -> float | None:
        """Returns when there are counts to bring to /metrics, None for never."""
        return self._next_counts if self._seconds or self._counter.has_gathered else None

    def _flush_counts(self) -> None:
        self._counter.flush()
        if self._seconds:
            self._telemetry.scoring_seconds.observe_all(self._seconds)
            self._seconds.clear()
