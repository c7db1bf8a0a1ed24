"""Adds recordings to ``tests/corpus``: ``python -m tests.record.archive FOLDER...``. Equal recordings give equal bytes."""

from __future__ import annotations

import argparse
import io
import lzma
import shutil
import tarfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests import recorded

_MTIME = 1795219200  # 2026-11-21; every file has the same


def add(folders: Sequence[Path], archive: Path = recorded.ARCHIVE) -> None:
    """Add recordings to the archive; those of the same names are replaced."""
    with TemporaryDirectory() as scratch:
        corpus = Path(scratch)
        if archive.exists():
            recorded.unpack(corpus, archive)
        for folder in folders:
            shutil.rmtree(corpus / folder.name, ignore_errors=True)
            shutil.copytree(folder, corpus / folder.name)
        archive.write_bytes(lzma.compress(_tar(corpus), preset=9 | lzma.PRESET_EXTREME))


def _tar(folder: Path) -> bytes:
    """Returns a tar archive of all files below a folder: sorted, without owners and times."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in [folder, *sorted(folder.rglob("*"))]:
            entry = tarfile.TarInfo("." if path == folder else f"./{path.relative_to(folder)}")
            entry.mtime = _MTIME
            if path.is_dir():
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(entry)
            else:
                entry.size, entry.mode = path.stat().st_size, 0o644
                tar.addfile(entry, io.BytesIO(path.read_bytes()))
    return written.getvalue()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.record.archive", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    add(parser.parse_args().folders)
