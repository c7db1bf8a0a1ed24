"""Takes requests in by turns, so that none waits for much more work of others than it brings itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from heapq import heapify, heappush
from typing import Final, NamedTuple

from collector.component import Rejected
from collector.errors import RefusedError
from collector.request_pipeline import Steps

_FIRST: Final = 0.01  # CPU seconds of a request's first turn; nearly all need no other
_TURN: Final = 0.005  # CPU seconds of each further one
_LONG: Final = 0.015  # CPU seconds; only a step that cannot be divided, such as a very large span, takes longer
_STEPS: Final = 4
"""Of the loop, in which a small request is answered: its bytes, its task, what that waits for, its answer."""
_BUDGETS: Final = (0.0005, 0.002)  # seconds of a step of scoring, the shortest and the longest
_MAX_WAITING = 500_000  # spans, or KiB of them: about ten seconds of work, after which senders give up and try again


class _Place(NamedTuple):
    """The place of a request in the queue; the least is at its head. ``order`` is its cost, plus all that was taken before."""

    order: int
    number: int
    is_next: asyncio.Event


class Turns:
    """Each request has a turn at once. Those that need more queue for further ones, with a pause after each turn.

    What is small goes ahead of what is large, and what is large is overtaken only until as much has been taken as it brings.
    """

    def __init__(
        self, room: Callable[[], Awaitable[None]] | None = None, cpu: Callable[[], float] = time.thread_time
    ) -> None:
        """``room`` waits until more can be written of what requests that need several turns bring.

        ``cpu`` is for how long the loop has worked: when others have the processor, no turn must end because of that.
        """
        self._room, self._cpu = room, cpu
        self._queue: list[_Place] = []
        self._count = self._taken = self._waiting = 0
        self._worked = 0.0  # CPU seconds of the latest turn

    async def take(self, steps: Steps, cost: int) -> Rejected:
        """Take all ``steps``. Raises RefusedError before the first if too much work waits, and what a step raises."""
        # What comes while nothing waits is taken, however much it is:
        # otherwise it would be refused each time it is sent.
        if self._waiting and self._waiting + cost > _MAX_WAITING:
            raise RefusedError("too many large requests at once", retry_after=5.0)
        # Not behind the others: nearly all requests are done in one turn, and need not wait for the large ones.
        if (rejected := self._turn(steps, _FIRST)) is not None:
            return rejected
        # Counted only now: what was done in its first turn keeps nobody waiting.
        place = self._queue_up(cost)
        try:
            while True:
                await self._next_turn(place)
                if (rejected := self._turn(steps, _TURN)) is not None:
                    return rejected
        finally:
            self._leave(place, cost)

    def _queue_up(self, cost: int) -> _Place:
        self._waiting += cost
        self._count += 1
        place = _Place(self._taken + cost, self._count, asyncio.Event())
        heappush(self._queue, place)
        return place

    async def _next_turn(self, place: _Place) -> None:
        await give_way(self._worked)
        # Now, when what came meanwhile is being written.
        if self._room is not None:
            await self._room()
        while (head := self._queue[0]) is not place:
            place.is_next.clear()
            head.is_next.set()
            await place.is_next.wait()

    def _leave(self, place: _Place, cost: int) -> None:
        self._waiting -= cost
        self._taken += cost
        self._queue.remove(place)
        heapify(self._queue)
        if self._queue:
            self._queue[0].is_next.set()

    def _turn(self, steps: Steps, seconds: float) -> Rejected | None:
        """Returns the result if that was the last step."""
        begun = now = self._cpu()
        try:
            while now < begun + seconds:
                next(steps)
                now = self._cpu()
        except StopIteration as done:
            rejected: Rejected = done.value
            return rejected
        self._worked = now - begun
        return None


def pause_after(worked: float) -> float:
    """Returns how many seconds others need for themselves after so many CPU seconds in which they had to wait; mostly 0.

    After very long work it is as long as that, so that nobody who has been kept waiting by it is kept waiting by what is next.
    """
    return worked if worked > _LONG else 0.0


def next_budget(budget: float | None = None, *, has_more: bool = False) -> float:
    """Returns how many seconds the next step of scoring may take; ``budget`` is that of the last, which left more to do or not.

    In short steps requests wait for less, and in long ones all of it takes less: they grow for as long as there is more to do.
    """
    shortest, longest = _BUDGETS
    return min(2 * budget, longest) if has_more and budget is not None else shortest


async def give_way(worked: float = 0.0) -> None:
    """Pause for as long as others need who have little to do. In a shorter pause, each of their steps would wait for a turn."""
    await asyncio.sleep(pause_after(worked))
    for _ in range(_STEPS - 1):
        await asyncio.sleep(0)
