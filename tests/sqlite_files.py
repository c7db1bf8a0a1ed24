"""Which files SQLite has open beside its databases."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

_OPEN: Final = Path("/proc/self/fd")
TELLS_TEMPORARY_FILES: Final = pytest.mark.skipif(not _OPEN.exists(), reason="this system has no list of open files")


def temporary_files() -> Sequence[str]:
    """Returns the temporary files that SQLite has open in this process: by their names, deleted as they are."""
    return [name for entry in _OPEN.iterdir() if entry.exists() and "etilqs" in (name := os.readlink(entry))]
