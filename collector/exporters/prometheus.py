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
    """Count a first verdict; a revised one is never a second count, an incomplete one no evaluation."""
    if verdict.revision:
        return
    telemetry.child(telemetry.runs, verdict.release).inc()
    if verdict.rule is None:
        telemetry.child(telemetry.runs_unscored, "no_rule").inc()
        return
    if not verdict.complete:
        telemetry.child(telemetry.runs_unscored, "incomplete").inc()
        return
    route, intent = telemetry.label("route", verdict.run.route), telemetry.label("intent", verdict.run.intent)
    exemplar = {"trace_id": verdict.run.trace_id.hex()}
    for evaluation in verdict.evaluations:
        name, score = evaluation.name, evaluation.score
        telemetry.child(telemetry.evaluations, verdict.rule, route, intent, name, score.label).inc(1, exemplar)
        if score.value is not None:
            series = telemetry.child(telemetry.evaluation_score, verdict.rule, route, intent, name)
            series.observe(score.value, exemplar)
        if evaluation.primary and score.label in ("ambiguous", "error"):
            telemetry.child(telemetry.runs_unscored, score.label).inc()
    for call, outcome in zip(verdict.run.trajectory.calls, verdict.outcomes(), strict=True):
        telemetry.child(telemetry.tool_calls, verdict.rule, telemetry.label("tool", call.name), outcome).inc()
