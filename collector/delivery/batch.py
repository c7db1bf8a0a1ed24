"""Raw items grouped by envelope until they make a request worth sending."""

from __future__ import annotations

from collections import defaultdict

from collector.component import ExportRequest, Signal
from collector.otlp import lazy
from collector.otlp.structure import Envelope

MAX_ITEMS = 512  # what the SDKs' batch processors send
MAX_BYTES = 1 << 20
MAX_AGE = 0.2  # seconds; the SDKs' batch processors take 1 to 5


class Batch:
    """Items of one signal. ``due`` is when it should be sent though it is not full, None while it is empty."""

    def __init__(self, signal: Signal) -> None:
        self._signal: Signal = signal
        self._clear()

    def __len__(self) -> int:
        return self._count

    def _clear(self) -> None:
        self._groups: defaultdict[Envelope, list[bytes]] = defaultdict(list)
        self._count = self._bytes = 0
        self.due: float | None = None

    def add(self, envelope: Envelope, item: bytes, now: float) -> None:
        """Add one raw item."""
        self._groups[envelope].append(item)
        self._count += 1
        self._bytes += len(item)
        if self.due is None:
            self.due = now + MAX_AGE

    def ready(self, now: float) -> bool:
        """Whether it is full, or old enough to be sent."""
        return self._count >= MAX_ITEMS or self._bytes >= MAX_BYTES or (self.due is not None and now >= self.due)

    def take(self) -> ExportRequest | None:
        """Returns one request with all items, None if there are none. Empties the batch."""
        if not self._count:
            return None
        request = ExportRequest(self._signal, lazy.join(self._groups.items()), self._count)
        self._clear()
        return request
