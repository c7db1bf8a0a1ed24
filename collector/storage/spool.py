"""What must survive a crash, written in groups: one transaction for everything recorded while the previous one was written.

The event loop collects changes and one worker thread writes them; nobody else touches the file. Whatever one call of the
pipeline records is in one transaction, because the writer takes what was collected only between calls. A change that cannot
be written (disk full) is kept and retried; until then no request is accepted and the collector is not ready.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import TypeVar

from collector.errors import ConfigError, RefusedError, UnavailableError
from collector.storage.compression import compress, decompress
from collector.storage.condition import tell_condition
from collector.storage.large_requests import LargeRequests
from collector.storage.rows import Change
from collector.storage.spool_file import SpoolFile
from collector.telemetry.metrics import Telemetry

_log = logging.getLogger(__name__)
_Row = TypeVar("_Row")
NOT_WRITABLE = "the spool cannot be written"
_RETRY = 1.0  # seconds between attempts to write what could not be written
_WATCH = 1.0  # seconds until an idle spool is looked after
_GIVE_WAY = 0.005  # seconds: enough to prepare a transaction; on a slow disk, long work must go on while it is synced
_MAX_PENDING = 2 << 20  # bytes; a transaction of more would keep small requests waiting that come meanwhile
_AHEAD = "ahead"
"""In place of a signal: the request in the row that ``items`` of this one name was sent ahead, and not confirmed yet."""


class Spool:
    """A component; ``store``, ``finish``, ``send`` and ``delete`` record, ``stored`` waits until all of it is durable."""

    def __init__(self, file: SpoolFile, max_bytes: int, telemetry: Telemetry) -> None:
        self._file, self._max_bytes = file, max_bytes
        self._failures = telemetry.spool_failures
        self._size, self._capacity = telemetry.spool_bytes, telemetry.spool_capacity_bytes
        self._last = file.last_id()
        self._used = file.used()
        self._show_size()
        self.claimed = 0
        """Bytes of requests that were admitted and are not durable yet; for admission to keep."""
        self._pending = Change()
        self._pending_bytes = 0
        self._callbacks: list[Callable[[], None]] = []
        self._ahead: list[tuple[int, Callable[[], None]]] = []  # rows that say so, and who is told once they are gone
        self._large_requests = LargeRequests(self.next_id)
        self._large_waiting: list[asyncio.Future[None]] = []
        self._large_written = 0
        self.large = 0
        """How many parts of large requests were recorded since the start."""
        self._waiting: list[asyncio.Future[None]] = []  # for what is pending to be durable
        self._writing: list[asyncio.Future[None]] | None = None  # for the transaction in progress, if there is one
        self._wake = asyncio.Event()
        # One thread: changes are applied in the order in which they were recorded, and never beside a read.
        self._worker = ThreadPoolExecutor(1, "spool")
        self._writer: asyncio.Task[None] | None = None
        self._closing = False
        self.failing = False
        self.received_until = file.received_until
        """When the process before this one stopped to receive requests, in ns of wall time; 0 if that is unknown."""
        self.receiving: Callable[[], int] = lambda: 0
        """Until when this one receives them; it is asked about once a second, and 0 is not recorded."""

    # ---- lifecycle

    async def start(self) -> None:
        """Start the writer."""
        self._writer = asyncio.create_task(self._write())

    async def check(self) -> None:
        """Look for damage; what is lost by it is logged. Where the disk has no room for the file, wait until it has.

        Raises ConfigError where it cannot be read.
        """
        loop = asyncio.get_running_loop()
        while not self._file.is_open:
            try:
                await loop.run_in_executor(self._worker, self._file.open)
            except sqlite3.Error as error:
                self._fail(error)
                await asyncio.sleep(_RETRY)
        try:
            await loop.run_in_executor(self._worker, self._file.check)
        except sqlite3.Error as error:
            raise _unreadable(error) from None
        if tell_condition(self._file, self._max_bytes):
            self._failures.inc()

    async def shutdown(self) -> None:
        """Write what is pending, trying once, and close the file."""
        writer, self._writer = self._writer, None
        self._closing = True
        if writer is not None:
            self._wake.set()
            await writer
        self._worker.shutdown()
        self._file.close()

    # ---- called by the journal and the sending queue

    def next_id(self) -> int:
        """Returns an id that no row has had since the start."""
        # Given here and not by SQLite: what is recorded can be referred to, and deleted, before it is written.
        self._last += 1
        return self._last

    def store(self, kind: int, record: bytes) -> int:
        """Store an inbox record. Returns its row id."""
        row = self.next_id()
        self._pending.inserts["inbox"].append((row, kind, record))
        self._pending_bytes += len(record)
        self._wake.set()
        return row

    def finish(self, row: int, record: bytes) -> None:
        """Store the tombstone of a finished trace under an id from ``next_id``."""
        self._pending.inserts["finished"].append((row, record))
        self._wake.set()

    def send(
        self, signal: str, items: int, payload: bytes, on_durable: Callable[[int], None], *, ahead: bool = False
    ) -> None:
        """Store a request until it is delivered; ``on_durable`` is called with its row id once it is durable.

        One that is sent ``ahead`` counts for nothing, and is forgotten by a restart, until ``confirm`` is durable.
        """
        self._wake.set()
        if len(payload) > _MAX_PENDING and not ahead:
            self.large += self._large_requests.add(signal, items, payload, on_durable)
            return
        # The lower id, so that it is read first.
        note = self.next_id() if ahead else 0
        row = self.next_id()
        rows = self._pending.inserts["outbox"]
        if ahead:
            rows.append((note, _AHEAD, row, compress(b"")))
            self._ahead.append((note, lambda: on_durable(row)))
        else:
            self._callbacks.append(lambda: on_durable(row))
        # Here, not on the thread: to get the interpreter lock back would take it ten times as long as to compress.
        rows.append((row, signal, items, compress(payload)))
        self._pending_bytes += len(payload)

    def confirm(self) -> None:
        """Let all requests count that were sent ahead: with what else is recorded in this step."""
        if self._ahead:
            self.delete("outbox", [note for note, _ in self._ahead])
            self._callbacks += [tell for _, tell in self._ahead]
            self._ahead = []

    def delete(self, table: str, rows: Iterable[int]) -> None:
        """Delete rows."""
        rows = list(rows)
        if table == "outbox":
            self._large_requests.delete(rows)
        self._pending.deletes[table] += rows
        self._wake.set()

    def admit(self) -> None:
        """Raise UnavailableError while writing fails, RefusedError while the spool or its disk is full."""
        if self.failing:
            raise UnavailableError(NOT_WRITABLE)
        taken = self._used + self.claimed
        if taken >= self._max_bytes:
            raise RefusedError("the spool is full")
        if taken >= self._file.room:
            used, kept = self._used >> 20, self._file.kept_free >> 20
            raise RefusedError(f"the disk, with {used} MiB of spool, is full but for {kept} MiB that delivering takes")

    def _show_size(self) -> None:
        self._size.set(self._used)
        # Where others fill the disk it may have room for less than is in use.
        self._capacity.set(max(self._used, min(self._max_bytes, self._file.room)))

    async def stored(self) -> None:
        """Wait until what was recorded so far is durable, but for large requests.

        Raises UnavailableError when it could not be written.
        """
        if self.failing:
            raise UnavailableError(NOT_WRITABLE)
        waiting = self._waiting if self._pending else self._writing
        if (
            waiting is not None
        ):  # nothing is pending for a repeated request, but its first copy may still be being written
            done = asyncio.get_running_loop().create_future()
            waiting.append(done)
            await done

    async def large_stored(self, recorded: int) -> None:
        """Wait until so many parts of large requests are durable. Raises UnavailableError as ``stored`` does."""
        while self._large_written < recorded:
            if self.failing:
                raise UnavailableError(NOT_WRITABLE)
            done = asyncio.get_running_loop().create_future()
            self._large_waiting.append(done)
            await done

    @property
    def behind(self) -> bool:
        """Whether as much is recorded as one transaction should write, so that what can wait should."""
        return self._pending_bytes >= _MAX_PENDING

    async def room(self) -> None:
        """Wait while it is behind, then as ``give_way`` does. Raises UnavailableError when it cannot be written."""
        while self.behind:
            await self.stored()
        await self.give_way()

    async def give_way(self) -> None:
        """Wait for the transaction in progress, if there is one and anybody waits for the spool: for long work to call.

        A transaction asks for the interpreter lock a dozen times. Beside long work it waits as often for a step of that to end,
        which takes ten times as long as to write.
        """
        writing = self._writing
        if writing is None or not (writing or self._waiting):
            return
        done = asyncio.get_running_loop().create_future()
        writing.append(done)
        try:
            async with asyncio.timeout(_GIVE_WAY):
                await done
        except (UnavailableError, TimeoutError):  # whoever waits for what was to be written is told
            with contextlib.suppress(ValueError):
                writing.remove(done)

    async def payload(self, row: int) -> bytes | None:
        """Returns the request in an outbox row, None if it cannot be read."""
        loop, rows, payload = asyncio.get_running_loop(), self._large_requests.rows_of(row), BytesIO()
        try:
            # One call for each part, so that transactions go in between.
            for at in rows:
                stored = await loop.run_in_executor(self._worker, self._file.payload, at)
                if stored is None or (part := decompress(stored)) is None:
                    return None
                if len(rows) == 1:
                    return part
                payload.write(part)  # to join them all at once would hold the loop
            return payload.getvalue()
        except sqlite3.Error as error:
            _log.error("a request in the spool cannot be read: %s", error)
            return None

    # ---- what was recorded before the start; None stands for what is damaged

    def finished(self) -> Iterator[tuple[int, bytes | None]]:
        """Yield id and tombstone of finished traces, oldest first."""
        return _reading(self._file.finished())

    def inbox(self) -> Iterator[tuple[int, int, bytes | None]]:
        """Yield id, kind and record of open traces and conversations, in the order in which they were stored."""
        return _reading(self._file.inbox())

    def outbox(self) -> Iterator[tuple[int, str, int, int | None]]:
        """Yield id, signal, items and bytes of each request not delivered yet, oldest first."""
        yield from self._large_requests.read(self._confirmed())
        if self._large_requests:
            self._wake.set()

    def _confirmed(self) -> Iterator[tuple[int, str, int, int | None]]:
        """Yield the rows but for those of requests that were sent ahead and not confirmed, which are deleted."""
        unconfirmed = set()
        for row, mark, items, size in _reading(self._file.outbox()):
            if mark == _AHEAD and size is not None:
                unconfirmed.add(items)
                self.delete("outbox", [row, items])
            elif row not in unconfirmed:
                yield row, mark, items, size

    def begin(self, row: int) -> int:
        """Note that a row is being restored. Returns how many starts in a row ended at it."""
        return self._file.attempts.begin(row)

    def set_aside(self, table: str, row: int, content: bytes) -> None:
        """Delete a row that cannot be restored, but for a copy in quarantine."""
        self._file.quarantine.add(table, row, content)
        self.delete(table, [row])

    def restored(self) -> None:
        """Note that no row is being restored any more."""
        self._file.attempts.end()

    # ---- the writer

    async def _write(self) -> None:
        loop = asyncio.get_running_loop()
        while not (self._closing and not self.unwritten):
            # Not `wait_for`: in a task of its own, the event would be heard two steps of the loop later, and who
            # waits for what is written has to wait for these, too.
            watch = loop.call_later(_WATCH, self._wake.set)
            await self._wake.wait()
            watch.cancel()
            self._wake.clear()
            # Taken over without an await in between: whatever is recorded from here on belongs to the next transaction.
            change, callbacks = self._take()
            waiting, self._waiting = self._waiting, []
            self._writing = waiting
            if not await self._apply(change):
                return
            self._writing = None
            if self.unwritten:  # the wake-up may have been consumed by ``_closed``
                self._wake.set()
            for callback in callbacks:
                callback()
            for done in waiting:
                if not done.done():
                    done.set_result(None)

    @property
    def unwritten(self) -> bool:
        """Whether there is something to write or to delete."""
        return bool(self._pending or self._large_requests)

    def _take(self) -> tuple[Change, list[Callable[[], None]]]:
        """Take over what was recorded, for one transaction, and who is to be told once it is written."""
        change, callbacks = self._pending, self._callbacks
        change.received_ns = self.receiving()
        taken, tell = self._large_requests.take(change, _MAX_PENDING - self._pending_bytes)
        callbacks += tell
        if taken:
            callbacks.append(lambda: self._parts_written(taken))
        self._large_requests.take_deleted(change, _MAX_PENDING)
        self._pending, self._pending_bytes, self._callbacks = Change(), 0, []
        return change, callbacks

    def _parts_written(self, count: int) -> None:
        self._large_written += count
        waiting, self._large_waiting = self._large_waiting, []
        for done in waiting:
            if not done.done():
                done.set_result(None)

    async def _apply(self, change: Change) -> bool:
        """Retry until it is written. Returns False if it is given up because the process ends."""
        while True:
            try:
                loop = asyncio.get_running_loop()
                # The same change until it is written: what follows may delete rows that only this one inserts.
                self._used = await loop.run_in_executor(self._worker, self._file.apply, change)
            except sqlite3.Error as error:
                self._fail(error)
                if self._closing:
                    if change:
                        _log.error("stopped before the last changes to the spool could be written; they are lost")
                    return False
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._closed(), _RETRY)
            else:
                self._show_size()
                if self._file.rewritten:
                    self._file.rewritten = False
                    self._failures.inc()
                if self.failing:
                    self.failing = False
                    _log.info("the spool can be written again")
                break
        return True

    async def _closed(self) -> None:
        while not self._closing:
            self._wake.clear()
            await self._wake.wait()

    def _fail(self, error: sqlite3.Error) -> None:
        """Fail everything that waits: senders must not rely on what they sent, and should send it again."""
        self._failures.inc()
        if not self.failing:
            self.failing = True
            _log.error("%s: %s, requests are refused until it can: %s", self._file.path, NOT_WRITABLE, error)
        for waiting in (self._writing or [], self._waiting, self._large_waiting):
            for done in waiting:
                if not done.done():
                    done.set_exception(UnavailableError(NOT_WRITABLE))
            waiting.clear()


def _reading(rows: Iterator[_Row]) -> Iterator[_Row]:
    """Yield the rows. Raises ConfigError where they cannot be read."""
    try:
        yield from rows
    except sqlite3.Error as error:
        raise _unreadable(error) from None


def _unreadable(error: sqlite3.Error) -> ConfigError:
    return ConfigError(f"the spool cannot be read: {error}")
