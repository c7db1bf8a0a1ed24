"""How many spans are held back from export, and how many bytes they may take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class HeldSpans:
    """One budget, ``traces.max_held_mib``, for the spans of open traces and of finished ones that wait for a judge."""

    max_bytes: int
    count: int = 0
    bytes: int = 0

    def has_room(self, size: int) -> bool:
        """Whether ``size`` more bytes fit."""
        return self.bytes + size <= self.max_bytes

    def exceeded(self) -> bool:
        """Whether some held spans must be released."""
        return self.bytes > self.max_bytes
