"""OTLP from files: protobuf requests (``.pb``), JSON requests (``.json``) and JSON lines (``.jsonl``), each maybe ``.gz``.

JSON lines are what the OpenTelemetry Collector's file exporter writes. A file that cannot be read raises InputError;
a folder with no such file in or below it too.
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
_MAX_BYTES = 1 << 30


class InputError(RightcallError):
    """A file that is not OTLP, or cannot be read. The message names the file."""


def trace_sets(path: Path) -> Iterator[list[Path]]:
    """The files at ``path``, one list for each set of traces: a file is a set, and so is each folder with files."""
    if path.is_file():
        yield [path]
        return
    if not path.is_dir():
        raise InputError(f"{path}: no such file or folder")
    folders = [path, *sorted(item for item in path.rglob("*") if item.is_dir())]
    sets = [files for folder in folders if (files := sorted(item for item in folder.iterdir() if _is_otlp(item)))]
    if not sets:
        raise InputError(f"{path}: holds no {', '.join(_SUFFIXES)} file")
    yield from sets


def read_file(path: Path) -> Iterator[tuple[Signal, bytes]]:
    """The requests in a file as protobuf. Raises InputError with file and, for JSON lines, line."""
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
    """Protobuf does not say its signal: the file's name does, traces where it says nothing."""
    return next((signal for signal in SIGNALS if signal in path.name), "traces")
