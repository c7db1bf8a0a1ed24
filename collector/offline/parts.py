"""Parts of a recording on disk: all spans of a trace are in one of them, so that each can be scored by itself.

What is written is divided by a hash of the trace id, batch by batch, into one temporary file that has no name: it is gone
when the process ends, however that ends.
"""

from __future__ import annotations

import fcntl
import os
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from collector.component import SIGNALS, Signal
from collector.errors import CollectorError
from collector.otlp.by_trace import divide
from collector.receivers.otlp_file import InputError

PARTS = 64
LEVELS = 5
"""How often a part can be divided again: the hash has 32 bits, and each division takes six of them."""
_BATCH = 16 << 20  # bytes that are collected before they are written
_RECORD = 64 << 10  # bytes of one record, at least
_HEAD = struct.Struct("<BI")  # of a record: which signal, and how many bytes follow

Request = tuple[Path | str, Signal, bytes]
"""Where it is from, for messages; the signal, and OTLP in protobuf."""


class Batch(NamedTuple):
    """Where the bytes of each part begin, and where the last one ends."""

    bounds: tuple[int, ...]


class PartsFile:
    """The temporary file. Processes that were forked after it was made share it. Raises InputError if there is no room."""

    def __init__(self) -> None:
        # Outlives this method: it is closed with the object.
        self._file = tempfile.TemporaryFile(buffering=0, prefix="rightcall-")  # noqa: SIM115

    def close(self) -> None:
        """Give the room on the disk back."""
        self._file.close()

    def write(self, parts: Sequence[Iterable[bytes]]) -> Batch:
        """Write one batch: the records of each part."""
        joined = [b"".join(records) for records in parts]
        try:
            at = self._reserve(sum(map(len, joined)))
            bounds = [at]
            for data in joined:
                self._write(data, bounds[-1])
                bounds.append(bounds[-1] + len(data))
        except OSError as error:
            raise InputError(f"{tempfile.gettempdir()}: no room for parts of the recording: {error.strerror}") from None
        return Batch(tuple(bounds))

    @staticmethod
    def record(data: bytes) -> tuple[bytes, bytes]:
        """Returns what ``read`` yields as traces, in two pieces to be written."""
        return _HEAD.pack(0, len(data)), data

    def read(self, batches: Iterable[Batch], part: int) -> Iterator[tuple[Signal, bytes]]:
        """Yield the requests of one part in the order in which they were written."""
        for batch in batches:
            at, end = batch.bounds[part], batch.bounds[part + 1]
            data = os.pread(self._file.fileno(), end - at, at)
            at = 0
            while at < len(data):
                signal, size = _HEAD.unpack_from(data, at)
                at += _HEAD.size
                yield SIGNALS[signal], data[at : at + size]
                at += size

    def _reserve(self, size: int) -> int:
        """Returns where to write so many bytes, which no other process writes to."""
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            at = os.fstat(self._file.fileno()).st_size
            os.ftruncate(self._file.fileno(), at + size)
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)
        return at

    def _write(self, data: bytes, at: int) -> None:
        view = memoryview(data)
        while view:
            written = os.pwrite(self._file.fileno(), view, at)
            view, at = view[written:], at + written


def size_of(batches: Iterable[Batch], part: int) -> int:
    """Returns how many bytes a part has."""
    return sum(batch.bounds[part + 1] - batch.bounds[part] for batch in batches)


def write_parts(requests: Iterable[Request], file: PartsFile, level: int = 0) -> Iterator[Batch]:
    """Divide requests into parts, with other bits of the hash at each level. Raises InputError."""
    parts = [_Part() for _ in range(PARTS)]
    size = 0
    part_of = _hash(level)
    for place, signal, request in requests:
        if signal == "metrics":
            continue
        try:
            for part, divided in divide(signal, request, part_of):
                parts[part].add(signal, divided)
                size += len(divided)
        except CollectorError as error:
            raise InputError(f"{place}: {error}") from None
        if size >= _BATCH:
            yield file.write([part.records() for part in parts])
            parts, size = [_Part() for _ in range(PARTS)], 0
    if size:
        yield file.write([part.records() for part in parts])


def _hash(level: int) -> Callable[[bytes], int]:
    divisor: int = PARTS**level

    def part_of(trace_id: bytes) -> int:
        return zlib.crc32(trace_id) // divisor % PARTS

    return part_of


class _Part:
    """Records of one part. Requests that follow one another are one record: an OTLP request is a sequence of resources."""

    def __init__(self) -> None:
        self._records: list[bytes] = []
        self._signal: Signal = "traces"
        self._requests: list[bytes] = []
        self._size = 0

    def add(self, signal: Signal, request: bytes) -> None:
        if signal != self._signal or self._size >= _RECORD:
            self._end_record()
        self._signal = signal
        self._requests.append(request)
        self._size += len(request)

    def records(self) -> list[bytes]:
        self._end_record()
        return self._records

    def _end_record(self) -> None:
        if self._requests:
            self._records += (_HEAD.pack(SIGNALS.index(self._signal), self._size), *self._requests)
            self._requests, self._size = [], 0
