"""A service with much to score, one large trace or many small ones: clients are served, and what they wait for goes first."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from collector.config.model import Config
from collector.service import service as service_module
from collector.service.service import Service
from collector.storage import spool as spool_module
from collector.storage.rows import Change
from collector.storage.spool_file import SpoolFile
from tests import otlp_data as data
from tests.harness import WEATHER_RULES
from tests.waiting import PATIENCE, let_others_run, until


def innocent(number: int = 0) -> bytes:
    """A small request."""
    return data.traces(data.tool(2, 1, "get_weather", trace_id=(number + (1 << 64)).to_bytes(16))).SerializeToString()


class HaltingFile(SpoolFile):
    """A spool file that begins no transaction before it may; ``begun`` counts them."""

    begun = 0

    def __init__(self, folder: Path, *, fsync: bool = True) -> None:
        super().__init__(folder, fsync=fsync)
        self.may_write = threading.Event()
        self.may_write.set()

    def apply(self, change: Change) -> int:
        self.begun += 1
        self.may_write.wait()
        return super().apply(change)


def service_with(folder: Path, spool: object) -> Service:
    anywhere = {"endpoint": "127.0.0.1:0"}
    (folder / "rules.yaml").write_text(WEATHER_RULES)
    return Service(Config.model_validate({
        "receivers": {"otlp": {"protocols": {"grpc": anywhere, "http": anywhere}}}, "admin": anywhere,
        "rules": [str(folder / "rules.yaml")], "spool": spool, "exporters": {"prometheus": anywhere},
        "traces": {"settle": "10ms", "confirm": "10ms"},
    }))  # fmt: skip


def many_agents(trace: int = 1) -> bytes:
    agents = [data.agent(number, 1, f"agent {number}") for number in range(2, 2000)]
    tools = [data.tool(5000 + number, number, "get_weather") for number in range(2, 2000)]
    spans = [data.agent(1), *agents, *tools]
    for span in spans:
        span.trace_id = trace.to_bytes(16)
    return data.traces(*spans).SerializeToString()


def agents_of_their_own() -> bytes:
    return data.traces(*(data.agent(1, trace_id=number.to_bytes(16)) for number in range(1, 2000))).SerializeToString()


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[tuple[Service, HaltingFile]]:
    service = service_with(folder, {"path": str(folder / "spool")})
    await service.start()
    task = asyncio.create_task(service.run())
    assert service._spool is not None
    file = service._spool._file
    assert isinstance(file, HaltingFile)
    try:
        yield service, file
    finally:
        file.may_write.set()
        service.stop()
        await task
        await service.shutdown()


@asynccontextmanager
async def request_being_written(service: Service, file: HaltingFile, number: int = 0) -> AsyncIterator[None]:
    """From when the service gives way to it."""
    file.may_write.clear()
    begun = file.begun
    request = asyncio.create_task(service._intake.take("traces", innocent(number), "http"))
    await until(lambda: file.begun > begun)
    spool = service._spool
    assert spool is not None
    writing = spool._writing  # or results before it, which nobody waits for
    assert writing is not None
    # The request, and who gives way to it.
    await until(lambda: len(writing) + len(spool._waiting) == 2 or not service.pipeline.open_traces)
    yield
    file.may_write.set()
    await request


@pytest.fixture(autouse=True)
def halting_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_module, "SpoolFile", HaltingFile)
    monkeypatch.setattr(spool_module, "_GIVE_WAY", PATIENCE)


def test_no_slice_of_a_large_trace_is_evaluated_while_a_request_is_written(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as (service, file):
            traces = service.pipeline._traces
            for number in range(1, 100):
                await service._intake.take("traces", many_agents(number), "http")
                await until(lambda: traces._in_slices is not None)
                async with request_being_written(service, file, number):
                    if traces._in_slices is None:
                        continue  # it was over before the request was there
                    slices = traces._in_slices.work.slices
                    await let_others_run(100)
                    assert traces._in_slices.work.slices == slices
                await until(lambda: not traces.busy)
                return
            pytest.fail("each was over before the request was there")

    asyncio.run(main())


def test_no_small_trace_is_released_while_a_request_is_written(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as (service, file):
            await service._intake.take("traces", agents_of_their_own(), "http")
            received = service.pipeline.open_traces
            await until(lambda: service.pipeline.open_traces < received)
            async with request_being_written(service, file):
                still_open = service.pipeline.open_traces
                assert still_open > 1
                await let_others_run(100)
                assert service.pipeline.open_traces == still_open
            await until(lambda: service.pipeline.open_traces < still_open)

    asyncio.run(main())


def test_clients_have_their_turn_between_slices_of_a_large_trace(tmp_path: Path) -> None:
    """What a client waits for is ready each turn of the event loop, so turns are counted: how many fit into a time differs."""

    async def main() -> list[int]:
        async with running(tmp_path) as (service, _):
            traces = service.pipeline._traces
            await service._intake.take("traces", many_agents(), "http")
            await until(lambda: traces._in_slices is not None)
            assert traces._in_slices is not None
            work = traces._in_slices.work
            seen = [work.slices]
            client = asyncio.create_task(service._intake.take("traces", innocent(), "http"))
            while traces._in_slices is not None and traces._in_slices.work is work:
                await let_others_run()
                seen.append(work.slices)
            await client
            return seen

    seen = asyncio.run(main())
    assert seen[-1] > 3
    # One before the small traces that are due, and one behind them.
    assert all(after - before <= 2 for before, after in pairwise(seen))


def test_a_client_is_answered_while_a_large_trace_is_evaluated(tmp_path: Path) -> None:
    attack = many_agents()

    async def main() -> int:
        service = service_with(tmp_path, "memory")
        await service.start()
        running = asyncio.create_task(service.run())
        answered = 0
        try:
            async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
                url = f"http://127.0.0.1:{service.http.port}/v1/traces"  # type: ignore[union-attr]  # configured
                headers = {"content-type": "application/x-protobuf"}
                assert (await client.post(url, content=attack, headers=headers)).status_code == 200
                await until(lambda: service.pipeline._traces.busy)
                while service.pipeline._traces.busy:
                    answered += (await client.post(url, content=innocent(), headers=headers)).status_code == 200
        finally:
            service.stop()
            await running
            await service.shutdown()
        return answered

    assert asyncio.run(main()) >= 1
