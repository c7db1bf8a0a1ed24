"""The latest of many keys, of which nothing else is kept."""

from __future__ import annotations

from collections.abc import Hashable, Iterable


class RecentKeys:
    """Remembers at least the last ``limit`` keys: a hash each, in two generations."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._young: set[int] = set()
        self._old: set[int] = set()

    def __contains__(self, key: Hashable) -> bool:
        hashed = hash(key)
        return hashed in self._young or hashed in self._old

    def add(self, keys: Iterable[Hashable]) -> bool:
        """Add keys. They are forgotten together. Returns whether this makes it forget those before the latest generation."""
        self._young.update([hash(key) for key in keys])
        # Two sets instead of an order of age: to forget the older half at once costs nothing for each key.
        if len(self._young) <= self._limit:
            return False
        self._old, self._young = self._young, set()
        return True
