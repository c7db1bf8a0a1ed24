"""Long work in the event loop, in slices: it is interrupted at its checkpoints and resumed later.

The work runs on a stack of its own (a greenlet), so a checkpoint may be as deep in plain functions as the time is spent. Only
one piece of work runs at any time, on the thread that resumes it: what it shares with others cannot change but at a checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from greenlet import getcurrent, greenlet

from collector.checkpoints import resumed

_T = TypeVar("_T")


class _Stack(greenlet):
    """Where the work runs. Its time is up at ``until``."""

    now: Callable[[], float]
    until = 0.0


class Resumable(Generic[_T]):
    """``work``, not begun yet. It ends where the last reference to this object goes, as if it were cancelled."""

    result: _T
    """What the work returned. Only of work that is done."""

    def __init__(self, work: Callable[[], _T], now: Callable[[], float]) -> None:
        self._stack = _Stack(work)
        self._stack.now = now
        self.slices = 0
        """In how many pieces it ran so far."""

    def resume(self, until: float) -> bool:
        """Work to the first checkpoint after ``until``. Returns whether the work is done. Raises what the work raises."""
        self.slices += 1
        self._stack.until = until
        # Where a checkpoint switches to, and where the work returns to at its end. Each resume may come from elsewhere.
        self._stack.parent = getcurrent()
        resumed.append(self._stack)
        try:
            result = self._stack.switch()
        finally:
            resumed.pop()
        if not self._stack.dead:
            return False
        self.result = result
        return True
