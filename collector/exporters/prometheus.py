"""Prometheus exporter: verdicts as counters and histograms with trace-id exemplars, and the /metrics listener.

Configuration: ``exporters.prometheus``. Serves OpenMetrics (with exemplars) to scrapers that accept it, the plain text
format to all others. Labels that agents write are bounded, see ``collector.telemetry``.
"""

from __future__ import annotations

import asyncio

from prometheus_client import Counter
from prometheus_client.exposition import choose_encoder

from collector.config import PrometheusExporter as PrometheusConfig
from collector.http_server import HttpServer, Receive, Scope, Send, respond
from collector.telemetry import Telemetry
from collector.verdict import Verdict


class PrometheusExporter:
    """Counts verdicts and serves what is counted."""

    def __init__(self, config: PrometheusConfig, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._server = HttpServer(self._serve, config.endpoint)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._server.port

    async def start(self) -> None:
        """Listen. Raises ConfigError when the address cannot be had."""
        await self._server.start()

    async def shutdown(self) -> None:
        """Stop listening."""
        await self._server.shutdown()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != "/metrics":
            await respond(send, 404, b"the metrics are at /metrics\n", "text/plain")
            return
        accept = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"accept"), "")
        encoder, content_type = choose_encoder(accept)
        body = await asyncio.to_thread(encoder, self._telemetry.registry)  # many series take a while to write
        await respond(send, 200, body, content_type)


_COUNTED = ("pass", "fail")


class VerdictCounter:
    """Counts verdicts, and nothing twice.

    Evaluations of incomplete runs have the label ``incomplete``, those of a shadow rule ``shadow_pass`` and so on, those
    that revise an earlier verdict ``revised``: none of them is a pass or a fail, so no accuracy and no alert counts them.

    Counts gather here until ``flush``: most verdicts of a moment fall on the same few series.
    """

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._counts: dict[tuple[Counter, tuple[str, ...]], int] = {}
        self._exemplars: dict[tuple[Counter, tuple[str, ...]], bytes] = {}
        self._scores: dict[tuple[tuple[str, ...], float], tuple[int, bytes]] = {}

    def count(self, verdict: Verdict) -> None:
        """Take one verdict."""
        telemetry = self._telemetry
        if verdict.revision:
            self._count_evaluations(verdict, "revised")
        elif verdict.shadow:
            self._count_evaluations(verdict, "shadow_{}")
        elif verdict.judged or verdict.scope != "run":  # its runs and their calls are counted already
            self._count_evaluations(verdict, "" if verdict.complete else "incomplete")
        else:
            self._add(telemetry.runs, (verdict.release,))
            if reason := _unscored(verdict):
                self._add(telemetry.runs_unscored, (reason,))
            if verdict.run.found_intent is not None:
                self._add(telemetry.intents, (verdict.run.found_intent.by,))
            self._count_evaluations(verdict, "" if verdict.complete else "incomplete")
            if verdict.rule is not None and verdict.complete:
                for call, outcome in zip(verdict.run.trajectory.calls, verdict.outcomes(), strict=True):
                    self._add(telemetry.tool_calls, (verdict.rule, telemetry.label("tool", call.name), outcome))

    def flush(self) -> None:
        """Bring what was gathered to /metrics, with the latest trace of each series as its exemplar."""
        telemetry = self._telemetry
        for key, count in self._counts.items():
            trace_id = self._exemplars.get(key)
            telemetry.child(key[0], *key[1]).inc(count, {"trace_id": trace_id.hex()} if trace_id else None)
        for (labels, value), (count, trace_id) in self._scores.items():
            series = telemetry.child(telemetry.evaluation_score, *labels)
            for _ in range(count - 1):
                series.observe(value)
            series.observe(value, {"trace_id": trace_id.hex()})
        self._counts.clear()
        self._exemplars.clear()
        self._scores.clear()

    def _add(self, metric: Counter, labels: tuple[str, ...]) -> None:
        key = (metric, labels)
        self._counts[key] = self._counts.get(key, 0) + 1

    def _count_evaluations(self, verdict: Verdict, label: str) -> None:
        """``label`` is the label, with ``{}`` for the score's own; empty for the score's own as it is."""
        telemetry, run = self._telemetry, verdict.run
        route, intent = telemetry.label("route", run.route), telemetry.label("intent", run.intent)
        for evaluation in verdict.evaluations:
            score = evaluation.score
            series = (verdict.rule or "", route, intent, evaluation.name)
            for counted in _COUNTED:  # both are there from the start, at 0: a rate cannot see a series born at 1
                telemetry.child(telemetry.evaluations, *series, counted)
            labels = (*series, label.format(score.label) if label else score.label)
            self._add(telemetry.evaluations, labels)
            self._exemplars[telemetry.evaluations, labels] = run.trace_id
            if score.value is not None and not label:
                before = self._scores.get((series, score.value))
                self._scores[series, score.value] = (1 + (before[0] if before else 0), run.trace_id)


def _unscored(verdict: Verdict) -> str | None:
    """Why the run has no verdict that counts."""
    if verdict.rule is None:
        return "no_rule"
    if not verdict.complete:
        return "incomplete"
    label = next((evaluation.score.label for evaluation in verdict.evaluations if evaluation.primary), None)
    return label if label in ("ambiguous", "error") else None
