"""Copies of what the spool held and nothing could be made of, for whoever looks into it; nothing reads them again."""

from __future__ import annotations

import logging
from pathlib import Path

_log = logging.getLogger(__name__)
_MAX_FILES, _MAX_BYTES = 100, 64 << 20


class Quarantine:
    """A folder with at most 100 files and 64 MiB."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._is_full = False

    def add(self, table: str, row: int, content: object) -> None:
        """Copy what is in a bad row while there is room, and log what it was."""
        raw = content if isinstance(content, bytes) else str(content).encode()
        if self._is_full:  # and it was said; the number of rows is logged when all are read
            return
        try:
            where = f"a copy is in {self._copy(f'{table}-{row}', raw)}"
        except OSError as error:
            where = f"no copy could be made: {error.strerror}"
            self._is_full = True
        _log.error("row %d of %s in the spool (%d bytes) is left out; %s", row, table, len(raw), where)

    def _copy(self, name: str, content: bytes) -> Path:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        sizes = [path.stat().st_size for path in self._folder.iterdir()]
        if len(sizes) >= _MAX_FILES or sum(sizes) + len(content) > _MAX_BYTES:
            raise OSError(0, f"{self._folder} is full; of further rows nothing is said")
        path = self._folder / name
        path.touch(0o600)
        path.write_bytes(content)
        return path


def aside(path: Path) -> Path:
    """Returns where a damaged file is to be kept: beside those that went before, of which the last makes room for a fourth."""
    names = [path.with_name(f"{path.name}.damaged{suffix}") for suffix in ("", "-2", "-3")]
    return next((name for name in names if not name.exists()), names[-1])
