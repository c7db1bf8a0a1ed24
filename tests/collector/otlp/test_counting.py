"""What a lost request held is counted, whatever the signal; what cannot be read counts as nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    ExponentialHistogram,
    ExponentialHistogramDataPoint,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
    Summary,
    SummaryDataPoint,
)

from collector.component import Signal
from collector.otlp.counting import item_count
from tests import otlp_data as data


def metrics(*found: Metric) -> bytes:
    scope = ScopeMetrics(metrics=found)
    return ExportMetricsServiceRequest(resource_metrics=[ResourceMetrics(scope_metrics=[scope])]).SerializeToString()


def test_spans_and_log_records_of_all_resources_count() -> None:
    spans = data.traces(data.span(1), data.span(2)).SerializeToString() + data.traces(data.span(3)).SerializeToString()
    assert item_count("traces", spans) == 3
    assert item_count("logs", data.logs(LogRecord(), LogRecord()).SerializeToString()) == 2


@pytest.mark.parametrize(
    "metric",
    [
        Metric(gauge=Gauge(data_points=[NumberDataPoint()] * 3)),
        Metric(sum=Sum(data_points=[NumberDataPoint()] * 3)),
        Metric(histogram=Histogram(data_points=[HistogramDataPoint()] * 3)),
        Metric(exponential_histogram=ExponentialHistogram(data_points=[ExponentialHistogramDataPoint()] * 3)),
        Metric(summary=Summary(data_points=[SummaryDataPoint()] * 3)),
    ],
    ids=lambda metric: metric.WhichOneof("data"),
)
def test_of_metrics_the_points_count(metric: Metric) -> None:
    assert item_count("metrics", metrics(metric)) == 3
    assert item_count("metrics", metrics(metric, Metric(name="without data"), metric)) == 6


@pytest.mark.parametrize("signal", ["traces", "logs", "metrics"])
@pytest.mark.parametrize(("payload", "expected"), [(b"", 0), (b"\xff", 0), (b"\x0a\x7fx", 0), (b"\x0a\x00", 0)])
def test_what_holds_nothing_or_cannot_be_read_counts_as_nothing(signal: Any, payload: bytes, expected: int) -> None:
    assert item_count(signal, payload) == expected


@given(st.sampled_from(["traces", "logs", "metrics"]), st.binary(max_size=60))
def test_no_payload_raises(signal: Signal, payload: bytes) -> None:
    assert item_count(signal, payload) >= 0
