"""Where work in slices may be interrupted. Apart from `resumable`, since it is called so often that it is compiled."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Any, Final, TypeVar

from greenlet import getcurrent

_T = TypeVar("_T")
_PART: Final = 500
resumed: Final[list[Any]] = []
"""The stacks of the work in progress, the innermost last. None nearly always: a checkpoint then costs next to nothing."""


def checkpoint() -> None:
    """Interrupt the work that calls this, if it is to be done in slices and its time is up."""
    # No name for the stack: it would be a cycle, and the work would not end where its last reference goes.
    # Another thread may come here meanwhile. It must not switch away from work that the loop resumed.
    if resumed and getcurrent() is resumed[-1]:
        _interrupt()


def _interrupt() -> None:
    if resumed[-1].now() >= resumed[-1].until:
        resumed[-1].parent.switch()  # it is resumed by its parent


def in_parts(items: Collection[_T]) -> Iterable[Collection[_T]]:
    """Returns the items in parts of some hundreds, each after a checkpoint: for loops that do little for each item."""
    # Nearly all traces are small: for them there is neither a generator nor a copy.
    return (items,) if len(items) <= _PART else _parts(items)


def _parts(items: Iterable[_T]) -> Iterator[list[_T]]:
    rest = iter(items)
    while part := list(islice(rest, _PART)):
        checkpoint()
        yield part
