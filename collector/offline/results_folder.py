"""A folder of results that is complete or can be completed: each file appears when all of it is written.

The manifest tells by what and from what each file was made, and its figures. It is written after the file: one without an entry
is written again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, StringConstraints

from collector.errors import RightcallError
from collector.files import read_regular_file
from collector.offline.gate import Tally

MANIFEST = "rescore.json"
_MAX_MANIFEST = 256 << 20  # bytes: a million files
_NEW = ".new"  # ends the name of a file that is being written

Source = dict[str, tuple[int, int]]
"""Size in bytes and time of the last change in nanoseconds, by file."""
_Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]+\.jsonl$")]  # never of another folder


class _Entry(BaseModel):
    size: int
    source: Source
    figures: Tally


class _Manifest(BaseModel):
    format: Literal[1] = 1
    by: dict[str, str]
    results: dict[_Name, _Entry] = {}


class ResultsError(RightcallError):
    """The folder cannot be used for results. The message names it."""


class ResultsFolder:
    """A folder with results ``by`` something; those by something else are removed. Raises ResultsError in all methods.

    Use it as a context, during which no other process can.
    """

    def __init__(self, path: Path, by: Mapping[str, str]) -> None:
        self._path, self._manifest = path, _Manifest(by=dict(by))

    def __enter__(self) -> Self:
        """Make the folder, or read what it has."""
        with self._named_errors():
            self._path.mkdir(parents=True, exist_ok=True, mode=0o700)  # results hold what users say to agents
            self._lock = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._begin()
            except BaseException:
                os.close(self._lock)
                raise
        return self

    def __exit__(self, *_: object) -> None:
        """Let others use the folder."""
        os.close(self._lock)

    def find(self, name: str, source: Source) -> Tally | None:
        """Returns the figures of the results of that name, if there are any made from exactly these files, and whole."""
        entry = self._manifest.results.get(name)
        try:
            size = (self._path / name).stat().st_size
        except OSError:
            return None
        return entry.figures if entry is not None and (entry.size, entry.source) == (size, source) else None

    def supersede(self, name: str, source: Source) -> None:
        """Remove other results made from nothing but some of these files: they would be there twice."""
        known = self._manifest.results
        others = [other for other, entry in known.items() if other != name and entry.source.keys() <= source.keys()]
        with self._named_errors():
            for other in others:
                (self._path / other).unlink(missing_ok=True)
                del known[other]
            if others:
                self._save()

    def write(self, name: str, source: Source, figures: Tally, lines: Iterable[str]) -> None:
        """Write results, instead of those of that name if there are any."""
        with self._named_errors():
            size = self._replace(name, lines)
            self._manifest.results[name] = _Entry(size=size, source=source, figures=figures)
            self._save()

    def _begin(self) -> None:
        manifest = self._path / MANIFEST
        if manifest.exists():
            known = _read(manifest)
            for unfinished in self._path.glob(f"*{_NEW}"):
                unfinished.unlink()
            if known.by == self._manifest.by:
                self._manifest = known
                return
            for name in known.results:
                (self._path / name).unlink(missing_ok=True)
        elif others := {item.name for item in self._path.iterdir()} - {f"{MANIFEST}{_NEW}"}:
            raise ResultsError(f"{self._path}: holds {min(others)} and no results; name a new or an empty folder")
        self._save()

    def _save(self) -> None:
        # Not by pydantic, which refuses names of files that are no UTF-8.
        self._replace(MANIFEST, [json.dumps(self._manifest.model_dump(), sort_keys=True), "\n"])

    def _replace(self, name: str, lines: Iterable[str]) -> int:
        """Write a file so that it is there as a whole or not at all, even after a power failure. Returns its size."""
        new = self._path / f"{name}{_NEW}"
        with new.open("w", encoding="utf-8") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
            size = os.fstat(file.fileno()).st_size
        new.replace(self._path / name)
        os.fsync(self._lock)
        return size

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except BlockingIOError:
            raise ResultsError(f"{self._path}: another process writes results to it") from None
        except OSError as error:
            raise ResultsError(f"{self._path}: cannot hold results: {error.strerror}") from None


def _read(manifest: Path) -> _Manifest:
    try:
        return _Manifest.model_validate(json.loads(read_regular_file(manifest, _MAX_MANIFEST)))
    except (ValueError, RecursionError):
        raise ResultsError(f"{manifest}: is damaged, or of another version; name a new or an empty folder") from None
