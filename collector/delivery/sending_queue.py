"""Serialised requests waiting to be sent: bounded, in memory or in the spool."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, Protocol

from collector.component import ExportRequest, Signal
from collector.config.exporters import SendingQueueConfig
from collector.delivery.joining import MAX_SMALL, divide, take_joined
from collector.storage.spool import Spool

_WINDOW = 32 << 20  # bytes of spooled requests kept in memory too, at most, so that a fast backend costs no reads
_MAX_PACE: Final = 0.005  # seconds that small requests wait for others; there may be thousands a second otherwise
HANDOVER: Final = "handover"
"""Marks requests for another instance, which exporters do not get: what is put into their queue is in no other."""


class Outgoing(Protocol):
    """Takes the requests that leave."""

    @property
    def used_bytes(self) -> int:
        """Bytes of memory that they take."""

    @property
    def full(self) -> bool:
        """Whether senders should be asked to slow down."""

    def put(self, request: ExportRequest, *, ahead: bool = False) -> None:
        """Add a request. One that is put ``ahead`` leaves, if there is a spool, once the spool is told to confirm it."""

    def recover(self) -> Iterator[int | None]:
        """Take back what the spool holds. Yields the spans of each request, None if it is damaged."""


class SendingQueue:
    """A queue that reports that it is full instead of dropping.

    What was already acknowledged to a sender is always accepted, so ``put`` never refuses: receivers check ``full`` first.
    With a spool a request can be sent once it is durable, and is deleted from the spool once it is acknowledged.
    """

    def __init__(
        self,
        config: SendingQueueConfig,
        spool: Spool | None = None,
        max_bytes: int | None = None,
        exporter: str = "",
        *,
        is_read_again: bool = False,
        joins: bool = False,
    ) -> None:
        """Takes ``max_bytes`` of memory, by default all that the configuration allows.

        ``exporter`` marks its requests in the spool; those of OTLP exporters have no mark, so that they can change places.
        ``is_read_again``: what they are made of comes again after a crash, from a topic. ``joins``: small requests leave
        joined, at most one every `_MAX_PACE` seconds.
        """
        self.durable = spool is not None or is_read_again
        """Whether what waits here survives the process."""
        self._mark = f"/{exporter}" if exporter else ""
        self.capacity, self._spool = config.queue_size, spool
        self._max_bytes = config.max_size_mib << 20 if max_bytes is None else max_bytes
        if spool is not None:
            self._max_bytes = min(self._max_bytes, _WINDOW)
        self._waiting: deque[ExportRequest] = deque()
        self._sending: set[ExportRequest] = set()
        self._joins = joins
        self._bytes = self._waiting_bytes = 0
        self.spans = 0
        """Spans in requests that were put and not acknowledged or dropped yet, durable or not."""
        self.dropped = 0
        """Requests dropped undelivered."""
        self.put_count = 0
        """Requests that were put."""
        self._next_small = -math.inf  # when a small request may leave, by the monotonic clock
        self._timer: asyncio.TimerHandle | None = None
        self._idle: deque[asyncio.Future[None]] = deque()  # consumers that wait for a request
        self._empty = asyncio.Event()
        self._empty.set()

    def __len__(self) -> int:
        return len(self._waiting) + len(self._sending)

    @property
    def used_bytes(self) -> int:
        """Bytes of memory that its requests take, without those that only the spool has."""
        return self._bytes

    @property
    def full(self) -> bool:
        """Whether senders should be asked to slow down."""
        # With a spool the bytes are on disk, where the limit of the spool holds.
        return len(self) >= self.capacity or (self._spool is None and self._bytes >= self._max_bytes)

    @property
    def capacity_bytes(self) -> int | None:
        """Bytes of memory at which it is full; None with a spool."""
        return self._max_bytes if self._spool is None else None

    def recover(self) -> Iterator[int | None]:
        """Queue what the spool holds from before the restart. Yields the spans of each request, None if it is damaged."""
        return recover(self._spool, lambda _: self) if self._spool is not None else iter(())

    def restore(self, signal: Signal, items: int, row: int, size: int) -> int:
        """Queue a request of the spool. Returns its number of spans."""
        request = ExportRequest(signal, b"", items, in_memory=False, row=row, size=size)
        self.spans += request.spans
        self._enqueue(request)
        return request.spans

    def put(self, request: ExportRequest, *, ahead: bool = False) -> None:
        """Add a request; ``ahead`` as of the spool."""
        request.size = len(request.payload)
        request.number, self.put_count = self.put_count, self.put_count + 1
        self.spans += request.spans
        if self._spool is None:
            self._enqueue(request)
        else:
            self._spool.send(
                request.signal + self._mark, request.items, request.payload, partial(self._stored, request), ahead=ahead
            )

    def _stored(self, request: ExportRequest, row: int) -> None:
        request.row = row
        self._spill_beyond_limit(request)
        self._enqueue(request)

    def _spill_beyond_limit(self, request: ExportRequest) -> None:
        if self._spool is not None and self._bytes + request.size > self._max_bytes:
            request.spill()

    def _enqueue(self, request: ExportRequest) -> None:
        self._waiting.append(request)
        if self._joins:
            self._waiting_bytes += request.size
        if request.in_memory:
            self._bytes += request.size
        self._empty.clear()
        self._wake()

    def _wake(self) -> None:
        """Wake a consumer, now or when the first of the waiting requests may leave."""
        pause = self._pause()
        if pause <= 0.0:
            self._wake_one()
        else:
            self._wake_after(pause)

    def _wake_after(self, pause: float) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(pause, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        self._wake_one()

    def _wake_one(self) -> None:
        # One, and not all: there are several consumers, and each that wakes up in vain costs as much as taking a request.
        while self._idle:
            waiter = self._idle.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _pause(self) -> float:
        """Returns the seconds until the first of the waiting requests should leave, if it is small and others may join it."""
        if not self._joins or self._waiting_bytes >= MAX_SMALL:
            return 0.0
        return self._next_small - time.monotonic()

    def _pause_of_first(self) -> float | None:
        """Returns the seconds until the first of those that wait should leave; None if there is none, or no room for it."""
        return self._pause() if self._waiting and self._has_room_for(self._waiting[0]) else None

    async def get(self) -> ExportRequest:
        """Wait for the next request; call ``ack`` or ``requeue`` for it. It is not ``in_memory`` if the spool lost it.

        One that is not in memory waits for room there, unless no other is being sent.
        """
        while (pause := self._pause_of_first()) is None or pause > 0.0:
            # The clock is read once: were it read again, the pause might be over, and nobody would wake this consumer up.
            if pause is not None:
                self._wake_after(pause)
            # No await between the look and this, so no wake-up is lost.
            await self._wait()
        request = self._take()
        if self._waiting:  # for which this one may have been woken up
            self._wake()
        self._sending.add(request)
        if not request.in_memory and self._spool is not None:
            self._bytes += request.size
            # The room is taken before the read: meanwhile another consumer must not count on it.
            payload = await self._spool.payload(request.row)
            if payload is not None:
                request.payload, request.in_memory = payload, True
            else:
                self._bytes -= request.size
        return request

    async def _wait(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._idle.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():  # woken up for a request that another has to take now
                self._wake_one()
            raise

    def _take(self) -> ExportRequest:
        if not self._joins:
            return self._waiting.popleft()
        request = take_joined(self._waiting)
        self._waiting_bytes -= request.size
        if request.parts or request.size < MAX_SMALL:
            self._next_small = time.monotonic() + _MAX_PACE
        return request

    def _has_room_for(self, request: ExportRequest) -> bool:
        # One at a time may be larger than the room: otherwise it would never be sent.
        return request.in_memory or not self._sending or self._bytes + request.size <= self._max_bytes

    def requeue(self, request: ExportRequest) -> None:
        """Put a request that was not delivered at the end of the queue, so that it holds up no other; its parts, if joined."""
        self._sending.remove(request)
        if request.in_memory:  # else the spool lost it
            self._bytes -= request.size
        for part in divide(request):
            self._spill_beyond_limit(part)
            self._enqueue(part)

    def ack(self, request: ExportRequest) -> None:
        """Remove a request that was delivered or given up."""
        self._sending.remove(request)
        self.spans -= request.spans
        if request.in_memory:
            self._bytes -= request.size
        if self._spool is not None:
            self._spool.delete("outbox", [part.row for part in request.parts or (request,)])
        # The room is free now, for which a request that only the spool has may be waiting.
        if self._waiting:
            self._wake()
        if not len(self):
            self._empty.set()

    async def drained(self) -> None:
        """Wait until the queue is empty."""
        await self._empty.wait()

    def drop_pending(self) -> None:
        """Drop what is not delivered, once nobody sends it any more."""
        self.dropped += len(self)
        self._sending.clear()
        self._waiting.clear()
        self.spans = self._bytes = self._waiting_bytes = 0
        self._empty.set()

    def delivered(self, count: int) -> bool:
        """Whether the first ``count`` requests that were put are delivered or given up."""
        return min((request.number for request in self.pending()), default=count) >= count

    def pending(self) -> list[ExportRequest]:
        """What is not delivered: requests being sent, then waiting ones, oldest first."""
        return [*self._sending, *self._waiting]


def recover(spool: Spool, queue_of: Callable[[str], SendingQueue | None]) -> Iterator[int | None]:
    """Queue what a spool holds from before the restart. Yields the spans of each request, None if it is damaged.

    ``queue_of`` says where requests with a mark such as ``logs`` or ``logs/file`` go; those it knows no queue for stay.
    """
    for row, mark, items, size in spool.outbox():
        if size is None:
            spool.delete("outbox", [row])
            yield None
        elif (queue := queue_of(mark)) is not None:
            signal, _, exporter = mark.partition("/")
            spans = queue.restore(signal, items, row, size)  # type: ignore[arg-type]  # we wrote the signal
            # Copies for other exporters are not counted again.
            yield spans if exporter in ("", HANDOVER) else 0
