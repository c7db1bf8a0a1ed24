"""Prometheus exporter: verdicts as counters and histograms with trace-id exemplars, and the /metrics listener.

Configuration: ``exporters.prometheus``. Serves OpenMetrics (with exemplars) to scrapers that accept it, the plain text
format to all others. Labels that agents write are bounded, see ``collector.telemetry``.
"""

from __future__ import annotations

import asyncio

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


def count(telemetry: Telemetry, verdict: Verdict) -> None:
    """Count one verdict, and nothing twice.

    Evaluations of incomplete runs have the label ``incomplete``, those of a shadow rule ``shadow_pass`` and so on, those
    that revise an earlier verdict ``revised``: none of them is a pass or a fail, so no accuracy and no alert counts them.
    """
    if verdict.revision:
        _count_evaluations(telemetry, verdict, "revised")
    elif verdict.shadow:
        _count_evaluations(telemetry, verdict, "shadow_{}")
    else:
        telemetry.child(telemetry.runs, verdict.release).inc()
        if reason := _unscored(verdict):
            telemetry.child(telemetry.runs_unscored, reason).inc()
        _count_evaluations(telemetry, verdict, "{}" if verdict.complete else "incomplete")
        if verdict.rule is not None and verdict.complete:
            _count_calls(telemetry, verdict.rule, verdict)


def _unscored(verdict: Verdict) -> str | None:
    """Why the run has no verdict that counts."""
    if verdict.rule is None:
        return "no_rule"
    if not verdict.complete:
        return "incomplete"
    label = next(evaluation.score.label for evaluation in verdict.evaluations if evaluation.primary)
    return label if label in ("ambiguous", "error") else None


def _count_evaluations(telemetry: Telemetry, verdict: Verdict, label: str) -> None:
    rule, run = verdict.rule or "", verdict.run
    route, intent = telemetry.label("route", run.route), telemetry.label("intent", run.intent)
    exemplar = {"trace_id": run.trace_id.hex()}
    for evaluation in verdict.evaluations:
        name, score = evaluation.name, evaluation.score
        series = telemetry.child(telemetry.evaluations, rule, route, intent, name, label.format(score.label))
        series.inc(1, exemplar)
        if score.value is not None and label == "{}":
            telemetry.child(telemetry.evaluation_score, rule, route, intent, name).observe(score.value, exemplar)


def _count_calls(telemetry: Telemetry, rule: str, verdict: Verdict) -> None:
    for call, outcome in zip(verdict.run.trajectory.calls, verdict.outcomes(), strict=True):
        telemetry.child(telemetry.tool_calls, rule, telemetry.label("tool", call.name), outcome).inc()
