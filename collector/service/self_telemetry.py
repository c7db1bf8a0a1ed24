"""Exports the collector's own spans and metrics. Configuration: ``service.telemetry.{traces,metrics}``.

They use the same export path as all other telemetry, a sending queue and an OTLP exporter, but one of their own, in memory:
they never delay what senders gave the collector to deliver, and are lost rather than waited for.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator

from collector.component import ExportRequest, Signal
from collector.config.exporters import OtlpExporterConfig
from collector.config.model import Config
from collector.delivery.sending_queue import SendingQueue
from collector.exporters.otlp import OtlpExporter
from collector.telemetry import otlp_metrics
from collector.telemetry.metrics import Telemetry
from collector.telemetry.spans import SelfTracing

_log = logging.getLogger(__name__)
_DRAIN_TIMEOUT = 2.0  # seconds the last request gets at shutdown
_SPANS_INTERVAL = 5.0  # seconds between requests with spans, as in the SDKs


def self_telemetry(config: Config, telemetry: Telemetry, tracing: SelfTracing) -> Iterator[SelfTelemetry]:
    """Yields what exports the collector's own spans and metrics, where that is configured."""
    own, start_ns = config.service.telemetry, time.time_ns()
    if own.traces is not None:
        yield SelfTelemetry("traces", own.traces, _SPANS_INTERVAL, tracing.collect, telemetry)
    if own.metrics is not None:

        async def collect() -> tuple[bytes, int]:  # on a thread, because many series take a while to encode
            return await asyncio.to_thread(otlp_metrics.encode, telemetry.registry, start_ns, time.time_ns()), 0

        yield SelfTelemetry("metrics", own.metrics, own.metrics.interval, collect, telemetry)


class SelfTelemetry:
    """Every ``interval`` seconds, and at shutdown, exports what ``collect`` returns: a request and its number of spans."""

    def __init__(
        self,
        signal: Signal,
        config: OtlpExporterConfig,
        interval: float,
        collect: Callable[[], Awaitable[tuple[bytes, int] | None]],
        telemetry: Telemetry,
    ) -> None:
        self._signal, self._interval, self._collect = signal, interval, collect
        self._queue = SendingQueue(config.sending_queue)
        self._exporter = OtlpExporter(
            config, self._queue, telemetry, drain_timeout=_DRAIN_TIMEOUT, name=f"own_{signal}"
        )
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to export. Raises ConfigError where a certificate cannot be used."""
        await self._exporter.start()
        self._task = asyncio.create_task(self._run())

    async def shutdown(self) -> None:
        """Export what is left, without waiting long."""
        task, self._task = self._task, None
        if task is None:
            return
        # First the timer, then the last request: what was collected must not be collected by both.
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        try:
            await self._send()
        finally:
            await self._exporter.shutdown()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._interval)
            try:
                await self._send()
            except Exception:  # noqa: BLE001 - of one metric, say, which must not end all requests to come
                _log.exception("the collector's own %s could not be read, and are missing in one request", self._signal)

    async def _send(self) -> None:
        collected = await self._collect()
        if collected is not None and not self._queue.full:
            payload, items = collected
            self._queue.put(ExportRequest(self._signal, payload, items))
