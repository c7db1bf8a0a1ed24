"""Reads traces from files: OTLP protobuf (``.pb``), JSON (``.json``) and JSON lines (``.jsonl``), optionally with ``.gz``.

`exported_json` lists the formats of JSON. Raises InputError for a file that cannot be read or is in none of them, and for
a folder with no such file in or below it.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from collector.component import SIGNALS, Signal
from collector.errors import CollectorError, DecodeError, RightcallError
from collector.otlp import exported_json

_SUFFIXES = (".pb", ".json", ".jsonl")
_MAX_BYTES = 1 << 30  # of a recording, decompressed


class InputError(RightcallError):
    """A file that is not OTLP, or cannot be read. The message names the file."""


class OtherFileError(InputError):
    """A file of JSON that is about something else than traces."""


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


def read_set(paths: Iterable[Path]) -> Iterator[tuple[Path, Signal, bytes]]:
    """Yield the requests of a set of files; one about something else is left out if there are others. Raises InputError."""
    others: list[OtherFileError] = []
    is_any = False
    for path in paths:
        try:
            for signal, request in read_file(path):
                is_any = True
                yield path, signal, request
        except OtherFileError as error:
            others.append(error)
    if others and not is_any:
        raise others[0]


def read_file(path: Path) -> Iterator[tuple[Signal, bytes]]:
    """Yield the requests in a file as protobuf. Raises InputError, which names the file and, for JSON lines, the line."""
    body = _content(path)
    kind = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    try:
        if kind == ".pb":
            yield _signal_of(path), body
        else:
            yield from _exported(path, body)
    except CollectorError as error:
        raise InputError(f"{path}: {error}") from None


def _exported(path: Path, body: bytes) -> Iterator[tuple[Signal, bytes]]:
    """Yield the requests of a file of JSON: one document, or several one after the other, on lines of their own or not."""
    try:
        text = body.decode(json.detect_encoding(body))
    except UnicodeDecodeError as error:
        raise DecodeError(f"not JSON: {error}") from None
    line, first, document = 0, None, None
    try:
        for line, document in exported_json.documents(text):  # noqa: B007 - the error below names the last one
            first = document if first is None else first
            yield from exported_json.requests(document)
    except exported_json.JSONSyntaxError as error:
        raise InputError(f"{path}:{error.line}: {error}") from None
    except CollectorError as error:
        is_other = isinstance(error, exported_json.UnknownFormatError) and document is first
        raise (OtherFileError if is_other else InputError)(f"{path}:{line}: {error}") from None
    if not line:
        raise InputError(f"{path}: empty: not {exported_json.FORMATS}")


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
