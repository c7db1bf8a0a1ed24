"""A collector that sends its own telemetry to a real backend."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests import otlp_data as data
from tests.collector_process import CollectorProcess, send
from tests.sinks import OtlpSink
from tests.waiting import wait_for

RULES = "rules: [{name: any, match: {}, expect: {any_order: []}}]"
INSECURE: dict[str, Any] = {"insecure": True}


def own_spans(sink: OtlpSink) -> list[tuple[str, dict[str, Any]]]:
    return [
        (span.name, data.values_of(span))
        for request in sink.requests["traces"]
        for resource in ExportTraceServiceRequest.FromString(request).resource_spans
        for scope in resource.scope_spans
        if scope.scope.name == "rightcall.collector"
        for span in scope.spans
    ]


def test_own_spans_metrics_and_logs() -> None:
    with OtlpSink() as backend, OtlpSink() as own:
        settings = {"endpoint": own.endpoint, "tls": INSECURE, "headers": {"x-key": "s3cret"}}
        telemetry = {"traces": settings, "metrics": {**settings, "interval": "200ms"}}
        exporter = {"endpoint": backend.endpoint, "tls": INSECURE}
        sections = {"service": {"telemetry": telemetry}, "spool": {"path": "spool"}, "traces": {"settle": "100ms"}}
        with CollectorProcess(RULES, exporter, **sections) as collector:
            assert "s3cret" not in collector.get("/config", collector.admin)
            collector.rules.write_text("rules: 7")
            collector.signal(signal.SIGHUP)
            send(collector, data.span(1, parent=9))
            wait_for(backend.spans)
            wait_for(lambda: _pushed(own, "rightcall_exporter_sent_spans") == 1)
            wait_for(lambda: "the new rules are invalid" in collector.log)
            assert collector.stop() == 0
            spans = own_spans(own)
            assert {name for name, _ in spans} == {"recover", "start", "export", "reload rules", "drain"}
            assert dict(spans)["drain"] == {"rightcall.requests": 0, "rightcall.requests.left": 0}
            assert dict(spans)["export"]["rightcall.attempts"] == 1
            assert {metadata["x-key"] for metadata in own.metadata} == {"s3cret"}
            assert all(json.loads(line)["level"] in ("info", "error") for line in collector.log.splitlines())


def _pushed(sink: OtlpSink, name: str) -> float | None:
    """Returns the latest pushed value of a metric."""
    values = [
        point.as_double
        for request in sink.requests["metrics"][-1:]
        for resource in ExportMetricsServiceRequest.FromString(request).resource_metrics
        for metric in resource.scope_metrics[0].metrics
        if metric.name == name
        for point in metric.sum.data_points
    ]
    return values[0] if values else None


def test_the_sdk_is_not_imported_unless_enabled() -> None:
    loaded = "import sys, collector.service.service; print('opentelemetry.sdk' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert answer.stdout == "False\n"


def test_the_log_level_is_configurable() -> None:
    with CollectorProcess(RULES, None, service={"telemetry": {"logs": {"level": "ERROR"}}}) as collector:
        assert collector.log == ""
