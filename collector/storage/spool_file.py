"""The spool on disk: one SQLite file in WAL mode, one owner.

``inbox`` holds the records of open traces and conversations, ``finished`` the tombstones of traces that have their verdict,
``outbox`` the requests not delivered yet, compressed; `shared_rows` says what ``deleted`` is for. Ids are given by the caller
and grow, so that pages fill up.
Every function here blocks; ``collector.storage.spool`` calls them on one worker thread, or before it has one.

What can be wrong with the file at start, and what then happens:
    in use by another process, not readable or writable    ConfigError; nothing is changed
    its disk has no room for an empty one                  it is not open until ``open`` succeeds
    written by another version, or not a spool             ConfigError; nothing is changed
    its pages are damaged                                  moved aside to ``spool.db.damaged`` and recreated empty
    its latest transactions are missing (a damaged log)    counted in ``missing``; the log is copied to ``spool.db-wal.damaged``
    a row is not what was written                          left out, a copy in the folder ``quarantine``
While it runs:
    deleted or moved away                                  written anew from the file that is still open
    replaced by another file                               sqlite3.Error from every change, until the other file is gone

SQLite detects damage to the structure of its pages, and ends its log at the first damaged frame without an error. So every
row has a checksum, and every transaction a number that ``spool.db-commits`` has too.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from collector.errors import ConfigError
from collector.files import is_full
from collector.storage import database
from collector.storage.compression import size_of
from collector.storage.condensing import condense
from collector.storage.mark import Attempts, Mark
from collector.storage.quarantine import Quarantine, aside
from collector.storage.rows import (
    INSERTS,
    MAX_BYTES,
    MAX_ROWS,
    SELECTS,
    VALUES,
    Change,
    in_parts,
    is_sound,
    with_checksums,
)
from collector.storage.shared_rows import UNKNOWN, SharedRows
from scorers.quoting import shorten

_log = logging.getLogger(__name__)

NAME = "spool.db"
_MAX_ID = 1 << 62  # far beyond any number that was given: a higher one is damaged
_KEPT_FREE = 64 << 20
"""Bytes of the disk that no request may take: to deliver, and to delete what was delivered, is to write."""
_KEPT_SHARE = 0.25  # of a small disk, that much at most
_MEASURED = 0.1
"""Seconds for which the room on the disk is believed, which only others change: to ask is a sixth of a small transaction."""


class SpoolFile:
    """The open file. ``attempts`` says which rows recovery died at.

    ``check`` sets ``damaged``, where a damaged file was moved to, ``damage``, what was found in it, ``missing``, how many
    transactions were lost. ``room`` is to how many bytes in use its disk lets it grow, but for what delivering takes.
    """

    def __init__(self, folder: Path, *, fsync: bool = True) -> None:
        """Open or create it in ``folder``, unless the disk is full: then ``open`` is to be tried again. Raises ConfigError."""
        self.path, self._fsync = folder / NAME, fsync
        self.quarantine = Quarantine(folder / "quarantine")
        self.damaged: Path | None = None
        self.damage = ""
        self.missing = self._commits = self._last = self.room = self.kept_free = 0
        self._next_measure = 0.0
        self._shared = SharedRows()
        self.rewritten = False
        """Whether it had to be written anew; for the reader to reset."""
        self._opened: sqlite3.Connection | None = None
        self._identities: dict[Path | str, tuple[int, int] | None] = {}
        with contextlib.suppress(sqlite3.Error):
            self.open()

    def open(self) -> None:
        """Open or create it. Raises ConfigError, and sqlite3.Error where the disk is full, which may pass."""
        folder = self.path.parent
        with contextlib.ExitStack() as undo:
            try:
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                self.path.touch(0o600)  # it holds what users say to agents
                self._mark = undo.enter_context(contextlib.closing(Mark(folder / f"{NAME}-commits", "<Q")))
                self._received = undo.enter_context(contextlib.closing(Mark(folder / f"{NAME}-received", "<Q")))
                self.attempts = undo.enter_context(contextlib.closing(Attempts(folder / f"{NAME}-recovering")))
            except OSError as error:
                if is_full(error):
                    raise sqlite3.OperationalError(str(error)) from None
                raise ConfigError(
                    f"spool: {self.path} cannot be written: {error.strerror}; name another folder with "
                    "spool: {path: FOLDER}, or do without it with spool: memory"
                ) from None
            self._opened = self._sound_or_new()
            undo.pop_all()
        self._measure()

    @property
    def is_open(self) -> bool:
        """Whether there was room for it on its disk; before that nothing but ``open`` and ``close`` is to be called."""
        return self._opened is not None

    @property
    def _connection(self) -> sqlite3.Connection:
        if self._opened is None:
            raise sqlite3.OperationalError("there was no room for it yet")
        return self._opened

    def _sound_or_new(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if database.is_full(error):
                raise
            if not database.is_damage(error):
                raise ConfigError(_reason(self.path, error)) from None
            return self._begin_anew(str(error))

    def _begin_anew(self, damage: str) -> sqlite3.Connection:
        """Move the damaged file aside and create an empty one."""
        self.damage = shorten(damage, 200)
        self.damaged = aside(self.path)
        for suffix in ("", "-wal"):
            # With its log: SQLite would look for pages of the new file in it.
            if (part := Path(f"{self.path}{suffix}")).exists():
                part.replace(f"{self.damaged}{suffix}")
        self.path.touch(0o600)
        self._mark.write(0)
        return self._connect()

    def _connect(self) -> sqlite3.Connection:
        connection = database.connect(self.path, fsync=self._fsync)
        try:
            found = connection.execute("SELECT number FROM commits").fetchall()
            if len(found) != 1 or type(found[0][0]) is not int or not 0 <= found[0][0] < _MAX_ID:
                raise database.damage_error("the number of the last commit is unknown")
            self._commits = found[0][0]
            self._last = max(
                connection.execute(f"SELECT max(id) FROM {table} WHERE id < {_MAX_ID}").fetchone()[0] or 0  # noqa: S608 - our own names
                for table in VALUES
            )
        except BaseException:
            connection.close()
            raise
        self._identities = {path: _identity(path) for path in (self.path, self._mark.path, f"{self.path}-wal")}
        return connection

    # ---- at start

    def check(self) -> None:
        """Read all of it, and say whether something is damaged or missing. Raises sqlite3.Error if it cannot be read."""
        try:
            # The quick check leaves out indexes, of which there are none; what is in the rows has checksums.
            (found,) = self._connection.execute("PRAGMA quick_check(1)").fetchone()
            damage = None if found == "ok" else str(found)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if not database.is_damage(error):
                raise
            damage = str(error)
        if damage is not None:
            self._connection.close()
            self._opened = self._begin_anew(damage)
        if self.damaged is None:
            self._check_commits()
        self._mark_commits()
        self._measure()

    def _measure(self) -> None:
        """Look at how much room its disk has; what it cannot be asked is as it was."""
        self._next_measure = time.monotonic() + _MEASURED
        with contextlib.suppress(OSError):
            disk = shutil.disk_usage(self.path.parent)
            wal = Path(f"{self.path}-wal")
            held = sum(path.stat().st_size for path in (self.path, wal) if path.exists())
            self.kept_free = min(_KEPT_FREE, int(disk.total * _KEPT_SHARE))
            self.room = disk.free + held - self.kept_free

    def _check_commits(self) -> None:
        marked = self._mark.read()
        if marked is None and self._commits:
            _log.warning("%s is missing or damaged: whether the spool is complete is not known", self._mark.path)
        self.missing = max(0, marked[0] - self._commits) if marked is not None else 0
        wal = Path(f"{self.path}-wal")
        if self.missing and wal.exists():
            shutil.copyfile(wal, aside(wal))

    def finished(self) -> Iterator[tuple[int, bytes | None]]:
        """Yield id and tombstone of finished traces, oldest first; None for a damaged one."""
        for row, _, record in self._records("finished"):
            yield row, record

    def inbox(self) -> Iterator[tuple[int, int, bytes | None]]:
        """Yield id, kind and record of open traces and conversations, in the order in which they were stored.

        The record is None if it is damaged.
        """
        yield from self._records("inbox")

    def outbox(self) -> Iterator[tuple[int, str, int, int | None]]:
        """Yield id, signal, items and bytes of each request not delivered yet, oldest first; bytes are None if damaged."""
        # Payloads are read to be checked, and not kept: together they may be larger than memory.
        for row, sound in self._rows("outbox"):
            # Of a damaged row the columns may be of any type.
            yield (row[0], row[1], row[2], size_of(row[3])) if sound else (row[0], "", 0, None)

    def _records(self, table: str) -> Iterator[tuple[int, int, bytes | None]]:
        """Yield id, kind and content of each record; one for a damaged row, with None and the id of the row."""
        deleted = {row[0]: row[1] if sound else UNKNOWN for row, sound in self._rows("deleted")}
        for row, sound in self._rows(table):
            records = self._records_of(table, row[0], row[1], deleted.get(row[0], b"")) if sound else None
            if records is None:
                self._shared.damaged(table, row[0])
                yield row[0], 0, None
            else:
                yield from records

    def _records_of(self, table: str, row: int, content: bytes, deleted: bytes) -> list[tuple[int, int, bytes]] | None:
        try:
            return self._shared.read(table, row, content, deleted)
        except ValueError:
            self.quarantine.add(table, row, content)
            return None

    def _rows(self, table: str) -> Iterator[tuple[tuple[Any, ...], bool]]:
        """Yield each row and whether it is what was written."""
        for row in self._connection.execute(f"{SELECTS[table]} ORDER BY id"):
            yield row, self._is_sound(table, row)

    def _is_sound(self, table: str, row: tuple[Any, ...]) -> bool:
        if is_sound(table, row):
            return True
        self.quarantine.add(table, row[0], row[-2])
        return False

    @property
    def received_until(self) -> int:
        """Until when requests were received, in ns of wall time, as was noted last; 0 if that is unknown."""
        received = self._received.read() if self.is_open else None
        return received[0] if received is not None else 0

    def last_id(self) -> int:
        """Returns the highest id that was in use when it was opened, 0 if there was none."""
        return self._last

    # ---- while it runs

    def apply(self, change: Change) -> int:
        """Make a change durable, all of it or nothing. Returns how many bytes are in use. Raises sqlite3.Error."""
        # Also for an empty change, so that an idle spool notices soon that its file was deleted.
        self._stay_in_place()
        if change:
            self._commit(change)
        condense(self._connection, self._shared)
        if time.monotonic() >= self._next_measure:
            self._measure()
        if change.received_ns:
            with contextlib.suppress(OSError):
                self._received.write(change.received_ns)
        return self.used()

    def _commit(self, change: Change) -> None:
        connection, plan = self._connection, self._shared.plan(change)
        try:
            connection.execute("BEGIN IMMEDIATE")
            # Inserts first: a row may be stored and deleted within one group of changes, and must then be gone.
            for table, rows in plan.inserts.items():
                for part in in_parts(rows, MAX_ROWS, MAX_BYTES):
                    values = ", ".join([VALUES[table]] * len(part))
                    columns = with_checksums(table, part)
                    connection.execute(f"{INSERTS[table]} VALUES {values}", columns)
            for table, ids in plan.deletes.items():
                for at in range(0, len(ids), MAX_ROWS):
                    some = ids[at : at + MAX_ROWS]
                    connection.execute(f"DELETE FROM {table} WHERE id IN ({', '.join('?' * len(some))})", some)  # noqa: S608
            # In the same transaction, so that the number is lost where the rows are.
            connection.execute("UPDATE commits SET number = ?", (self._commits + 1,))
            connection.execute("COMMIT")
        except sqlite3.Error:
            if connection.in_transaction:
                connection.rollback()
            raise
        self._shared.done(plan)
        self._commits += 1
        self._mark_commits()

    def _mark_commits(self) -> None:
        with contextlib.suppress(OSError):  # the commits stand; a mark that is behind says less than it could
            self._mark.write(self._commits)

    def _stay_in_place(self) -> None:
        """Raises sqlite3.OperationalError if the files that are open are not those in the folder, and cannot be put there."""
        changed = [path for path, identity in self._identities.items() if _identity(path) != identity]
        if not changed:
            return
        if _identity(self.path) not in (None, self._identities[self.path]):
            raise sqlite3.OperationalError(f"{self.path} was replaced by another file; move that away")
        try:
            self._write_anew()
        except OSError as error:
            raise sqlite3.OperationalError(f"{changed[0]} is gone, and cannot be written anew: {error}") from None
        self.rewritten = True
        _log.error("%s was deleted or moved while in use; the spool was written anew, nothing is lost", changed[0])

    def _write_anew(self) -> None:
        """Write what the open file holds to where it should be."""
        folder, copy = self.path.parent, self.path.with_name(f"{NAME}-copy")
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        copy.unlink(missing_ok=True)
        copy.touch(0o600)
        self._connection.execute("VACUUM INTO ?", (str(copy),))
        # Before the rename: after a power cut the name must not stand for a file that was never written out.
        _sync(copy)
        self._close_marks()
        self._mark, self._received = Mark(self._mark.path, "<Q"), Mark(self._received.path, "<Q")
        self.attempts = Attempts(folder / f"{NAME}-recovering")
        self._connection.close()  # deletes a log of its name, so not after the new one is open
        copy.replace(self.path)
        _sync(folder)
        self._opened = self._connect()
        self._mark.write(self._commits)

    def used(self) -> int:
        """Returns the bytes in use; the file itself may be larger, its free pages are reused."""
        if not self.is_open:
            return 0
        (pages,) = self._connection.execute("PRAGMA page_count").fetchone()
        (free,) = self._connection.execute("PRAGMA freelist_count").fetchone()
        return int(pages - free) * database.PAGE

    def payload(self, row: int) -> bytes | None:
        """Returns the request of an outbox row, compressed, None if it is gone or damaged. Raises sqlite3.Error."""
        found = self._connection.execute(f"{SELECTS['outbox']} WHERE id = ?", (row,)).fetchone()
        return found[3] if found and self._is_sound("outbox", found) else None

    def close(self) -> None:
        """Checkpoint the write-ahead log and release the lock."""
        if self._opened is not None:
            self.attempts.end()
            self._opened.close()
            self._close_marks()

    def _close_marks(self) -> None:
        self._mark.close()
        self._received.close()
        self.attempts.close()


def _identity(path: Path | str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _reason(path: Path, error: Exception) -> str:
    if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"spool: {path} is in use by another process; every collector needs a folder of its own"
    hint = "" if os.access(path, os.R_OK | os.W_OK) else "; is it readable and writable for this user?"
    return f"spool: {path} cannot be used: {error}{hint}"
