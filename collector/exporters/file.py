"""File exporter: JSON lines as the OpenTelemetry Collector's file exporter writes them, in files of a bounded size and number.

Configuration: ``exporters.file``. Each request is one line: ``{"resourceSpans": [...]}``, ``{"resourceLogs": [...]}`` or
``{"resourceMetrics": [...]}``. A full file is renamed to ``NAME-TIME.jsonl``. What cannot be written (disk full) is tried
again, as with every exporter. A line that a crash left unfinished is removed at the next start. Where somebody deletes or
moves the file while it is written, the next line begins a new one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
from datetime import UTC, datetime
from pathlib import Path

from collector.clock import SYSTEM_CLOCK
from collector.component import ExportRequest, Rejected
from collector.config.exporters import FileExporterConfig
from collector.config.fields import RetryConfig
from collector.delivery.queued_exporter import DeliveryError, QueuedExporter
from collector.delivery.sending_queue import SendingQueue
from collector.errors import ConfigError, DecodeError
from collector.otlp import json
from collector.telemetry.metrics import Telemetry

_log = logging.getLogger(__name__)
_TAIL = 64 << 10  # bytes read at a time to find the last complete line
_DRAIN_TIMEOUT = 10.0  # seconds


class RotatingFile:
    """A file of lines. Every function blocks."""

    def __init__(self, path: Path, max_bytes: int, max_backups: int) -> None:
        """Open or create it. Raises ConfigError."""
        self._path, self._max_bytes, self._max_backups = path, max_bytes, max_backups
        try:
            self._open()
        except OSError as error:
            raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None

    def _open(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        # A crash may have left half a line, which the next one would continue.
        self._size = _complete(self._file)
        os.ftruncate(self._file, self._size)

    def write(self, line: bytes) -> None:
        """Append a line, all of it or nothing. Raises OSError."""
        if not self._is_in_place():
            # Else lines would go, and count as sent, where nobody finds them.
            self._reopen()
            _log.warning("%s was deleted or moved while it was written: a new file begins", self._path)
        if self._size and self._size + len(line) > self._max_bytes:
            self._rotate()
        written = 0
        try:
            while written < len(line):
                written += os.write(self._file, line[written:])
        except OSError:
            # A disk that fills in the middle of a line: what was written of it would become a part of the next one.
            os.ftruncate(self._file, self._size)
            raise
        self._size += len(line)

    def _is_in_place(self) -> bool:
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(self._file))
        except FileNotFoundError:
            return False

    def _reopen(self) -> None:
        before = self._file
        self._open()
        os.close(before)

    def _rotate(self) -> None:
        with contextlib.suppress(FileNotFoundError):  # renamed before, but then the new file could not be opened
            os.rename(self._path, self._backup())
        self._reopen()
        for oldest in self.backups()[: -self._max_backups or None]:
            oldest.unlink(missing_ok=True)

    def _backup(self) -> Path:
        """Returns a new name; they sort by time."""
        time = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S.%f")
        return self._path.with_name(f"{self._path.stem}-{time}{self._path.suffix}")

    def backups(self) -> list[Path]:
        """Returns the renamed files, oldest first."""
        name = re.compile(
            re.escape(self._path.stem) + r"-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{6}" + re.escape(self._path.suffix)
        )
        return sorted(path for path in self._path.parent.iterdir() if name.fullmatch(path.name))

    def close(self) -> None:
        """Close it."""
        os.close(self._file)


def _complete(file: int) -> int:
    """Returns the size of a file up to the end of its last complete line."""
    end = os.fstat(file).st_size
    while end > 0:
        start = max(0, end - _TAIL)
        found = os.pread(file, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


class FileTransport:
    """Writes requests as lines."""

    def __init__(self, config: FileExporterConfig) -> None:
        """Raises ConfigError."""
        rotation = config.rotation
        try:
            self._file = RotatingFile(config.path, rotation.max_megabytes * 1_000_000, rotation.max_backups)
        except ConfigError as error:
            raise ConfigError(f"exporters.file.path: {error}") from None

    async def send(self, request: ExportRequest) -> Rejected:
        """Write one request. Raises DeliveryError."""
        try:
            await asyncio.to_thread(self._write, request)
        except OSError as error:
            raise DeliveryError(f"cannot be written: {error.strerror}", retryable=True) from None
        except DecodeError as error:
            raise DeliveryError(str(error), retryable=False, kind="not OTLP") from None
        return Rejected()

    def _write(self, request: ExportRequest) -> None:
        if request.payload:  # the line of an empty one would not tell its signal
            self._file.write(json.from_protobuf(request.signal, request.payload))

    async def close(self) -> None:
        """Close the file."""
        self._file.close()


class FileExporter(QueuedExporter):
    """Writes queued requests, one after the other."""

    def __init__(self, config: FileExporterConfig, queue: SendingQueue, telemetry: Telemetry) -> None:
        super().__init__(
            queue, telemetry, SYSTEM_CLOCK, name="file", target=str(config.path), connect=lambda: FileTransport(config),
            retry=RetryConfig(), consumers=1, drain_timeout=_DRAIN_TIMEOUT,
        )  # fmt: skip
