"""An OTLP/HTTP receiver that writes every request to a file, numbered in order of arrival."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.record.http import Answer
from tests.record.scrub import scrubbed

_SUFFIXES = {"/v1/traces": "", "/v1/logs": "-logs"}
_PROTOBUF = "application/x-protobuf"


class RequestFiles:
    """Writes traces as ``request-NNN.pb`` and logs as ``request-NNN-logs.pb``; metrics are accepted and discarded.

    Whatever identifies the machine is removed: ``replaced`` maps folders to their replacements.
    """

    def __init__(self, folder: Path, replaced: Mapping[str, str]) -> None:
        self._folder = folder
        self._replaced = replaced
        self._count = 0

    def answer(self, path: str, body: bytes) -> Answer:
        """Returns the response to a POST request: an empty export response."""
        if path in _SUFFIXES:
            self._count += 1
            file = self._folder / f"request-{self._count:03}{_SUFFIXES[path]}.pb"
            file.write_bytes(scrubbed(path, body, self._replaced))
        return 200, _PROTOBUF, b""
