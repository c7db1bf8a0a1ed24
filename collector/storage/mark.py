"""One small record beside the spool, overwritten in place: what has to be known even where the spool itself is damaged.

It is written without a sync, after what it speaks of: it outlives the process, and after a power cut it may be old but never
ahead of what was synced before it.
"""

from __future__ import annotations

import contextlib
import os
import struct
from pathlib import Path
from typing import Final
from zlib import crc32

_AT_ONCE: Final = 16  # rows


class Mark:
    """A few integers in a file, as ``layout`` of ``struct`` says, and their checksum."""

    def __init__(self, path: Path, layout: str) -> None:
        """Open or create it. Raises OSError."""
        self.path, self._layout = path, layout
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)

    def read(self) -> tuple[int, ...] | None:
        """Returns what was written last, None if nothing was or it is damaged."""
        size = struct.calcsize(self._layout)
        found = os.pread(self._file, size + 4, 0)
        if found[size:] != crc32(found[:size]).to_bytes(4):
            return None
        return struct.unpack(self._layout, found[:size])

    def write(self, *values: int) -> None:
        """Replace what is there, in one write."""
        packed = struct.pack(self._layout, *values)
        os.pwrite(self._file, packed + crc32(packed).to_bytes(4), 0)

    def close(self) -> None:
        """Close the file; it may be closed already."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class Attempts:
    """Which rows recovery is at, so that a row at which the process ends again and again is found out.

    To write a row takes as long as to restore half of one. So `_AT_ONCE` of them are noted together, and where a start ended at
    these, the next one notes each of them alone.
    """

    def __init__(self, path: Path) -> None:
        """Open or create its file. Raises OSError."""
        self._mark = Mark(path, "<qBB")  # a damaged row may have any number
        self._ended, self._ended_size, self._count = self._mark.read() or (0, 0, 0)
        self._noted, self._size = self._ended, 0

    def begin(self, row: int) -> int:
        """Note that a row is being restored. Returns how many starts before this one ended at it, one after the other."""
        count = self._count if 0 <= row - self._ended < self._ended_size else 0
        if count or not 0 <= row - self._noted < self._size:
            self._noted, self._size = row, 1 if count else _AT_ONCE
            with contextlib.suppress(OSError):  # a full disk, which is no reason not to restore it
                self._mark.write(row, self._size, min(count + 1, 255))
        return count

    def end(self) -> None:
        """Note that no row is being restored any more."""
        with contextlib.suppress(OSError):  # a full disk, or closed already
            self._mark.write(0, 0, 0)

    def close(self) -> None:
        """Close the file; it may be closed already."""
        self._mark.close()
