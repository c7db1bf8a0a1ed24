"""Large requests in the spool: written in parts, between which small ones become durable, and all of them or nothing."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from collector.component import ExportRequest
from collector.config.exporters import SendingQueueConfig
from collector.delivery.sending_queue import SendingQueue
from collector.errors import UnavailableError
from collector.storage import large_requests
from collector.storage import spool as spool_module
from collector.storage.compression import compress, size_of
from collector.storage.rows import Change
from collector.storage.spool import Spool
from collector.storage.spool_file import SpoolFile
from collector.telemetry.metrics import Telemetry
from tests.waiting import until

_PART = 1_000
LARGE = random.Random(1).randbytes(10 * _PART + 1)
Scenario = Callable[[SendingQueue, Spool, "Recorded"], Awaitable[None]]


class Recorded(SpoolFile):
    """A spool file that keeps of each transaction the bytes of the requests in it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, fsync=False)
        self.sizes = list[int]()
        self.deleted = list[int]()

    def apply(self, change: Change) -> int:
        self.sizes.append(sum(size_of(row[-1]) or 0 for row in change.inserts["outbox"]))
        self.deleted.append(len(change.deletes["outbox"]))
        return super().apply(change)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_requests, "PART_BYTES", _PART)
    monkeypatch.setattr(spool_module, "_MAX_PENDING", 2 * _PART)


def run(folder: Path, scenario: Scenario) -> Recorded:
    file = Recorded(folder)

    async def main() -> None:
        spool = Spool(file, 1 << 30, Telemetry())
        await spool.start()
        try:
            await scenario(SendingQueue(SendingQueueConfig(), spool), spool, file)
        finally:
            await spool.shutdown()

    asyncio.run(main())
    return file


def request(payload: bytes) -> ExportRequest:
    return ExportRequest("traces", payload, 3)


def rows(folder: Path) -> list[int]:
    file = SpoolFile(folder)
    found = [row for row, *_ in file.outbox()]
    file.close()
    return found


async def put_large(queue: SendingQueue, spool: Spool, _: Recorded) -> None:
    queue.put(request(LARGE))
    await spool.large_stored(spool.large)


def test_what_comes_after_it_is_durable_before_it_is_and_no_transaction_is_large(tmp_path: Path) -> None:
    async def scenario(queue: SendingQueue, spool: Spool, file: Recorded) -> None:
        queue.put(request(LARGE))
        spool.store(0, b"small")
        await spool.stored()
        assert len(file.sizes) <= 2, "the transaction it is in, and perhaps the next"
        assert len(queue) == 0
        await spool.large_stored(spool.large)
        assert (len(queue), sum(file.sizes), max(file.sizes)) == (1, len(LARGE), 2 * _PART)

    run(tmp_path, scenario)


def test_it_comes_back_byte_for_byte_and_is_gone_once_delivered(tmp_path: Path) -> None:
    async def after(queue: SendingQueue, spool: Spool, _: Recorded) -> None:
        assert list(queue.recover()) == [3]
        sent = await queue.get()
        assert (sent.payload, sent.signal, sent.items, sent.size) == (LARGE, "traces", 3, len(LARGE))
        queue.ack(sent)

    run(tmp_path, put_large)
    assert len(rows(tmp_path)) == 11
    run(tmp_path, after)
    assert rows(tmp_path) == []


def test_once_it_is_delivered_a_few_parts_are_deleted_in_each_transaction(tmp_path: Path) -> None:
    async def scenario(queue: SendingQueue, spool: Spool, file: Recorded) -> None:
        await put_large(queue, spool, file)
        queue.ack(await queue.get())
        await until(lambda: not spool.unwritten)

    file = run(tmp_path, scenario)
    assert (sum(file.deleted), max(file.deleted)) == (11, 3)
    assert rows(tmp_path) == []


def test_a_crash_while_its_parts_are_deleted_loses_nothing_and_sends_nothing_again(tmp_path: Path) -> None:
    async def after(queue: SendingQueue, spool: Spool, _: Recorded) -> None:
        assert list(queue.recover()) == []
        await until(lambda: not spool.unwritten)

    run(tmp_path, put_large)
    file = SpoolFile(tmp_path)
    *_, last = [row for row, *_ in file.outbox()]
    change = Change()
    change.deletes["outbox"] = [1, 2, last]
    file.apply(change)
    file.close()
    assert max(run(tmp_path, after).deleted) <= 2
    assert rows(tmp_path) == []


def test_of_one_that_was_not_wholly_written_nothing_stays(tmp_path: Path) -> None:
    async def after(queue: SendingQueue, _: Spool, __: Recorded) -> None:
        assert list(queue.recover()) == []

    run(tmp_path, put_large)
    file = SpoolFile(tmp_path)
    *parts, last = [row for row, *_ in file.outbox()]
    file._connection.execute("DELETE FROM outbox WHERE id = ?", (last,))
    file.close()
    assert parts
    run(tmp_path, after)
    assert rows(tmp_path) == []


@pytest.mark.parametrize("change", ["payload = zeroblob(1000)", "signal = 'x'", "items = 7"])
def test_one_with_a_damaged_part_is_lost_and_said_to_be(tmp_path: Path, change: str) -> None:
    async def after(queue: SendingQueue, _: Spool, __: Recorded) -> None:
        assert None in list(queue.recover())
        assert len(queue) == 0

    run(tmp_path, put_large)
    file = SpoolFile(tmp_path)
    file._connection.execute(f"UPDATE outbox SET {change} WHERE id = 4")
    file.close()
    run(tmp_path, after)
    assert rows(tmp_path) == []


@pytest.mark.parametrize(
    ("count", "found", "left"),
    [("2", [3, None], [2]), ("999999999", [3, None], [2]), ("9" * 5_000, [3, 3], [2, 4]), ("\u00b2", [3, 3], [2, 4])],
    ids=["one more", "very many", "endless", "no digit"],
)
def test_a_row_that_tells_of_parts_that_are_not_there_costs_no_other(
    tmp_path: Path, count: str, found: list[int | None], left: list[int]
) -> None:
    async def after(queue: SendingQueue, spool: Spool, _: Recorded) -> None:
        assert list(queue.recover()) == found
        await until(lambda: not spool.unwritten)

    file, change = SpoolFile(tmp_path), Change()
    marks = [(1, "part", 0), (2, "traces", 3), (4, f"traces*{count}", 3)]
    change.inserts["outbox"] = [(*mark, compress(b"spans")) for mark in marks]
    file.apply(change)
    file.close()
    run(tmp_path, after)
    assert rows(tmp_path) == left


def test_who_waits_for_it_is_told_when_it_cannot_be_written(tmp_path: Path) -> None:
    async def scenario(queue: SendingQueue, spool: Spool, _: Recorded) -> None:
        queue.put(request(LARGE))
        spool.failing = True
        with pytest.raises(UnavailableError):
            await spool.large_stored(spool.large)
        spool.failing = False

    run(tmp_path, scenario)


def test_what_is_sent_ahead_leaves_once_it_is_confirmed(tmp_path: Path) -> None:
    async def scenario(queue: SendingQueue, spool: Spool, _: Recorded) -> None:
        queue.put(request(b"ahead"), ahead=True)
        await spool.stored()
        assert len(queue) == 0
        spool.confirm()
        await spool.stored()
        assert [waiting.payload for waiting in queue.pending()] == [b"ahead"]

    async def after(queue: SendingQueue, _: Spool, __: Recorded) -> None:
        assert list(queue.recover()) == [3]

    run(tmp_path, scenario)
    run(tmp_path, after)


def test_what_was_sent_ahead_and_not_confirmed_is_forgotten_by_a_restart(tmp_path: Path) -> None:
    async def before(queue: SendingQueue, _: Spool, __: Recorded) -> None:
        queue.put(request(b"ahead"), ahead=True)
        queue.put(request(b"other"))

    async def after(queue: SendingQueue, _: Spool, __: Recorded) -> None:
        assert list(queue.recover()) == [3]
        assert (await queue.get()).payload == b"other"

    run(tmp_path, before)
    run(tmp_path, after)
    assert len(rows(tmp_path)) == 1


def test_room_is_waited_for_while_as_much_is_recorded_as_a_transaction_takes(tmp_path: Path) -> None:
    async def scenario(_: SendingQueue, spool: Spool, file: Recorded) -> None:
        spool.store(0, bytes(2 * _PART))
        assert spool.behind
        await spool.room()
        assert (spool.behind, len(file.sizes)) == (False, 1)
        await spool.room()
        assert len(file.sizes) == 1, "there was room"

    run(tmp_path, scenario)
