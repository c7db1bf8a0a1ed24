"""The metrics over OTLP say what /metrics says."""

from __future__ import annotations

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from prometheus_client import CollectorRegistry

from collector.telemetry import otlp_metrics as own_metrics
from collector.telemetry.metrics import Telemetry

START, NOW = 1_700_000_000_000_000_000, 1_700_000_060_000_000_000


def pushed(registry: CollectorRegistry) -> dict[str, Metric]:
    request = ExportMetricsServiceRequest.FromString(own_metrics.encode(registry, START, NOW))
    (resource,) = request.resource_metrics
    (scope,) = resource.scope_metrics
    return {metric.name: metric for metric in scope.metrics}


def test_a_counter_is_a_cumulative_sum_without_its_suffix() -> None:
    telemetry = Telemetry()
    telemetry.dropped_spans.labels("exporter", "shutdown").inc(3)
    metric = pushed(telemetry.registry)["rightcall_dropped_spans"]
    (point,) = metric.sum.data_points
    assert (metric.sum.is_monotonic, metric.sum.aggregation_temporality, point.as_double) == (True, 2, 3)
    assert (point.start_time_unix_nano, point.time_unix_nano) == (START, NOW)
    labels = {pair.key: pair.value.string_value for pair in point.attributes}
    assert labels == {"stage": "exporter", "reason": "shutdown"}


def test_a_gauge_is_a_gauge() -> None:
    telemetry = Telemetry()
    telemetry.traces_open.set_function(lambda: 5)
    (point,) = pushed(telemetry.registry)["rightcall_traces_open"].gauge.data_points
    assert point.as_double == 5


def test_a_histogram_keeps_its_buckets_series_by_series() -> None:
    telemetry = Telemetry()
    for rule, scores in (("a", (0.05, 0.1, 0.95)), ("b", (0.5,))):
        for score in scores:
            telemetry.evaluation_score.labels(rule, "", "", "trajectory").observe(score)
    points = pushed(telemetry.registry)["rightcall_evaluation_score"].histogram.data_points
    counts = [list(point.bucket_counts) for point in points]
    assert counts == [[2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]]
    assert [(point.count, round(point.sum, 6)) for point in points] == [(3, 1.1), (1, 0.5)]
    assert list(points[0].explicit_bounds) == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert [pair.value.string_value for point in points for pair in point.attributes if pair.key == "rule"] == [
        "a",
        "b",
    ]


def test_every_metric_with_a_series_is_there() -> None:
    telemetry = Telemetry()
    for name, _, labels, _ in telemetry.table:
        if labels:
            getattr(telemetry, name).labels(*labels)
    assert {f"rightcall_{name}" for name, _, _, _ in telemetry.table} <= set(pushed(telemetry.registry))
