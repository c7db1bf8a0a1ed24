"""Finds out what becomes of traces: rebuilds their runs, scores them, and makes the results. Changes nothing of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import inf
from typing import Final, Literal, NamedTuple

from collector.assembly.conversations import ConversationRun
from collector.assembly.due import Due
from collector.assembly.trace import Trace
from collector.assembly.trace_state import TraceState
from collector.checkpoints import checkpoint
from collector.clock import Clock
from collector.model.past import Past
from collector.reader import Reader
from collector.reconstruction.context import ContextSettings
from collector.reconstruction.plain_runs import plain_run
from collector.reconstruction.reconstruct import is_awaited, rebuild
from collector.reconstruction.run import Run
from collector.reconstruction.turns import awaited_span, next_turn, past_of
from collector.results.results import EnvelopedItems, Results
from collector.scoring.conversations import collect
from collector.scoring.parts import NO_PARTS, parts_of
from collector.scoring.select_and_score import Scored, Scoring, arguments_to_embed, words_to_embed
from scorers import RuleSet

_log = logging.getLogger(__name__)

LARGE_SPANS: Final = 200
"""A trace of more spans is evaluated in slices: each takes about 0.1 ms."""
LARGE_BYTES: Final = 256 << 10
"""So is a trace that takes more memory, as the assembler counts it."""
_TIME_TO_REBUILD: Final = 0.004
"""In seconds: what is not rebuilt by then of traces that are evaluated together is put off. Most take less for all of them."""
_TIME_TO_SCORE: Final = 0.012
"""The same of what is not scored. It was rebuilt in vain, so there is time enough for all that is usually rebuilt by then."""
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
    reader: Reader
    """Reads what these rules need of spans."""

    @property
    def judge_turns(self) -> bool:
        """Whether a turn of a session can be scored without those before it."""
        return not (self.collects_runs or self.set.has_scope("trace"))


class TraceEvaluation:
    """What is found out of a trace as it is, by the rules in force when that begins.

    Where ``due`` is a text, it is the reason of a release that waits for nothing.
    """

    def __init__(self, trace: Trace, due: Due | str, rules: Rules, started: float) -> None:
        self.trace, self.rules, self.started, self.seconds = trace, rules, started, 0.0
        self.due: Due | None = None if isinstance(due, str) else due
        self.release = due if isinstance(due, str) else due.release
        self.is_turn = False
        """Whether ``runs`` are those of its latest turn, rebuilt without the others."""
        self.is_scored = self.has_failed = self.is_put_off = False
        self.wait: Literal["", "incomplete", "confirm"] = ""
        """What it waits for instead of its verdict."""
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

    @property
    def waits(self) -> bool:
        """Whether it gives no verdict yet."""
        return bool(self.wait or self.embedded_in)

    @property
    def is_over(self) -> bool:
        """Whether there is nothing to do for it any more."""
        return self.waits or self.has_failed or self.is_put_off

    @property
    def unconfirmed(self) -> tuple[Rules, Sequence[Run], Scored, Past | None] | None:
        """What the trace was scored as, if it waits for spans that could change that."""
        return (self.rules, self.runs, self.scored, self.past) if self.wait == "confirm" else None


class TraceEvaluator:
    """Evaluates traces by ``rules``. ``wait_for`` returns in how many seconds texts will be embedded.

    With ``confirms``, what a span could change that is still on its way is not given when a trace has settled.
    """

    rules: Rules

    def __init__(
        self, results: Results, clock: Clock, wait_for: Callable[[Iterable[str]], float], *, confirms: bool
    ) -> None:
        self._results, self._clock, self._wait_for, self._confirms = results, clock, wait_for, confirms

    def begin(self, trace: Trace, due: Due | str, now: float) -> TraceEvaluation:
        """Returns the evaluation of a trace, or of its latest turn if that can be rebuilt without the others."""
        evaluation = TraceEvaluation(trace, due, self.rules, now)
        turn = self._turn_of(trace)
        if turn is not None:
            evaluation.is_turn = True
            evaluation.runs, evaluation.past = turn
        return evaluation

    def evaluate(self, evaluations: Sequence[TraceEvaluation]) -> None:
        """Find out what becomes of these traces.

        Step by step for all of them: the code of one step stays in the processor's caches, that of all steps does not.
        On some processors it takes a quarter less time than one trace after the other, on others (Zen 4) the same. But for
        the first, what is not scored in time is put off: some traces take milliseconds each, and nobody is served meanwhile.
        """
        began = self._clock.now()
        steps = (
            (self._rebuild, began + _TIME_TO_REBUILD), (self._score, began + _TIME_TO_SCORE), (self._make_results, inf)
        )  # fmt: skip
        for step, until in steps:
            for evaluation in evaluations:
                if evaluation.is_over:
                    continue
                if began > until and evaluation is not evaluations[0]:
                    evaluation.is_put_off = True
                    continue
                try:
                    step(evaluation)
                except Exception as error:  # noqa: BLE001 - a bug, or a trace nobody expected, must not end the process
                    _log.exception("trace %s could not be scored", evaluation.trace.trace_id.hex())
                    self._fail(evaluation, error)
                ended = self._clock.now()
                evaluation.seconds += ended - began
                began = ended

    def fail(self, trace: Trace, release: str, error: Exception) -> TraceEvaluation:
        """Returns the evaluation of a trace that is not scored because of an error."""
        evaluation = TraceEvaluation(trace, release, self.rules, self._clock.now())
        self._fail(evaluation, error)
        return evaluation

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

    def _rebuild(self, evaluation: TraceEvaluation) -> None:
        trace, rules, due = evaluation.trace, evaluation.rules, evaluation.due
        if due in (Due.SETTLED, Due.CONFIRMED) and rules.scoring.was_refused(trace.trace_id):
            evaluation.wait = "incomplete"
            return
        # Any new span would have cleared `unconfirmed`: the runs are still right. After a reload they are scored anew.
        if due is Due.CONFIRMED and trace.unconfirmed is not None and trace.unconfirmed[0] is rules:
            _, evaluation.runs, evaluation.scored, evaluation.past = trace.unconfirmed
            evaluation.is_scored = True
            return
        if not evaluation.is_turn:
            _rebuild_whole(evaluation)
        # Looked at before scoring: what is incomplete would be scored in vain, and again when it is complete.
        if due is Due.SETTLED and is_awaited(evaluation.runs):
            evaluation.wait = "incomplete"

    def _score(self, evaluation: TraceEvaluation) -> None:
        if evaluation.is_scored:
            return
        trace, rules, runs = evaluation.trace, evaluation.rules, evaluation.runs
        # A forced release does not wait: what is not embedded by then is embedded while it is scored.
        if evaluation.due is not None and rules.set.embeds:
            evaluation.embedded_in = self._wait_for_texts(runs, rules.set)
            if evaluation.embedded_in:
                return
        parts = NO_PARTS if evaluation.is_turn else parts_of(trace, runs)
        evaluation.scored = rules.scoring.verdicts_of(trace, runs, evaluation.release, evaluation.started, parts)
        # A batch processor of another process may hold a span for seconds that would turn this fail into a pass.
        if evaluation.due is Due.SETTLED and self._confirms and evaluation.scored.may_change(rules.set):
            evaluation.wait = "confirm"

    def _make_results(self, evaluation: TraceEvaluation) -> None:
        trace, scored = evaluation.trace, evaluation.scored
        evaluation.spans, evaluation.events = self._results.of_trace(trace, scored.verdicts)
        if evaluation.rules.collects_runs:
            evaluation.collected = list(collect(trace, evaluation.runs, scored, evaluation.rules.set.reading))

    def _fail(self, evaluation: TraceEvaluation, error: Exception) -> None:
        evaluation.has_failed, evaluation.wait, evaluation.past, evaluation.collected = True, "", None, ()
        failed = evaluation.rules.scoring.failed
        evaluation.scored = scored = failed(evaluation.trace, evaluation.runs, evaluation.release, error)
        evaluation.spans, evaluation.events = self._results.of_trace(evaluation.trace, scored.verdicts)

    def _wait_for_texts(self, runs: Sequence[Run], rules: RuleSet) -> float:
        """The user's words first: which rule looks at which arguments may depend on the intent they show."""
        words = self._wait_for(words_to_embed(runs, rules))
        return words or self._wait_for(arguments_to_embed(runs, rules, ("run", "trace")))


def _rebuild_whole(evaluation: TraceEvaluation) -> None:
    trace, rules = evaluation.trace, evaluation.rules
    settings = _read_anew(trace, rules)
    spans = list(trace.spans.values())
    # Not of a session of many turns, of which more than its runs is kept for the next one.
    if trace.state is not TraceState.REOPENED:
        plain = plain_run(trace.trace_id, spans, bytes(trace.links), settings)
        if plain is not None:
            evaluation.runs = (plain,)
            return
    parents = trace.parents()
    rebuilt = rebuild(trace.trace_id, spans, parents, settings)
    evaluation.runs, evaluation.awaited = rebuilt.runs, awaited_span(rebuilt)
    # Most traces have one turn only, so nothing is kept for a second.
    if trace.state is TraceState.REOPENED and not (trace.truncated or trace.seen) and rules.judge_turns:
        past = past_of(spans, parents, rebuilt)
        evaluation.past = None if past is None else _completed(past, trace, rules)


def _read_anew(trace: Trace, rules: Rules) -> ContextSettings:
    """Read held spans anew, if attributes that rules look at were not read of them: rules were reloaded meanwhile.

    Returns the settings, which tell what is still unread of all other spans.
    """
    reading, reader = trace.reading, rules.reader
    unread = frozenset[str]() if reading is None else rules.set.attributes - reading
    if not unread:  # nearly always
        return rules.settings
    for span_id, raw, envelope in trace.held_spans():
        checkpoint()
        for read in reader.decoder.read([raw], envelope, reader.span):
            known = trace.spans.get(span_id)
            if read is not None and known is not None:
                known.attributes, known.resource = read[1].attributes, read[1].resource
    return replace(rules.settings, unread=unread, read_anew=frozenset(trace.held))


def is_large(trace: Trace) -> bool:
    """Whether a trace is evaluated in slices."""
    return _is_much(len(trace.spans), trace.size)


def _is_much(spans: int, size: int) -> bool:
    """Whether so much is evaluated in slices."""
    return spans > LARGE_SPANS or size > LARGE_BYTES


def _completed(past: Past, trace: Trace, rules: Rules) -> Past:
    return past._replace(spans=len(trace.spans), links=len(trace.links), size=trace.size, rules_version=rules.version)
