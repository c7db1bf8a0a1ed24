"""When each of many open items is due next: a heap from which outdated entries are dropped as they surface."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from math import inf
from typing import Any, Generic, Protocol, TypeVar


class Schedulable(Protocol):
    """An item with a deadline."""

    due: float


K = TypeVar("K")
T = TypeVar("T", bound=Schedulable)


class Deadlines(Generic[K, T]):
    """The deadlines of ``items``, one each. An item that is no longer in ``items`` has none.

    Rescheduling leaves the old entry in the heap: it is outdated because the item's ``due`` differs, and is skipped. Keys
    must have an order, which decides between items due at the same instant.
    """

    def __init__(self, items: Mapping[K, T]) -> None:
        self._items = items
        self._heap: list[tuple[float, Any]] = []

    def schedule(self, key: K, at: float) -> None:
        """Make the item of ``key`` due at ``at``, and at no other time."""
        self._items[key].due = at
        heapq.heappush(self._heap, (at, key))

    def pop_due(self, now: float) -> Iterator[T]:
        """Yield each item due by ``now``, the earliest first. It is not due again until it is rescheduled."""
        # The heap is looked at anew each time: the caller schedules and drops items between two of them.
        while self._heap and self._heap[0][0] <= now:
            at, key = heapq.heappop(self._heap)
            item = self._items.get(key)
            if item is not None and item.due == at:
                # An item may have been scheduled twice for the same time: the second entry is outdated from here on.
                item.due = inf
                yield item

    def next(self) -> float | None:
        """Returns when ``pop_due`` may next yield something, None for never. May be too early, never too late."""
        return self._heap[0][0] if self._heap else None
