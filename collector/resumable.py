"""Long work in the event loop, in slices: it is interrupted at its checkpoints and resumed later.

The work runs on a stack of its own (a greenlet), so a checkpoint may be as deep in plain functions as the time is spent. Only
one piece of work runs at any time, on the thread that resumes it: what it shares with others cannot change but at a checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import Final, Generic, TypeVar

from greenlet import getcurrent, greenlet

_T = TypeVar("_T")
_PART: Final = 500


class _Stack(greenlet):
    """Where the work runs. Its time is up at ``until``."""

    now: Callable[[], float]
    until = 0.0


_resumed: list[_Stack] = []  # none nearly always: a checkpoint then costs next to nothing


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
        _resumed.append(self._stack)
        try:
            result = self._stack.switch()
        finally:
            _resumed.pop()
        if not self._stack.dead:
            return False
        self.result = result
        return True


def checkpoint() -> None:
    """Interrupt the work that calls this, if it is to be done in slices and its time is up."""
    # No name for the stack: it would be a cycle, and the work would not end where its last reference goes.
    # Another thread may come here meanwhile. It must not switch away from work that the loop resumed.
    if _resumed and getcurrent() is _resumed[-1] and _resumed[-1].now() >= _resumed[-1].until:
        _resumed[-1].parent.switch()  # type: ignore[union-attr]  # it is resumed by its parent


def in_parts(items: Collection[_T]) -> Iterable[Collection[_T]]:
    """Returns the items in parts of some hundreds, each after a checkpoint: for loops that do little for each item."""
    # Nearly all traces are small: for them there is neither a generator nor a copy.
    return (items,) if len(items) <= _PART else _parts(items)


def _parts(items: Iterable[_T]) -> Iterator[list[_T]]:
    rest = iter(items)
    while part := list(islice(rest, _PART)):
        checkpoint()
        yield part
