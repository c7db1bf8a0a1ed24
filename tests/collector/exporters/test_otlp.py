"""The exporter against a real backend that answers as told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from collector.clock import Clock
from collector.component import ExportRequest
from collector.config.model import HttpServerConfig, OtlpExporterConfig
from collector.delivery.sending_queue import SendingQueue
from collector.exporters.otlp import OtlpExporter
from collector.receivers.otlp_http import OtlpHttpReceiver
from collector.telemetry.metrics import Telemetry
from tests import otlp_data as data
from tests.sinks import OtlpSink, RecordingIntake

REQUEST = data.traces(data.span(1), data.span(2)).SerializeToString()
STEADY = Clock(random=lambda: 0.5)
FAST = {"initial_interval": "1ms", "max_interval": "2ms"}


def export(
    endpoint: str, count: int = 1, drain: float = 10.0, clock: Clock = STEADY, **config: Any
) -> tuple[dict[str, float], SendingQueue]:
    """Send ``count`` requests of two spans; says what the exporter counted."""

    async def run() -> tuple[dict[str, float], SendingQueue]:
        settings = OtlpExporterConfig.model_validate(
            {"endpoint": endpoint, "tls": {"insecure": True}, "retry_on_failure": FAST, **config}
        )
        queue, telemetry = SendingQueue(settings.sending_queue), Telemetry()
        exporter = OtlpExporter(settings, queue, telemetry, clock, drain)
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
        context.abort(code, "as told")
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
def test_what_may_be_retried_is(code: str) -> None:
    with OtlpSink([fail(grpc.StatusCode[code])] * 3) as sink:
        counted, _ = export(sink.endpoint)
    assert (sink.calls, sink.requests["traces"], counted["sent"]) == (4, [REQUEST], 2)


@pytest.mark.parametrize("code", FINAL)
def test_what_may_not_be_retried_is_given_up_and_the_next_request_goes_on(code: str) -> None:
    with OtlpSink([fail(grpc.StatusCode[code])]) as sink:
        counted, _ = export(sink.endpoint, 2, sending_queue={"num_consumers": 1})
    assert (sink.calls, sink.requests["traces"]) == (2, [REQUEST])
    assert counted == {"sent": 2, "send_failed": 2, "dropped": 0}


def test_an_overloaded_backend_that_says_when_is_asked_again() -> None:
    with OtlpSink([fail(grpc.StatusCode.RESOURCE_EXHAUSTED, retry_ms=1)]) as sink:
        counted, _ = export(sink.endpoint)
    assert (sink.calls, counted["sent"]) == (2, 2)


class Pauses(list[float]):
    """The pauses an exporter makes, without making them."""

    async def sleep(self, seconds: float) -> None:
        self.append(seconds)
        await asyncio.sleep(0)

    @property
    def clock(self) -> Clock:
        return Clock(random=lambda: 0.5, sleep=self.sleep)


@pytest.mark.parametrize("code", [*RETRYABLE, "RESOURCE_EXHAUSTED"])
@pytest.mark.parametrize(("asked_ms", "waited"), [(7_500, 7.5), (0, 0.0), (86_400_000, 300.0)])
def test_a_backend_that_says_when_is_asked_again_then(code: str, asked_ms: int, waited: float) -> None:
    pauses = Pauses()
    with OtlpSink([fail(grpc.StatusCode[code], asked_ms)] * 2) as sink:
        counted, _ = export(sink.endpoint, clock=pauses.clock)
    assert (pauses, sink.calls, counted["sent"]) == ([waited, waited], 3, 2)


@pytest.mark.parametrize("code", [code for code in FINAL if code != "RESOURCE_EXHAUSTED"])
def test_a_final_answer_stays_final_whatever_it_says_of_time(code: str) -> None:
    pauses = Pauses()
    with OtlpSink([fail(grpc.StatusCode[code], 10)]) as sink:
        counted, _ = export(sink.endpoint, clock=pauses.clock)
    assert (pauses, sink.calls, counted["send_failed"]) == ([], 1, 2)


def test_without_being_told_it_waits_twice_as_long_each_time() -> None:
    pauses = Pauses()
    retry = {"initial_interval": "1s", "max_interval": "5s"}
    with OtlpSink([fail(grpc.StatusCode.UNAVAILABLE)] * 5) as sink:
        export(sink.endpoint, clock=pauses.clock, retry_on_failure=retry, sending_queue={"num_consumers": 1})
    assert pauses == [1.0, 2.0, 4.0, 5.0, 5.0]


@pytest.mark.parametrize(("random", "waited"), [(0.0, 0.5), (0.9, 1.4)])
def test_the_wait_is_scattered(random: float, waited: float) -> None:
    pauses = Pauses()
    with OtlpSink([fail(grpc.StatusCode.UNAVAILABLE)]) as sink:
        clock = Clock(random=lambda: random, sleep=pauses.sleep)
        export(sink.endpoint, clock=clock, retry_on_failure={"initial_interval": "1s"})
    assert sum(pauses) == pytest.approx(waited)


def test_retrying_ends_after_max_elapsed_time() -> None:
    with OtlpSink([fail(grpc.StatusCode.UNAVAILABLE)] * 100) as sink:
        counted, _ = export(sink.endpoint, retry_on_failure={**FAST, "max_elapsed_time": "5ms"})
    assert counted == {"sent": 0, "send_failed": 2, "dropped": 0}
    assert 1 < sink.calls < 10


def test_partial_success_is_honoured_not_retried() -> None:
    partial = ExportTraceServiceResponse(
        partial_success=ExportTracePartialSuccess(rejected_spans=1, error_message="odd")
    )
    with OtlpSink([lambda _: partial.SerializeToString()]) as sink:
        counted, _ = export(sink.endpoint)
    assert (sink.calls, counted) == (1, {"sent": 1, "send_failed": 1, "dropped": 0})


def test_what_cannot_be_delivered_before_the_end_is_counted() -> None:
    counted, _ = export("127.0.0.1:9", 2, drain=0.05, retry_on_failure={"initial_interval": "10s"})
    assert counted == {"sent": 0, "send_failed": 0, "dropped": 4}


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_http_takes_the_same_road(compression: str) -> None:
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
        await exporter.shutdown()
        await receiver.shutdown()
        return telemetry.registry.get_sample_value("rightcall_exporter_sent_spans_total", {"exporter": "otlp"})

    assert asyncio.run(run()) == 2
    assert sorted(intake.received) == [("logs", b"", "http"), ("traces", REQUEST, "http")]
