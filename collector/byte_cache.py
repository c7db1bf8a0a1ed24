"""A cache of what senders repeat, bounded in bytes: its keys are theirs, and may be of any number and size."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

_LARGEST = 16
"""An entry may take up to this part of a cache: one that is larger is not worth the others."""
_ENTRY = 500
"""Bytes that an entry takes beside what is counted."""


class ByteCache(dict[K, V]):
    """A dictionary that forgets everything when its entries would take more than ``max_bytes``. Add with ``keep``."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__()
        self.max_bytes, self.bytes = max_bytes, 0

    def keep(self, key: K, value: V, size: int) -> V:
        """Cache an entry of ``size`` bytes, key and value, unless it is too large. Returns ``value``."""
        size += _ENTRY
        if size * _LARGEST <= self.max_bytes:
            # Everything goes at once: no order of use is kept, so a hit costs no more than that of a dict.
            if self.bytes + size > self.max_bytes:
                self.clear()
                self.bytes = 0
            self.bytes += size
            self[key] = value
        return value
