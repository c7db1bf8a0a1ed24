"""Counts what a serialised request holds that was forwarded unread."""

from __future__ import annotations

from google.protobuf.message import DecodeError as ProtobufError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from collector.component import Signal
from collector.errors import DecodeError
from collector.otlp.structure import Structure


def item_count(signal: Signal, payload: bytes) -> int:
    """Returns the number of spans, log records or metric points; 0 where it cannot be read."""
    try:
        return _points(payload) if signal == "metrics" else Structure(payload).items
    except (DecodeError, ProtobufError):
        return 0


def _points(payload: bytes) -> int:
    request = ExportMetricsServiceRequest.FromString(payload)
    metrics = [
        metric for resource in request.resource_metrics for scope in resource.scope_metrics for metric in scope.metrics
    ]
    return sum(len(getattr(metric, kind).data_points) for metric in metrics if (kind := metric.WhichOneof("data")))
