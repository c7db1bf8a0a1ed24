"""Large resources and scopes in the spool: stored once, however many traces a request has spans of.

Without it, a request of one large resource and a span for each of many traces would be written a thousand times its size.
A part is shared among the records that follow it while it is one of the last `_RECENT`, so recovery keeps no more of them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Final

from collector.otlp.structure import Envelope
from collector.storage.records import RecordKind, reference
from collector.storage.spool import Spool

_LARGE: Final = 1 << 10  # bytes; a smaller part is stored with each record
_RECENT: Final = 8


class SharedParts:
    """The rows of shared parts, with the records that refer to them. A row is deleted with the last of these."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._recent: OrderedDict[int, tuple[bytes, int]] = OrderedDict()
        """Part and its row by the part's identity, oldest first."""
        self._users: dict[int, int] = {}  # how many records refer to a row
        self._rows_of: dict[int, tuple[int, ...]] = {}  # of each record that refers to any
        self._restored: OrderedDict[int, bytes] = OrderedDict()  # the last few that were read back
        self._restored_rows: list[int] = []

    def store(self, kind: RecordKind, envelope: Envelope) -> tuple[int, list[bytes], tuple[int, ...]]:
        """Store what is large of an envelope. Returns kind and parts as they go into a record, and the rows for ``use``."""
        stored, parts, rows = int(kind), list(envelope), []
        for at, part in enumerate(parts):
            if len(part) >= _LARGE:
                row = self._row_of(part)
                rows.append(row)
                stored, parts[at] = reference(stored, at, row)
        return stored, parts, tuple(rows)

    def _row_of(self, part: bytes) -> int:
        # By identity: the slices of a request share the object, and to compare a megabyte for each
        # trace would cost more than it saves. The part is kept here, so no other one can have its id.
        known, row = self._recent.get(id(part), (b"", 0))
        if known is not part or row not in self._users:
            row = self._spool.store(RecordKind.SHARED, part)
            self._users[row] = 0
            self._recent.pop(id(part), None)
            self._recent[id(part)] = part, row
            if len(self._recent) > _RECENT:
                self._recent.popitem(last=False)
        return row

    def use(self, record: int, rows: tuple[int, ...]) -> None:
        """Note that a record refers to these rows."""
        if rows:
            self._rows_of[record] = rows
            for row in rows:
                self._users[row] += 1

    def release(self, records: Iterable[int]) -> list[int]:
        """Note that these records are deleted. Returns the rows that no record refers to any more, to be deleted too."""
        return [row for record in records for row in self._rows_of.pop(record, ()) if self._leave(row)]

    # ---- after a restart

    def restore(self, row: int, part: bytes) -> None:
        """Take over a part that was read back. It stays until ``end_restoring``, whatever becomes of its records."""
        # Used by the recovery itself: the records that refer to it come after it.
        self._users[row] = 1
        self._restored_rows.append(row)
        self._restored[row] = part
        if len(self._restored) > _RECENT:
            self._restored.popitem(last=False)

    @property
    def restored(self) -> Mapping[int, bytes]:
        """The parts to which the next records may refer, by row."""
        return self._restored

    def end_restoring(self) -> list[int]:
        """Note that all records are restored. Returns the rows to which none refers, to be deleted."""
        rows, self._restored_rows, self._restored = self._restored_rows, [], OrderedDict()
        return [row for row in rows if self._leave(row)]

    def _leave(self, row: int) -> bool:
        """Count one user less. Returns whether it was the last."""
        self._users[row] -= 1
        if self._users[row]:
            return False
        del self._users[row]
        return True
