"""Many rows of the spool in one row of its file: a block, which costs about as much to write and to delete as one row.

The rows of a transaction that belong to one table make a block. Which of them were deleted is noted beside it, until all are
and it goes. One of which half was deleted for a while is written anew without these, so that a trace that is open for hours
does not keep the others that came with it. Each row keeps a checksum of its own, so that damage costs what it hit.
"""

from __future__ import annotations

import sqlite3
from array import array
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from struct import Struct
from typing import Final
from zlib import crc32

BlockRow = tuple[int, int, bytes]
"""Id, kind and content."""
Bad = Callable[[str, int, object], None]
"""Told of the table, the id and the content of what is not what was written."""

_MAX_ROWS: Final = 200
_MAX_BYTES: Final = 256 << 10
"""Of one block, unless a single row is larger: what is to be read and written for the rows of it that are left."""
_SPARSE_FOR: Final = 100
"""Transactions after the first deletion in a block before it is written anew: most are gone by then."""
_COUNT: Final = Struct("<I")

TABLES: Final = (
    "CREATE TABLE inbox (id INTEGER PRIMARY KEY, last INTEGER NOT NULL, block BLOB NOT NULL, checksum INTEGER NOT NULL)",
    "CREATE TABLE finished (id INTEGER PRIMARY KEY, last INTEGER NOT NULL, block BLOB NOT NULL, checksum INTEGER NOT NULL)",
    "CREATE TABLE gone (id INTEGER PRIMARY KEY, ids BLOB NOT NULL, checksum INTEGER NOT NULL)",
)


class _Block:
    __slots__ = ("gone", "ids", "is_sparse")

    def __init__(self, ids: array[int], gone: frozenset[int] = frozenset()) -> None:
        self.ids, self.gone, self.is_sparse = ids, gone, False


class BlockTable:
    """The rows of one table, whose ids grow. ``apply`` is called in a transaction, and ``commit`` once that is committed."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._blocks: dict[int, _Block] = {}  # by the id of the first row
        self._firsts: list[int] = []  # ascending
        self._sparse: deque[tuple[int, int]] = deque()  # when to look at a block again, in transactions
        self._transactions = 0
        self._written: dict[int, _Block] = {}  # by this transaction
        self._deleted: list[int] = []

    # ---- in a transaction

    def apply(self, connection: sqlite3.Connection, rows: Sequence[BlockRow], ids: Sequence[int]) -> None:
        """Insert rows, then delete those with these ids. Raises sqlite3.Error."""
        self._written, self._deleted = {}, []
        deleted = set(ids)
        for part in _in_parts([row for row in rows if row[0] not in deleted] if deleted else rows):
            self._write(connection, part)
        if deleted:
            self._delete(connection, ids)
        self._write_sparse_anew(connection)

    def _write(self, connection: sqlite3.Connection, rows: Sequence[BlockRow]) -> None:
        head, block = _packed(rows)
        first, last = rows[0][0], rows[-1][0]
        checksum = _checksum(self._name, first, last, head)
        connection.execute(f"INSERT INTO {self._name} VALUES (?, ?, ?, ?)", (first, last, block, checksum))  # noqa: S608
        self._written[first] = _Block(array("Q", [row[0] for row in rows]))

    def _delete(self, connection: sqlite3.Connection, ids: Iterable[int]) -> None:
        gone: dict[int, list[int]] = {}
        for row in ids:
            first = self._block_of(row)
            if first is not None:
                gone.setdefault(first, []).append(row)
        notes, unneeded = list[int | bytes](), list[int]()
        for first, more in gone.items():
            block = self._blocks[first]
            now = block.gone.union(more)
            if len(now) == len(block.ids):
                self._deleted.append(first)
                if block.gone:
                    unneeded.append(first)
            else:
                note = array("Q", sorted(now)).tobytes()
                notes += [first, note, _checksum("gone", first, first, note)]
                self._written[first] = _Block(block.ids, now)
        delete(connection, self._name, self._deleted)
        delete(connection, "gone", unneeded)
        if notes:
            values = ", ".join(["(?, ?, ?)"] * (len(notes) // 3))
            connection.execute(f"REPLACE INTO gone VALUES {values}", notes)  # noqa: S608 - our own names

    def _write_sparse_anew(self, connection: sqlite3.Connection) -> None:
        """At most one block, so that no transaction takes much longer for it."""
        if not self._sparse or self._sparse[0][0] > self._transactions:
            return
        first = self._sparse[0][1]
        block = self._blocks.get(first)
        if block is None or first in self._written or first in self._deleted or 2 * len(block.gone) < len(block.ids):
            return
        found = connection.execute(f"SELECT * FROM {self._name} WHERE id = ?", (first,)).fetchone()  # noqa: S608
        if not _has_sound_head(self._name, *found):
            return
        rows = _unpacked(found[2])
        if any(crc32(content) != checksum for _, _, content, checksum in rows):
            return  # and is found damaged when it is read back
        delete(connection, self._name, [first])
        delete(connection, "gone", [first])
        self._deleted.append(first)
        self._write(connection, [row[:3] for row in rows if row[0] not in block.gone])

    def _block_of(self, row: int) -> int | None:
        """Returns the first id of the block that has a row; None if none has."""
        at = bisect_right(self._firsts, row) - 1
        if at < 0:
            return None
        first = self._firsts[at]
        block = self._blocks[first]
        at = bisect_left(block.ids, row)
        return first if at < len(block.ids) and block.ids[at] == row and row not in block.gone else None

    def commit(self) -> None:
        """Note that the last transaction is committed."""
        self._transactions += 1
        if self._sparse and self._sparse[0][0] < self._transactions:
            _, first = self._sparse.popleft()
            if first in self._blocks:
                self._blocks[first].is_sparse = False
        for first in self._deleted:
            del self._blocks[first]
            del self._firsts[bisect_left(self._firsts, first)]
        for first, block in self._written.items():
            self._keep(first, block)
        self._written, self._deleted = {}, []

    def _keep(self, first: int, block: _Block) -> None:
        before = self._blocks.get(first)
        if before is None:
            insort(self._firsts, first)
        self._blocks[first] = block
        block.is_sparse = before is not None and before.is_sparse
        if block.gone and not block.is_sparse:
            block.is_sparse = True
            self._sparse.append((self._transactions + _SPARSE_FOR, first))

    # ---- at start

    def last(self, connection: sqlite3.Connection, below: int) -> int:
        """Returns the highest id under ``below``, 0 if there is none."""
        found = connection.execute(
            f"SELECT max(id) FROM {self._name} WHERE id < ? UNION ALL "  # noqa: S608 - our own name
            f"SELECT max(last) FROM {self._name} WHERE last < ? AND typeof(last) = 'integer'",  # damaged, it may be anything
            (below, below),
        ).fetchall()
        return max(last or 0 for (last,) in found)

    def rows(self, connection: sqlite3.Connection, bad: Bad) -> Iterator[tuple[int, int, bytes | None]]:
        """Yield id, kind and content of each row, None for a damaged one, in the order of the ids.

        Only what was read or written by this object can be deleted.
        """
        gone = dict(_notes(connection, bad))
        for first, last, block, checksum in connection.execute(f"SELECT * FROM {self._name} ORDER BY id"):  # noqa: S608
            if not _has_sound_head(self._name, first, last, block, checksum):
                bad(self._name, first, block)
                self._keep(first, _Block(array("Q", [first])))
                yield first, 0, None
                continue
            found = _unpacked(block)
            self._keep(first, _Block(array("Q", [row[0] for row in found]), gone.get(first, frozenset())))
            for row, kind, content, its_checksum in found:
                if row in self._blocks[first].gone:
                    continue
                if crc32(content) == its_checksum:
                    yield row, kind, content
                else:
                    bad(self._name, row, content)
                    yield row, kind, None


def _notes(connection: sqlite3.Connection, bad: Bad) -> Iterator[tuple[int, frozenset[int]]]:
    for first, ids, checksum in connection.execute("SELECT * FROM gone"):
        if isinstance(ids, bytes) and checksum == _checksum("gone", first, first, ids):
            yield first, frozenset(array("Q", ids))
        else:
            # What was deleted from the block comes back: a verdict given twice is better than a span lost.
            bad("gone", first, ids)


def delete(connection: sqlite3.Connection, table: str, ids: Sequence[int]) -> None:
    """Delete rows of the file. Raises sqlite3.Error."""
    for at in range(0, len(ids), _MAX_ROWS):
        some = ids[at : at + _MAX_ROWS]
        connection.execute(f"DELETE FROM {table} WHERE id IN ({', '.join('?' * len(some))})", some)  # noqa: S608


# ---- a block: number of rows | ids | kinds | sizes | checksums | contents


@lru_cache(maxsize=_MAX_ROWS)
def _head(count: int) -> Struct:
    return Struct(f"<I{count}Q{count}B{2 * count}I")


def _packed(rows: Sequence[BlockRow]) -> tuple[bytes, bytes]:
    """Returns the head of a block, and all of it."""
    ids, kinds, contents = zip(*rows, strict=True)
    sizes, checksums = [len(content) for content in contents], [crc32(content) for content in contents]
    head = _head(len(rows)).pack(len(rows), *ids, *kinds, *sizes, *checksums)
    return head, b"".join((head, *contents))


def _has_sound_head(table: str, first: int, last: object, block: object, checksum: object) -> bool:
    # What is damaged may be of any type.
    if not isinstance(block, bytes) or len(block) < _COUNT.size:
        return False
    (count,) = _COUNT.unpack_from(block)
    size = _COUNT.size + 17 * count
    return size <= len(block) and checksum == _checksum(table, first, last, block[:size])


def _unpacked(block: bytes) -> list[tuple[int, int, bytes, int]]:
    """Returns id, kind, content and checksum of the rows of a block with a sound head."""
    (count,) = _COUNT.unpack_from(block)
    head = _head(count)
    fields, at, rows = head.unpack_from(block)[1:], head.size, []
    for number in range(count):
        size = fields[2 * count + number]
        content = block[at : at + size]
        rows.append((fields[number], fields[count + number], content, fields[3 * count + number]))
        at += size
    return rows


def _checksum(table: str, first: int, last: object, content: bytes) -> int:
    # With the keys: a row that turns up under another id or in another table is as wrong as one with other content.
    return crc32(content, crc32(f"{table}|{first}|{last}".encode()))


def _in_parts(rows: Sequence[BlockRow]) -> Iterator[Sequence[BlockRow]]:
    """Yield the rows of one block each."""
    start = size = 0
    for at, row in enumerate(rows):
        size += len(row[2])
        if at - start == _MAX_ROWS or (size > _MAX_BYTES and at > start):
            yield rows[start:at]
            start, size = at, len(row[2])
    if start < len(rows):
        yield rows[start:]
