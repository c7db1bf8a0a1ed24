"""How many spans are held back from export, and how many bytes they may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# What is evicted is freed only after its evaluation. So it may exceed the budget, by no more than this part of it.
_LEAVING_SHARE = 4


def _none() -> int:
    return 0


@dataclass(slots=True)
class HeldSpans:
    """One budget for the spans of open traces and of finished ones that wait for a judge."""

    share: int
    """Bytes that they may always take."""
    count: int = 0
    bytes: int = 0
    leaving: int = 0
    """How many evicted traces have no verdict yet."""
    leaving_bytes: int = 0
    """Those of the bytes that are of these, and will be free once their verdicts are made."""
    spare: Callable[[], int] = _none
    """Returns how many bytes more they may take now, as long as nobody else needs them."""

    @property
    def max_bytes(self) -> int:
        """Bytes that they may take now."""
        return self.share + self.spare()

    def has_room(self, size: int) -> bool:
        """Whether ``size`` more bytes fit."""
        return self.bytes + size <= self.max_bytes

    def exceeded(self) -> bool:
        """Whether some held spans must be released."""
        return self.staying_bytes > self.max_bytes

    def may_leave(self, size: int) -> bool:
        """Whether so many bytes more may wait for that, beyond the budget."""
        return self.leaving_bytes + size <= self.max_bytes // _LEAVING_SHARE

    def leave(self, size: int) -> None:
        """Count an evicted trace of so many bytes to no limit."""
        self.leaving += 1
        self.leaving_bytes += size

    def stay(self, size: int) -> None:
        """Count it again, or that it has left."""
        self.leaving -= 1
        self.leaving_bytes -= size

    @property
    def staying_bytes(self) -> int:
        """The bytes that count to limits."""
        return self.bytes - self.leaving_bytes
