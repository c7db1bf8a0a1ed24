"""The spool on disk: one SQLite file in WAL mode, three tables, one owner.

``inbox`` holds the records of open traces and conversations, ``finished`` the tombstones of traces that have their verdict,
``outbox`` the requests not delivered yet. Ids are given by the caller and grow, so rows are appended and pages fill up.
Every function here blocks; ``collector.storage.spool`` calls them on one worker thread.

What can be wrong with the file at start, and what then happens:
    in use by another process, not readable or writable    ConfigError; nothing is changed
    written by another version, or not a spool             ConfigError; nothing is changed
    damaged                                                moved aside to ``spool.db.damaged`` and recreated empty
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from collector.errors import ConfigError

FORMAT = 1
NAME = "spool.db"
APPLICATION_ID = 0x72676874  # "rght": tells our files from other programs' SQLite files
_PAGE = 16 << 10  # measured against 4 and 64 KiB: the cheapest for rows of one to a hundred kilobytes
_WAL_PAGES = (64 << 20) // _PAGE  # most rows live for seconds: the longer the log, the fewer ever reach the main file
_TABLES = """
CREATE TABLE inbox (id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, record BLOB NOT NULL);
CREATE TABLE finished (id INTEGER PRIMARY KEY, record BLOB NOT NULL);
CREATE TABLE outbox (id INTEGER PRIMARY KEY, signal TEXT NOT NULL, items INTEGER NOT NULL, payload BLOB NOT NULL);
"""
_INSERTS = {
    "inbox": "INSERT INTO inbox VALUES (?, ?, ?)",
    "finished": "INSERT INTO finished VALUES (?, ?)",
    "outbox": "INSERT INTO outbox VALUES (?, ?, ?, ?)",
}
_DELETES = {
    "inbox": "DELETE FROM inbox WHERE id = ?",
    "finished": "DELETE FROM finished WHERE id = ?",
    "outbox": "DELETE FROM outbox WHERE id = ?",
}
_NOT_A_DATABASE, _CORRUPT = 26, 11  # SQLITE_NOTADB, SQLITE_CORRUPT


@dataclass(slots=True)
class Change:
    """What one transaction does: rows to insert, then ids to delete, by table."""

    inserts: dict[str, list[tuple[int | str | bytes, ...]]] = field(default_factory=lambda: {t: [] for t in _INSERTS})
    deletes: dict[str, list[tuple[int]]] = field(default_factory=lambda: {t: [] for t in _DELETES})

    def __bool__(self) -> bool:
        return any(self.inserts.values()) or any(self.deletes.values())


class SpoolFile:
    """The open file. ``damaged`` is where a damaged one was moved to, None if there was none."""

    def __init__(self, folder: Path, *, fsync: bool = True) -> None:
        """Open or create it in ``folder``. Raises ConfigError."""
        self._path = folder / NAME
        self.damaged: Path | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._path.touch(0o600)  # it holds what users say to agents
        except OSError as error:
            raise ConfigError(
                f"spool: {self._path} cannot be written: {error.strerror}; name another folder with "
                "spool: {path: FOLDER}, or do without it with spool: memory"
            ) from None
        self._connection = self._open(fsync)

    def _open(self, fsync: bool) -> sqlite3.Connection:
        try:
            return self._connect(fsync)
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in (_NOT_A_DATABASE, _CORRUPT):
                raise ConfigError(_reason(self._path, error)) from None
        self.damaged = self._path.with_name(f"{NAME}.damaged")
        for suffix in ("", "-wal"):
            if (part := Path(f"{self._path}{suffix}")).exists():
                part.replace(f"{self.damaged}{suffix}")
        self._path.touch(0o600)
        return self._connect(fsync)

    def _connect(self, fsync: bool) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            execute = connection.execute
            execute("PRAGMA locking_mode = EXCLUSIVE")
            execute(f"PRAGMA page_size = {_PAGE}")
            execute("PRAGMA journal_mode = WAL")
            execute(f"PRAGMA synchronous = {'FULL' if fsync else 'NORMAL'}")
            execute(f"PRAGMA wal_autocheckpoint = {_WAL_PAGES}")
            execute("BEGIN IMMEDIATE")
            self._check_version(connection)
            execute("COMMIT")
            (found,) = execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise _damaged(found)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_version(self, connection: sqlite3.Connection) -> None:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if (application, version, tables) == (0, 0, 0):
            for statement in _TABLES.strip().split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        elif application != APPLICATION_ID:
            raise ConfigError(f"spool: {self._path} is an SQLite file of another program; name another folder")
        elif version != FORMAT:
            age = "an older" if version < FORMAT else "a newer"
            raise ConfigError(
                f"spool: {self._path} was written by {age} version (format {version}, this one reads {FORMAT}): let that "
                "version run until its queue is empty, or move the file away and lose what it holds"
            )

    # ---- at start

    def finished(self) -> Iterator[tuple[int, bytes]]:
        """Yield id and tombstone of finished traces, oldest first."""
        yield from self._connection.execute("SELECT id, record FROM finished ORDER BY id")

    def inbox(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield id, kind and record of open traces and conversations, in the order in which they were stored."""
        yield from self._connection.execute("SELECT id, kind, record FROM inbox ORDER BY id")

    def outbox(self) -> Iterator[tuple[int, str, int, int]]:
        """Yield id, signal, items and bytes of each request not delivered yet, oldest first."""
        yield from self._connection.execute("SELECT id, signal, items, length(payload) FROM outbox ORDER BY id")

    def last_id(self) -> int:
        """Returns the highest id in use, 0 if there is none."""
        return max(
            (self._connection.execute(f"SELECT max(id) FROM {table}").fetchone()[0] or 0)  # noqa: S608 - our own names
            for table in _INSERTS
        )

    # ---- while it runs

    def apply(self, change: Change) -> int:
        """Make a change durable, all of it or nothing. Returns how many bytes are in use. Raises sqlite3.Error."""
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            for table, rows in change.inserts.items():
                if rows:
                    connection.executemany(_INSERTS[table], rows)
            for table, ids in change.deletes.items():
                if ids:
                    connection.executemany(_DELETES[table], ids)
            connection.execute("COMMIT")
        except sqlite3.Error:
            if connection.in_transaction:
                connection.rollback()
            raise
        return self.used()

    def used(self) -> int:
        """Returns the bytes in use; the file itself may be larger, its free pages are reused."""
        (pages,) = self._connection.execute("PRAGMA page_count").fetchone()
        (free,) = self._connection.execute("PRAGMA freelist_count").fetchone()
        return int(pages - free) * _PAGE

    def payload(self, row: int) -> bytes | None:
        """Returns the request of an outbox row, None if it is gone. Raises sqlite3.Error."""
        found = self._connection.execute("SELECT payload FROM outbox WHERE id = ?", (row,)).fetchone()
        return found[0] if found else None

    def close(self) -> None:
        """Checkpoint the write-ahead log and release the lock."""
        self._connection.close()


def _damaged(what: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(what)
    error.sqlite_errorcode = _CORRUPT
    return error


def _reason(path: Path, error: sqlite3.DatabaseError) -> str:
    if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"spool: {path} is in use by another process; every collector needs a folder of its own"
    hint = "" if os.access(path, os.R_OK | os.W_OK) else "; is it readable and writable for this user?"
    return f"spool: {path} cannot be used: {error}{hint}"
