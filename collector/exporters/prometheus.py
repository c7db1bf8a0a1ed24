"""The Prometheus exporter: the /metrics listener.

Configuration: ``exporters.prometheus``. Serves OpenMetrics, with exemplars, to scrapers that accept it, and the plain text
format to all others.
"""

from __future__ import annotations

import asyncio

from prometheus_client.exposition import choose_encoder

from collector.config.model import PrometheusExporterConfig
from collector.telemetry.metrics import Telemetry
from collector.transport.http_server import HttpServer, Receive, Scope, Send, respond


class PrometheusExporter(HttpServer):
    """Serves the metrics of ``telemetry`` at /metrics."""

    def __init__(self, config: PrometheusExporterConfig, telemetry: Telemetry) -> None:
        super().__init__(config.endpoint)
        self._telemetry = telemetry

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["path"] != "/metrics":
            await respond(send, 404, b"the metrics are at /metrics\n", "text/plain")
            return
        accept = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"accept"), "")
        encoder, content_type = choose_encoder(accept)
        body = await asyncio.to_thread(encoder, self._telemetry.registry)  # rendering many series takes a while
        await respond(send, 200, body, content_type)
