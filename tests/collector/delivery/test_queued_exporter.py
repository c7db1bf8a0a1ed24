"""What is lost is counted, each signal in its own unit, and said once in a while."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from collector.clock import SYSTEM_CLOCK
from collector.component import ExportRequest, Rejected, Signal
from collector.config.exporters import OtlpExporterConfig, SendingQueueConfig
from collector.config.fields import RetryConfig
from collector.delivery.queued_exporter import REPORT_INTERVAL, DeliveryError, LossReport, QueuedExporter
from collector.delivery.sending_queue import SendingQueue
from collector.exporters.otlp import OtlpExporter
from collector.service.health import Health
from collector.service.log_config import RepeatLimit
from collector.service.status import facts
from collector.storage.spool import Spool
from collector.storage.spool_file import SpoolFile
from collector.telemetry.metrics import Telemetry
from tests import otlp_data as data
from tests.sinks import ManualClock, OtlpSink

LOGS = data.logs(*[LogRecord(event_name="gen_ai.evaluation.result")] * 3).SerializeToString()
SENT, FAILED = "exporter_sent_spans", "exporter_send_failed_"


def points() -> bytes:
    request = ExportMetricsServiceRequest()
    scope = request.resource_metrics.add().scope_metrics.add()
    for name, count in (("a", 2), ("b", 5)):
        for _ in range(count):
            getattr(scope.metrics.add(name=name), "gauge" if name == "a" else "histogram").data_points.add()
    return request.SerializeToString()


def exported(sink: OtlpSink, *requests: tuple[Signal, bytes], drain_timeout: float = 10.0) -> Telemetry:
    async def run() -> Telemetry:
        config = OtlpExporterConfig.model_validate({"endpoint": sink.endpoint, "tls": {"insecure": True}})
        queue, telemetry = SendingQueue(config.sending_queue), Telemetry()
        exporter = OtlpExporter(config, queue, telemetry, drain_timeout=drain_timeout)
        for signal, payload in requests:
            queue.put(ExportRequest(signal, payload, 1 if signal == "traces" else 0))
        await exporter.start()
        await exporter.shutdown()
        return telemetry

    return asyncio.run(run())


def value(telemetry: Telemetry, name: str) -> float:
    return telemetry.registry.get_sample_value(f"rightcall_{name}_total", {"exporter": "otlp"}) or 0.0


def test_a_backend_that_takes_only_traces(caplog: pytest.LogCaptureFixture) -> None:
    trace = data.traces(data.span(1)).SerializeToString()
    with OtlpSink(signals=["traces"]) as sink:
        requests: list[tuple[Signal, bytes]] = [("logs", LOGS), ("traces", trace)]
        telemetry = exported(sink, *requests * 20, ("metrics", points()))
    assert value(telemetry, SENT) == len(sink.spans()) == 20
    assert value(telemetry, f"{FAILED}log_records") == 60
    assert value(telemetry, f"{FAILED}metric_points") == 7
    assert value(telemetry, f"{FAILED}spans") == 0
    lines = [record.message for record in caplog.records if "log records" in record.message]
    assert len(lines) == 2, "at the first loss, and at the end"
    assert lines[0].startswith(f"dropped 3 log records for {sink.endpoint}: UNIMPLEMENTED")
    assert "set exporters.otlp.logs to off, or to a backend that does" in lines[0]
    assert lines[1].startswith(f"dropped 57 log records for {sink.endpoint} in 19 requests: ")


def test_what_waits_in_memory_at_the_end_is_lost_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    def busy(context: grpc.ServicerContext) -> bytes:
        context.abort(grpc.StatusCode.UNAVAILABLE, "busy")
        raise AssertionError

    with OtlpSink([busy] * 100) as sink:
        telemetry = exported(sink, ("logs", LOGS), ("metrics", points()), drain_timeout=0.05)
        assert f"stopped and dropped 2 undelivered requests (0 spans) for {sink.endpoint}" in caplog.text
    assert (value(telemetry, f"{FAILED}log_records"), value(telemetry, f"{FAILED}metric_points")) == (3, 7)


def test_a_queue_in_memory_tells_how_full_of_bytes_it_is(tmp_path: Path) -> None:
    def told(queue: SendingQueue) -> tuple[list[float | None], str]:
        telemetry = Telemetry()
        OtlpExporter(OtlpExporterConfig.model_validate({"endpoint": "backend:4317"}), queue, telemetry)
        queue.put(ExportRequest("traces", bytes(1 << 20), 1))
        names = ("queue_size", "queue_capacity", "queue_bytes", "queue_capacity_bytes")
        value = telemetry.registry.get_sample_value
        (fact,) = [one for one in facts(Health(), telemetry) if "sending queue" in one.text]
        return [
            value(f"rightcall_exporter_{name}", {"exporter": "otlp"}) for name in names
        ], fact.text + "!" * fact.is_bad

    config, mib = SendingQueueConfig(queue_size=10, max_size_mib=1), 1 << 20
    assert told(SendingQueue(config)) == ([1, 10, mib, mib], "sending queue 1 of 10, 1.0 of 1 MiB!")
    spool = Spool(SpoolFile(tmp_path, fsync=False), 1 << 30, Telemetry())
    assert told(SendingQueue(config, spool)) == ([0, 10, None, None], "sending queue 0 of 10")


def test_a_transport_that_cannot_be_opened_anew_is_a_failure_like_any_other(caplog: pytest.LogCaptureFixture) -> None:
    class Backend:
        sent = 0

        async def send(self, _request: ExportRequest) -> Rejected:
            self.sent += 1
            return Rejected()

        async def close(self) -> None:
            pass

    class Renewed(QueuedExporter):
        def stale(self) -> bool:
            return next(stale)

    backend, stale = Backend(), iter([True, False])

    def opened() -> Iterator[Backend]:
        yield backend
        raise FileNotFoundError(2, "No such file or directory")

    async def run() -> None:
        queue, connections = SendingQueue(SendingQueueConfig()), opened()
        exporter = Renewed(
            queue, Telemetry(), ManualClock(), name="otlp", target="a backend", connect=lambda: next(connections),
            retry=RetryConfig(), consumers=1, drain_timeout=5.0,
        )  # fmt: skip
        queue.put(ExportRequest("traces", b"", 1))
        await exporter.start()
        await exporter.shutdown()

    with caplog.at_level(logging.INFO):
        asyncio.run(run())
    assert backend.sent == 1
    assert "FileNotFoundError" in caplog.text


def test_a_loss_is_said_at_once_and_then_once_in_a_while(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    report = LossReport("tempo:4317", clock.now)
    for _ in range(5):
        report.add("logs", 2, "UNIMPLEMENTED: no logs", "UNIMPLEMENTED")
    report.add("traces", 1, "INTERNAL", "INTERNAL")
    clock.seconds += REPORT_INTERVAL
    report.add("logs", 2, "UNIMPLEMENTED: still no logs", "UNIMPLEMENTED")
    report.flush()
    assert [record.message for record in caplog.records] == [
        "dropped 2 log records for tempo:4317: UNIMPLEMENTED: no logs",
        "dropped 1 spans for tempo:4317: INTERNAL",
        "dropped 10 log records for tempo:4317 in 5 requests: UNIMPLEMENTED: still no logs",
    ]


def test_every_reason_is_said_however_many_there_are(caplog: pytest.LogCaptureFixture) -> None:
    reasons = ("INVALID_ARGUMENT", "RESOURCE_EXHAUSTED", "INTERNAL", "UNIMPLEMENTED", "PERMISSION_DENIED")
    caplog.handler.addFilter(limit := RepeatLimit())
    report = LossReport("tempo:4317", lambda: 0.0)
    for reason in reasons:
        report.add("traces", 1, reason, reason)
        report.add("traces", 7, reason, reason)
    report.flush()
    caplog.handler.removeFilter(limit)
    assert [record.message for record in caplog.records] == [
        *(f"dropped 1 spans for tempo:4317: {reason}" for reason in reasons),
        *(f"dropped 7 spans for tempo:4317: {reason}" for reason in reasons),
    ]


def test_a_backend_that_fails_now_and_then_does_not_hide_that_another_is_down(caplog: pytest.LogCaptureFixture) -> None:
    async def serve(target: str, signal: Signal, failures: int) -> None:
        answers = iter([DeliveryError("down", retryable=True), None] * failures)

        class Backend:
            async def send(self, _request: ExportRequest) -> Rejected:
                if (answer := next(answers)) is not None:
                    raise answer
                return Rejected()

            async def close(self) -> None:
                pass

        queue = SendingQueue(SendingQueueConfig())
        exporter = QueuedExporter(
            queue, Telemetry(), ManualClock(), name="otlp", target=target, connect=Backend,
            retry=RetryConfig(), consumers=1, drain_timeout=10.0,
        )  # fmt: skip
        for _ in range(failures):
            queue.put(ExportRequest(signal, LOGS, 3))
        await exporter.start()
        await exporter.shutdown()

    caplog.handler.addFilter(limit := RepeatLimit())
    with caplog.at_level(logging.INFO):
        asyncio.run(serve("tempo", "traces", 5))
        asyncio.run(serve("loki", "logs", 1))
    caplog.handler.removeFilter(limit)
    assert [record.message for record in caplog.records if "loki" in record.message] == [
        "sending logs to loki failed, retrying in 1.0 s: down",
        "loki accepts logs again",
    ]


def test_the_log_has_the_reason_why_a_backend_fails_now(caplog: pytest.LogCaptureFixture) -> None:
    class Backend:
        failures = iter(["refused"] * 6 + ["expired"] * 4 + ["refused", "expired"])

        async def send(self, _request: ExportRequest) -> Rejected:
            if (failure := next(self.failures, None)) is not None:
                raise DeliveryError(failure, retryable=True)
            return Rejected()

        async def close(self) -> None:
            pass

    async def run() -> None:
        queue = SendingQueue(SendingQueueConfig())
        exporter = QueuedExporter(
            queue, Telemetry(), ManualClock(), name="otlp", target="tempo", connect=Backend,
            retry=RetryConfig(initial_interval=10.0, max_interval=10.0), consumers=1, drain_timeout=10.0,
        )  # fmt: skip
        queue.put(ExportRequest("traces", b"", 1))
        await exporter.start()
        await exporter.shutdown()

    with caplog.at_level(logging.INFO):
        asyncio.run(run())
    assert [record.message for record in caplog.records] == [
        "sending traces to tempo failed, retrying in 10.0 s: refused",
        "sending traces to tempo failed, retrying in 10.0 s: expired",
        "tempo accepts traces again",
    ]


@pytest.mark.parametrize(
    ("name", "stage"), [("otlp", "exporter"), ("otlp/traces", "exporter"), ("handover", "exporter"), ("file", "file")]
)
def test_spans_that_a_file_lacks_are_none_that_the_backend_lacks(name: str, stage: str) -> None:
    class FullDisk:
        async def send(self, _request: ExportRequest) -> Rejected:
            raise DeliveryError("No space left on device", retryable=True)

        async def close(self) -> None:
            pass

    async def run() -> Telemetry:
        queue, telemetry = SendingQueue(SendingQueueConfig()), Telemetry()
        exporter = QueuedExporter(
            queue, telemetry, ManualClock(), name=name, target="disk", connect=FullDisk,
            retry=RetryConfig(), consumers=1, drain_timeout=0.0,
        )  # fmt: skip
        queue.put(ExportRequest("traces", b"", 3))
        await exporter.start()
        await exporter.shutdown()
        return telemetry

    registry = asyncio.run(run()).registry
    assert registry.get_sample_value("rightcall_dropped_spans_total", {"stage": stage, "reason": "shutdown"}) == 3


def test_reasons_that_a_backend_makes_up_share_a_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    report = LossReport("tempo:4317", lambda: 0.0)
    for number in range(300):
        report.add("traces", 1, f"rejected {number}", f"rejected {number}")
    assert len(caplog.records) == 101


def test_no_consumer_sends_before_the_pause_that_the_backend_asks_for_is_over() -> None:
    attempts: list[float] = []

    class Backend:
        async def send(self, _request: ExportRequest) -> Rejected:
            attempts.append(SYSTEM_CLOCK.now())
            if len(attempts) == 1:
                raise DeliveryError("slow down", retryable=True, retry_after=0.3)
            return Rejected()

        async def close(self) -> None:
            pass

    async def main() -> None:
        queue = SendingQueue(SendingQueueConfig())
        exporter = QueuedExporter(
            queue, Telemetry(), SYSTEM_CLOCK, name="otlp", target="backend", connect=Backend,
            retry=RetryConfig(initial_interval=0.001), consumers=4, drain_timeout=10.0,
        )  # fmt: skip
        queue.put(ExportRequest("logs", LOGS, 3))
        await exporter.start()
        await exporter.shutdown()

    asyncio.run(main())
    first, second = attempts
    assert second - first >= 0.3
