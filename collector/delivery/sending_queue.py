"""Serialised requests waiting to be sent: bounded, in memory or in the spool."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Final, Protocol

from collector.component import SIGNALS, ExportRequest, Signal
from collector.config.exporters import SendingQueueConfig
from collector.delivery.joining import divide
from collector.delivery.lane import Lane
from collector.storage.spool import Spool

_WINDOW = 32 << 20  # bytes of spooled requests kept in memory too, at most, so that a fast backend costs no reads
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
        signals: Sequence[Signal] = (),
    ) -> None:
        """Takes ``max_bytes`` of memory, by default all that the configuration allows.

        ``exporter`` marks its requests in the spool; those of OTLP exporters have no mark, so that they can change places.
        ``is_read_again``: what they are made of comes again after a crash, from a topic. ``joins``: small requests leave
        joined, a few milliseconds after those before them. Requests of these ``signals``, by default of none, do not wait for
        those of the others: a backend may take the ones and not the others.
        """
        self.durable = spool is not None or is_read_again
        """Whether what waits here survives the process."""
        self._mark = f"/{exporter}" if exporter else ""
        self.capacity, self._spool = config.queue_size, spool
        self._max_bytes = config.max_size_mib << 20 if max_bytes is None else max_bytes
        if spool is not None:
            self._max_bytes = min(self._max_bytes, _WINDOW)
        self.apart: Sequence[Signal] = signals or SIGNALS[:1]
        """A signal for each of those that do not wait for each other: `get` takes them."""
        together = Lane(joins=joins)
        self._lanes: Mapping[Signal, Lane] = {
            signal: Lane(joins=joins) if signal in signals else together for signal in SIGNALS
        }
        self._sending: set[ExportRequest] = set()
        self._bytes = 0
        self.spans = 0
        """Spans in requests that were put and not acknowledged or dropped yet, durable or not."""
        self.log_requests = 0
        """Requests of log records among them."""
        self.dropped = 0
        """Requests dropped undelivered."""
        self.put_count = 0
        """Requests that were put."""
        self._empty = asyncio.Event()
        self._empty.set()

    def __len__(self) -> int:
        return sum([len(self._lanes[signal].waiting) for signal in self.apart]) + len(self._sending)

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
        self.log_requests += signal == "logs"
        self._enqueue(request)
        return request.spans

    def put(self, request: ExportRequest, *, ahead: bool = False) -> None:
        """Add a request; ``ahead`` as of the spool."""
        request.size = len(request.payload)
        request.number, self.put_count = self.put_count, self.put_count + 1
        self.spans += request.spans
        self.log_requests += request.signal == "logs"
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
        if request.in_memory:
            self._bytes += request.size
        self._empty.clear()
        self._lanes[request.signal].add(request)

    def _wake_all(self) -> None:
        for signal in self.apart:
            self._lanes[signal].wake()

    def _pause_of_first(self, lane: Lane) -> float | None:
        """Returns the seconds until the first of those that wait should leave; None if there is none, or no room for it."""
        return lane.pause() if lane.waiting and self._has_room_for(lane.waiting[0]) else None

    async def get(self, signal: Signal = SIGNALS[0]) -> ExportRequest:
        """Wait for the next request; call ``ack`` or ``requeue`` for it. It is not ``in_memory`` if the spool lost it.

        It is one of ``signal`` where that is kept ``apart``. One that is not in memory waits for room there, unless no other
        is being sent.
        """
        lane = self._lanes[signal]
        while (pause := self._pause_of_first(lane)) is None or pause > 0.0:
            # The clock is read once: were it read again, the pause might be over, and nobody would wake this consumer up.
            if pause is not None:
                lane.wake_after(pause)
            # No await between the look and this, so no wake-up is lost.
            await lane.wait()
        request = lane.take()
        lane.wake()  # for what still waits this one may have been woken up
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
        self._wake_all()  # as for `ack`

    def ack(self, request: ExportRequest) -> None:
        """Remove a request that was delivered or given up."""
        parts = request.parts or (request,)
        self._sending.remove(request)
        self.spans -= request.spans
        if request.signal == "logs":
            self.log_requests -= len(parts)
        if request.in_memory:
            self._bytes -= request.size
        if self._spool is not None:
            self._spool.delete("outbox", [part.row for part in parts])
        # The room is free now, for which a request that only the spool has may be waiting.
        self._wake_all()
        if not len(self):
            self._empty.set()

    async def drained(self) -> None:
        """Wait until the queue is empty."""
        await self._empty.wait()

    def drop_pending(self) -> None:
        """Drop what is not delivered, once nobody sends it any more."""
        self.dropped += len(self)
        self.forget_pending()

    def forget_pending(self) -> None:
        """Forget what is not delivered: it goes another way."""
        self._sending.clear()
        for lane in self._lanes.values():
            lane.clear()
        self.spans = self.log_requests = self._bytes = 0
        self._empty.set()

    def delivered(self, count: int) -> bool:
        """Whether the first ``count`` requests that were put are delivered or given up."""
        return min((request.number for request in self.pending()), default=count) >= count

    def pending(self) -> list[ExportRequest]:
        """What is not delivered: requests being sent, then waiting ones, oldest first."""
        return [*self._sending, *chain.from_iterable(self._lanes[signal].waiting for signal in self.apart)]


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
