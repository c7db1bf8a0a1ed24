"""The gRPC listener with senders that are slow, send too much, or send garbage."""

from __future__ import annotations

import asyncio
import gzip
import random
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
import pytest

from collector.component import Rejected, Signal
from collector.config.receivers import GrpcServerConfig
from collector.receivers.otlp_grpc import OtlpGrpcReceiver
from tests import otlp_data as data
from tests.http2 import PREFACE, Http2Sender, frame, message, status
from tests.sinks import RecordingIntake
from tests.waiting import PATIENCE, drip, until

REQUEST = data.traces(data.span(1)).SerializeToString()


def serve(
    intake: RecordingIntake,
    scenario: Callable[[int], Awaitable[None]],
    started: Callable[[OtlpGrpcReceiver], None] = lambda _: None,
    **config: Any,
) -> None:
    """Run ``scenario`` against a receiver's port; ``started`` is told the receiver."""

    async def run() -> None:
        receiver = OtlpGrpcReceiver(
            GrpcServerConfig.model_validate({"endpoint": "127.0.0.1:0", **config}), intake, grace=0.1
        )
        await receiver.start()
        started(receiver)
        try:
            async with asyncio.timeout(PATIENCE):
                await scenario(receiver.port)
        finally:
            await receiver.shutdown()

    asyncio.run(run())


async def send(port: int, request: bytes = REQUEST, **options: Any) -> grpc.StatusCode:
    channel_options = [("grpc.max_send_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", channel_options) as channel:
        try:
            await channel.unary_unary(data.EXPORT_TRACES, None, None)(request, timeout=PATIENCE, **options)
        except grpc.aio.AioRpcError as error:
            return error.code()
        return grpc.StatusCode.OK


SLOW = {"no message": b"", "half a prefix": b"\0\0", "half a message": message(b"half", 1 << 20)}


@pytest.mark.parametrize("partial", SLOW.values(), ids=list(SLOW))
def test_a_message_that_does_not_arrive_times_out(partial: bytes) -> None:
    intake = RecordingIntake()

    async def scenario(port: int) -> None:
        sender = await Http2Sender.connect(port)
        sender.begin(1)
        sender.send(1, partial)
        assert status(await sender.outcome(1)) == grpc.StatusCode.DEADLINE_EXCEEDED.value[0]
        sender.begin(3)
        sender.send(3, message(REQUEST), end=True)
        assert await sender.outcome(3)
        sender.close()

    serve(intake, scenario, read_timeout="500ms")
    assert intake.refused == [("grpc", "too_slow")]
    assert [request for _, request, _ in intake.received] == [REQUEST]


def test_a_message_that_arrives_byte_by_byte_times_out() -> None:
    intake = RecordingIntake()

    async def scenario(port: int) -> None:
        sender = await Http2Sender.connect(port)
        sender.begin(1)
        sender.send(1, message(b"", 1 << 20))
        dripping = asyncio.create_task(drip(lambda: sender.send(1, b"x")))
        assert status(await sender.outcome(1)) == grpc.StatusCode.DEADLINE_EXCEEDED.value[0]
        dripping.cancel()
        sender.close()

    serve(intake, scenario, read_timeout="200ms")
    assert intake.received == []


@pytest.mark.parametrize("token", [(), ((b"authorization", b"Bearer wrong"),)], ids=["none", "wrong"])
def test_without_the_token_the_message_is_not_awaited(token: tuple[tuple[bytes, bytes], ...]) -> None:
    intake = RecordingIntake()

    async def scenario(port: int) -> None:
        sender = await Http2Sender.connect(port)
        sender.begin(1, *token)
        assert status(await sender.outcome(1)) == grpc.StatusCode.UNAUTHENTICATED.value[0]
        sender.close()

    serve(intake, scenario, auth={"bearer_token": "s3cret"})
    assert intake.refused == [("grpc", "unauthenticated")]


def test_a_call_without_a_message_is_refused() -> None:
    intake = RecordingIntake()

    async def scenario(port: int) -> None:
        sender = await Http2Sender.connect(port)
        sender.begin(1)
        sender.send(1, b"", end=True)
        assert status(await sender.outcome(1)) == grpc.StatusCode.INVALID_ARGUMENT.value[0]
        sender.close()

    serve(intake, scenario)
    assert intake.refused == [("grpc", "decode")]


def test_too_many_headers_are_refused_and_the_next_call_works() -> None:
    intake = RecordingIntake()

    async def scenario(port: int) -> None:
        headers = tuple((f"x-{number}", "y" * 1000) for number in range(17))  # gRPC counts 32 bytes more for each
        for _ in range(5):  # above a limit that is too low, gRPC refuses at random
            assert await send(port, metadata=headers) is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert await send(port, metadata=headers[:14]) is grpc.StatusCode.OK

    serve(intake, scenario)
    assert len(intake.received) == 5


class _Slow(RecordingIntake):
    """Holds requests until released, and records how many there were at the same time."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.most = 0
        self.third, self.go_on = asyncio.Event(), asyncio.Event()

    async def take(self, signal: Signal, request: bytes, transport: str) -> Rejected:
        self.now += 1
        if self.now == 3:
            self.third.set()
        self.most = max(self.most, self.now)
        await self.go_on.wait()
        self.now -= 1
        return await super().take(signal, request, transport)


def test_calls_beyond_the_limit_of_a_connection_wait_or_are_unavailable() -> None:
    intake = _Slow()

    async def scenario(port: int) -> None:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            export = channel.unary_unary(data.EXPORT_TRACES, None, None)
            calls = [asyncio.ensure_future(export(REQUEST, timeout=PATIENCE)) for _ in range(10)]
            await intake.third.wait()
            intake.go_on.set()
            answers = await asyncio.gather(*calls, return_exceptions=True)
        failed = [answer.code() for answer in answers if isinstance(answer, grpc.aio.AioRpcError)]
        assert set(failed) <= {grpc.StatusCode.UNAVAILABLE}
        assert len(intake.received) == 10 - len(failed)

    serve(intake, scenario, max_concurrent_streams=3)
    assert intake.most == 3


def test_connections_beyond_the_limit_are_closed_and_the_others_served() -> None:
    async def scenario(port: int) -> None:
        first = [await Http2Sender.connect(port) for _ in range(3)]
        for sender in first:
            sender.begin(1)
            sender.send(1, message(REQUEST), end=True)
            assert await sender.outcome(1)
        fourth = await Http2Sender.connect(port)
        fourth.begin(1)
        fourth.send(1, message(REQUEST), end=True)
        assert await fourth.outcome(1) == b""
        first[0].begin(3)
        first[0].send(3, message(REQUEST), end=True)
        assert await first[0].outcome(3)
        for sender in (*first, fourth):
            sender.close()

    serve(RecordingIntake(), scenario, max_connections=3)


GARBAGE = {
    "http/1.1": b"POST /v1/traces HTTP/1.1\r\nhost: x\r\n\r\n",
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20,
    "zeros": bytes(100_000),
    "an unknown frame": PREFACE + frame(4, 0, 0) + frame(0xEE, 0xFF, 1, b"?" * 100),
    "data on a stream that is not": PREFACE + frame(4, 0, 0) + frame(0, 1, 7, b"?"),
    "headers that are not HPACK": PREFACE + frame(4, 0, 0) + frame(1, 5, 1, b"\xff" * 200),
    "a frame longer than allowed": PREFACE + frame(4, 0, 0) + frame(0, 0, 1, bytes(1 << 17)),
    "settings of half a setting": PREFACE + frame(4, 0, 0, b"\0\3\0"),
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=list(GARBAGE))
def test_garbage_does_not_affect_other_senders(garbage: bytes) -> None:
    intake = RecordingIntake()

    async def scenario(port: int) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(garbage)
        assert await send(port) is grpc.StatusCode.OK
        writer.close()

    serve(intake, scenario)
    assert len(intake.received) == 1


def test_when_memory_runs_short_unfinished_messages_are_given_up() -> None:
    intake = RecordingIntake()
    receivers: list[OtlpGrpcReceiver] = []

    async def scenario(port: int) -> None:
        (receiver,) = receivers
        sender = await Http2Sender.connect(port)
        sender.begin(1)
        sender.send(1, message(b"half", 1 << 20))
        await until(lambda: receiver._unfinished)
        receiver.give_up_unfinished()
        assert status(await sender.outcome(1)) == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
        sender.begin(3)
        sender.send(3, message(REQUEST), end=True)
        assert await sender.outcome(3)
        sender.close()

    serve(intake, scenario, receivers.append)
    assert intake.refused == [("grpc", "overload")]
    assert [request for _, request, _ in intake.received] == [REQUEST]


ROOM = 4 << 20


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_a_message_beyond_the_room_for_requests_is_refused(compression: grpc.Compression) -> None:
    intake = RecordingIntake(room=ROOM)

    async def scenario(port: int) -> None:
        assert await send(port, bytes(ROOM), compression=compression) is grpc.StatusCode.INVALID_ARGUMENT
        with intake.reservation() as others:
            others.add(ROOM // 2)
            refused = await send(port, bytes(ROOM // 2), compression=compression)
            assert refused is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert await send(port, bytes(ROOM // 2), compression=compression) is grpc.StatusCode.OK

    serve(intake, scenario)
    assert (intake.refused, intake.in_flight.bytes) == ([("grpc", "too_large"), ("grpc", "overload")], 0)
    assert len(intake.received) == 1


def test_a_call_cancelled_while_its_message_is_decompressed_takes_no_room_any_more() -> None:
    intake = RecordingIntake()
    # Large enough for a thread, which takes a tenth of a second.
    packed = gzip.compress(random.Random(1).randbytes(1 << 18) + bytes(60 << 20), 1)

    async def scenario(port: int) -> None:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            call = channel.unary_unary(data.EXPORT_TRACES, None, None)(packed)
            await until(lambda: intake.in_flight.bytes > len(packed))
            call.cancel()

    serve(intake, scenario)  # returns when its threads have ended
    assert intake.in_flight.bytes == 0


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_compressed_messages_arrive_as_they_were(compression: grpc.Compression) -> None:
    intake = RecordingIntake()

    async def scenario(port: int) -> None:
        assert await send(port, compression=compression) is grpc.StatusCode.OK

    serve(intake, scenario)
    assert [request for _, request, _ in intake.received] == [REQUEST]
