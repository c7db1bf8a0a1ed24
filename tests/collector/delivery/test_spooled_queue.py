"""The sending queue over a spool: what it keeps in memory, and what it knows after a restart."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from collector.component import ExportRequest, Signal
from collector.config.exporters import SendingQueueConfig
from collector.delivery import sending_queue
from collector.delivery.sending_queue import SendingQueue
from collector.storage.spool import Spool
from collector.storage.spool_file import SpoolFile
from collector.telemetry.metrics import Telemetry
from tests.waiting import let_others_run

Scenario = Callable[[SendingQueue, Spool], Awaitable[None]]


def run(folder: Path, scenario: Scenario, signals: Sequence[Signal] = ()) -> None:
    async def main() -> None:
        spool = Spool(SpoolFile(folder, fsync=False), 1 << 30, Telemetry())
        await spool.start()
        try:
            await scenario(SendingQueue(SendingQueueConfig(), spool, signals=signals), spool)
        finally:
            await spool.shutdown()

    asyncio.run(main())


def test_what_is_recovered_is_counted_and_is_read_when_it_is_sent(tmp_path: Path) -> None:
    put = [("traces", b"one", 2), ("logs", b"two", 5), ("traces", b"three", 3)]

    async def before(queue: SendingQueue, spool: Spool) -> None:
        for signal, payload, items in put:
            queue.put(ExportRequest(signal, payload, items))  # type: ignore[arg-type]  # signals, in a list
        await spool.stored()

    async def after(queue: SendingQueue, _: Spool) -> None:
        assert list(queue.recover()) == [2, 0, 3]
        assert [(request.payload, request.in_memory) for request in queue.pending()] == [(b"", False)] * 3
        assert (len(queue), queue.spans, queue._bytes) == (3, 5, 0)
        sent = [await queue.get() for _ in put]
        assert [(request.signal, request.payload, request.items) for request in sent] == put
        assert (all(request.in_memory for request in sent), queue._bytes) == (True, len(b"onetwothree"))
        for request in sent:
            queue.ack(request)
        assert (len(queue), queue.spans, queue._bytes) == (0, 0, 0)

    run(tmp_path, before)
    run(tmp_path, after)


def test_requests_are_kept_in_memory_until_they_fill_its_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending_queue, "_WINDOW", 10)

    async def scenario(queue: SendingQueue, spool: Spool) -> None:
        for payload in (b"0123456789", b"x"):
            queue.put(ExportRequest("traces", payload, 1))
        await spool.stored()
        assert ([request.in_memory for request in queue.pending()], queue._bytes) == ([True, False], 10)
        queue.requeue(await queue.get())
        assert ([request.in_memory for request in queue.pending()], queue._bytes) == ([False, True], 10)
        small = await queue.get()
        assert (small.payload, queue._bytes) == (b"x", 11)
        queue.requeue(small)
        assert ([request.in_memory for request in queue.pending()], queue._bytes) == ([True, False], 10)

    run(tmp_path, scenario)


def test_what_is_being_sent_takes_no_more_than_its_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending_queue, "_WINDOW", 10)

    async def scenario(queue: SendingQueue, spool: Spool) -> None:
        for payload in (b"larger than its share", b"01234567", b"01", b"0"):
            queue.put(ExportRequest("traces", payload, 1))
        await spool.stored()
        large = await queue.get()
        waiting = [asyncio.create_task(queue.get()) for _ in range(3)]
        assert [(await task).payload for task in waiting[:2]] == [b"01234567", b"01"], "these are in memory"
        queue.ack(large)
        await let_others_run()
        assert (queue._bytes, waiting[2].done()) == (10, False), "what is not waits for room"
        queue.ack(await waiting[0])
        assert (await waiting[2]).payload == b"0"

    run(tmp_path, scenario)


@pytest.mark.parametrize("is_delivered", [True, False])
def test_room_that_one_signal_leaves_is_for_another_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_delivered: bool
) -> None:
    monkeypatch.setattr(sending_queue, "_WINDOW", 10)

    async def scenario(queue: SendingQueue, spool: Spool) -> None:
        queue.put(ExportRequest("logs", b"larger than its share", 1))
        queue.put(ExportRequest("traces", b"larger than it, too", 1))
        await spool.stored()
        logs = await queue.get("logs")
        waiting = asyncio.create_task(queue.get("traces"))
        await let_others_run()
        assert not waiting.done(), "there is no room beside the logs"
        (queue.ack if is_delivered else queue.requeue)(logs)
        assert (await waiting).payload == b"larger than it, too"

    run(tmp_path, scenario, ("traces", "logs"))


def test_a_request_that_the_spool_lost_takes_no_memory_however_often_it_is_put_back(tmp_path: Path) -> None:
    async def scenario(queue: SendingQueue, spool: Spool) -> None:
        queue.restore("traces", 3, row=99, size=1_000)
        for _ in range(3):
            request = await queue.get()
            assert not request.in_memory
            queue.requeue(request)
            assert queue._bytes == 0
        queue.ack(await queue.get())
        assert (len(queue), queue._bytes) == (0, 0)

    run(tmp_path, scenario)
