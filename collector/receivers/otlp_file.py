"""Reads OTLP from files: protobuf (``.pb``), JSON (``.json``) and JSON lines (``.jsonl``), optionally with ``.gz``.

JSON lines are what the OpenTelemetry Collector's file exporter writes. Raises InputError for a file that cannot be read,
and for a folder with no such file in or below it.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from collector.component import SIGNALS, Signal
from collector.errors import CollectorError, RightcallError
from collector.otlp import json

_SUFFIXES = (".pb", ".json", ".jsonl")
_MAX_BYTES = 1 << 30  # of a recording, decompressed


class InputError(RightcallError):
    """A file that is not OTLP, or cannot be read. The message names the file."""


def trace_sets(path: Path) -> Iterator[list[Path]]:
    """Yield the files at ``path``, one list for each set of traces: a file is a set, and so is each folder with files."""
    if path.is_file():
        yield [path]
        return
    if not path.is_dir():
        raise InputError(f"{path}: no such file or folder")
    folders = [path, *sorted(item for item in path.rglob("*") if item.is_dir())]
    sets = [files for folder in folders if (files := sorted(item for item in folder.iterdir() if _is_otlp(item)))]
    if not sets:
        raise InputError(f"{path}: contains no {', '.join(_SUFFIXES)} file")
    yield from sets


def read_file(path: Path) -> Iterator[tuple[Signal, bytes]]:
    """Yield the requests in a file as protobuf. Raises InputError, which names the file and, for JSON lines, the line."""
    body = _content(path)
    kind = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    try:
        if kind == ".pb":
            yield _signal_of(path), body
        elif kind == ".json":
            yield from json.any_signal(json.load(body))
        else:
            yield from _lines(path, body)
    except CollectorError as error:
        raise InputError(f"{path}: {error}") from None


def _lines(path: Path, body: bytes) -> Iterator[tuple[Signal, bytes]]:
    for number, line in enumerate(body.splitlines(), 1):
        if line.strip():
            try:
                yield from json.any_signal(json.load(line))
            except CollectorError as error:
                raise InputError(f"{path}:{number}: {error}") from None


def _content(path: Path) -> bytes:
    try:
        if path.suffix == ".gz":
            with gzip.open(path) as file:
                body = file.read(_MAX_BYTES + 1)
        else:
            body = path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(body) > _MAX_BYTES:
        raise InputError(f"{path}: larger than {_MAX_BYTES >> 20} MiB")
    return body


def _is_otlp(path: Path) -> bool:
    return path.is_file() and path.name.removesuffix(".gz").endswith(_SUFFIXES)


def _signal_of(path: Path) -> Signal:
    """Returns the signal that the file name contains, traces if none: a protobuf request does not identify its own."""
    return next((signal for signal in SIGNALS if signal in path.name), "traces")
