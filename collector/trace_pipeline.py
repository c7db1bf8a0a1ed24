"""Makes the verdict of a trace that is due: rebuilds its runs, scores them, exports what follows.

A small trace is evaluated at once. A large one waits for its turn, and is evaluated in slices, so that it keeps nobody waiting.
An evaluation changes nothing, and one in slices works on a snapshot. What follows from it is then recorded in one step: a crash
before makes the whole trace begin again, one after it loses nothing. Spans that arrive meanwhile are taken into the trace,
which is open; if the evaluation gives the verdict, they are late and revise it.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, Literal, NamedTuple

from collector.assembly.assembler import Assembler
from collector.assembly.conversations import ConversationRun
from collector.assembly.due import Due
from collector.assembly.trace import Trace, TraceState
from collector.clock import Clock
from collector.conversation_pipeline import ConversationPipeline
from collector.delivery.hold import HeldExport, HoldQueue
from collector.errors import RefusedError
from collector.model.past import Past
from collector.reconstruction.reconstruct import ContextSettings, Run, is_awaited, rebuild
from collector.reconstruction.turns import awaited_span, next_turn, past_of
from collector.results.results import EnvelopedItems, Results, resource_of
from collector.resumable import Resumable
from collector.scoring.conversations import collect
from collector.scoring.select_and_score import NO_PARTS, Scored, Scoring, arguments_to_embed, parts_of, words_to_embed
from collector.scoring.verdict import Verdict
from collector.storage.journal import Journal
from collector.verdict_output import VerdictOutput
from scorers import RuleSet, ToolCall

_log = logging.getLogger(__name__)

LARGE_SPANS: Final = 200
"""A trace of more spans is evaluated in slices: each takes about 0.1 ms."""
LARGE_BYTES: Final = 256 << 10
"""So is a trace that takes more memory, as the assembler counts it."""
_NOTHING_SCORED: Final = Scored()


class Rules(NamedTuple):
    """The rules in force, and what follows from them for the evaluation of a trace."""

    set: RuleSet
    settings: ContextSettings
    scoring: Scoring
    collects_runs: bool
    submits: bool
    version: int
    """Of all rules that were in force, one after the other."""

    @property
    def judge_turns(self) -> bool:
        """Whether a turn of a session can be scored without those before it."""
        return not (self.collects_runs or self.set.has_scope("trace"))


class _Evaluation:
    """What was found out of a trace as it was."""

    def __init__(self, trace: Trace, release: str, started: float) -> None:
        self.trace, self.release, self.started = trace, release, started
        self.wait: Literal["", "incomplete", "confirm"] = ""
        """What it waits for instead of its verdict."""
        self.unconfirmed: tuple[Rules, Sequence[Run], Scored, Past | None] | None = None
        """What it was scored as, if it waits for spans that could change that."""
        self.embedded_in = 0.0
        """In how many seconds its texts are embedded, if it waits for that."""
        self.runs: Sequence[Run] = ()
        self.past: Past | None = None
        self.awaited = b""
        """A span that a run waits for."""
        self.scored = _NOTHING_SCORED
        self.spans: EnvelopedItems = []
        self.events: EnvelopedItems = []
        self.collected: Sequence[ConversationRun] = ()


class _InSlices(NamedTuple):
    """An evaluation in progress; ``rows`` is how many records of the trace the journal had when it began."""

    trace: Trace
    rows: int
    work: Resumable[_Evaluation]


class TracePipeline:
    """Call ``resume`` while it is ``busy``. ``wait_for`` returns in how many seconds texts will be embedded."""

    rules: Rules

    def __init__(  # noqa: PLR0913 - everything it is connected to
        self,
        assembler: Assembler,
        conversation_pipeline: ConversationPipeline,
        results: Results,
        hold_queue: HoldQueue,
        journal: Journal | None,
        output: VerdictOutput,
        clock: Clock,
        *,
        wait_for: Callable[[Iterable[str]], float],
        confirms: bool,
    ) -> None:
        self._assembler, self._conversation_pipeline, self._results = assembler, conversation_pipeline, results
        self._hold_queue, self._journal, self._output = hold_queue, journal, output
        self._clock, self._wait_for, self._confirms = clock, wait_for, confirms
        self._queue: deque[tuple[Trace, Due | str, int]] = deque()
        self._in_slices: _InSlices | None = None
        self._uncounted: deque[tuple[Verdict, EnvelopedItems]] = deque()
        # To free the arguments of all calls at once would take up to 50 ms: a trace may have a million values.
        self._let_go: deque[ToolCall] = deque()

    # ---- called by the pipeline

    def release_if_complete(self, trace: Trace, due: Due) -> None:
        """Give the verdict of a trace that is due, or make it wait; a large one is queued for that."""
        # A turn of a session whose own span comes last. Nothing else that arrived can end the wait for that.
        if due is Due.SETTLED and trace.awaited:
            self._assembler.wait(trace, "incomplete")
            return
        turn = self._turn_of(trace)
        if turn is None and _is_large(trace):
            self._enqueue(trace, due)
        else:
            self._conclude(trace, self._evaluate(trace, due, turn))

    def evict(self, trace: Trace) -> None:
        """Release a trace as it is because of a limit; a large one soon, or unscored if too many are to be released."""
        if not _is_large(trace):
            self.release(trace, "evicted")
        # The trace whose evaluation is in progress may always leave:
        # closed here, it would be closed again when that ends.
        elif not self._assembler.leave(trace, always=self._in_slices is not None and self._in_slices.trace is trace):
            error = RefusedError("too many large traces were to be released at once")
            self._conclude(trace, self._failed(_Evaluation(trace, "evicted", self._clock.now()), (), error))
        elif not trace.evaluating:
            self._enqueue(trace, "evicted")

    def release(self, trace: Trace, release: str) -> None:
        """Release a trace as it is, for ``release``, however long it takes."""
        self._conclude(trace, self._evaluate(trace, release, self._turn_of(trace)))

    def release_if_sure(self, trace: Trace) -> bool:
        """Give the verdict of a trace if no span that arrives elsewhere could change it. Returns whether it did."""
        due = Due.CONFIRMED if trace.waiting == "confirm" else Due.SETTLED
        evaluation = self._evaluate(trace, due, self._turn_of(trace))
        is_sure = not (evaluation.wait or evaluation.embedded_in)
        if is_sure:
            self._conclude(trace, evaluation)
        return is_sure

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
        evaluate = partial(self._evaluate, trace.snapshot(), "evicted" if trace.leaving else due)
        self._in_slices = _InSlices(trace, rows, Resumable(evaluate, self._clock.now))

    def _end(self, done: _InSlices) -> None:
        self._in_slices = None
        trace, evaluation = done.trace, done.work.result
        self._let_go.extend(call for run in evaluation.runs for call in run.trajectory.calls)
        snapshot = evaluation.trace
        waits = evaluation.wait or evaluation.embedded_in
        if waits and trace.leaving:  # it was not yet when that began
            self._queue.appendleft((trace, "evicted", trace.received))
        # What it lacks may have come while it was evaluated.
        elif evaluation.wait and len(trace.links) > len(snapshot.links):
            self._assembler.look_again(trace)
        # Spans are only added while a trace is open, so an equal number of them means that nothing changed.
        elif waits or len(trace.spans) + len(trace.seen) == len(snapshot.spans) + len(snapshot.seen):
            self._conclude(trace, evaluation)
        else:
            self._give_to_snapshot(done, evaluation)

    # ---- from a trace to its results: changes nothing

    def _turn_of(self, trace: Trace) -> tuple[Sequence[Run], Past] | None:
        """Returns the runs that have no verdict yet, and what a later turn depends on, if they can be rebuilt alone."""
        past, rules = trace.past, self.rules
        if (
            past is None
            or past.rules_version != rules.version
            or not rules.judge_turns
            or trace.unconfirmed is not None
        ):
            return None
        if _is_much(trace.recent_count, trace.size - past.size):
            return None
        try:
            spans, parents = trace.recent_spans(), trace.recent_parents()
            turn = next_turn(trace.trace_id, spans, parents, lambda at: at in trace.parents(), rules.settings, past)
        except Exception:  # noqa: BLE001 - as for a whole trace
            _log.exception("the latest turn of trace %s could not be rebuilt alone", trace.trace_id.hex())
            return None
        return None if turn is None else (turn[0], _completed(turn[1], trace, rules))

    @staticmethod
    def _rebuild(evaluation: _Evaluation, rules: Rules) -> tuple[Sequence[Run], Past | None]:
        """Returns the runs of a trace, and what a later turn of it depends on, if it had one before."""
        trace = evaluation.trace
        spans, parents = list(trace.spans.values()), trace.parents()
        rebuilt = rebuild(trace.trace_id, spans, parents, rules.settings)
        evaluation.awaited = awaited_span(rebuilt)
        # Most traces have one turn only, so nothing is kept for a second.
        if trace.state is not TraceState.REOPENED or trace.truncated or trace.seen or not rules.judge_turns:
            return rebuilt.runs, None
        past = past_of(spans, parents, rebuilt)
        return rebuilt.runs, None if past is None else _completed(past, trace, rules)

    def _evaluate(self, trace: Trace, due: Due | str, turn: tuple[Sequence[Run], Past] | None = None) -> _Evaluation:
        """``due`` is the reason of a release that nothing holds up; of a ``turn`` the runs are known."""
        evaluation = _Evaluation(trace, due if isinstance(due, str) else due.release, self._clock.now())
        rules: Rules = self.rules
        runs: Sequence[Run] = ()
        try:
            if due in (Due.SETTLED, Due.CONFIRMED) and rules.scoring.was_refused(trace.trace_id):
                evaluation.wait = "incomplete"
                return evaluation
            # Any new span would have cleared `unconfirmed`: the runs are still right. After a reload they are scored anew.
            if due is Due.CONFIRMED and trace.unconfirmed is not None and trace.unconfirmed[0] is rules:
                return self._with_results(evaluation, *trace.unconfirmed)
            runs, past = turn or self._rebuild(evaluation, rules)
            evaluation.runs = runs
            # Looked at before scoring: what is incomplete would be scored in vain, and again when it is complete.
            if due is Due.SETTLED and is_awaited(runs):
                evaluation.wait = "incomplete"
                return evaluation
            # A forced release does not wait: what is not embedded by then is embedded while it is scored.
            if not isinstance(due, str) and rules.set.embeds and (seconds := self._wait_for_texts(runs, rules.set)):
                evaluation.embedded_in = seconds
                return evaluation
            parts = parts_of(trace, runs) if turn is None else NO_PARTS
            scored = rules.scoring.verdicts_of(trace, runs, evaluation.release, evaluation.started, parts)
            # A batch processor of another process may hold a span for seconds that would turn this fail into a pass.
            if due is Due.SETTLED and self._confirms and scored.may_change(rules.set):
                evaluation.wait, evaluation.unconfirmed = "confirm", (rules, runs, scored, past)
                return evaluation
            return self._with_results(evaluation, rules, runs, scored, past)
        except Exception as error:  # noqa: BLE001 - a bug, or a trace nobody expected, must not end the process
            _log.exception("trace %s could not be scored", trace.trace_id.hex())
            return self._failed(evaluation, runs, error)

    def _with_results(
        self, evaluation: _Evaluation, rules: Rules, runs: Sequence[Run], scored: Scored, past: Past | None
    ) -> _Evaluation:
        trace, evaluation.runs, evaluation.scored, evaluation.past = evaluation.trace, runs, scored, past
        evaluation.spans, evaluation.events = self._results.of_trace(trace, scored.verdicts)
        if rules.collects_runs:
            evaluation.collected = list(collect(trace, runs, scored))
        return evaluation

    def _failed(self, evaluation: _Evaluation, runs: Sequence[Run], error: Exception) -> _Evaluation:
        evaluation.wait, evaluation.runs, evaluation.collected = "", runs, ()
        evaluation.scored = scored = self.rules.scoring.failed(evaluation.trace, runs, evaluation.release, error)
        evaluation.spans, evaluation.events = self._results.of_trace(evaluation.trace, scored.verdicts)
        return evaluation

    def _wait_for_texts(self, runs: Sequence[Run], rules: RuleSet) -> float:
        """The user's words first: which rule looks at which arguments may depend on the intent they show."""
        words = self._wait_for(words_to_embed(runs, rules))
        return words or self._wait_for(arguments_to_embed(runs, rules, ("run", "trace")))

    # ---- from its results to the exporters: in one step

    def _conclude(self, trace: Trace, evaluation: _Evaluation) -> None:
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

    def _give_to_snapshot(self, done: _InSlices, evaluation: _Evaluation) -> None:
        """Give the verdict of a trace that has had more spans since: it is open again, for them."""
        trace, snapshot = done.trace, evaluation.trace
        export = self._record(trace, evaluation)
        # The tombstone is made of the snapshot, and `_record` has put the new verdicts into the trace.
        snapshot.verdicts = trace.verdicts
        self._assembler.close_snapshot(trace, snapshot, self._clock.now(), evaluation.past, evaluation.release)
        if self._journal is not None:
            self._journal.close(snapshot, (), done.rows)
        self._export(export, evaluation)

    def _record(self, trace: Trace, evaluation: _Evaluation) -> HeldExport:
        self._output.record(trace, evaluation.scored, self._clock.now() - evaluation.started)
        for run in evaluation.collected:
            trace.record_collected(run)
        export = HeldExport(trace.trace_id, evaluation.spans, evaluation.events)
        if self.rules.submits:
            resource = partial(resource_of, evaluation.trace)
            self._output.submit_for_judging(evaluation.scored.verdicts, export, resource, trace.size)
            export.span_ids = list(evaluation.trace.held) if export.awaited else ()
        return export

    def _export(self, export: HeldExport, evaluation: _Evaluation) -> None:
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


_MAX_COUNTED: Final = 100  # verdicts counted in one step


def _has_told_calls(evaluation: _Evaluation) -> bool:
    if evaluation.past is not None:
        return evaluation.past.has_told_calls
    return any(call.known_by == "result" for run in evaluation.runs for call in run.trajectory.calls)


def _is_large(trace: Trace) -> bool:
    return _is_much(len(trace.spans), trace.size)


def _is_much(spans: int, size: int) -> bool:
    return spans > LARGE_SPANS or size > LARGE_BYTES


def _completed(past: Past, trace: Trace, rules: Rules) -> Past:
    return past._replace(spans=len(trace.spans), links=len(trace.links), size=trace.size, rules_version=rules.version)
