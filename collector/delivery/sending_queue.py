"""What waits to be sent: requests already serialised, bounded, in memory or in the spool."""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial

from collector.component import ExportRequest
from collector.config.model import SendingQueueConfig
from collector.storage.spool import Spool

_WINDOW = 32 << 20  # bytes of spooled requests kept in memory too, so that a quick backend costs no reads


class SendingQueue:
    """A queue that says when it is full instead of dropping.

    What was already acknowledged to a sender is always taken, so ``put`` never refuses: receivers ask ``full`` first.
    With a spool a request may leave once it is durable, and is forgotten there once it is ``done``.
    """

    def __init__(self, config: SendingQueueConfig, spool: Spool | None = None) -> None:
        self.capacity, self._spool = config.queue_size, spool
        self._max_bytes = config.max_size_mib << 20
        self._waiting: deque[ExportRequest] = deque()
        self._sending: set[ExportRequest] = set()
        self._bytes = 0
        self._ready = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()

    def __len__(self) -> int:
        return len(self._waiting) + len(self._sending)

    @property
    def durable(self) -> bool:
        """Whether what waits here survives the process."""
        return self._spool is not None

    @property
    def full(self) -> bool:
        """Whether senders should be asked to slow down."""
        return len(self) >= self.capacity or (self._spool is None and self._bytes >= self._max_bytes)

    def recover(self) -> None:
        """Queue what the spool had when the process before this one ended."""
        for row, signal, items, size in self._spool.outbox() if self._spool is not None else ():
            self._enqueue(ExportRequest(signal, b"", items, here=False, row=row, size=size))  # type: ignore[arg-type]  # we wrote the signal

    def put(self, outgoing: ExportRequest) -> None:
        """Add a request."""
        outgoing.size = len(outgoing.payload)
        if self._spool is None:
            self._enqueue(outgoing)
        else:
            self._spool.send(outgoing.signal, outgoing.items, outgoing.payload, partial(self._stored, outgoing))

    def _stored(self, outgoing: ExportRequest, row: int) -> None:
        outgoing.row = row
        if self._bytes >= _WINDOW:
            outgoing.put_away()
        self._enqueue(outgoing)

    def _enqueue(self, outgoing: ExportRequest) -> None:
        self._waiting.append(outgoing)
        if outgoing.here:
            self._bytes += outgoing.size
        self._empty.clear()
        self._ready.set()

    async def get(self) -> ExportRequest:
        """Wait for the next request; ``done`` or ``again`` must follow. It is not ``here`` where the spool lost it."""
        while not self._waiting:
            self._ready.clear()
            await self._ready.wait()
        outgoing = self._waiting.popleft()
        self._sending.add(outgoing)
        if not outgoing.here and self._spool is not None:
            payload = await self._spool.payload(outgoing.row)
            if payload is not None:
                outgoing.payload, outgoing.here = payload, True
                self._bytes += outgoing.size
        return outgoing

    def again(self, outgoing: ExportRequest) -> None:
        """The request was not delivered: it goes to the end of the queue, so that it holds up no other."""
        self._sending.remove(outgoing)
        self._bytes -= outgoing.size
        if self._spool is not None and self._bytes >= _WINDOW:
            outgoing.put_away()
        self._enqueue(outgoing)

    def done(self, outgoing: ExportRequest) -> None:
        """The request was delivered or given up: it counts no more."""
        self._sending.remove(outgoing)
        if outgoing.here:
            self._bytes -= outgoing.size
        if self._spool is not None:
            self._spool.drop("outbox", [outgoing.row])
        if not len(self):
            self._empty.set()

    async def drained(self) -> None:
        """Wait until nothing is left."""
        await self._empty.wait()

    def left(self) -> list[ExportRequest]:
        """What was not delivered: what is being sent, then what waits, oldest first."""
        return [*self._sending, *self._waiting]
