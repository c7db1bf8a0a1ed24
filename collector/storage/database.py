"""The SQLite database of the spool: how it is opened, and what is no spool of this version."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from collector.errors import ConfigError
from collector.storage.rows import TABLES

FORMAT: Final = 4
APPLICATION_ID: Final = 0x72676874
""""rght": tells our files from other programs' SQLite files."""
PAGE = 16 << 10
"""Bytes; measured against 4 and 64 KiB: the cheapest for rows of one to a hundred kilobytes."""
_WAL_BYTES: Final = 4 << 20  # at which the log is copied to the main file: by one transaction, which others wait for
_NOT_A_DATABASE, _CORRUPT, _FULL = 26, 11, 13  # SQLITE_NOTADB, SQLITE_CORRUPT, SQLITE_FULL


def connect(path: Path, *, fsync: bool) -> sqlite3.Connection:
    """Open the spool, or create it in an empty file.

    Raises ConfigError where it is another program's or another version's, sqlite3.DatabaseError where it is damaged.
    """
    # No timeout: another collector keeps the lock for as long as it runs. The
    # file is opened here and used on the worker thread, by one at a time.
    connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        connection.text_factory = lambda text: text.decode("utf-8", "replace")  # damaged text is no error here
        execute = connection.execute
        # Two collectors on one spool would send everything twice.
        execute("PRAGMA locking_mode = EXCLUSIVE")
        # Before WAL: in that mode the size of pages can no longer be changed.
        execute(f"PRAGMA page_size = {PAGE}")
        execute("PRAGMA journal_mode = WAL")
        # Nothing outside the folder: where the root file system is read-only there is no other to write to.
        execute("PRAGMA temp_store = MEMORY")
        # Some builds write zeros over all that is deleted; FAST does so only in pages that are written anyway.
        execute("PRAGMA secure_delete = FAST")
        # In WAL mode NORMAL syncs at checkpoints only: a commit survives the process, and not a power cut.
        execute(f"PRAGMA synchronous = {'FULL' if fsync else 'NORMAL'}")
        execute(f"PRAGMA wal_autocheckpoint = {_WAL_BYTES // PAGE}")
        if execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
            _create(connection)
        _check_version(path, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _create(connection: sqlite3.Connection) -> None:
    """Create the tables, in the main file: what its log then lacks does not look like a spool that is new."""
    for name in ("application_id", "user_version"):
        # Without tables, and not new: another program's, or damaged. `_check_version` says which.
        if connection.execute(f"PRAGMA {name}").fetchone() != (0,):
            return
    connection.execute("BEGIN IMMEDIATE")
    for statement in (*TABLES, "INSERT INTO commits VALUES (0)"):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _check_version(path: Path, connection: sqlite3.Connection) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    tables = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master")}
    if application != APPLICATION_ID:
        raise ConfigError(f"spool: {path} is an SQLite file of another program; name another folder")
    if version != FORMAT:
        age = "an older" if version < FORMAT else "a newer"
        raise ConfigError(
            f"spool: {path} was written by {age} version (format {version}, this one reads {FORMAT}): let that "
            "version run until its queue is empty, or move the file away and lose what it holds"
        )
    if tables != set(TABLES):
        raise damage_error(
            "its tables, views, indexes and triggers are not those that were created: somebody changed them"
        )


def is_damage(error: sqlite3.Error | UnicodeDecodeError) -> bool:
    """Whether what is in the file is of no use. Where the disk is full, or another process holds it, the file is whole."""
    if isinstance(error, UnicodeDecodeError):  # SQLite quotes what is damaged in its message
        return True
    return _code_of(error) in (_NOT_A_DATABASE, _CORRUPT)


def is_full(error: Exception) -> bool:
    """Whether the disk of the file is full."""
    return _code_of(error) == _FULL


def _code_of(error: Exception) -> int:
    """Returns the primary code; extended ones have it in their lowest byte."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def damage_error(what: str) -> sqlite3.DatabaseError:
    """Returns what SQLite would raise, for damage that only we can see."""
    error = sqlite3.DatabaseError(what)
    error.sqlite_errorcode = _CORRUPT
    return error
