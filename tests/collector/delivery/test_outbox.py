"""Requests for several exporters: each gets its own, and after a restart too."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from collector.component import SIGNALS, ExportRequest
from collector.config.exporters import SendingQueueConfig
from collector.delivery.outbox import Outbox, Outlet
from collector.delivery.sending_queue import SendingQueue
from collector.storage.spool import Spool
from collector.storage.spool_file import SpoolFile
from collector.telemetry.metrics import Telemetry

Scenario = Callable[[Outbox, SendingQueue, SendingQueue, Spool], Awaitable[None]]


def run(folder: Path, scenario: Scenario, *, with_file: bool = True) -> None:
    async def main() -> None:
        spool = Spool(SpoolFile(folder, fsync=False), 1 << 30, Telemetry())
        await spool.start()
        otlp = SendingQueue(SendingQueueConfig(queue_size=2), spool)
        file = SendingQueue(SendingQueueConfig(), spool, exporter="file")
        outlets = [Outlet(otlp, ("traces",)), *([Outlet(file, SIGNALS, "file")] if with_file else [])]
        try:
            await scenario(Outbox(outlets, spool, Telemetry(), off=("logs",)), otlp, file, spool)
        finally:
            await spool.shutdown()

    asyncio.run(main())


async def put(outbox: Outbox, otlp: SendingQueue, file: SendingQueue, spool: Spool) -> None:
    for signal in SIGNALS:
        outbox.put(ExportRequest(signal, signal.encode(), 1))
    await spool.stored()
    assert (len(otlp), len(file), len(outbox), outbox.full) == (1, 3, 4, False)


def test_everything_is_taken_back_to_where_it_was_going(tmp_path: Path) -> None:
    async def after(outbox: Outbox, otlp: SendingQueue, file: SendingQueue, _: Spool) -> None:
        assert sorted(spans or 0 for spans in outbox.recover()) == [0, 0, 0, 1], "spans are not counted twice"
        assert [request.signal for request in otlp.pending()] == ["traces"]
        assert [(await file.get()).payload for _ in SIGNALS] == [b"traces", b"logs", b"metrics"]

    run(tmp_path, put)
    run(tmp_path, after)


def test_what_is_for_an_exporter_that_is_gone_waits_for_its_return(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def without(outbox: Outbox, otlp: SendingQueue, _: SendingQueue, __: Spool) -> None:
        assert list(outbox.recover()) == [1]
        otlp.ack(await otlp.get())

    async def back(outbox: Outbox, otlp: SendingQueue, file: SendingQueue, _: Spool) -> None:
        list(outbox.recover())
        assert (len(otlp), len(file)) == (0, 3)

    run(tmp_path, put)
    run(tmp_path, without, with_file=False)
    assert "3 requests stay in the spool until an exporter for them is configured: traces/file" in caplog.text
    run(tmp_path, back)


def test_one_full_queue_slows_senders_down(tmp_path: Path) -> None:
    async def scenario(outbox: Outbox, otlp: SendingQueue, _: SendingQueue, spool: Spool) -> None:
        for number in range(2):
            outbox.put(ExportRequest("traces", bytes([number]), 1))
        await spool.stored()
        assert (otlp.full, outbox.full) == (True, True)

    run(tmp_path, scenario)
