"""Walks folders, and reads files up to a size: those that others may replace while we run, and those that are read once."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def read_regular_file(path: Path, max_bytes: int) -> bytes:
    """Returns a file's content without waiting. Raises OSError, also for what is no regular file (a pipe) or is larger."""
    with open(path, "rb", opener=_without_waiting) as file:
        # Asked of the open file: a path may lead elsewhere by the time it is opened.
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return _content(file, max_bytes)


def read_file(path: Path, max_bytes: int) -> bytes:
    """Returns what a file or a pipe holds, once it is there. Raises OSError, also where it is larger."""
    with open(path, "rb") as file:
        return _content(file, max_bytes)


def walk(top: Path, *, hidden: bool) -> Iterator[list[Path]]:
    """Yield what is in ``top`` and in each folder below it, in the order of their paths. Raises OSError for an unreadable one.

    Symbolic links to folders are followed: those of a mounted ConfigMap or projected volume are links. Each folder is read
    once, since links may form a cycle. ``hidden`` says whether names that begin with a dot are included.
    """
    seen, waiting = set[tuple[int, int]](), [top]
    while waiting:
        folder = waiting.pop()
        at = folder.stat()
        if (identity := (at.st_dev, at.st_ino)) in seen:
            continue
        seen.add(identity)
        items = sorted(item for item in folder.iterdir() if hidden or not item.name.startswith("."))
        yield items
        waiting += [item for item in reversed(items) if item.is_dir()]


def is_full(error: OSError) -> bool:
    """Whether it was raised because a disk is full, or what the user may take of it is taken."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def _content(file: BinaryIO, max_bytes: int) -> bytes:
    # Not by the size it says it has: a file may grow while it is read, and a pipe has none.
    content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise OSError(errno.EFBIG, f"larger than {max_bytes >> 20} MiB", file.name)
    return content


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe would otherwise be waited for until somebody writes to it."""
    return os.open(path, flags | os.O_NONBLOCK)
