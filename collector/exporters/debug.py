"""Debug exporter: what is exported, in the log. For setting up; it costs much, and ``detailed`` shows what users said.

Configuration: ``exporters.debug``. One log line for each request (``basic``), and one for each span, log record or metric
(``normal``), or the request as OTLP/JSON (``detailed``).
"""

from __future__ import annotations

import asyncio
import json as plain_json
import logging
from collections.abc import Iterator
from typing import Any

from collector.clock import SYSTEM_CLOCK
from collector.component import ExportRequest, Rejected
from collector.config.exporters import DebugExporterConfig
from collector.config.fields import RetryConfig
from collector.delivery.queued_exporter import DeliveryError, QueuedExporter
from collector.delivery.sending_queue import SendingQueue
from collector.errors import DecodeError
from collector.otlp import json
from collector.otlp.counting import item_count
from collector.telemetry.metrics import Telemetry
from scorers.quoting import printable

_log = logging.getLogger(__name__)
_MAX_LINE = 10_000  # characters of a request that are shown
_MAX_LINES = 100  # items of a request that are shown
_DRAIN_TIMEOUT = 1.0  # seconds
_ITEMS = {
    "traces": ("scopeSpans", "spans"),
    "logs": ("scopeLogs", "logRecords"),
    "metrics": ("scopeMetrics", "metrics"),
}


class DebugTransport:
    """Logs requests."""

    def __init__(self, config: DebugExporterConfig) -> None:
        self._verbosity = config.verbosity

    async def send(self, request: ExportRequest) -> Rejected:
        """Log one request. Raises DeliveryError."""
        try:
            lines = await asyncio.to_thread(self._lines, request)
        except DecodeError as error:
            raise DeliveryError(str(error), retryable=False, kind="not OTLP") from None
        for line in lines:
            _log.info("%s", printable(line))
        return Rejected()

    def _lines(self, request: ExportRequest) -> list[str]:
        count = request.items or item_count(request.signal, request.payload)
        lines = [f"{request.signal}: {count} items, {len(request.payload)} bytes"]
        if self._verbosity == "normal":
            described = list(_described(request))
            lines += described[:_MAX_LINES]
            lines += [f"... and {len(described) - _MAX_LINES} more"] * (len(described) > _MAX_LINES)
        elif self._verbosity == "detailed":
            text = json.from_protobuf(request.signal, request.payload).decode().strip()
            lines.append(text if len(text) <= _MAX_LINE else f"{text[:_MAX_LINE]}... of {len(text)} characters")
        return lines

    async def close(self) -> None:
        """Nothing is open."""


def _described(request: ExportRequest) -> Iterator[str]:
    """Yields a line for each item: its name, its ids and attributes."""
    scopes, items = _ITEMS[request.signal]
    document: dict[str, Any] = plain_json.loads(json.from_protobuf(request.signal, request.payload))
    for resource in next(iter(document.values()), []):
        for scope in resource.get(scopes, []):
            for item in scope.get(items, []):
                name = item.get("name") or item.get("eventName") or item.get("severityText") or "log record"
                ids = [item[key] for key in ("traceId", "spanId") if key in item]
                values = [f"{at['key']}={_value(at.get('value', {}))}" for at in item.get("attributes", [])]
                yield " ".join([name, *ids, *values])[:_MAX_LINE]


def _value(value: dict[str, Any]) -> str:
    found = next(iter(value.values()), "")
    return found if isinstance(found, str) else plain_json.dumps(found, ensure_ascii=False)


class DebugExporter(QueuedExporter):
    """Logs queued requests, one after the other."""

    def __init__(self, config: DebugExporterConfig, queue: SendingQueue, telemetry: Telemetry) -> None:
        super().__init__(
            queue, telemetry, SYSTEM_CLOCK, name="debug", target="the log", connect=lambda: DebugTransport(config),
            retry=RetryConfig(), consumers=1, drain_timeout=_DRAIN_TIMEOUT,
        )  # fmt: skip
