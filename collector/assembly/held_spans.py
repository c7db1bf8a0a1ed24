"""How many spans are held back from export, and how many bytes they may take."""

from __future__ import annotations

from dataclasses import dataclass

# What is evicted is freed only after its evaluation. So it may exceed the budget, by no more than this part of it.
_LEAVING_SHARE = 4


@dataclass(slots=True)
class HeldSpans:
    """One budget, ``traces.max_held_mib``, for the spans of open traces and of finished ones that wait for a judge."""

    max_bytes: int
    count: int = 0
    bytes: int = 0
    leaving: int = 0
    """Those of the bytes that are of evicted traces, and will be free once their verdicts are made."""

    def has_room(self, size: int) -> bool:
        """Whether ``size`` more bytes fit."""
        return self.bytes + size <= self.max_bytes

    def exceeded(self) -> bool:
        """Whether some held spans must be released."""
        return self.bytes - self.leaving > self.max_bytes

    def may_leave(self, size: int) -> bool:
        """Whether so many bytes more may wait for that, beyond the budget."""
        return self.leaving + size <= self.max_bytes // _LEAVING_SHARE
