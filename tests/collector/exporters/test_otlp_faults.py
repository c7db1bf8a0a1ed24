"""Backends that fail: what is retried, what is dropped, and that a failing request does not block the others."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from pathlib import Path
from typing import Any

import grpc
import pytest

from collector.clock import SYSTEM_CLOCK, Clock
from collector.component import ExportRequest
from collector.config.exporters import OtlpExporterConfig
from collector.delivery.queued_exporter import DeliveryError
from collector.delivery.sending_queue import SendingQueue
from collector.exporters.otlp import GrpcTransport, HttpTransport, OtlpExporter
from collector.otlp.status import retry_after
from collector.storage.spool import Spool
from collector.storage.spool_file import SpoolFile
from collector.telemetry.metrics import Telemetry
from collector.transport.http_server import HttpServer, Receive, Scope, Send, respond
from tests.collector_process import free_port
from tests.harness import value
from tests.sinks import ManualClock, OtlpSink
from tests.waiting import PATIENCE, until

Answer = tuple[int, tuple[tuple[bytes, bytes], ...]]
OK: Answer = (200, ())
NOW = 1_700_000_000


class Backend(HttpServer):
    """An OTLP/HTTP backend that gives its answers in turn, then takes everything; it keeps the bodies it took."""

    def __init__(self, answers: list[Answer]) -> None:
        super().__init__("127.0.0.1:0")
        self.answers, self.calls = iter(answers), 0
        self.taken: list[bytes] = []

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = (await receive())["body"]
        self.calls += 1
        status, headers = next(self.answers, OK)
        if status == 200:
            self.taken.append(body)
        await respond(send, status, b"", "application/x-protobuf", headers)


def deliver(
    backend: Backend, count: int = 1, clock: Clock = SYSTEM_CLOCK, num_consumers: int = 1, **retry: Any
) -> float:
    """Send ``count`` requests. Returns how many spans were dropped."""

    async def run() -> float:
        await backend.start()
        settings = {"initial_interval": "1ms", "max_interval": "2ms", **retry}
        config = OtlpExporterConfig.model_validate(
            {
                "endpoint": f"http://127.0.0.1:{backend.port}",
                "retry_on_failure": settings,
                "sending_queue": {"num_consumers": num_consumers},
            }
        )
        queue, telemetry = SendingQueue(config.sending_queue), Telemetry()
        exporter = OtlpExporter(config, queue, telemetry, clock)
        await exporter.start()
        for number in range(count):
            queue.put(ExportRequest("traces", b"%d" % number, 1))
        await exporter.shutdown()
        await backend.shutdown()
        assert (len(queue), queue._bytes) == (0, 0)
        return value(telemetry, "exporter_send_failed_spans_total", exporter="otlp")

    return asyncio.run(run())


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_http_statuses_that_are_retried(status: int) -> None:
    backend = Backend([(status, ())] * 3)
    assert (deliver(backend), backend.calls, backend.taken) == (0, 4, [b"0"])


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 408, 413, 415, 500, 501])
def test_http_statuses_that_are_not_retried_do_not_block_the_queue(status: int) -> None:
    backend = Backend([(status, ())])
    assert (deliver(backend, 2), backend.calls, backend.taken) == (1, 2, [b"1"])


def test_a_flapping_backend_gets_every_request() -> None:
    backend = Backend([(503, ()), OK] * 10)
    assert deliver(backend, 20) == 0
    assert sorted(backend.taken) == sorted(b"%d" % number for number in range(20))


def test_a_failed_request_goes_to_the_end_of_the_queue_until_it_is_dropped() -> None:
    class Choking(Backend):
        async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
            body = (await receive())["body"]
            self.taken.append(body)
            await respond(send, 503 if body == b"0" else 200, b"", "application/x-protobuf")

    backend, clock = Choking([]), ManualClock()
    assert deliver(backend, 5, clock, initial_interval="1s", max_interval="9s", max_elapsed_time="3s") == 1
    assert backend.taken == [b"0", b"1", b"2", b"3", b"4", b"0", b"0"]
    assert clock.slept == [1.0, 1.0]


def test_num_consumers_bounds_the_requests_sent_at_once() -> None:
    class Slow(Backend):
        active, most = 0, 0

        async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
            self.active += 1
            self.calls += 1
            self.most = max(self.most, self.active)
            await until(lambda: self.active >= 2 or self.calls == 9)
            self.active -= 1
            await respond(send, 200, b"", "application/x-protobuf")

    backend = Slow([])
    deliver(backend, 9, num_consumers=2)
    assert (backend.calls, backend.most) == (9, 2)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7.0), (formatdate(NOW + 90, usegmt=True), 90.0), (formatdate(NOW - 90, usegmt=True), 0.0), ("soon", None),
     ("", None), (None, None), ("-1", None), ("²", None), ("9" * 400, 999999999.0), ("Mon, 99 Foo 99999 99:99:99 GMT", None)],
)  # fmt: skip
def test_retry_after(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, NOW) == seconds


@pytest.mark.parametrize("status", [429, 502, 503, 504])
@pytest.mark.parametrize(
    ("header", "pause"),
    [(b"7", 7.0), (b"100000", 300.0), (b"date", 90.0), (b"soon", 0.001), (b"", 0.001)],
    ids=["seconds", "a day", "a date", "nonsense", "nothing"],
)
def test_http_waits_as_long_as_the_backend_asks(status: int, header: bytes, pause: float) -> None:
    clock = ManualClock()
    value = formatdate(clock.wall_ns() / 1e9 + 90, usegmt=True).encode() if header == b"date" else header
    backend = Backend([(status, ((b"retry-after", value),))])
    assert deliver(backend, clock=clock) == 0
    assert backend.taken == [b"0"]
    assert clock.slept == [pause]


def test_a_request_that_times_out_is_retried() -> None:
    def slow(context: grpc.ServicerContext) -> bytes:
        cancelled = threading.Event()
        context.add_callback(cancelled.set)
        cancelled.wait(PATIENCE)
        return b""

    with OtlpSink([slow]) as sink:
        outcome = grpc_delivery(sink.endpoint, timeout="1s")
    assert (outcome, sink.calls) == (0, 2)


def failure_over_http(port: int) -> str:
    """What is said of a request that a backend on this port does not take."""

    async def run() -> str:
        config = OtlpExporterConfig.model_validate({"endpoint": f"http://127.0.0.1:{port}", "timeout": "30s"})
        transport = HttpTransport(config, SYSTEM_CLOCK)
        with pytest.raises(DeliveryError) as caught:
            await transport.send(ExportRequest("traces", b"", 1))
        await transport.close()
        assert caught.value.retryable
        return str(caught.value)

    return asyncio.run(run())


def test_it_is_said_that_the_backend_refuses_connections() -> None:
    assert failure_over_http(free_port()) == "ConnectError: All connection attempts failed: Connection refused"


def test_it_is_said_that_the_backend_resets_the_connection() -> None:
    def reset(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        connection.recv(1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        backend = threading.Thread(target=reset, args=(listener,))
        backend.start()
        said = failure_over_http(listener.getsockname()[1])
        backend.join()
    assert said == "ReadError: Connection reset by peer"


def test_a_response_that_is_not_otlp_counts_as_success() -> None:
    with OtlpSink([lambda _: b"\xff\xff not protobuf"]) as sink:
        outcome = grpc_delivery(sink.endpoint)
    assert (outcome, sink.calls) == (0, 1)


def grpc_delivery(endpoint: str, **settings: Any) -> int:
    """Send one request. Returns how many were dropped undelivered."""

    async def run() -> int:
        retry = {"initial_interval": "1ms", "max_interval": "2ms"}
        tls = {"insecure": True}
        config = OtlpExporterConfig.model_validate(
            {"endpoint": endpoint, "tls": tls, "retry_on_failure": retry, **settings}
        )
        queue = SendingQueue(config.sending_queue)
        exporter = OtlpExporter(config, queue, Telemetry())
        await exporter.start()
        queue.put(ExportRequest("traces", b"x", 1))
        await exporter.shutdown()
        return queue.dropped

    return asyncio.run(run())


def with_spool(
    folder: Path, scenario: Callable[[Spool, SendingQueue], Awaitable[None]], backend: str, drain_timeout: float
) -> None:
    async def run() -> None:
        config = OtlpExporterConfig.model_validate(
            {
                "endpoint": backend,
                "tls": {"insecure": True},
                "retry_on_failure": {"initial_interval": "1ms", "max_interval": "5ms"},
            }
        )
        spool = Spool(SpoolFile(folder), 1 << 30, Telemetry())
        queue = SendingQueue(config.sending_queue, spool)
        minutes = iter(range(10**9))
        clock = Clock(now=lambda: next(minutes) * 60.0)
        exporter = OtlpExporter(config, queue, Telemetry(), clock, drain_timeout)
        await spool.start()
        list(queue.recover())
        await exporter.start()
        await scenario(spool, queue)
        await exporter.shutdown()
        await spool.shutdown()

    asyncio.run(run())


def test_with_a_spool_a_request_outlives_long_outages_and_restarts(tmp_path: Path) -> None:
    async def send(spool: Spool, queue: SendingQueue) -> None:
        queue.put(ExportRequest("traces", b"patient", 1))
        await spool.stored()

    async def nothing(*_: object) -> None:
        return

    with_spool(tmp_path, send, "127.0.0.1:9", 0.3)
    with_spool(tmp_path, nothing, "127.0.0.1:9", 0.3)
    with OtlpSink() as sink:
        with_spool(tmp_path, nothing, sink.endpoint, PATIENCE)
        assert sink.requests["traces"] == [b"patient"]
        with_spool(tmp_path, nothing, sink.endpoint, PATIENCE)
        assert sink.requests["traces"] == [b"patient"], "an acknowledged request is not sent again"


def test_a_call_that_is_cut_off_as_its_channel_closes_is_tried_again_and_its_consumer_goes_on() -> None:
    async def run() -> DeliveryError:
        server = grpc.aio.server()
        reached = asyncio.Event()

        async def never(*_: object) -> None:
            reached.set()
            await asyncio.Event().wait()

        method = grpc.unary_unary_rpc_method_handler(never)
        service = "opentelemetry.proto.collector.trace.v1.TraceService"
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"Export": method}),))
        endpoint = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        await server.start()
        transport = GrpcTransport(OtlpExporterConfig.model_validate({"endpoint": endpoint, "tls": {"insecure": True}}))
        call = asyncio.create_task(transport.send(ExportRequest("traces", b"", 0)))
        await reached.wait()
        await transport._channel.close(None)
        with pytest.raises(DeliveryError) as failed:
            await call
        await server.stop(None)
        # What is left of the server's calls ends a few steps of the loop later.
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True)
        return failed.value

    failure = asyncio.run(run())
    assert (failure.retryable, str(failure)) == (True, "the connection was closed")
