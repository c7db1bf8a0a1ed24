"""The recorded runs of ``tests/corpus``: unpacked once, with what really happened in each."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ARCHIVE = Path(__file__).parent / "corpus" / "recorded.tar.xz"


def names() -> list[str]:
    """The names of all recorded runs."""
    with tarfile.open(ARCHIVE) as archive:
        return sorted({Path(name).parts[0] for name in archive.getnames() if name.endswith("truth.json")})


def unpack(folder: Path, archive: Path = ARCHIVE) -> None:
    """Write all runs into ``folder``."""
    with tarfile.open(archive) as opened:
        # Not as an argument: Python has it from 3.11.4 on.
        opened.extraction_filter = getattr(tarfile, "data_filter", None)
        opened.extractall(folder)


def truth(run: Path) -> Mapping[str, Any]:
    """What really happened in a run."""
    found: Mapping[str, Any] = json.loads((run / "truth.json").read_text())
    return found


def requests(run: Path) -> Iterator[Path]:
    """The request bodies of a run in the order they were received."""
    yield from sorted(run.glob("request-*"))
