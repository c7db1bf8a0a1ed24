"""Sends what the collector tells of itself, now and then. Configuration: ``service.telemetry.{traces,metrics}``.

It takes the road of all other telemetry, an queue and an OTLP exporter, but ones of its own, in memory: what a collector
says of itself is never in the way of what it was given to deliver, and is lost rather than waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from collector.component import ExportRequest, Signal
from collector.config.model import OtlpExporterConfig
from collector.delivery.sending_queue import SendingQueue
from collector.exporters.otlp import OtlpExporter
from collector.telemetry.metrics import Telemetry

_DRAIN_TIMEOUT = 2.0  # seconds the last of it gets at shutdown


class SelfTelemetry:
    """A component: every ``interval`` seconds, and at the end, asks ``collect`` for a request and sends it."""

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
        """Begin to send. Raises ConfigError where a certificate cannot be used."""
        await self._exporter.start()
        self._task = asyncio.create_task(self._run())

    async def shutdown(self) -> None:
        """Send the last of it, without waiting long."""
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await self._send()
        await self._exporter.shutdown()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._interval)
            await self._send()

    async def _send(self) -> None:
        collected = await self._collect()
        if collected is not None and not self._queue.full:
            payload, items = collected
            self._queue.put(ExportRequest(self._signal, payload, items))
