"""Makes the verdict of a trace that is due: rebuilds its runs, scores them, exports what follows.

A small trace is evaluated at once. A large one waits for its turn, and is evaluated in slices, so that it keeps nobody waiting.
An evaluation changes nothing, and one in slices works on a snapshot. What follows from it is then recorded in one step: a crash
before makes the whole trace begin again, one after it loses nothing. Spans that arrive meanwhile are taken into the trace,
which is open; if the evaluation gives the verdict, they are late and revise it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

from collector.assembly.assembler import Assembler
from collector.assembly.due import Due
from collector.assembly.trace import Trace
from collector.clock import Clock
from collector.conversation_pipeline import ConversationPipeline
from collector.delivery.hold import HeldExport, HoldQueue
from collector.errors import RefusedError
from collector.results.results import EnvelopedItems, resource_of
from collector.resumable import Resumable
from collector.scoring.verdict import Verdict
from collector.storage.journal import Journal
from collector.trace_evaluation import LARGE_SPANS, TraceEvaluation, TraceEvaluator, is_large
from collector.verdict_output import VerdictOutput
from scorers import ToolCall

_AT_ONCE: Final = 16  # traces evaluated together
_MAX_COUNTED: Final = 100  # verdicts counted in one step


class _InSlices(NamedTuple):
    """An evaluation in progress; ``rows`` is how many records of the trace the journal had when it began."""

    trace: Trace
    rows: int
    work: Resumable[TraceEvaluation]


class TracePipeline:
    """Call ``resume`` while it is ``busy``."""

    def __init__(
        self,
        assembler: Assembler,
        conversation_pipeline: ConversationPipeline,
        evaluator: TraceEvaluator,
        hold_queue: HoldQueue,
        journal: Journal | None,
        output: VerdictOutput,
        clock: Clock,
    ) -> None:
        self._assembler, self._conversation_pipeline, self._evaluator = assembler, conversation_pipeline, evaluator
        self._hold_queue, self._journal, self._output = hold_queue, journal, output
        self._clock = clock
        self._queue: deque[tuple[Trace, Due | str, int]] = deque()
        self._in_slices: _InSlices | None = None
        self._uncounted: deque[tuple[Verdict, EnvelopedItems]] = deque()
        # To free the arguments of all calls at once would take up to 50 ms: a trace may have a million values.
        self._let_go: deque[ToolCall] = deque()

    # ---- called by the pipeline

    def release_complete(self, due: Iterator[tuple[Trace, Due]]) -> bool:
        """Take some traces that are due, and give their verdicts or make them wait; large ones are queued for that.

        Returns whether there were any.
        """
        evaluations: list[TraceEvaluation] = []
        taken, spans, now = 0, 0, self._clock.now()
        for trace, reason in due:
            taken += 1
            spans += self._take(trace, reason, evaluations, now)
            if taken == _AT_ONCE or spans >= LARGE_SPANS // 2:
                break
        self._evaluator.evaluate(evaluations)
        for evaluation in evaluations:
            if evaluation.is_put_off:
                self._assembler.postpone(evaluation.trace, self._clock.now())
            else:
                self._conclude(evaluation.trace, evaluation)
        return taken > 0

    def _take(self, trace: Trace, due: Due, evaluations: list[TraceEvaluation], now: float) -> int:
        """Returns how many spans are evaluated at once."""
        # A turn of a session whose own span comes last. Nothing else that arrived can end the wait for that.
        if due is Due.SETTLED and trace.awaited:
            self._assembler.wait(trace, "incomplete")
            return 0
        evaluation = self._evaluator.begin(trace, due, now)
        if not evaluation.is_turn and is_large(trace):
            self._enqueue(trace, due)
            return 0
        evaluations.append(evaluation)
        return trace.recent_count if evaluation.is_turn else len(trace.spans)

    def evict(self, trace: Trace) -> None:
        """Release a trace as it is because of a limit; a large one soon, or unscored if too many are to be released."""
        if not is_large(trace):
            self.release(trace, "evicted")
        # The trace whose evaluation is in progress may always leave:
        # closed here, it would be closed again when that ends.
        elif not self._assembler.leave(trace, always=self._in_slices is not None and self._in_slices.trace is trace):
            error = RefusedError("too many large traces were to be released at once")
            self._conclude(trace, self._evaluator.fail(trace, "evicted", error))
        elif not trace.evaluating:
            self._enqueue(trace, "evicted")

    def release(self, trace: Trace, release: str) -> None:
        """Release a trace as it is, for ``release``, however long it takes."""
        self._conclude(trace, self._evaluated(self._evaluator.begin(trace, release, self._clock.now())))

    def release_if_sure(self, trace: Trace) -> bool:
        """Give the verdict of a trace if no span that arrives elsewhere could change it. Returns whether it did."""
        due = Due.CONFIRMED if trace.waiting == "confirm" else Due.SETTLED
        evaluation = self._evaluated(self._evaluator.begin(trace, due, self._clock.now()))
        if evaluation.waits:
            return False
        self._conclude(trace, evaluation)
        return True

    def drop(self, trace: Trace) -> None:
        """Forget a trace, which goes on elsewhere."""
        # Dropping the last reference ends the evaluation, on its own stack.
        if self._in_slices is not None and self._in_slices.trace is trace:
            self._in_slices = None
        self._assembler.drop(trace)

    @property
    def busy(self) -> bool:
        """Whether ``resume`` has something to do."""
        return bool(self._queue or self._in_slices or self._uncounted or self._let_go)

    def resume(self, until: float) -> None:
        """Go on with the large traces, one after the other, until then."""
        # One count, one call, one start or one slice each time, so that the clock is looked at between any two.
        while self.busy and self._clock.now() < until:
            if self._uncounted:
                self._count_one()
            elif self._let_go:
                self._let_go.popleft()
            elif self._in_slices is None:
                self._begin(*self._queue.popleft())
            elif self._in_slices.work.resume(until):
                self._end(self._in_slices)

    def abandon(self) -> None:
        """Forget the evaluations of large traces, which stay open, but for those that gave a verdict."""
        self._queue.clear()
        self._in_slices = None
        self._let_go.clear()
        self.count_all()

    def count_all(self) -> None:
        """Count the verdicts on large traces that ``resume`` has not come to: what is not counted now never is."""
        while self._uncounted:
            self._count_one()

    def _evaluated(self, evaluation: TraceEvaluation) -> TraceEvaluation:
        self._evaluator.evaluate([evaluation])
        return evaluation

    # ---- large traces

    def _enqueue(self, trace: Trace, due: Due | str) -> None:
        # Else it would be due again at its next deadline, and queued once more.
        trace.evaluating = True
        self._queue.append((trace, due, trace.received))

    def _begin(self, trace: Trace, due: Due | str, received: int) -> None:
        if not trace.evaluating:  # it was released meanwhile
            return
        # It is not quiet any more: what it lacks may be on its way.
        if due in (Due.SETTLED, Due.CONFIRMED, Due.IDLE) and not trace.leaving and trace.received > received:
            self._assembler.look_again(trace)
            return
        # Records stored from now on hold spans that the snapshot lacks. They must outlive its end.
        rows = self._journal.rows_of(trace.trace_id) if self._journal is not None else 0
        # It may have been evicted while it was queued: then it waits for nothing any more.
        reason = "evicted" if trace.leaving else due
        evaluation = TraceEvaluation(trace.snapshot(), reason, self._evaluator.rules, self._clock.now())
        self._in_slices = _InSlices(trace, rows, Resumable(partial(self._evaluated, evaluation), self._clock.now))

    def _end(self, done: _InSlices) -> None:
        self._in_slices = None
        trace, evaluation = done.trace, done.work.result
        self._let_go.extend(call for run in evaluation.runs for call in run.trajectory.calls)
        snapshot = evaluation.trace
        is_outdated = (
            not snapshot.spans.items() <= trace.spans.items()
        )  # a span had not ended yet, and has been replaced
        if (evaluation.waits or is_outdated) and trace.leaving:  # it was not yet when that began
            self._queue.appendleft((trace, "evicted", trace.received))
        # What it lacks may have come while it was evaluated.
        elif is_outdated or (evaluation.wait and len(trace.links) > len(snapshot.links)):
            self._assembler.look_again(trace)
        # Else spans are only added while a trace is open, so an equal number of them means that nothing changed.
        elif evaluation.waits or len(trace.spans) + len(trace.seen) == len(snapshot.spans) + len(snapshot.seen):
            self._conclude(trace, evaluation)
        else:
            self._give_to_snapshot(done, evaluation)

    # ---- from its results to the exporters: in one step

    def _conclude(self, trace: Trace, evaluation: TraceEvaluation) -> None:
        """Make the trace wait, or give its verdict and close it."""
        if evaluation.wait:
            # Of a large trace the calls are not kept: spans may have arrived while it was scored.
            trace.awaited = evaluation.awaited if evaluation.wait == "incomplete" else b""
            self._assembler.wait(trace, evaluation.wait, evaluation.unconfirmed if evaluation.trace is trace else None)
        elif evaluation.embedded_in:
            self._assembler.postpone(trace, self._clock.now() + evaluation.embedded_in)
        else:
            # In this order: the journal has to know that the trace is closed before `_export` tells it that results were sent.
            export = self._record(trace, evaluation)
            if trace.histories and not _has_told_calls(evaluation):
                self._assembler.drop_histories(trace)  # large, and no evidence that a revision would need
            forgotten = self._assembler.close(trace, evaluation.past, evaluation.release)
            if self._journal is not None:
                self._journal.close(trace, forgotten)
            self._export(export, evaluation)

    def _give_to_snapshot(self, done: _InSlices, evaluation: TraceEvaluation) -> None:
        """Give the verdict of a trace that has had more spans since: it is open again, for them."""
        trace, snapshot = done.trace, evaluation.trace
        export = self._record(trace, evaluation)
        # The tombstone is made of the snapshot, and `_record` has put the new verdicts into the trace.
        snapshot.verdicts = trace.verdicts
        self._assembler.close_snapshot(trace, snapshot, self._clock.now(), evaluation.past, evaluation.release)
        if self._journal is not None:
            self._journal.close(snapshot, (), done.rows)
        self._export(export, evaluation)

    def _record(self, trace: Trace, evaluation: TraceEvaluation) -> HeldExport:
        self._output.record(trace, evaluation.scored, evaluation.seconds)
        for run in evaluation.collected:
            trace.record_collected(run)
        export = HeldExport(trace.trace_id, evaluation.spans, evaluation.events)
        if self._evaluator.rules.submits:
            resource = partial(resource_of, evaluation.trace)
            self._output.submit_for_judging(evaluation.scored.verdicts, export, resource, trace.size)
            export.span_ids = list(evaluation.trace.held) if export.awaited else ()
        return export

    def _export(self, export: HeldExport, evaluation: TraceEvaluation) -> None:
        now, verdicts = self._clock.now(), evaluation.scored.verdicts
        self._hold_queue.add(export, now)
        # A trace of 10,000 agents has as many verdicts: counted at once, they would cost more than a slice may take.
        if len(verdicts) > _MAX_COUNTED:
            self._uncounted.extend((verdict, evaluation.spans) for verdict in verdicts)
        else:
            self._output.count(verdicts, evaluation.spans)
        if evaluation.collected:
            self._conversation_pipeline.add(evaluation.collected, now)

    def _count_one(self) -> None:
        verdict, spans = self._uncounted.popleft()
        self._output.count([verdict], spans)


def _has_told_calls(evaluation: TraceEvaluation) -> bool:
    if evaluation.past is not None:
        return evaluation.past.has_told_calls
    return any(call.known_by == "result" for run in evaluation.runs for call in run.trajectory.calls)
