"""Every byte of a small spool, damaged in turn: what is read is what was written, or it is said that it is not."""

from __future__ import annotations

import logging
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collector.errors import ConfigError
from collector.storage import database
from collector.storage.compression import compress
from collector.storage.rows import Change
from collector.storage.spool_file import NAME, SpoolFile

MASKS = [1 << bit for bit in range(8)] if os.environ.get("RIGHTCALL_EVERY_BIT") else [0xFF]  # a long run tries each bit
Contents = tuple[list[Any], ...]


@pytest.fixture(scope="module")
def small() -> Iterator[None]:
    """Pages of the least size, so that a spool with several of each kind has few bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "PAGE", 512)
        yield


def opened(folder: Path) -> SpoolFile:
    file = SpoolFile(folder, fsync=False)
    file.check()
    return file


def fill(folder: Path) -> SpoolFile:
    """A spool with some transactions in its main file and some in its log, with rows of every table and free pages."""
    first, second, third = Change(), Change(), Change()
    first.inserts["inbox"] = [(1, 0, b"spans" * 9), (2, 3, b"a run"), (3, 0, b"gone")]
    first.inserts["outbox"] = [
        (4, "traces", 7, compress(random.Random(4).randbytes(500))),
        (5, "logs", 1, compress(b"event")),
        (6, "traces", 1, compress(random.Random(6).randbytes(500))),
    ]
    second.inserts["finished"] = [(7, b"mark"), (8, b"another")]
    third.deletes["inbox"], third.deletes["outbox"] = [3], [6]
    file = opened(folder)
    file.apply(first)
    file.close()
    file = opened(folder)
    list(file.inbox())  # as a process does when it starts: records are deleted that it has read or written
    file.apply(second)
    file.apply(third)
    return file


def contents(file: SpoolFile) -> Contents:
    outbox = list(file.outbox())
    return list(file.inbox()), list(file.finished()), outbox, [file.payload(row[0]) for row in outbox]


@pytest.fixture(scope="module")
def killed(small: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The files that a process leaves when it is killed."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=memory)) if memory.is_dir() else tmp_path_factory.mktemp("spools")
    file = fill(folder / "open")
    shutil.copytree(folder / "open", folder / "killed")
    file.close()
    yield folder / "killed"
    shutil.rmtree(folder)


def reopened(
    spool: Path, caplog: pytest.LogCaptureFixture, name: str = "", at: int = 0, mask: int = 0
) -> tuple[Any, bool]:
    """Returns what is read from a copy in which a byte is changed, None if it is refused, and whether that is said."""
    copy = spool.with_name("copy")
    copy.mkdir()
    for path in spool.iterdir():
        content = bytearray(path.read_bytes())
        if path.name == name:
            content[at] ^= mask
        (copy / path.name).write_bytes(content)
    caplog.clear()
    try:
        file = opened(copy)
        found = contents(file)
        file.close()
        return found, bool(file.damaged or file.missing or caplog.records)
    except ConfigError as error:
        return None, str(copy / NAME) in str(error)
    finally:
        shutil.rmtree(copy)


@pytest.fixture(scope="module")
def closed(killed: Path) -> Path:
    """The files that a process leaves when it is stopped: its log is merged into the main file."""
    folder = killed.with_name("closed")
    shutil.copytree(killed, folder)
    opened(folder).close()
    return folder


def test_a_damaged_header_is_harmless_or_said(closed: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    sound, said = reopened(closed, caplog)
    assert not said
    found = [(reopened(closed, caplog, NAME, at, mask), at) for at in range(100) for mask in MASKS]
    assert [at for (content, said), at in found if content != sound and not said] == []


@pytest.mark.parametrize("name", [NAME, f"{NAME}-wal", f"{NAME}-commits"])
def test_a_damaged_byte_is_harmless_or_said(name: str, killed: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    sound, said = reopened(killed, caplog)
    assert ([len(rows) for rows in sound], said) == ([2, 2, 2, 2], False)
    silent, outcomes = [], Counter[str]()
    for at in range((killed / name).stat().st_size):
        for mask in MASKS:
            found, said = reopened(killed, caplog, name, at, mask)
            outcomes["refused" if found is None else "said" if said else "harmless"] += 1
            if found != sound and not said:
                silent.append((at, mask))
    assert silent == []
    print(name, dict(outcomes))
    assert outcomes["said"] > len(MASKS) * 10
