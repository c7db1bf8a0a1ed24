"""Raw items grouped by envelope until they make a request worth sending."""

from __future__ import annotations

from collections import defaultdict, deque

from collector.component import ExportRequest, Signal
from collector.otlp import lazy
from collector.otlp.structure import Envelope

MAX_ITEMS = 2048  # a request costs as much as some 20 spans; the Collector's batch processor sends 8,192
MAX_BYTES = 1 << 20
MAX_REQUEST_ITEMS, MAX_REQUEST_BYTES = 2 * MAX_ITEMS, 2 * MAX_BYTES  # of one request: backends take 4 MiB by default
MAX_AGE = 0.2  # seconds; the SDKs' batch processors take 1 to 5


class Batch:
    """Items of one signal. ``due`` is when it should be sent though it is not full, None while it is empty.

    Where the results of a large trace are more than one request should hold, it makes several.
    """

    def __init__(self, signal: Signal) -> None:
        self._signal: Signal = signal
        self._full: deque[tuple[dict[Envelope, list[bytes]], int]] = deque()
        self._full_count = 0
        self._clear()

    def __len__(self) -> int:
        return self._full_count + self._count

    @property
    def requests(self) -> int:
        """How many requests it makes."""
        return len(self._full) + bool(self._count)

    def _clear(self) -> None:
        self._groups: defaultdict[Envelope, list[bytes]] = defaultdict(list)
        self._envelope: Envelope | None = None
        self._group: list[bytes] = []
        self._count = self._bytes = 0
        self.due: float | None = None

    def add(self, envelope: Envelope, item: bytes, now: float) -> None:
        """Add one raw item."""
        if self._count == MAX_REQUEST_ITEMS or (self._count and self._bytes + len(item) > MAX_REQUEST_BYTES):
            self._full.append((self._groups, self._count))
            self._full_count += self._count
            self._clear()
        # Identity first: the items of a trace share one object, and to look it up takes longer than all else here.
        if envelope is not self._envelope:
            self._envelope, self._group = envelope, self._groups[envelope]
        self._group.append(item)
        self._count += 1
        self._bytes += len(item)
        if self.due is None:
            self.due = now + MAX_AGE

    def ready(self, now: float) -> bool:
        """Whether it is full, or old enough to be sent."""
        return (
            bool(self._full)
            or self._count >= MAX_ITEMS
            or self._bytes >= MAX_BYTES
            or (self.due is not None and now >= self.due)
        )

    def take(self) -> ExportRequest | None:
        """Returns the oldest items as one request, None if there are none. Call it again until there are none."""
        if self._full:
            groups, count = self._full.popleft()
            self._full_count -= count
            return ExportRequest(self._signal, lazy.join(groups.items()), count)
        if not self._count:
            return None
        request = ExportRequest(self._signal, lazy.join(self._groups.items()), self._count)
        self._clear()
        return request
