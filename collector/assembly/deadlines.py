"""When each of many open items is due next: outdated entries are dropped as they surface."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Mapping
from math import inf
from typing import Any, Final, Generic, Protocol, TypeVar

_QUEUES: Final = 4
"""Deadlines are mostly a few fixed times from now, and what is always scheduled as far ahead comes in its order."""


class Schedulable(Protocol):
    """An item with a deadline."""

    due: float


K = TypeVar("K")
T = TypeVar("T", bound=Schedulable)


class Deadlines(Generic[K, T]):
    """The deadlines of ``items``, one each. An item that is no longer in ``items`` has none.

    Rescheduling leaves the old entry: it is outdated because the item's ``due`` differs, and is skipped. Entries are in
    queues, each in order of time; what fits at the end of none is in a heap, so keys must have an order.
    """

    def __init__(self, items: Mapping[K, T]) -> None:
        self._items = items
        self._queues: list[deque[tuple[float, Any]]] = [deque() for _ in range(_QUEUES)]
        self._heap: list[tuple[float, Any]] = []

    def schedule(self, key: K, at: float) -> None:
        """Make the item of ``key`` due at ``at``, and at no other time."""
        self._items[key].due = at
        best, latest = None, -inf
        for queue in self._queues:
            # The one that ends the latest, so that those that end early stay for what is due early.
            end = queue[-1][0] if queue else -inf
            if end <= at and (best is None or end > latest):
                best, latest = queue, end
        if best is None:
            heapq.heappush(self._heap, (at, key))
        else:
            best.append((at, key))

    def pop_due(self, now: float) -> Iterator[T]:
        """Yield each item due by ``now``, the earliest first. It is not due again until it is rescheduled."""
        # The queues are looked at anew each time: the caller schedules and drops items between two of them.
        while True:
            first, earliest = self._first()
            if earliest > now or earliest == inf:
                return
            at, key = heapq.heappop(self._heap) if first is None else first.popleft()
            item = self._items.get(key)
            if item is not None and item.due == at:
                # An item may have been scheduled twice for the same time: the second entry is outdated from here on.
                item.due = inf
                yield item

    def next(self) -> float | None:
        """Returns when ``pop_due`` may next yield something, None for never. May be too early, never too late."""
        earliest = self._first()[1]
        return None if earliest == inf else earliest

    def _first(self) -> tuple[deque[tuple[float, Any]] | None, float]:
        """Returns the queue with the earliest entry, None for the heap, and when that is due; infinity for never."""
        first, earliest = None, self._heap[0][0] if self._heap else inf
        for queue in self._queues:
            if queue and queue[0][0] < earliest:
                first, earliest = queue, queue[0][0]
        return first, earliest
