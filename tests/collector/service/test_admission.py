"""Admission: refused before anything is taken, acknowledged only when it is durable."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from collector.clock import SYSTEM_CLOCK
from collector.component import ExportRequest
from collector.config.exporters import SendingQueueConfig
from collector.config.model import Config, MemoryLimiterConfig
from collector.delivery.sending_queue import SendingQueue
from collector.errors import CollectorError, DecodeError, RefusedError, TooLargeError, UnavailableError
from collector.in_flight import InFlight
from collector.otlp.wire import field_head
from collector.pipeline import Pipeline
from collector.scoring.rule_files import load_rules
from collector.service.admission import LIMITS, Admission
from collector.service.memory_limiter import MemoryLimiter
from collector.storage import spool as spool_module
from collector.storage.rows import Change
from collector.storage.spool import Spool
from collector.storage.spool_file import SpoolFile
from collector.telemetry.metrics import Telemetry
from tests import otlp_data as data
from tests.harness import value
from tests.waiting import PATIENCE, let_others_run, until

RUN = data.traces(data.tool(2, 1, "x"), data.agent(1), data.span(3, parent=1)).SerializeToString()


class Admitting:
    """An admission with all that stands behind it."""

    def __init__(
        self,
        folder: Path | None,
        queue: int = 100,
        resident: int = 0,
        spool_bytes: int = 1 << 30,
        file: type[SpoolFile] = SpoolFile,
    ) -> None:
        self.telemetry = Telemetry()
        self.spool = Spool(file(folder), spool_bytes, self.telemetry) if folder is not None else None
        self.queue = SendingQueue(SendingQueueConfig(queue_size=queue), self.spool)
        self.pipeline = Pipeline(Config(), load_rules([]), self.telemetry, self.queue, SYSTEM_CLOCK, spool=self.spool)
        limiter = MemoryLimiter(
            MemoryLimiterConfig(limit_mib=100), time.monotonic, lambda: resident << 20, lambda: None
        )
        self.seconds = 0.0
        self.admission = Admission(
            self.pipeline, self.queue, self.spool, limiter, InFlight(1 << 30), lambda: self.seconds
        )

    def take(self, request: bytes = RUN, times: int = 1) -> None:
        async def run() -> None:
            if self.spool is not None:
                await self.spool.start()
            try:
                for _ in range(times):
                    await self.admission.take("traces", request, "grpc")
            finally:
                if self.spool is not None:
                    await self.spool.shutdown()

        asyncio.run(run())

    @property
    def taken(self) -> float:
        return value(self.telemetry, "traces_open")


class LargestChange(SpoolFile):
    """A spool file that notes the most bytes that one transaction inserts."""

    most = 0

    def apply(self, change: Change) -> int:
        size = sum(len(row[-1]) for rows in change.inserts.values() for row in rows)
        self.most = max(self.most, size)
        return super().apply(change)


@pytest.mark.parametrize("spans", [40, 1])
def test_no_transaction_of_a_large_request_is_large(tmp_path: Path, spans: int) -> None:
    bench = Admitting(tmp_path, file=LargestChange)
    printable = bytes(32 + byte % 95 for byte in range(256))
    text = random.Random(1).randbytes((40 << 20) // spans).translate(printable).decode()  # which cannot be compressed
    calls = [data.tool(number, 1, "a", gen_ai__tool__call__result=text) for number in range(2, spans + 2)]
    bench.take(data.traces(*calls).SerializeToString())
    assert bench.spool is not None
    assert isinstance(bench.spool._file, LargestChange)
    assert 2 << 20 <= bench.spool._file.most < 8 << 20


def test_a_large_request_is_acknowledged_once_all_its_parts_are_durable(tmp_path: Path) -> None:
    bench = Admitting(tmp_path)
    assert bench.spool is not None
    spool = bench.spool
    ordinary = data.span(2, 1, "x" * (9 << 20))

    async def run() -> None:
        await spool.start()
        await bench.admission.take("traces", data.traces(ordinary).SerializeToString(), "grpc")
        assert len(list(spool._file.outbox())) == 10
        await spool.shutdown()

    asyncio.run(run())


class HaltingFile(SpoolFile):
    """A spool file that begins no transaction for which there is no permit."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, fsync=False)
        self.permits, self.begun = threading.Semaphore(0), 0

    def apply(self, change: Change) -> int:
        self.begun += 1
        self.permits.acquire()
        return super().apply(change)


def test_a_small_request_does_not_wait_for_a_large_one_that_comes_while_it_is_written(tmp_path: Path) -> None:
    bench = Admitting(tmp_path, file=HaltingFile)
    assert bench.spool is not None
    spool, file = bench.spool, bench.spool._file
    assert isinstance(file, HaltingFile)

    async def run() -> None:
        await spool.start()
        small = asyncio.create_task(bench.admission.take("traces", RUN, "grpc"))
        await until(lambda: file.begun == 1)
        bench.queue.put(ExportRequest("traces", bytes(20 << 20), 1))
        file.permits.release()
        await until(lambda: file.begun == 2)
        await let_others_run(10)
        acknowledged = small.done()
        file.permits.release(100)
        await small
        await spool.shutdown()
        assert acknowledged

    asyncio.run(run())


def test_no_step_of_a_large_request_is_taken_while_a_small_one_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_module, "_GIVE_WAY", PATIENCE)
    bench = Admitting(tmp_path, file=HaltingFile)
    assert bench.spool is not None
    spool, file = bench.spool, bench.spool._file
    assert isinstance(file, HaltingFile)
    agents = (data.agent(1, trace_id=number.to_bytes(16)) for number in range(1, 5_000))
    request = data.traces(*agents).SerializeToString()

    async def run() -> None:
        await spool.start()
        small = asyncio.create_task(bench.admission.take("traces", RUN, "grpc"))
        await until(lambda: file.begun == 1)
        large = asyncio.create_task(bench.admission.take("traces", request, "grpc"))
        # Not until it has taken something: on a busy machine its first turn may end before it has.
        await until(lambda: bench.admission._turns._queue)
        await let_others_run(10)
        taken = bench.taken
        await let_others_run(100)
        meanwhile = bench.taken - taken
        file.permits.release(1_000)
        await asyncio.gather(small, large)
        await spool.shutdown()
        assert (meanwhile, bench.taken) == (0, 5_000)

    asyncio.run(run())


def failing(bench: Admitting) -> Admitting:
    assert bench.spool is not None
    bench.spool.failing = True
    return bench


def filled(bench: Admitting) -> Admitting:
    bench.queue._enqueue(ExportRequest("traces", b"", 0))
    return bench


REFUSALS: dict[str, tuple[Callable[[Path], Admitting], type[CollectorError], str]] = {
    "memory": (lambda _: Admitting(None, resident=90), RefusedError, "memory limit reached, retry later"),
    "queue": (lambda _: filled(Admitting(None, queue=1)), RefusedError, "the sending queue is full"),
    "spool is full": (lambda folder: Admitting(folder, spool_bytes=1), RefusedError, "the spool is full"),
    "spool fails": (lambda folder: failing(Admitting(folder)), UnavailableError, "the spool cannot be written"),
}


@pytest.mark.parametrize("reason", list(REFUSALS))
def test_refused_before_anything_is_taken(reason: str, tmp_path: Path) -> None:
    make, kind, message = REFUSALS[reason]
    bench = make(tmp_path)
    with pytest.raises(kind, match=message):
        bench.take()
    assert bench.taken == 0


def test_what_is_being_written_takes_room_in_the_spool_already(tmp_path: Path) -> None:
    empty = SpoolFile(tmp_path / "empty")
    bench = Admitting(tmp_path, file=HaltingFile, spool_bytes=empty.used() + len(RUN))
    empty.close()
    assert bench.spool is not None
    spool, file = bench.spool, bench.spool._file
    assert isinstance(file, HaltingFile)

    async def run() -> None:
        await spool.start()
        first = asyncio.create_task(bench.admission.take("traces", RUN, "grpc"))
        await until(lambda: file.begun == 1)
        with pytest.raises(RefusedError, match="the spool is full"):
            await bench.admission.take("traces", RUN, "grpc")
        file.permits.release(100)
        await first
        await spool.shutdown()
        assert spool.claimed == 0

    asyncio.run(run())


def test_the_log_tells_once_a_minute_that_requests_are_refused_for_want_of_room(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = Admitting(None, queue=1)
    for _ in range(4):  # there is room for one, and then none, again and again
        filled(bench)
        with pytest.raises(RefusedError):
            bench.take()
        bench.queue.drop_pending()
        bench.seconds += 29.0
    assert [record.getMessage() for record in caplog.records if record.name == Admission.__module__] == [
        "the sending queue is full: requests are refused until the backend has taken some of it"
    ] * 2


@pytest.mark.parametrize("durable", [False, True])
def test_taken(durable: bool, tmp_path: Path) -> None:
    bench = Admitting(tmp_path if durable else None)
    bench.take()
    assert (bench.taken, len(bench.queue)) == (1, 1)


def test_what_was_acknowledged_is_on_disk(tmp_path: Path) -> None:
    Admitting(tmp_path).take()
    file = SpoolFile(tmp_path)
    assert (len(list(file.inbox())), len(list(file.outbox()))) == (1, 1)
    file.close()


def test_a_refused_request_is_counted_by_reason(tmp_path: Path) -> None:
    bench = Admitting(None)
    with pytest.raises(DecodeError):
        bench.take(b"\xff\xff")
    bench.admission.refuse("grpc", DecodeError("x"))
    labels = {"receiver": "otlp", "transport": "grpc", "reason": "decode"}
    assert value(bench.telemetry, "receiver_refused_spans_total", **labels) == 1


def test_a_request_beyond_a_limit_is_refused_before_anything_is_taken() -> None:
    bench = Admitting(None)
    with pytest.raises(TooLargeError, match="at most 100,000 spans"):
        bench.take(RUN + data.traces(*[data.span(1)] * LIMITS.items).SerializeToString())
    assert (bench.taken, len(bench.queue)) == (0, 0)


def test_a_large_request_is_taken_whole() -> None:
    bench = Admitting(None)
    bench.take(data.traces(*(data.span(number, 1) for number in range(1, 5_001))).SerializeToString())
    assert sum(request.items for request in bench.queue.pending()) == 5_000


def test_a_large_request_is_looked_through_outside_the_event_loop() -> None:
    admission = Admitting(None).admission
    spans = b"\x12\0" * 1_000_000
    scope = field_head(0x12, len(spans)) + spans
    request = field_head(0x0A, len(scope)) + scope

    async def turns_until_refused() -> int:
        turns, taking = 0, asyncio.create_task(admission.take("traces", request, "http"))
        while not taking.done():
            turns += 1
            await let_others_run()
        assert isinstance(taking.exception(), TooLargeError)
        return turns

    assert asyncio.run(turns_until_refused()) > 3
