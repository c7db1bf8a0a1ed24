"""Admission control between receivers and pipeline: refuses requests under overload, acknowledges them once durable."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from math import inf

from collector.component import Rejected, Signal
from collector.delivery.sending_queue import Outgoing
from collector.errors import CollectorError, DecodeError, RefusedError, UnavailableError
from collector.in_flight import SMALL, InFlight, Reservation
from collector.otlp.by_trace import trace_ids
from collector.otlp.structure import Limits, Structure
from collector.pipeline import Pipeline
from collector.service.memory_limiter import MemoryLimiter
from collector.service.turns import Turns
from collector.storage.offsets import Origin
from collector.storage.spool import Spool

_log = logging.getLogger(__name__)
_WARN = 60.0  # seconds between two lines that tell of refused requests
_MAX_RESOURCES = 10_000  # resources of a request
_MAX_SCOPES = 10_000  # scopes of a request
_MAX_ITEMS = 100_000  # spans, log records or metrics of a request; batches of the OpenTelemetry Collector have 8,192
_MAX_DESCRIPTION = 1 << 20  # bytes that a large request may say about a resource and scope
_MAX_REPEATED = 16 << 20  # bytes of the resources and scopes of a request, counted once for every 600 items
_PART_WHILE_SHORT = 8  # one of so many parts of the room is for requests that are read only to be refused
_MAX_WHILE_SHORT = 10_000  # traces of refused requests, about 6 MiB, beyond which no more are read
LIMITS = Limits(_MAX_RESOURCES, _MAX_SCOPES, _MAX_ITEMS, _MAX_DESCRIPTION, _MAX_REPEATED)


class Admission:
    """The receivers' ``Intake``. A request beyond a limit is refused before anything of it is taken, never in the middle."""

    def __init__(
        self,
        pipeline: Pipeline,
        queue: Outgoing | None,
        spool: Spool | None,
        memory: MemoryLimiter,
        in_flight: InFlight,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pipeline, self._queue, self._spool, self._memory = pipeline, queue, spool, memory
        self._in_flight = in_flight
        self._turns = Turns(spool.room if spool is not None else None)
        self.recovering = False
        """While the spool is read back nothing is taken: a trace would be judged by half of its spans."""
        self._now, self._next_warning = now, -inf

    def reservation(self) -> Reservation:
        """Room for one request. Raises CollectorError where there is none, so that it is not read at all.

        While memory is short there is little room: for the ids of the traces of which spans are refused.
        """
        if not self._memory.short():
            return self._in_flight.reservation()
        if self._memory.exceeded() or len(self._pipeline.refused) > _MAX_WHILE_SHORT:
            self._memory.admit()
        return self._in_flight.reservation(_PART_WHILE_SHORT)

    def _admit(self) -> None:
        if self.recovering:
            raise UnavailableError("the collector starts and reads its spool, retry later")
        self._memory.admit()
        try:
            if self._queue is not None and self._queue.full:
                raise RefusedError("the sending queue is full")
            if self._spool is not None:
                self._spool.admit()
        except RefusedError as error:
            # A full queue has room for a request whenever one was delivered, and is full again at once.
            if (now := self._now()) >= self._next_warning:
                self._next_warning = now + _WARN
                _log.warning("%s: requests are refused until the backend has taken some of it", error)
            raise

    async def take(self, signal: Signal, request: bytes, transport: str) -> Rejected:
        """Take one request; returns once it survives a crash, where there is a spool. Raises CollectorError."""
        try:
            # Now: since the reservation the body has taken its time, and the limits may be reached by now.
            self._admit()
        except (RefusedError, UnavailableError) as error:
            await self._note_refused(signal, request, error)
            raise
        spool = self._spool
        if spool is None:
            return await self._receive(signal, request, transport)
        spool.claimed += len(request)
        try:
            large = spool.large
            rejected = await self._receive(signal, request, transport)
            # Before it waits. Some may be of other requests, but not where this one was taken in one turn, as small ones are.
            recorded = spool.large
            await spool.stored()
            if recorded != large:
                await spool.large_stored(recorded)
            return rejected
        finally:
            spool.claimed -= len(request)

    async def _receive(self, signal: Signal, request: bytes, transport: str) -> Rejected:
        try:
            parts = await _structure(request)
            rejected = await self._turns.take(self._pipeline.receive_in_steps(signal, parts, transport), parts.cost)
        except (RefusedError, UnavailableError) as error:
            await self._note_refused(signal, request, error)
            raise
        if not rejected:
            self._pipeline.refused.accepted(request)
        return rejected

    async def _note_refused(self, signal: Signal, request: bytes, error: RefusedError | UnavailableError) -> None:
        """Note of which traces spans or log records are refused, to be sent again."""
        if signal != "metrics":
            with suppress(DecodeError):  # then there are none
                self._pipeline.refused.add(request, await asyncio.to_thread(trace_ids, signal, request))
        error.was_read = True

    async def take_message(self, request: bytes, origin: Origin) -> Rejected:
        """Take one message of a topic. Raises CollectorError."""
        self._admit()
        # Not waited for: the topic has the message until its offset is committed.
        parts = await _structure(request)
        return await self._turns.take(self._pipeline.receive_in_steps("traces", parts, "kafka", origin), parts.cost)

    def refuse(self, transport: str, error: CollectorError) -> None:
        """Count a refused request, wherever it was refused."""
        self._pipeline.refuse(transport, error)


async def _structure(request: bytes) -> Structure:
    """Read what the request is made of. Raises DecodeError and TooLargeError. Of a large one it takes up to 100 ms."""
    if len(request) <= SMALL:
        return Structure(request, LIMITS)
    return await asyncio.to_thread(Structure, request, LIMITS)
