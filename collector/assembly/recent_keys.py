"""The latest of many keys, of which nothing else is kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable


class RecentKeys:
    """Remembers at least the last ``limit`` keys: a hash each, in two generations. ``wall_ns`` is wall time in ns."""

    def __init__(self, limit: int, wall_ns: Callable[[], int]) -> None:
        self._limit = limit
        self._young: set[int] = set()
        self._old: set[int] = set()
        self.wall_ns = wall_ns
        self.known_since_ns = 0
        """What was added before is forgotten; 0 if nothing is."""
        self._young_since_ns = 0

    def restore(self, known_since_ns: int) -> None:
        """Take over what a process before this one had forgotten."""
        self.known_since_ns = self._young_since_ns = known_since_ns

    def __contains__(self, key: Hashable) -> bool:
        hashed = hash(key)
        return hashed in self._young or hashed in self._old

    def add(self, keys: Iterable[Hashable]) -> None:
        """Add keys. They are forgotten together."""
        self._young.update([hash(key) for key in keys])
        # Two sets instead of an order of age: to forget the older half at once costs nothing for each key.
        if len(self._young) > self._limit:
            self._old, self._young = self._young, set()
            self.known_since_ns, self._young_since_ns = self._young_since_ns, self.wall_ns()
