"""The rows of the spool: its tables, what a transaction does to them, and the checksum that tells damaged ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from zlib import crc32

from collector.storage.compression import size_of

TABLES: Final = (
    "CREATE TABLE inbox (id INTEGER PRIMARY KEY, records BLOB NOT NULL, checksum INTEGER NOT NULL)",
    "CREATE TABLE finished (id INTEGER PRIMARY KEY, records BLOB NOT NULL, checksum INTEGER NOT NULL)",
    "CREATE TABLE deleted (id INTEGER PRIMARY KEY, ids BLOB NOT NULL, checksum INTEGER NOT NULL)",
    """CREATE TABLE outbox (id INTEGER PRIMARY KEY, signal TEXT NOT NULL, items INTEGER NOT NULL,
                            payload BLOB NOT NULL, checksum INTEGER NOT NULL)""",
    "CREATE TABLE commits (number INTEGER NOT NULL)",
)
VALUES: Final = {
    "inbox": "(?, ?, ?)",
    "finished": "(?, ?, ?)",
    "deleted": "(?, ?, ?)",
    "outbox": "(?, ?, ?, ?, ?)",
}
"""Of one row, for INSERT."""
INSERTS: Final = {
    "inbox": "INSERT INTO inbox",
    "finished": "INSERT INTO finished",
    "deleted": "REPLACE INTO deleted",
    "outbox": "INSERT INTO outbox",
}
SELECTS: Final = {
    "inbox": "SELECT id, records, checksum FROM inbox",
    "finished": "SELECT id, records, checksum FROM finished",
    "deleted": "SELECT id, ids, checksum FROM deleted",
    "outbox": "SELECT id, signal, items, payload, checksum FROM outbox",
}
_TYPES: Final[dict[str, list[type]]] = {
    "inbox": [int, bytes],
    "finished": [int, bytes],
    "deleted": [int, bytes],
    "outbox": [int, str, int, bytes],
}
RECORDED: Final = ("inbox", "finished", "outbox")
MAX_ROWS: Final = 200
"""Of one statement. Each statement gives the interpreter lock away and has to get it back from a busy event loop, for which it
waits longer than the statement takes: so not one for each row."""
MAX_BYTES: Final = 1 << 20  # of the rows of one statement

Row = tuple[int, bytes] | tuple[int, int, bytes] | tuple[int, str, int, bytes]
"""Of a table, without its checksum, or a record that shares one with others: the id first, the content last, which is
compressed in the outbox."""


@dataclass(slots=True)
class Change:
    """What one transaction does: records and requests to insert, then ids of those to delete, by table."""

    inserts: dict[str, list[Row]] = field(default_factory=lambda: {t: [] for t in RECORDED})
    deletes: dict[str, list[int]] = field(default_factory=lambda: {t: [] for t in RECORDED})
    received_ns: int = 0
    """Until when requests were received, in wall time; 0 if that is not to be noted."""

    def __bool__(self) -> bool:
        return any(self.inserts.values()) or any(self.deletes.values())


def in_parts(rows: Sequence[Row], most: int, most_bytes: int) -> Iterator[Sequence[Row]]:
    """Yield the rows in parts of at most so many with at most so much content; one that has more is a part by itself."""
    start = size = 0
    for at, row in enumerate(rows):
        size += len(row[-1])
        if at - start == most or (size > most_bytes and at > start):
            yield rows[start:at]
            start, size = at, len(row[-1])
    if start < len(rows):
        yield rows[start:]


def with_checksums(table: str, rows: Iterable[Row]) -> list[Any]:
    """Returns the columns of rows with their checksums, as one INSERT takes them: one row after the other."""
    columns: list[Any] = []
    for row in rows:
        columns += row
        columns.append(checksum(table, row))
    return columns


def checksum(table: str, columns: Sequence[Any]) -> int:
    """Of a row with all its columns, the last of which is bytes."""
    # With the keys: a row that turns up under another id or signal is as wrong as one with other content.
    return crc32(columns[-1], crc32("|".join([table, *map(str, columns[:-1])]).encode()))


def is_sound(table: str, row: Sequence[Any]) -> bool:
    """Whether a row that was read, with its checksum, is one that was written."""
    # Columns of SQLite take values of any type. A checksum shows damage, not who wrote a row: it must be a possible one, too.
    *columns, written = row
    is_possible = [type(value) for value in columns] == _TYPES[table] and not any(
        type(value) is int and value < 0 for value in columns
    )
    if not is_possible or written != checksum(table, columns):
        return False
    return table != "outbox" or size_of(columns[-1]) is not None
