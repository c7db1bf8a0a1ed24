"""Files of a spool, with records that are written and deleted."""

from __future__ import annotations

from pathlib import Path

from collector.storage.rows import Change
from collector.storage.spool_file import SpoolFile


def opened(folder: Path) -> SpoolFile:
    """The spool as a process finds it that starts: it reads all of it first."""
    file = SpoolFile(folder, fsync=False)
    file.check()
    list(file.finished())
    list(file.inbox())
    return file


def stored(file: SpoolFile, *sizes: int, first: int = 1) -> list[int]:
    """The ids of records of these sizes."""
    change = Change()
    change.inserts["inbox"] = [(first + at, 0, bytes(size)) for at, size in enumerate(sizes)]
    file.apply(change)
    return [row for row, _, _ in change.inserts["inbox"]]  # type: ignore[misc]


def delete(file: SpoolFile, *records: int) -> None:
    change = Change()
    change.deletes["inbox"] = list(records)
    file.apply(change)


def pass_time(file: SpoolFile) -> None:
    """Write as many transactions as a sparse row is left alone for."""
    for number in range(1_000, 1_100):
        stored(file, 9, first=number)
        delete(file, number)


def count(file: SpoolFile, table: str) -> int:
    (found,) = file._connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(found)
