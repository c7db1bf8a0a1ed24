"""An OTLP/HTTP receiver that keeps every request as a file, numbered in the order in which they came."""

from __future__ import annotations

from pathlib import Path

from tests.record.http import Answer

_SUFFIXES = {"/v1/traces": "", "/v1/logs": "-logs"}
_PROTOBUF = "application/x-protobuf"


class RequestFiles:
    """Writes traces as ``request-NNN.pb`` and logs as ``request-NNN-logs.pb``; metrics are taken and thrown away."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def answer(self, path: str, body: bytes) -> Answer:
        """The answer to a POST request: an empty export response."""
        if path in _SUFFIXES:
            self._count += 1
            (self._folder / f"request-{self._count:03}{_SUFFIXES[path]}.pb").write_bytes(body)
        return 200, _PROTOBUF, b""
