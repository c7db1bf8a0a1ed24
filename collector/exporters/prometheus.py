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


class PrometheusExporter:
    """Serves the metrics of ``telemetry`` at /metrics."""

    def __init__(self, config: PrometheusExporterConfig, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._server = HttpServer(self._serve, config.endpoint)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._server.port

    async def start(self) -> None:
        """Start listening. Raises ConfigError if the address cannot be bound."""
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
        body = await asyncio.to_thread(encoder, self._telemetry.registry)  # rendering many series takes a while
        await respond(send, 200, body, content_type)
