"""A start with much in the spool: health is answered and requests are refused, until all of it is read back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import httpx
from google.rpc.status_pb2 import Status

from collector.config.model import Config
from collector.service.service import Service
from collector.storage.packing import pack
from collector.storage.records import RecordKind
from collector.storage.rows import Change
from collector.storage.spool_file import SpoolFile
from tests import otlp_data as data
from tests.waiting import PATIENCE, until

_PROTOBUF = {"content-type": "application/x-protobuf"}
REQUEST = data.traces(data.span(1)).SerializeToString()
TRACES, SPANS = 100, 1000  # a few seconds of work: far more than the requests that are answered meanwhile


def config(folder: Path) -> Config:
    anywhere = {"endpoint": "127.0.0.1:0"}
    return Config.model_validate({
        "receivers": {"otlp": {"protocols": {"grpc": anywhere, "http": anywhere}}}, "admin": anywhere,
        "spool": {"path": folder}, "exporters": {"prometheus": anywhere},
    })  # fmt: skip


def fill(folder: Path) -> None:
    """Open traces whose recovery takes long."""
    file, change = SpoolFile(folder, fsync=False), Change()
    model = [data.tool(number, 1, "get_weather").SerializeToString() for number in range(2, SPANS + 2)]
    for number in range(TRACES):
        trace_id = bytes([number + 1]) * 16
        spans = [raw.replace(data.TRACE, trace_id) for raw in model]
        change.inserts["inbox"].append((number + 1, RecordKind.SPANS, pack([trace_id, b"", b"", b"", *spans])))
    file.apply(change)
    file.close()


Scenario = Callable[[Service, "asyncio.Task[None]"], Awaitable[None]]


def run(folder: Path, scenario: Scenario) -> None:
    """Run ``scenario`` with a service that listens and has begun to recover."""

    async def main() -> None:
        service = Service(config(folder))
        starting = asyncio.create_task(service.start())
        try:
            await until(lambda: all(ports(service)))
            await scenario(service, starting)
        finally:
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
            await service.shutdown()

    asyncio.run(main())


def ports(service: Service) -> tuple[int, int]:
    """Of gRPC and HTTP; 0 while they do not listen."""
    return getattr(service.grpc, "port", 0), getattr(service.http, "port", 0)


async def said_over_grpc(port: int) -> tuple[grpc.StatusCode, str | bytes]:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        call: Any = channel.unary_unary(data.EXPORT_TRACES, None, None)(REQUEST)
        code = await call.code()
        return code, dict(await call.trailing_metadata()).get("grpc-status-details-bin", b"")


def test_while_it_recovers_it_is_alive_not_ready_and_asks_senders_to_come_again(tmp_path: Path) -> None:
    fill(tmp_path)

    async def scenario(service: Service, starting: asyncio.Task[None]) -> None:
        over_grpc, over_http = ports(service)
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
            admin = f"http://127.0.0.1:{service.admin.port}"
            alive, ready = await client.get(f"{admin}/livez"), await client.get(f"{admin}/readyz")
            http = await client.post(f"http://127.0.0.1:{over_http}/v1/traces", content=REQUEST, headers=_PROTOBUF)
            code, details = await said_over_grpc(over_grpc)
            assert not starting.done(), "the spool of this test is too small"
            assert (alive.status_code, ready.status_code) == (200, 503)
            assert (http.status_code, http.headers["retry-after"]) == (503, "1")
            assert "reads its spool" in Status.FromString(http.content).message
            assert code is grpc.StatusCode.UNAVAILABLE
            assert isinstance(details, bytes)
            assert Status.FromString(details).details, "how long to wait"
            await starting
            assert (await client.get(f"{admin}/readyz")).status_code == 200
            assert service.pipeline.open_traces == TRACES
            assert (await said_over_grpc(over_grpc))[0] is grpc.StatusCode.OK

    run(tmp_path, scenario)


def test_it_can_be_stopped_while_it_recovers_and_begins_again(tmp_path: Path) -> None:
    fill(tmp_path)

    async def stop(service: Service, starting: asyncio.Task[None]) -> None:
        assert not starting.done()

    async def go_on(service: Service, starting: asyncio.Task[None]) -> None:
        await starting
        assert service.pipeline.open_traces == TRACES

    run(tmp_path, stop)
    run(tmp_path, go_on)


async def refused_meanwhile(service: Service, starting: asyncio.Task[None]) -> None:
    assert (await said_over_grpc(ports(service)[0]))[0] is grpc.StatusCode.UNAVAILABLE
    assert not starting.done(), "the spool of this test is too small"


def test_spans_that_are_refused_meanwhile_are_awaited_until_they_are_sent_again(tmp_path: Path) -> None:
    fill(tmp_path)

    async def scenario(service: Service, starting: asyncio.Task[None]) -> None:
        await refused_meanwhile(service, starting)
        # By now the row of the first time may be read back, or still to be read.
        await refused_meanwhile(service, starting)
        await starting
        assert data.TRACE in service.pipeline.refused
        assert (await said_over_grpc(ports(service)[0]))[0] is grpc.StatusCode.OK
        assert data.TRACE not in service.pipeline.refused

    run(tmp_path, refused_meanwhile)
    assert refusals(tmp_path) == 1
    run(tmp_path, scenario)
    assert refusals(tmp_path) == 0


def refusals(folder: Path) -> int:
    file = SpoolFile(folder)
    kinds = [kind for _, kind, _ in file.inbox()]
    file.close()
    return kinds.count(RecordKind.REFUSED)
