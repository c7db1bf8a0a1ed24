"""Reads files that others may replace while we run: never waits for one, and never reads one without end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def read_regular_file(path: Path, max_bytes: int) -> bytes:
    """Returns a file's content. Raises OSError, also for what is no regular file (a pipe, a device) or is larger."""
    with open(path, "rb", opener=_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise OSError(errno.EFBIG, f"larger than {max_bytes >> 20} MiB", str(path))
    return content


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe would otherwise be waited for until somebody writes to it."""
    return os.open(path, flags | os.O_NONBLOCK)
