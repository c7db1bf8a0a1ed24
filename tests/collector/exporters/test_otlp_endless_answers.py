"""Backends whose answer never ends, or is as large as they like: the next request is sent all the same."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import re
from collections.abc import AsyncIterator, Callable

import grpc
import pytest
from google.rpc.status_pb2 import Status

from collector.clock import SYSTEM_CLOCK
from collector.component import ExportRequest
from collector.config.exporters import OtlpExporterConfig
from collector.delivery.queued_exporter import DeliveryError
from collector.delivery.sending_queue import SendingQueue
from collector.exporters.otlp import MAX_ANSWER_BYTES, HttpTransport, OtlpExporter, connect
from collector.otlp.status import MAX_REASON
from collector.telemetry.metrics import Telemetry
from tests.sinks import OtlpSink
from tests.waiting import PATIENCE, drip

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 2000000000\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
Misbehaves = Callable[[asyncio.StreamWriter], object]


class RawBackend:
    """Answers its first request as ``misbehave`` does, again and again until the client leaves; all others with 200."""

    def __init__(self, begin: bytes, misbehave: Misbehaves, pause: float) -> None:
        self.begin, self.misbehave, self.pause = begin, misbehave, pause
        self.requests = 0
        self._connections: list[asyncio.Task[None]] = []

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.append(asyncio.create_task(self._answer(reader, writer)))

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]))
                self.requests += 1
                writer.write(OK if self.requests > 1 else self.begin)
                await writer.drain()
                if self.requests == 1:
                    await self._go_on(reader, writer)
        writer.close()

    async def _go_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sending = asyncio.create_task(drip(lambda: self.misbehave(writer), self.pause))
        try:
            await reader.read(1)  # until the client has left
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self.accept, "127.0.0.1", 0)
        async with server:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            await asyncio.gather(*self._connections)


def byte(writer: asyncio.StreamWriter) -> None:
    writer.write(b"x")


def mebibyte(writer: asyncio.StreamWriter) -> None:
    if not writer.transport.get_write_buffer_size():
        writer.write(bytes(1 << 20))


@pytest.mark.parametrize(
    ("begin", "misbehave", "timeout"),
    [(HEAD, byte, "300ms"), (b"HTTP/1.1 200 OK\r\nx: ", byte, "300ms"), (HEAD, mebibyte, "60s")],
    ids=["a body that drips", "a head that drips", "a body of 2 GB"],
)
def test_an_answer_without_end_is_given_up_and_the_request_sent_again(
    begin: bytes, misbehave: Misbehaves, timeout: str
) -> None:
    async def run() -> tuple[int, int]:
        backend = RawBackend(begin, misbehave, 0.001)
        async with backend.listening() as endpoint, asyncio.timeout(PATIENCE / 4):
            config = OtlpExporterConfig.model_validate(
                {"endpoint": endpoint, "timeout": timeout, "retry_on_failure": {"initial_interval": "1ms"},
                 "sending_queue": {"num_consumers": 1}}
            )  # fmt: skip
            queue = SendingQueue(config.sending_queue)
            exporter = OtlpExporter(config, queue, Telemetry(), drain_timeout=PATIENCE)
            await exporter.start()
            queue.put(ExportRequest("traces", b"x", 1))
            await exporter.shutdown()
        return backend.requests, queue.dropped

    assert asyncio.run(run()) == (2, 0)


@pytest.mark.parametrize(("beyond", "taken"), [(0, True), (1, False)])
def test_the_size_of_an_answer_is_bounded(beyond: int, taken: bool) -> None:
    size = MAX_ANSWER_BYTES + beyond
    begin = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size + bytes(size)
    assert sent(begin) == (None if taken else f"the answer is longer than {MAX_ANSWER_BYTES} bytes")


def test_a_compressed_answer_is_not_expanded() -> None:
    body = gzip.compress(bytes(MAX_ANSWER_BYTES + 1))
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(body)
    assert sent(head + body) is None


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", ""),
        (b"gzip is\n not  supported", ": gzip is not supported"),
        (Status(code=3, message="bad attribute").SerializeToString(), ": bad attribute"),
        (b"\x1f\x8b\x08compressed", ""),
        (b"x" * 5000, ": " + "x" * (MAX_REASON - 1) + "…"),
    ],
    ids=["silent", "text", "as OTLP asks for", "unreadable", "long"],
)
def test_of_an_error_without_end_the_beginning_is_told(body: bytes, reason: str) -> None:
    error = sent(b"HTTP/1.1 400 No\r\ncontent-length: 2000000000\r\n\r\n" + body)
    assert error is not None
    assert re.fullmatch(r"HTTP 400 from http://127\.0\.0\.1:\d+/v1/traces" + re.escape(reason), error)


def sent(answer: bytes) -> str | None:
    """Send one request. Returns the error, None for success."""

    async def run() -> str | None:
        backend = RawBackend(answer, lambda _: None, 1.0)
        async with backend.listening() as endpoint:
            config = OtlpExporterConfig.model_validate({"endpoint": endpoint, "timeout": f"{PATIENCE}s"})
            transport = connect(config, SYSTEM_CLOCK)
            assert isinstance(transport, HttpTransport)
            try:
                await transport.send(ExportRequest("traces", b"x", 1))
            except DeliveryError as error:
                return str(error)
            finally:
                await transport.close()
        return None

    return asyncio.run(run())


def test_the_size_of_a_grpc_answer_is_bounded() -> None:
    async def run(endpoint: str) -> str:
        config = OtlpExporterConfig.model_validate({"endpoint": endpoint, "tls": {"insecure": True}})
        transport = connect(config, SYSTEM_CLOCK)
        with pytest.raises(DeliveryError) as caught:
            await transport.send(ExportRequest("traces", b"x", 1))
        await transport.close()
        return str(caught.value)

    def huge(_: grpc.ServicerContext) -> bytes:
        return bytes(MAX_ANSWER_BYTES + 1)

    with OtlpSink([huge]) as sink:
        assert "larger than max" in asyncio.run(run(sink.endpoint))
