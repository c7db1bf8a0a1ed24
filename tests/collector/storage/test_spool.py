"""The spool on an event loop: durable before anybody is told so, and patient when the disk is not."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import sqlite3
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from collector.component import ExportRequest
from collector.config.exporters import SendingQueueConfig
from collector.delivery.sending_queue import SendingQueue
from collector.errors import ConfigError, RefusedError, UnavailableError
from collector.storage import spool as spool_module
from collector.storage.compression import compress
from collector.storage.rows import Change
from collector.storage.spool import Spool
from collector.storage.spool_file import NAME, SpoolFile
from collector.telemetry.metrics import Telemetry
from tests.harness import value
from tests.waiting import PATIENCE, let_others_run, until


class CountingFile(SpoolFile):
    """A spool file that counts its transactions, and can be made to block or to fail."""

    transactions = 0
    broken = False

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.may_write = threading.Event()
        self.may_write.set()

    def apply(self, change: Change) -> int:
        self.transactions += 1
        self.may_write.wait()
        if self.broken:
            raise sqlite3.OperationalError("database or disk is full")
        return super().apply(change)


def run(
    folder: Path, scenario: Callable[[Spool, CountingFile, Telemetry], Awaitable[None]], limit: int = 1 << 30
) -> None:
    async def main() -> None:
        file, telemetry = CountingFile(folder), Telemetry()
        spool = Spool(file, limit, telemetry)
        await spool.start()
        try:
            await scenario(spool, file, telemetry)
        finally:
            file.may_write.set()
            await spool.shutdown()

    asyncio.run(main())


def rows(folder: Path) -> list[bytes]:
    file = SpoolFile(folder)
    found = [record for _, _, record in file.inbox() if record is not None]
    file.close()
    return found


def test_what_is_stored_is_on_disk(tmp_path: Path) -> None:
    async def scenario(spool: Spool, file: CountingFile, _: Telemetry) -> None:
        spool.store(0, b"spans")
        await spool.stored()
        assert list(file.inbox()) == [(1, 0, b"spans")]

    run(tmp_path, scenario)


def test_requests_that_come_while_a_transaction_runs_share_the_next(tmp_path: Path) -> None:
    async def sender(spool: Spool, number: int) -> None:
        spool.store(0, b"%d" % number)
        await spool.stored()

    async def scenario(spool: Spool, file: CountingFile, _: Telemetry) -> None:
        await asyncio.gather(*(sender(spool, number) for number in range(100)))
        assert file.transactions <= 3

    run(tmp_path, scenario)
    assert len(rows(tmp_path)) == 100


def test_a_repeated_request_is_not_acknowledged_before_the_first_is_durable(tmp_path: Path) -> None:
    async def scenario(spool: Spool, file: CountingFile, _: Telemetry) -> None:
        file.may_write.clear()
        spool.store(0, b"first")
        await until(lambda: file.transactions == 1)
        repeated = asyncio.create_task(spool.stored())  # the repetition stored nothing of its own
        await let_others_run()
        assert not repeated.done()
        file.may_write.set()
        await repeated
        assert len(list(file.inbox())) == 1

    run(tmp_path, scenario)


def test_long_work_gives_way_to_a_transaction_while_anybody_waits_for_the_spool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_module, "_GIVE_WAY", PATIENCE)

    async def scenario(spool: Spool, file: CountingFile, _: Telemetry) -> None:
        await spool.give_way()
        file.may_write.clear()
        spool.store(0, b"verdicts")
        await until(lambda: file.transactions == 1)
        await spool.give_way()  # nobody waits for these
        spool.store(0, b"a request")
        sender = asyncio.create_task(spool.stored())
        await let_others_run()
        work = [asyncio.create_task(spool.give_way()), asyncio.create_task(spool.room())]
        await let_others_run(10)
        assert not any(task.done() for task in work)
        file.may_write.set()
        await asyncio.gather(*work)
        assert file.transactions <= 2, "not the one after it"
        await sender

    run(tmp_path, scenario)


def test_long_work_goes_on_beside_a_disk_that_hangs(tmp_path: Path) -> None:
    async def scenario(spool: Spool, file: CountingFile, _: Telemetry) -> None:
        file.may_write.clear()
        spool.store(0, b"a request")
        sender = asyncio.create_task(spool.stored())
        await until(lambda: file.transactions == 1)
        for _attempt in range(3):
            await spool.give_way()
        assert spool._writing is not None
        assert len(spool._writing) == 1, "only the sender still waits"
        file.may_write.set()
        await sender

    run(tmp_path, scenario)


def test_long_work_goes_on_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "_RETRY", 0.001)

    async def scenario(spool: Spool, file: CountingFile, _: Telemetry) -> None:
        file.may_write.clear()
        file.broken = True
        spool.store(0, b"a request")
        sender = asyncio.create_task(spool.stored())
        await until(lambda: file.transactions == 1)
        work = asyncio.create_task(spool.give_way())
        await let_others_run()
        file.may_write.set()
        await work
        await spool.give_way()
        with pytest.raises(UnavailableError):
            await sender
        file.broken = False

    run(tmp_path, scenario)


def test_while_the_disk_is_full_senders_are_told_to_wait_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(spool_module, "_RETRY", 0.001)

    async def scenario(spool: Spool, file: CountingFile, telemetry: Telemetry) -> None:
        file.broken = True
        spool.store(0, b"taken before the disk was full")
        with pytest.raises(UnavailableError):
            await spool.stored()
        assert spool.failing
        with pytest.raises(UnavailableError):
            spool.admit()
        spool.store(0, b"from advance()")
        file.broken = False
        await until(lambda: not spool.failing)
        spool.admit()
        await spool.stored()
        assert value(telemetry, "spool_failures_total") >= 1

    run(tmp_path, scenario)
    assert rows(tmp_path) == [b"taken before the disk was full", b"from advance()"]
    assert f"{tmp_path / 'spool.db'}: the spool cannot be written" in caplog.text


def test_an_idle_spool_that_is_deleted_is_written_anew_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_module, "_WATCH", 0.001)

    async def scenario(spool: Spool, file: CountingFile, telemetry: Telemetry) -> None:
        spool.store(0, b"acknowledged")
        await spool.stored()
        shutil.rmtree(tmp_path / "spool")
        await until(lambda: value(telemetry, "spool_failures_total") == 1)
        assert not spool.failing

    run(tmp_path / "spool", scenario)
    assert rows(tmp_path / "spool") == [b"acknowledged"]


def test_an_idle_spool_notes_until_when_requests_are_received(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "_WATCH", 0.001)

    async def scenario(spool: Spool, file: CountingFile, _: Telemetry) -> None:
        assert spool.received_until == 0
        await until(lambda: file.transactions > 3)
        assert file.received_until == 0, "none are received yet"
        times = itertools.count(1)
        spool.receiving = lambda: next(times)
        await until(lambda: file.received_until > 3)
        spool.receiving = lambda: 7_000
        await until(lambda: file.received_until == 7_000)

    run(tmp_path, scenario)
    file = SpoolFile(tmp_path)
    assert (file.received_until, Spool(file, 1 << 30, Telemetry()).received_until) == (7_000, 7_000)
    file.close()


def test_while_another_file_is_in_its_place_nothing_is_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_module, "_WATCH", 0.001)
    monkeypatch.setattr(spool_module, "_RETRY", 0.001)

    async def scenario(spool: Spool, file: CountingFile, _: Telemetry) -> None:
        spool.store(0, b"acknowledged")
        await spool.stored()
        (tmp_path / "spool").rename(tmp_path / "elsewhere")
        SpoolFile(tmp_path / "spool").close()
        await until(lambda: spool.failing)
        with pytest.raises(UnavailableError):
            spool.admit()
        (tmp_path / "spool").rename(tmp_path / "other")
        await until(lambda: not spool.failing)

    run(tmp_path / "spool", scenario)
    assert rows(tmp_path / "spool") == [b"acknowledged"]


def test_what_is_lost_is_counted_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def before(spool: Spool, _: CountingFile, __: Telemetry) -> None:
        for number in range(3):
            spool.store(0, b"%d" % number)
            await spool.stored()
        shutil.copytree(tmp_path / "spool", tmp_path / "killed")
        (tmp_path / "killed" / f"{NAME}-wal").unlink()

    async def after(spool: Spool, _: CountingFile, telemetry: Telemetry) -> None:
        await spool.check()
        assert value(telemetry, "spool_failures_total") == 1

    run(tmp_path / "spool", before)
    run(tmp_path / "killed", after)
    assert "the last 3 transactions of the spool are missing" in caplog.text


def test_a_spool_that_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    async def scenario(spool: Spool, file: CountingFile, _: Telemetry) -> None:
        file._connection.close()
        with pytest.raises(ConfigError, match="the spool cannot be read: Cannot operate on a closed database"):
            await spool.check()
        with pytest.raises(ConfigError, match="the spool cannot be read"):
            list(spool.inbox())

    run(tmp_path, scenario)


def test_shutting_down_with_a_full_disk_ends(tmp_path: Path) -> None:
    async def scenario(spool: Spool, file: CountingFile, _: Telemetry) -> None:
        file.broken = True
        spool.store(0, b"never written")

    run(tmp_path, scenario)
    assert rows(tmp_path) == []


def test_beyond_its_size_senders_are_asked_to_slow_down(tmp_path: Path) -> None:
    async def scenario(spool: Spool, _: CountingFile, telemetry: Telemetry) -> None:
        spool.admit()
        row = spool.store(0, bytes(1 << 20))
        await spool.stored()
        with pytest.raises(RefusedError, match="the spool is full"):
            spool.admit()
        assert value(telemetry, "spool_bytes") > 1 << 20
        spool.delete("inbox", [row])
        await spool.stored()
        spool.admit()

    run(tmp_path, scenario, limit=1 << 20)


def request(payload: bytes) -> ExportRequest:
    return ExportRequest("traces", payload, 1)


def test_a_request_leaves_once_it_is_durable_and_is_forgotten_once_delivered(tmp_path: Path) -> None:
    async def scenario(spool: Spool, file: CountingFile, _: Telemetry) -> None:
        queue = SendingQueue(SendingQueueConfig(), spool)
        queue.put(request(b"request"))
        assert len(queue) == 0, "not durable, so not to be sent"
        sent = await queue.get()
        assert (sent.payload, [row[1:] for row in file.outbox()]) == (b"request", [("traces", 1, 7)])
        queue.ack(sent)
        await spool.stored()
        assert list(file.outbox()) == []

    run(tmp_path, scenario)


def test_what_was_not_delivered_comes_back_byte_for_byte_in_order(tmp_path: Path) -> None:
    async def before(spool: Spool, _: CountingFile, __: Telemetry) -> None:
        queue = SendingQueue(SendingQueueConfig(), spool)
        for payload in (b"one", b"two", b""):
            queue.put(request(payload))
        await spool.stored()

    async def after(spool: Spool, _: CountingFile, __: Telemetry) -> None:
        queue = SendingQueue(SendingQueueConfig(), spool)
        assert list(queue.recover()) == [1, 1, 1]
        assert [(await queue.get()).payload for _ in range(len(queue))] == [b"one", b"two", b""]

    run(tmp_path, before)
    run(tmp_path, after)


def test_memory_stays_flat_while_the_backend_is_away(tmp_path: Path) -> None:
    async def scenario(spool: Spool, _: CountingFile, __: Telemetry) -> None:
        queue = SendingQueue(SendingQueueConfig(), spool)
        for number in range(60):
            queue.put(request(b"%02d" % number + bytes(1 << 20)))
            await spool.stored()
        assert sum(waiting.in_memory for waiting in queue.pending()) <= 33
        for number in range(60):
            sent = await queue.get()
            assert sent.payload.startswith(b"%02d" % number)
            queue.requeue(sent)
        assert len(queue) == 60

    run(tmp_path, scenario)


def test_a_request_the_spool_lost_is_said_to_be_lost(tmp_path: Path) -> None:
    async def scenario(spool: Spool, _: CountingFile, __: Telemetry) -> None:
        assert await spool.payload(42) is None

    run(tmp_path, scenario)


def test_requests_take_less_room_than_they_have(tmp_path: Path) -> None:
    payload = b"".join(b"span %d of an agent that calls tools" % number for number in range(30_000))

    async def before(spool: Spool, _: CountingFile, telemetry: Telemetry) -> None:
        SendingQueue(SendingQueueConfig(), spool).put(request(payload))
        await spool.stored()
        assert value(telemetry, "spool_bytes") < len(payload) / 2

    async def after(spool: Spool, _: CountingFile, __: Telemetry) -> None:
        queue = SendingQueue(SendingQueueConfig(), spool)
        assert list(queue.recover()) == [1]
        assert (queue.pending()[0].size, (await queue.get()).payload) == (len(payload), payload)

    run(tmp_path, before)
    run(tmp_path, after)


def test_a_request_that_cannot_be_decompressed_is_lost(tmp_path: Path) -> None:
    async def scenario(spool: Spool, file: CountingFile, _: Telemetry) -> None:
        inserted = Change()
        inserted.inserts["outbox"] = [(4, "traces", 7, b"\x05\0\0\0pay")]  # by somebody, with a right checksum
        file.apply(inserted)
        assert await spool.payload(4) is None

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    "change", ["signal = x'00'", "signal = 7", "items = 'text'", "payload = 3", "checksum = 'text'"]
)
def test_a_damaged_request_of_whatever_types_is_one_lost_row(tmp_path: Path, change: str) -> None:
    file, inserted = SpoolFile(tmp_path), Change()
    inserted.inserts["outbox"] = [(4, "traces", 7, compress(b"request")), (5, "logs", 1, compress(b"event"))]
    file.apply(inserted)
    file._connection.execute(f"UPDATE outbox SET {change} WHERE id = 4")
    rows = list(Spool(file, 1 << 30, Telemetry()).outbox())
    assert [(row, size) for row, _, _, size in rows] == [(4, None), (5, 5)]
    file.close()


@pytest.mark.parametrize(("limit", "fits"), [(1 << 60, False), (16 << 20, True)])
def test_a_disk_that_is_smaller_than_the_spool_may_become_is_told_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, limit: int, fits: bool
) -> None:
    async def scenario(spool: Spool, _: CountingFile, __: Telemetry) -> None:
        await spool.check()

    run(tmp_path, scenario, limit)
    assert ("lower spool.max_size_mib or enlarge the disk" in caplog.text) is not fits
