"""OTLP over gRPC: the service of each signal, and its only method."""

from __future__ import annotations

from typing import Final

from collector.component import Signal

SERVICES: Final[dict[Signal, str]] = {
    "traces": "opentelemetry.proto.collector.trace.v1.TraceService",
    "logs": "opentelemetry.proto.collector.logs.v1.LogsService",
    "metrics": "opentelemetry.proto.collector.metrics.v1.MetricsService",
}
METHOD: Final = "Export"
