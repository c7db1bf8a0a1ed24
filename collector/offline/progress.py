"""How far a command is, on a line of a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Self, TextIO

_INTERVAL = 0.2  # seconds between two updates
_BAR = 24  # characters
_ERASE = "\r\x1b[K"


class Progress:
    """Writes to ``stream`` if it is a terminal, and nothing otherwise. Use it as a context, at whose end the line goes."""

    def __init__(self, stream: TextIO | None, now: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream if stream is not None and stream.isatty() else None
        self._now = now
        self._what, self._done, self._total, self._begun, self._shown = "", 0, 1, 0.0, 0.0

    def __enter__(self) -> Self:
        """Nothing is shown until something has begun."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the line."""
        if self._stream is not None and self._what:
            self._stream.write(_ERASE)
            self._stream.flush()

    def begin(self, what: str, total: int) -> None:
        """Begin with something that has so many bytes."""
        self._what, self._done, self._total, self._begun = what, 0, max(total, 1), self._now()
        self._show()

    def add(self, done: int) -> None:
        """Count more bytes as done."""
        self._done += done
        if self._now() - self._shown >= _INTERVAL:
            self._show()

    def _show(self) -> None:
        if self._stream is None:
            return
        self._shown = self._now()
        share = min(1.0, self._done / self._total)
        filled = round(share * _BAR)
        passed = self._shown - self._begun
        left = f", {_duration(passed / share - passed)} left" if share else ""
        self._stream.write(
            f"{_ERASE}{self._what} [{'#' * filled}{'.' * (_BAR - filled)}] {share:4.0%} "
            f"{self._done >> 20:,} of {self._total >> 20:,} MiB{left}"
        )
        self._stream.flush()


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}" if minutes >= 60 else f"{minutes}:{seconds:02}"
