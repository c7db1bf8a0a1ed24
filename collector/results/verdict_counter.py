"""Verdicts as counters and histograms, with the trace id as exemplar; ``collector.telemetry.metrics`` bounds the labels."""

from __future__ import annotations

from prometheus_client import Counter

from collector.scoring.verdict import Verdict
from collector.telemetry.metrics import OVERFLOW, Telemetry

_COUNTED = ("pass", "fail")


class VerdictCounter:
    """Counts verdicts, and nothing twice.

    Evaluations have the score's own label, those of a shadow rule ``shadow_pass`` and so on, those that revise an earlier
    verdict ``revised``. Only ``pass`` and ``fail`` say something of the agent: nothing else counts towards accuracy, the
    distribution of scores or the outcomes of calls.

    Counts gather here until ``flush``: most verdicts of a moment fall on the same few series.
    """

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._counts: dict[tuple[Counter, tuple[str, ...]], int] = {}
        self._exemplars: dict[tuple[Counter, tuple[str, ...]], bytes] = {}
        self._scores: dict[tuple[tuple[str, ...], float], tuple[int, bytes]] = {}
        self._begun: set[tuple[str, ...]] = set()

    def count(self, verdict: Verdict) -> None:
        """Take one verdict."""
        telemetry = self._telemetry
        # Tested first: a revision counts as such whatever rule it is by, so that no run is counted twice.
        if verdict.revision:
            self._count_evaluations(verdict, "revised")
        elif verdict.shadow:
            self._count_evaluations(verdict, "shadow_{}")
        else:
            self._count_evaluations(verdict, "")
            if verdict.rule is not None and verdict.has_unobserved_arguments:
                self._add(telemetry.unobserved_arguments, (verdict.rule,))
            if verdict.scope == "run" and not verdict.judged:  # else its runs and their calls are counted already
                self._count_run(verdict)
            elif verdict.unscored_reason == "internal":
                self._add(telemetry.runs_unscored, ("internal", "", ""))

    def _count_run(self, verdict: Verdict) -> None:
        telemetry, run = self._telemetry, verdict.run
        self._add(telemetry.runs, (verdict.release,), run.trace_id)
        if reason := verdict.unscored_reason:
            route, agent = telemetry.label("route", run.route), telemetry.label("agent", run.agent)
            # Limits on single labels are not enough: their combinations are the series that Prometheus has to keep.
            if not telemetry.is_within("route_agent", route, agent):
                route = agent = OVERFLOW
            self._add(telemetry.runs_unscored, (reason, route, agent), run.trace_id)
        if "nothing_recorded" in verdict.doubts:
            self._add(telemetry.unread_runs, (telemetry.label("scope", run.scope),), run.trace_id)
        if run.found_intent is not None:
            self._add(telemetry.intents, (run.found_intent.by,))
        if (declared := run.trajectory.declared) is not None:
            for call in run.trajectory.calls:
                if call.name not in declared:
                    self._add(telemetry.unoffered_tool_calls, (telemetry.label("tool", call.name),), run.trace_id)
        if verdict.rule is not None and verdict.label in _COUNTED:
            dimensions = self._dimensions_of(verdict)
            for call, outcome in zip(run.trajectory.calls, verdict.outcomes, strict=True):
                tool, others = telemetry.label("tool", call.name), dimensions
                if not telemetry.is_within("rule_tool", verdict.rule, tool, *dimensions):
                    tool, others = OVERFLOW, (OVERFLOW,) * len(dimensions)
                self._add(telemetry.tool_calls, (verdict.rule, tool, outcome, *others), run.trace_id)

    def flush(self) -> None:
        """Bring what was gathered to /metrics, with the latest trace of each series as its exemplar."""
        telemetry = self._telemetry
        for key, count in self._counts.items():
            trace_id = self._exemplars.get(key)
            telemetry.child(key[0], *key[1]).inc(count, {"trace_id": trace_id.hex()} if trace_id else None)
        for (labels, value), (count, trace_id) in self._scores.items():
            series = telemetry.child(telemetry.evaluation_score, *labels)
            # prometheus_client has no call for several equal observations. One exemplar is enough for all of them.
            for _ in range(count - 1):
                series.observe(value)
            series.observe(value, {"trace_id": trace_id.hex()})
        self._counts.clear()
        self._exemplars.clear()
        self._scores.clear()

    def _add(self, metric: Counter, labels: tuple[str, ...], exemplar: bytes = b"") -> None:
        """Count one, of the trace ``exemplar``."""
        key = (metric, labels)
        self._counts[key] = self._counts.get(key, 0) + 1
        if exemplar:
            self._exemplars[key] = exemplar

    def _dimensions_of(self, verdict: Verdict) -> tuple[str, ...]:
        return self._telemetry.dimension_values(verdict.run.attributes) if self._telemetry.dimensions else ()

    def _begin(self, series: tuple[str, ...], dimensions: tuple[str, ...]) -> None:
        """Show both counters from the start, at 0: a rate cannot see a series born at 1."""
        self._begun.add((*series, *dimensions))
        for counted in _COUNTED:
            self._telemetry.child(self._telemetry.evaluations, *series, counted, *dimensions)

    def _count_evaluations(self, verdict: Verdict, label: str) -> None:
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
                self._begin(series, dimensions)
            labels = (*series, label.format(score.label) if label else score.label, *dimensions)
            self._add(telemetry.evaluations, labels, run.trace_id)
            if score.value is not None and score.label in _COUNTED and not label:
                scored = (labelled, score.value)
                before = self._scores.get(scored)
                self._scores[scored] = (1 + (before[0] if before else 0), run.trace_id)
