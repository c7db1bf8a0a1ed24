"""OTLP/gRPC over a real socket: bytes arrive as sent, errors have the status codes of OTLP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from collector.component import Rejected, Signal
from collector.config.receivers import GrpcServerConfig
from collector.errors import CollectorError, ConfigError, DecodeError, RefusedError, UnavailableError
from collector.otlp.services import METHOD, SERVICES
from collector.receivers.otlp_grpc import OtlpGrpcReceiver
from tests import otlp_data as data
from tests.sinks import RecordingIntake

REQUEST = data.traces(data.span(1)).SerializeToString()


def exchange(intake: RecordingIntake, scenario: Callable[[grpc.aio.Channel], Awaitable[None]], **config: int) -> None:
    """Run ``scenario`` with a channel to a receiver."""

    async def run() -> None:
        receiver = OtlpGrpcReceiver(GrpcServerConfig.model_validate({"endpoint": "127.0.0.1:0", **config}), intake)
        await receiver.start()
        async with grpc.aio.insecure_channel(f"127.0.0.1:{receiver.port}") as channel:
            await scenario(channel)
        await receiver.shutdown()
        await receiver.shutdown()

    asyncio.run(run())


async def send(
    channel: grpc.aio.Channel, signal: Signal = "traces", request: bytes = REQUEST, gzip: bool = False
) -> bytes:
    call = channel.unary_unary(f"/{SERVICES[signal]}/{METHOD}", None, None)
    response: bytes = await call(request, compression=grpc.Compression.Gzip if gzip else None)
    return response


@pytest.mark.parametrize("signal", list(SERVICES))
@pytest.mark.parametrize("gzip", [False, True])
def test_every_signal_arrives_byte_for_byte(signal: Signal, gzip: bool) -> None:
    intake = RecordingIntake()

    async def scenario(channel: grpc.aio.Channel) -> None:
        assert await send(channel, signal, REQUEST, gzip) == b""

    exchange(intake, scenario)
    assert intake.received == [(signal, REQUEST, "grpc")]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DecodeError("bad"), grpc.StatusCode.INVALID_ARGUMENT),
        (RefusedError("full"), grpc.StatusCode.RESOURCE_EXHAUSTED),
        (UnavailableError("stopping"), grpc.StatusCode.UNAVAILABLE),
        (CollectorError("?"), grpc.StatusCode.UNAVAILABLE),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_have_otlp_status_codes(error: CollectorError, code: grpc.StatusCode) -> None:
    intake = RecordingIntake(error)

    async def scenario(channel: grpc.aio.Channel) -> None:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await send(channel)
        assert (caught.value.code(), caught.value.details()) == (code, str(error))

    exchange(intake, scenario)
    assert intake.refused == [("grpc", error.reason)]


def test_overload_has_a_retry_delay() -> None:
    async def scenario(channel: grpc.aio.Channel) -> None:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await send(channel)
        trailers: Any = caught.value.trailing_metadata()
        details = dict(trailers)["grpc-status-details-bin"]
        info = RetryInfo()
        assert Status.FromString(details).details[0].Unpack(info)
        assert info.retry_delay.ToMilliseconds() == 2500

    exchange(RecordingIntake(RefusedError("full", 2.5)), scenario)


def test_partial_success() -> None:
    async def scenario(channel: grpc.aio.Channel) -> None:
        partial = ExportTraceServiceResponse.FromString(await send(channel)).partial_success
        assert (partial.rejected_spans, partial.error_message) == (3, "bad ids")

    exchange(RecordingIntake(Rejected(3, "bad ids")), scenario)


def test_a_message_over_the_limit_is_refused_and_the_next_one_works() -> None:
    intake = RecordingIntake()

    async def scenario(channel: grpc.aio.Channel) -> None:
        codes = []
        for gzip in (False, True):  # compressed, it is small on the wire
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await send(channel, request=bytes(2 << 20), gzip=gzip)
            codes.append(caught.value.code())
        assert codes == [grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.INVALID_ARGUMENT]
        await send(channel)

    exchange(intake, scenario, max_recv_msg_size_mib=1)
    assert len(intake.received) == 1


def test_an_address_in_use_is_a_config_error() -> None:
    async def run() -> None:
        first = OtlpGrpcReceiver(GrpcServerConfig(endpoint="127.0.0.1:0"), RecordingIntake())
        await first.start()
        second = OtlpGrpcReceiver(GrpcServerConfig(endpoint=f"127.0.0.1:{first.port}"), RecordingIntake())
        with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1:{first.port}"):
            await second.start()
        await second.shutdown()
        await first.shutdown()

    asyncio.run(run())
