"""Takes requests in by turns, so that a large one keeps nobody waiting for long."""

from __future__ import annotations

import asyncio
import time

from collector.component import Rejected
from collector.errors import RefusedError
from collector.request_pipeline import Steps

_TURN = 0.01  # seconds
_STEPS = 4  # of the loop, in which a small request is answered: its bytes, its task, what that waits for, its answer
_MAX_WAITING = 500_000  # spans, or KiB of them: about ten seconds of work, after which senders give up and try again


class Turns:
    """Each request has a turn at once. Those that need more go on one after the other, with a pause after each turn."""

    def __init__(self) -> None:
        self._next = asyncio.Lock()
        self._waiting = 0

    async def take(self, steps: Steps, cost: int) -> Rejected:
        """Take all ``steps``. Raises RefusedError before the first if too much work waits, and what a step raises."""
        # What comes while nothing waits is taken, however much it is:
        # otherwise it would be refused each time it is sent.
        if self._waiting and self._waiting + cost > _MAX_WAITING:
            raise RefusedError("too many large requests at once", retry_after=5.0)
        # Not behind the others: nearly all requests are done in one turn, and need not wait for the large ones.
        if (rejected := _turn(steps)) is not None:
            return rejected
        # Counted only now: what was done in its first turn keeps nobody waiting.
        self._waiting += cost
        try:
            async with self._next:
                while True:
                    await give_way()
                    if (rejected := _turn(steps)) is not None:
                        return rejected
        finally:
            self._waiting -= cost


async def give_way() -> None:
    """Pause for as long as others need who have little to do. In a shorter pause, each of their steps would wait for a turn."""
    for _ in range(_STEPS):
        await asyncio.sleep(0)


def _turn(steps: Steps) -> Rejected | None:
    """Returns the result if that was the last step."""
    end = time.monotonic() + _TURN
    try:
        while True:
            next(steps)
            if time.monotonic() >= end:
                return None
    except StopIteration as done:
        rejected: Rejected = done.value
        return rejected
