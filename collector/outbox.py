"""What waits to be sent: requests already serialised, bounded, in memory."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

from collector.component import Signal
from collector.config import SendingQueue


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One serialised OTLP request; ``items`` is how many spans (records, points unknown: 0) it holds."""

    signal: Signal
    payload: bytes
    items: int


class Outbox:
    """A queue that says when it is full instead of dropping.

    What was already acknowledged to a sender is always taken, so ``put`` never refuses: receivers ask ``full`` first.
    """

    def __init__(self, config: SendingQueue) -> None:
        self.capacity = config.queue_size
        self._max_bytes = config.max_size_mib << 20
        self._waiting: deque[Outgoing] = deque()
        self._sending: dict[int, Outgoing] = {}
        self._bytes = 0
        self._ready = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()

    def __len__(self) -> int:
        return len(self._waiting) + len(self._sending)

    @property
    def full(self) -> bool:
        """Whether senders should be asked to slow down."""
        return len(self) >= self.capacity or self._bytes >= self._max_bytes

    def put(self, outgoing: Outgoing) -> None:
        """Add a request."""
        self._waiting.append(outgoing)
        self._bytes += len(outgoing.payload)
        self._empty.clear()
        self._ready.set()

    async def get(self) -> Outgoing:
        """Wait for the next request; ``done`` must follow."""
        while not self._waiting:
            self._ready.clear()
            await self._ready.wait()
        outgoing = self._waiting.popleft()
        self._sending[id(outgoing)] = outgoing
        return outgoing

    def done(self, outgoing: Outgoing) -> None:
        """The request was delivered or given up: it counts no more."""
        del self._sending[id(outgoing)]
        self._bytes -= len(outgoing.payload)
        if not len(self):
            self._empty.set()

    async def drained(self) -> None:
        """Wait until nothing is left."""
        await self._empty.wait()

    def left(self) -> list[Outgoing]:
        """What was not delivered, oldest first."""
        return [*self._sending.values(), *self._waiting]
