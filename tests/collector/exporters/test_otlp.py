"""The exporter against a real gRPC backend with scripted answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsPartialSuccess, ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from collector.clock import SYSTEM_CLOCK, Clock
from collector.component import ExportRequest
from collector.config.exporters import OtlpExporterConfig
from collector.config.receivers import HttpServerConfig
from collector.delivery.queued_exporter import MAX_ELAPSED_TIME
from collector.delivery.sending_queue import SendingQueue
from collector.exporters.otlp import OtlpExporter
from collector.otlp.status import MAX_REASON, rejected_items
from collector.receivers.otlp_http import OtlpHttpReceiver
from collector.telemetry.metrics import Telemetry
from collector.transport.backoff import MAX_RETRY_AFTER
from tests import otlp_data as data
from tests.harness import value
from tests.sinks import ManualClock, OtlpSink, RecordingIntake

REQUEST = data.traces(data.span(1), data.span(2)).SerializeToString()
FAST = {"initial_interval": "1ms", "max_interval": "2ms"}


def export(
    endpoint: str, count: int = 1, drain_timeout: float = 10.0, clock: Clock = SYSTEM_CLOCK, **config: Any
) -> tuple[dict[str, float], SendingQueue]:
    """Send ``count`` requests of two spans. Returns what the exporter counted, and its queue."""

    async def run() -> tuple[dict[str, float], SendingQueue]:
        settings = OtlpExporterConfig.model_validate(
            {"endpoint": endpoint, "tls": {"insecure": True}, "retry_on_failure": FAST, **config}
        )
        queue, telemetry = SendingQueue(settings.sending_queue), Telemetry()
        exporter = OtlpExporter(settings, queue, telemetry, clock, drain_timeout)
        for _ in range(count):
            queue.put(ExportRequest("traces", REQUEST, 2))
        await exporter.start()
        await exporter.shutdown()
        await exporter.shutdown()
        value = telemetry.registry.get_sample_value
        counted = {
            name: value(f"rightcall_exporter_{name}_spans_total", {"exporter": "otlp"}) or 0.0
            for name in ("sent", "send_failed")
        }
        labels = {"stage": "exporter", "reason": "shutdown"}
        return {**counted, "dropped": value("rightcall_dropped_spans_total", labels) or 0.0}, queue

    return asyncio.run(run())


def fail(code: grpc.StatusCode, retry_ms: int | None = None) -> Callable[[grpc.ServicerContext], bytes]:
    def answer(context: grpc.ServicerContext) -> bytes:
        if retry_ms is not None:
            status, info = Status(code=code.value[0]), RetryInfo()
            info.retry_delay.FromMilliseconds(retry_ms)
            status.details.add().Pack(info)
            context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        context.abort(code, "scripted")
        raise AssertionError

    return answer


def test_requests_arrive_byte_for_byte_with_the_configured_headers() -> None:
    with OtlpSink() as sink:
        counted, queue = export(sink.endpoint, 3, headers={"X-Tenant": "blue"}, compression="gzip")
    assert sink.requests["traces"] == [REQUEST] * 3
    assert sink.metadata[0]["x-tenant"] == "blue"
    assert counted == {"sent": 6, "send_failed": 0, "dropped": 0}
    assert len(queue) == 0


RETRYABLE = ("CANCELLED", "DEADLINE_EXCEEDED", "ABORTED", "OUT_OF_RANGE", "UNAVAILABLE", "DATA_LOSS")
FINAL = (
    "INVALID_ARGUMENT",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "FAILED_PRECONDITION",
    "PERMISSION_DENIED",
    "UNAUTHENTICATED",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNKNOWN",
    "RESOURCE_EXHAUSTED",
)


def test_every_code_is_in_one_of_the_tables() -> None:
    assert sorted([*RETRYABLE, *FINAL, "OK"]) == sorted(code.name for code in grpc.StatusCode)


@pytest.mark.parametrize("code", RETRYABLE)
def test_retryable_codes_are_retried(code: str) -> None:
    with OtlpSink([fail(grpc.StatusCode[code])] * 3) as sink:
        counted, _ = export(sink.endpoint)
    assert (sink.calls, sink.requests["traces"], counted["sent"]) == (4, [REQUEST], 2)


@pytest.mark.parametrize("code", FINAL)
def test_a_request_with_a_permanent_error_is_dropped_and_the_next_one_is_sent(code: str) -> None:
    with OtlpSink([fail(grpc.StatusCode[code])]) as sink:
        counted, _ = export(sink.endpoint, 2, sending_queue={"num_consumers": 1})
    assert (sink.calls, sink.requests["traces"]) == (2, [REQUEST])
    assert counted == {"sent": 2, "send_failed": 2, "dropped": 0}


def test_resource_exhausted_is_retried_if_it_has_a_retry_delay() -> None:
    with OtlpSink([fail(grpc.StatusCode.RESOURCE_EXHAUSTED, retry_ms=1)]) as sink:
        counted, _ = export(sink.endpoint)
    assert (sink.calls, counted["sent"]) == (2, 2)


@pytest.mark.parametrize("code", [*RETRYABLE, "RESOURCE_EXHAUSTED"])
@pytest.mark.parametrize(("retry_ms", "pause"), [(7_500, 7.5), (0, 1.0), (86_400_000, MAX_RETRY_AFTER)])
def test_the_pause_is_at_least_the_one_the_backend_asks_for(code: str, retry_ms: int, pause: float) -> None:
    clock = ManualClock()
    with OtlpSink([fail(grpc.StatusCode[code], retry_ms)] * 2) as sink:
        counted, _ = export(sink.endpoint, clock=clock, retry_on_failure={"max_elapsed_time": 0})
    assert (clock.slept, sink.calls, counted["sent"]) == ([pause, pause], 3, 2)


@pytest.mark.parametrize("code", [code for code in FINAL if code != "RESOURCE_EXHAUSTED"])
def test_a_permanent_error_is_not_retried_even_with_a_retry_delay(code: str) -> None:
    clock = ManualClock()
    with OtlpSink([fail(grpc.StatusCode[code], 10)]) as sink:
        counted, _ = export(sink.endpoint, clock=clock)
    assert (clock.slept, sink.calls, counted["send_failed"]) == ([], 1, 2)


def test_details_that_are_damaged_say_nothing_and_a_permanent_error_stays_one() -> None:
    def answer(context: grpc.ServicerContext) -> bytes:
        status = Status(code=grpc.StatusCode.INVALID_ARGUMENT.value[0])
        status.details.add(type_url="type.googleapis.com/google.rpc.RetryInfo", value=b"\xff")
        context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "scripted")
        raise AssertionError

    with OtlpSink([answer]) as sink:
        counted, _ = export(sink.endpoint, clock=ManualClock())
    assert (sink.calls, counted["send_failed"]) == (1, 2)


def test_without_a_retry_delay_the_pauses_double_and_a_success_resets_them() -> None:
    clock = ManualClock()
    retry = {"initial_interval": "1s", "max_interval": "5s"}
    unavailable = fail(grpc.StatusCode.UNAVAILABLE)
    with OtlpSink([*[unavailable] * 5, lambda _: b"", unavailable]) as sink:
        export(sink.endpoint, 2, clock=clock, retry_on_failure=retry, sending_queue={"num_consumers": 1})
    assert clock.slept == [1.0, 2.0, 4.0, 5.0, 5.0, 1.0]


@pytest.mark.parametrize(
    ("retry", "pauses"),
    [
        ({"max_elapsed_time": "10s"}, [1.0, 2.0, 4.0]),
        ({"initial_interval": "60s", "max_interval": "60s"}, [60.0] * 5),  # by default after MAX_ELAPSED_TIME
        ({"enabled": False}, []),
    ],
    ids=str,
)
def test_a_request_is_dropped_after_max_elapsed_time(retry: dict[str, Any], pauses: list[float]) -> None:
    clock = ManualClock()
    with OtlpSink([fail(grpc.StatusCode.UNAVAILABLE)] * 100) as sink:
        counted, _ = export(sink.endpoint, clock=clock, retry_on_failure=retry, sending_queue={"num_consumers": 1})
    assert (clock.slept, sink.calls) == (pauses, len(pauses) + 1)
    assert counted == {"sent": 0, "send_failed": 2, "dropped": 0}


def test_with_0_a_request_is_retried_forever() -> None:
    clock = ManualClock()
    with OtlpSink([fail(grpc.StatusCode.UNAVAILABLE)] * 40) as sink:
        counted, _ = export(sink.endpoint, clock=clock, retry_on_failure={"max_elapsed_time": 0})
    assert counted == {"sent": 2, "send_failed": 0, "dropped": 0}
    assert sum(clock.slept) > 2 * MAX_ELAPSED_TIME


@pytest.mark.parametrize(("rejected", "failed"), [(1, 1), (9, 2), (-5, 0)])
def test_partial_success_is_counted_and_not_retried(rejected: int, failed: int) -> None:
    partial = ExportTraceServiceResponse(
        partial_success=ExportTracePartialSuccess(rejected_spans=rejected, error_message="odd")
    )
    with OtlpSink([lambda _: partial.SerializeToString()]) as sink:
        counted, _ = export(sink.endpoint)
    assert (sink.calls, counted) == (1, {"sent": 2 - failed, "send_failed": failed, "dropped": 0})


@pytest.mark.parametrize(("rejected", "sent"), [(0, 2), (1, 1), (1 << 62, 0)])
def test_log_records_are_counted_as_sent_or_rejected_and_never_as_more_than_there_were(
    rejected: int, sent: int
) -> None:
    partial = ExportLogsServiceResponse(partial_success=ExportLogsPartialSuccess(rejected_log_records=rejected))
    request = data.logs(LogRecord(), LogRecord()).SerializeToString()

    async def run(endpoint: str) -> list[float | None]:
        config = OtlpExporterConfig.model_validate({"endpoint": endpoint, "tls": {"insecure": True}})
        queue, telemetry = SendingQueue(config.sending_queue), Telemetry()
        exporter = OtlpExporter(config, queue, telemetry)
        queue.put(ExportRequest("logs", request, 0))
        await exporter.start()
        await exporter.shutdown()
        names = (f"rightcall_exporter_{outcome}_log_records_total" for outcome in ("sent", "send_failed"))
        return [telemetry.registry.get_sample_value(name, {"exporter": "otlp"}) for name in names]

    with OtlpSink([lambda _: partial.SerializeToString()]) as sink:
        assert asyncio.run(run(sink.endpoint)) == [sent, 2 - sent]


def test_the_reason_of_a_backend_is_short_and_printable() -> None:
    reason = "\x1b[2J" + "x" * 100_000
    partial = ExportTraceServiceResponse(
        partial_success=ExportTracePartialSuccess(rejected_spans=1, error_message=reason)
    )
    rejected = rejected_items("traces", partial.SerializeToString())
    assert rejected.message == "\\x1b[2J" + "x" * (MAX_REASON - 5) + "…"


def test_what_is_not_delivered_before_the_drain_timeout_is_counted() -> None:
    counted, queue = export("127.0.0.1:9", 2, drain_timeout=0.05, retry_on_failure={"initial_interval": "10s"})
    assert counted == {"sent": 0, "send_failed": 0, "dropped": 4}
    assert (len(queue), queue.spans, queue.dropped) == (0, 0, 2), "what is dropped is not queued any more"


LARGE = data.traces(data.span(3, padding="x" * (1 << 20))).SerializeToString()


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_http_delivers_the_same_bytes(compression: str) -> None:
    intake = RecordingIntake()

    async def run() -> float | None:
        receiver = OtlpHttpReceiver(HttpServerConfig(endpoint="127.0.0.1:0"), intake)
        await receiver.start()
        settings = OtlpExporterConfig.model_validate(
            {"endpoint": f"http://127.0.0.1:{receiver.port}/", "compression": compression}
        )
        queue, telemetry = SendingQueue(settings.sending_queue), Telemetry()
        exporter = OtlpExporter(settings, queue, telemetry)
        await exporter.start()
        queue.put(ExportRequest("traces", REQUEST, 2))
        queue.put(ExportRequest("logs", b"", 0))
        queue.put(ExportRequest("traces", LARGE, 1))
        await exporter.shutdown()
        await receiver.shutdown()
        return value(telemetry, "exporter_sent_spans_total", exporter="otlp")

    assert asyncio.run(run()) == 3
    assert sorted(intake.received) == [("logs", b"", "http"), ("traces", REQUEST, "http"), ("traces", LARGE, "http")]
