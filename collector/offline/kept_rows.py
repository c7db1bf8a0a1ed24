"""Rows of a report: in memory while they are few, in a temporary file without a name when they are many."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Collection, Iterable, Iterator
from typing import Self

from collector.runs.rows import Row

_IN_MEMORY = 8 << 20  # bytes


class KeptRows(Collection[Row]):
    """Rows that can be read as often as needed, one after the other, in the order in which they were added."""

    def __init__(self) -> None:
        # Outlives this method: it is closed with the object.
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY, prefix="rightcall-")  # noqa: SIM115
        self._length = 0

    def __enter__(self) -> Self:
        """Rows are gone at the end of the context."""
        return self

    def __exit__(self, *_: object) -> None:
        """Give the room on the disk back."""
        self._file.close()

    def extend(self, rows: Iterable[Row]) -> None:
        """Add some rows; they are read back together."""
        added = list(rows)
        self._file.seek(0, 2)
        pickle.dump(added, self._file, pickle.HIGHEST_PROTOCOL)
        self._length += len(added)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Row]:
        at, read = 0, 0
        while read < self._length:
            self._file.seek(at)  # another iteration may have read elsewhere
            rows: list[Row] = pickle.load(self._file)  # noqa: S301 - written above, and nobody else can open the file
            at = self._file.tell()
            read += len(rows)
            yield from rows

    def __contains__(self, row: object) -> bool:
        return any(row == known for known in self)
