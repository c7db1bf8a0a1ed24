"""Verdicts as counters and histograms, with the trace id as exemplar; ``collector.telemetry.metrics`` bounds the labels."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Final

from prometheus_client import Counter

from collector.byte_cache import ByteCache
from collector.scoring.kinds import Kind
from collector.scoring.verdict import COUNTED, Verdict
from collector.telemetry.metric_table import OVERFLOW
from collector.telemetry.metrics import Telemetry
from scorers import Rule, RuleSet
from scorers.rules.names import is_exact

_KINDS: Final = 4 << 20  # bytes of labels that are kept for verdicts to come
_Series = tuple[Counter, tuple[str, ...]]
"""A counter, and the values of its labels."""
_Scored = tuple[tuple[str, ...], float]
"""The labels of a histogram of scores, and the score."""


class _Counts:
    """What one verdict adds to: counters by one, the trace id as exemplar of some, and histograms of scores."""

    def __init__(self) -> None:
        self.counted: list[tuple[_Series, bool]] = []
        self.scores: list[_Scored] = []
        self.is_within_limits = True
        """No label is `OVERFLOW`, so the next verdict of this kind counts on the same series."""


class VerdictCounter:
    """Counts verdicts, and nothing twice.

    Evaluations have the score's own label, those of a shadow rule ``shadow_pass`` and so on, those that revise an earlier
    verdict ``revised``. Only ``pass`` and ``fail`` say something of the agent: nothing else counts towards accuracy, the
    distribution of scores or the outcomes of calls. Nor does a revision, but for calls of forbidden tools that are news.

    Counts gather here until ``flush``: most verdicts of a moment fall on the same few series.
    """

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        # How often, and the latest trace: of kinds, and of the series of all others.
        self._gathered: dict[_Counts, tuple[int, bytes]] = {}
        self._totals: dict[_Series, tuple[int, bytes]] = {}
        self._scores: dict[_Scored, tuple[int, bytes]] = {}
        self._of_kinds: ByteCache[Kind, _Counts] = ByteCache(_KINDS)
        self._begun: set[tuple[str, ...]] = set()

    @property
    def has_gathered(self) -> bool:
        """Whether there are counts to ``flush``."""
        return bool(self._gathered or self._totals)

    def count(self, verdict: Verdict) -> None:
        """Take one verdict."""
        # What depends on more than the kind is never kept by it: dimensions are attributes, the tools declared a run's own.
        kind = None if self._telemetry.dimensions or verdict.run.trajectory.declared is not None else verdict.kind
        counts = None if kind is None else self._of_kinds.get(kind)
        if counts is not None:
            before = self._gathered.get(counts)
            self._gathered[counts] = (1 if before is None else before[0] + 1, verdict.run.trace_id)
            return
        counts = self._counts_of(verdict)
        self._add(counts, 1, verdict.run.trace_id)
        if kind is not None and counts.is_within_limits:
            self._of_kinds.keep(kind, counts, sum([200 + len("".join(labels)) for (_, labels), _ in counts.counted]))

    def _counts_of(self, verdict: Verdict) -> _Counts:
        telemetry, counts = self._telemetry, _Counts()
        # Tested first: a revision counts as such whatever rule it is by, so that no run is counted twice.
        if verdict.revision:
            self._count_evaluations(counts, verdict, "revised")
            # An alert has to tell of a forbidden call also where it comes late.
            if verdict.known_forbidden is not None and not (verdict.shadow or verdict.judged):
                self._count_calls(counts, verdict)
        elif verdict.shadow:
            self._count_evaluations(counts, verdict, "shadow_{}")
        else:
            self._count_evaluations(counts, verdict, "")
            if verdict.rule is not None and verdict.has_unobserved_arguments:
                _count(counts, telemetry.unobserved_arguments, (verdict.rule,), shows_trace=False)
            if not verdict.judged:  # else they are counted already
                self._count_calls(counts, verdict)
            if verdict.scope == "run" and not verdict.judged:  # else its runs are counted already
                self._count_run(counts, verdict)
            elif verdict.unscored_reason == "internal":
                _count(counts, telemetry.runs_unscored, ("internal", "", ""), shows_trace=False)
        return counts

    def _count_run(self, counts: _Counts, verdict: Verdict) -> None:
        telemetry, run = self._telemetry, verdict.run
        _count(counts, telemetry.runs, (verdict.release,))
        _count(counts, telemetry.service_runs, (telemetry.label("service_name", run.service),))
        if (reason := verdict.unscored_reason) and not verdict.in_scored_whole:
            route, agent = telemetry.label("route", run.route), telemetry.label("agent", run.agent)
            # Limits on single labels are not enough: their combinations are the series that Prometheus has to keep.
            if not telemetry.is_within("route_agent", route, agent):
                route = agent = OVERFLOW
            _count(counts, telemetry.runs_unscored, (reason, route, agent))
        if "nothing_recorded" in verdict.doubts:
            _count(counts, telemetry.unread_runs, (telemetry.label("scope", run.scope),))
        if run.found_intent is not None:
            _count(counts, telemetry.intents, (run.found_intent.by,), shows_trace=False)
        if (declared := run.trajectory.declared) is not None:
            for call in run.trajectory.calls:
                if call.name not in declared:
                    _count(counts, telemetry.unoffered_tool_calls, (telemetry.label("tool", call.name),))

    def _count_calls(self, counts: _Counts, verdict: Verdict) -> None:
        """Calls of a run by outcome; of a trace or conversation, whose runs have counted theirs, those its rule forbids.

        Of a revision, those of forbidden tools of which no earlier verdict counted any.
        """
        if verdict.rule is None or verdict.label not in COUNTED:
            return
        known = verdict.known_forbidden or ()
        telemetry, dimensions = self._telemetry, self._dimensions_of(verdict)
        for call, outcome in zip(verdict.run.trajectory.calls, verdict.outcomes, strict=True):
            if (verdict.scope != "run" or verdict.revision) and (outcome != "forbidden" or call.name in known):
                continue
            tool, others = telemetry.label("tool", call.name), dimensions
            if not telemetry.is_within("rule_tool", verdict.rule, tool, *dimensions):
                tool, others = OVERFLOW, (OVERFLOW,) * len(dimensions)
            _count(counts, telemetry.tool_calls, (verdict.rule, tool, outcome, *others))

    def flush(self) -> None:
        """Bring what was gathered to /metrics, with a late trace of each series as its exemplar."""
        telemetry = self._telemetry
        for counts, (times, trace_id) in self._gathered.items():
            self._add(counts, times, trace_id)
        for (metric, labels), (count, shown) in self._totals.items():
            telemetry.child(metric, *labels).inc(count, {"trace_id": shown.hex()} if shown else None)
        for (labels, value), (count, trace_id) in self._scores.items():
            series = telemetry.child(telemetry.evaluation_score, *labels)
            # One exemplar is enough for all of them.
            series.observe_all([value] * (count - 1))
            series.observe(value, {"trace_id": trace_id.hex()})
        self._gathered.clear()
        self._totals.clear()
        self._scores.clear()

    def _add(self, counts: _Counts, times: int, trace_id: bytes) -> None:
        for series, shows_trace in counts.counted:
            count, shown = self._totals.get(series, (0, b""))
            self._totals[series] = (count + times, trace_id if shows_trace else shown)
        for scored in counts.scores:
            self._scores[scored] = (times + self._scores.get(scored, (0, b""))[0], trace_id)

    def _dimensions_of(self, verdict: Verdict) -> tuple[str, ...]:
        return self._telemetry.dimension_values(verdict.run.attributes) if self._telemetry.dimensions else ()

    def _count_evaluations(self, counts: _Counts, verdict: Verdict, label: str) -> None:
        """``label`` is the label, with ``{}`` for the score's own; empty for the score's own as it is."""
        telemetry, run = self._telemetry, verdict.run
        route, intent = telemetry.label("route", run.route), telemetry.label("intent", run.intent)
        dimensions = self._dimensions_of(verdict)
        rule = verdict.rule or ""
        if verdict.evaluations and not telemetry.is_within("route_intent", rule, route, intent, *dimensions):
            route, intent, dimensions = OVERFLOW, OVERFLOW, (OVERFLOW,) * len(dimensions)
        for evaluation in verdict.evaluations:
            score = evaluation.score
            series = (rule, route, intent, evaluation.name)
            labelled = (*series, *dimensions) if dimensions else series
            if labelled not in self._begun:
                self._begun.add(labelled)
                _begin(telemetry, series, dimensions)
            labels = (*series, label.format(score.label) if label else score.label, *dimensions)
            _count(counts, telemetry.evaluations, labels)
            if score.value is not None and score.label in COUNTED and not label:
                counts.scores.append((labelled, score.value))


def _count(counts: _Counts, metric: Counter, labels: tuple[str, ...], *, shows_trace: bool = True) -> None:
    counts.counted.append(((metric, labels), shows_trace))
    counts.is_within_limits &= OVERFLOW not in labels


def begin_counters(telemetry: Telemetry, rules: RuleSet, pause: Callable[[], None] | None = None) -> None:
    """Show what rules in force can say from the start, at 0, as far as they name its labels.

    These are the evaluations of a rule whose route and intent are exact, the calls of tools that a rule forbids by name, and
    how far its judges agree with it, which tells queries that they are judges. With dimensions it is the last alone, since
    only runs have those. ``pause`` is called between rules.
    """
    for compiled in rules.rules:
        if pause is not None:
            pause()
        if not compiled.rule.shadow:
            for judge in compiled.judges:
                _begin_agreement(telemetry, compiled.rule.name, judge.name)
            if not telemetry.dimensions:
                _begin_counters_of(telemetry, rules, compiled.rule)


def _begin_agreement(telemetry: Telemetry, rule: str, judge: str) -> None:
    for deterministic, judged in product(COUNTED, COUNTED):
        telemetry.child(telemetry.judge_agreement, rule, judge, deterministic, judged)


def _begin_counters_of(telemetry: Telemetry, rules: RuleSet, rule: Rule) -> None:
    intent = "" if rule.match.intent is None and not rules.intents else rule.match.intent
    if rule.match.route is not None and intent is not None and is_exact(rule.match.route) and is_exact(intent):
        _begin_evaluations(telemetry, rule, str(rule.match.route), str(intent))
    if rule.expect is not None:
        for name in filter(is_exact, rule.expect.forbid):
            _begin_forbidden(telemetry, rule.name, str(name))


def _begin_evaluations(telemetry: Telemetry, rule: Rule, route: str, intent: str) -> None:
    if telemetry.has_room("route", route) and telemetry.has_room("intent", intent):
        labels = rule.name, telemetry.label("route", route), telemetry.label("intent", intent)
        if telemetry.has_room("route_intent", *labels) and telemetry.is_within("route_intent", *labels):
            for ref in rule.scorers:
                _begin(telemetry, (*labels, ref.name or ref.system), ())


def _begin_forbidden(telemetry: Telemetry, rule: str, name: str) -> None:
    if telemetry.has_room("tool", name):
        tool = telemetry.label("tool", name)
        if telemetry.has_room("rule_tool", rule, tool) and telemetry.is_within("rule_tool", rule, tool):
            telemetry.child(telemetry.tool_calls, rule, tool, "forbidden")


def _begin(telemetry: Telemetry, series: tuple[str, ...], dimensions: tuple[str, ...]) -> None:
    """Show both counters from the start, at 0: a rate cannot see a series born at 1."""
    for counted in COUNTED:
        telemetry.child(telemetry.evaluations, *series, counted, *dimensions)
