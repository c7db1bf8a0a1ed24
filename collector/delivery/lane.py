"""The requests of a sending queue that leave one after the other, and the consumers that wait for one of them."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from typing import Final

from collector.component import ExportRequest
from collector.delivery.joining import MAX_SMALL, take_joined

_MAX_PACE: Final = 0.005  # seconds that small requests wait for others; there may be thousands a second otherwise


class Lane:
    """Where it ``joins`` them, small requests leave joined, at most one every `_MAX_PACE` seconds."""

    def __init__(self, *, joins: bool) -> None:
        self.waiting: deque[ExportRequest] = deque()
        self._joins, self._bytes = joins, 0
        self._next_small = -math.inf  # when a small request may leave, by the monotonic clock
        self._timer: asyncio.TimerHandle | None = None
        self._idle: deque[asyncio.Future[None]] = deque()  # consumers that wait for a request

    def add(self, request: ExportRequest) -> None:
        """Add a request, as the last."""
        self.waiting.append(request)
        if self._joins:
            self._bytes += request.size
        self.wake()

    def take(self) -> ExportRequest:
        """Remove the first of those that wait, joined with others if it is small."""
        if not self._joins:
            return self.waiting.popleft()
        request = take_joined(self.waiting)
        self._bytes -= request.size
        if request.parts or request.size < MAX_SMALL:
            self._next_small = time.monotonic() + _MAX_PACE
        return request

    def clear(self) -> None:
        """Forget what waits."""
        self.waiting.clear()
        self._bytes = 0

    def pause(self) -> float:
        """Returns the seconds until the first of those that wait should leave, if it is small and others may join it."""
        if not self._joins or self._bytes >= MAX_SMALL:
            return 0.0
        return self._next_small - time.monotonic()

    def wake(self) -> None:
        """Wake a consumer, now or when the first of those that wait may leave, if any wait."""
        if not self.waiting:
            return
        pause = self.pause()
        if pause <= 0.0:
            self._wake_one()
        else:
            self.wake_after(pause)

    def wake_after(self, pause: float) -> None:
        """Wake a consumer in so many seconds."""
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

    async def wait(self) -> None:
        """Wait to be woken up."""
        waiter = asyncio.get_running_loop().create_future()
        self._idle.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():  # woken up for a request that another has to take now
                self._wake_one()
            raise
