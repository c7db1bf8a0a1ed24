"""The inbox and the tombstones have several records in a row: SQLite takes as long for a row as for what a trace has in it.

What one transaction brings is joined, up to `_MAX_RECORDS` and `_MAX_BYTES` in a row, and a row goes with the last of its
records. Until then ``deleted`` has, under its id, the ids of those that are gone. A row of which most is gone for a while is
written anew without these, since records that stay would keep several times their size.

A row is   ids | kinds, one byte each, none for tombstones | record ...   and its id is the highest of these.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from collector.storage.packing import DAMAGED, pack, unpack
from collector.storage.rows import Change, Row, in_parts

_ID: Final = 8  # bytes
_MAX_RECORDS: Final = 64
_MAX_BYTES: Final = 32 << 10
_PATIENCE: Final = 100  # transactions: traces that arrive together end at about the same time
_AT_ONCE: Final = 32  # rows that are written anew
_SHARED: Final = ("inbox", "finished")
UNKNOWN: Final = b"?"
"""In place of the ids of deleted records, where they cannot be read: those of a row can then not be read either."""


@dataclass(slots=True, eq=False)
class SharedRow:
    """A row of ``table`` with ``count`` records, of which so many are ``left``."""

    table: str
    id: int
    count: int
    left: int
    deleted: bytes = b""
    """The ids of the others, as they are stored."""

    @property
    def is_sparse(self) -> bool:
        """Whether no more than half of it is left."""
        return 0 < self.left <= self.count // 2


@dataclass(slots=True, eq=False)
class Plan:
    """What one transaction does to the rows of a spool."""

    inserts: dict[str, list[Row]] = field(default_factory=dict)
    deletes: dict[str, list[int]] = field(default_factory=dict)
    new: list[tuple[SharedRow, list[int]]] = field(default_factory=list)
    """Rows, and the ids of their records."""
    touched: dict[SharedRow, list[int]] = field(default_factory=dict)
    """Rows that are there already, and the ids of the records that they lose."""


class SharedRows:
    """Which records are in which row, of both tables."""

    def __init__(self) -> None:
        self._rows: dict[int, SharedRow] = {}  # by id of a record
        self._written = 0  # transactions
        self._sparse: set[SharedRow] = set()
        self._sparse_for_long: list[SharedRow] = []

    def plan(self, change: Change) -> Plan:
        """Returns what a change does to rows. Call ``done`` once that is written."""
        plan = Plan({**change.inserts, "deleted": []}, {**change.deletes, "deleted": []})
        for table in _SHARED:
            gone = set(change.deletes[table])
            stay = [one for one in change.inserts[table] if one[0] not in gone] if gone else change.inserts[table]
            parts = in_parts(stay, _MAX_RECORDS, _MAX_BYTES)
            plan.inserts[table] = [_joined(table, records, plan) for records in parts]
            plan.deletes[table] = self._emptied(gone, plan)
        return plan

    def _emptied(self, gone: Iterable[int], plan: Plan) -> list[int]:
        """Note which rows lose these records. Returns the ids of those that are empty then."""
        touched: dict[SharedRow, list[int]] = {}
        for record in gone:
            row = self._rows.get(record)
            if row is not None:
                touched.setdefault(row, []).append(record)
        plan.touched.update(touched)
        emptied: list[int] = []
        for row, records in touched.items():
            if len(records) == row.left:
                emptied.append(row.id)
                if row.deleted:
                    plan.deletes["deleted"].append(row.id)
            else:
                plan.inserts["deleted"].append((row.id, row.deleted + _write_ids(records)))
        return emptied

    def done(self, plan: Plan) -> None:
        """Note that a plan was carried out."""
        for row, records in plan.new:
            for record in records:
                self._rows[record] = row
        for row, records in plan.touched.items():
            row.left -= len(records)
            row.deleted += _write_ids(records)
            for record in records:
                del self._rows[record]
            if row.is_sparse:
                self._sparse.add(row)
        self._written += 1
        if self._written % _PATIENCE == 0:
            self._sparse_for_long += self._sparse
            self._sparse = set()

    def take_sparse(self) -> list[SharedRow]:
        """Returns some rows to be written anew; call ``condensed`` once they are."""
        taken, self._sparse_for_long = self._sparse_for_long[:_AT_ONCE], self._sparse_for_long[_AT_ONCE:]
        return [row for row in taken if row.is_sparse]

    def condensed(self, rows: Iterable[SharedRow]) -> None:
        """Note that these rows have no record any more that is deleted."""
        for row in rows:
            row.count, row.deleted = row.left, b""

    # ---- what is read back

    def read(self, table: str, row: int, content: bytes, deleted: bytes) -> list[tuple[int, int, bytes]]:
        """Returns id, kind and content of the records of a row that are not ``deleted``; the kind of a tombstone is 0.

        Raises ValueError if it cannot be a row that was written.
        """
        ids, kinds, *records = unpack(content)
        numbers, gone = _read_ids(ids), set(_read_ids(deleted))
        if not records or len(numbers) != len(records) or len(kinds) != (len(records) if table == "inbox" else 0):
            raise ValueError(DAMAGED)
        shared = SharedRow(table, row, len(records), 0, deleted)
        read: list[tuple[int, int, bytes]] = []
        for at, number in enumerate(numbers):
            if number not in gone:
                self._rows[number] = shared
                read.append((number, kinds[at] if kinds else 0, records[at]))
        shared.left = len(read)
        return read

    def damaged(self, table: str, row: int) -> None:
        """Note that a row cannot be read: it is deleted under its own id."""
        self._rows[row] = SharedRow(table, row, 1, 1, UNKNOWN)


def without(content: bytes, deleted: bytes) -> bytes:
    """Returns a row without the records of these ids."""
    ids, kinds, *records = unpack(content)
    numbers, gone = _read_ids(ids), set(_read_ids(deleted))
    left = [at for at, number in enumerate(numbers) if number not in gone]
    return pack([
        _write_ids([numbers[at] for at in left]), bytes([kinds[at] for at in left]) if kinds else b"",
        *[records[at] for at in left],
    ])  # fmt: skip


def _joined(table: str, records: Sequence[Row], plan: Plan) -> Row:
    """Returns the row that these records share."""
    ids: list[int] = []
    kinds = bytearray()
    contents: list[bytes] = []
    for record in records:
        ids.append(record[0])
        if len(record) == 3:
            kinds.append(record[1])
        contents.append(record[-1])
    row = max(ids)
    plan.new.append((SharedRow(table, row, len(ids), len(ids)), ids))
    return row, pack([_write_ids(ids), bytes(kinds), *contents])


def _write_ids(ids: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(ids)}Q", *ids)


def _read_ids(written: bytes) -> tuple[int, ...]:
    if len(written) % _ID:
        raise ValueError(DAMAGED)
    return struct.unpack(f"<{len(written) // _ID}Q", written)
