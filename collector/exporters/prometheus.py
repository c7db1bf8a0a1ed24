"""The Prometheus exporter: the /metrics listener.

Configuration: ``exporters.prometheus``. Serves OpenMetrics, with exemplars, to scrapers that accept it, and the plain text
format to all others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from collector.config.exporters import PrometheusExporterConfig
from collector.telemetry.metrics import Telemetry
from collector.transport.http_server import HttpServer, Receive, Scope, Send, respond

_log = logging.getLogger(__name__)


class PrometheusExporter(HttpServer):
    """Serves the metrics of ``telemetry`` at /metrics; ``failing`` while they cannot be rendered, by the last scrape."""

    def __init__(self, config: PrometheusExporterConfig, telemetry: Telemetry) -> None:
        super().__init__(config.endpoint)
        self._telemetry = telemetry
        self._rendering = asyncio.Lock()
        self._next: dict[str, asyncio.Task[bytes]] = {}
        self.failing = False
        self._was_scraped = False
        self._final_scrape: asyncio.Event | None = None

    async def final_scrape(self) -> None:
        """Wait until the metrics as they are now are scraped; not at all if they never were."""
        if self._was_scraped:
            self._final_scrape = asyncio.Event()
            await self._final_scrape.wait()

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["path"] != "/metrics":
            await respond(send, 404, b"the metrics are at /metrics\n", "text/plain")
            return
        accept = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"accept"), "")
        encoder, content_type = choose_encoder(accept)
        final = self._final_scrape  # as of now: what is rendered already may be older
        try:
            body = await self._rendered(encoder, content_type)
        except Exception:  # noqa: BLE001 - whatever it is, nobody sees this collector any more
            if not self.failing:
                _log.exception("the metrics cannot be rendered: not ready until a scrape succeeds")
            self.failing = True
            await respond(send, 500, b"the metrics cannot be rendered; see the log\n", "text/plain")
            return
        self.failing = False
        await respond(send, 200, body, content_type)
        self._was_scraped = True
        if final is not None:
            final.set()

    async def _rendered(self, encoder: Callable[[CollectorRegistry], bytes], content_type: str) -> bytes:
        """Returns the metrics as of now. Many scrapers at once cost as much as two: who asks meanwhile shares the next."""
        found = self._next.get(content_type)
        if found is None:
            found = self._next[content_type] = asyncio.create_task(self._render(encoder, content_type))
        return await asyncio.shield(found)

    async def _render(self, encoder: Callable[[CollectorRegistry], bytes], content_type: str) -> bytes:
        # On a thread, since many series take a while; one at a time, since it competes with the event loop.
        async with self._rendering:
            del self._next[content_type]
            return await asyncio.to_thread(encoder, self._telemetry.registry)
