"""When garbage of cycles is looked for, so that it takes milliseconds however much is kept.

Open traces are many long-lived objects, and none of them is in a cycle. A collection that looks at all of them takes 0.4 s
where 100,000 traces are open. So only what was made since the last one is looked at, often, and then never again (it is
frozen), unless memory runs short. A cycle that dies later stays until then: a test counts that traces leave none.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
from collections.abc import Iterator
from typing import Final

_YOUNG: Final = 5_000  # objects made, and not freed, between two collections: about a millisecond
_EVERY: Final = 0.03  # CPU seconds between two collections: at full load a few thousand objects are made in them
_NEVER: Final = 1_000_000  # collections: what survived one is frozen long before that
_SURVIVED: Final = 20  # collections after which what survived them is frozen


def tune() -> None:
    """Collect in this way from now on."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _NEVER, _NEVER)


class YoungGarbage:
    """Collects what was made lately before it is much, and freezes what survived.

    The interpreter counts what is freed against what is made, even where that was made long ago: while as many traces leave
    as come, it begins only when tens of thousands of objects are new, and stops all else for up to 50 ms.
    """

    def __init__(self) -> None:
        """``tune`` has to be called: in a program that collects in its own way, this does nothing."""
        self._worked = 0.0

    def advance(self, worked: float) -> None:
        """``worked`` are the CPU seconds of this thread so far. Call it often: it mostly takes microseconds."""
        if gc.get_threshold()[1] != _NEVER:
            return
        if worked - self._worked >= _EVERY:
            self._worked = worked
            gc.collect(0)
        if gc.get_count()[1] >= _SURVIVED:
            gc.freeze()


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Look for no garbage meanwhile: where all that is made is kept, that takes an eighth of the time for nothing."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def trim() -> None:
    """Return free memory to the system, so that resident memory falls. Takes milliseconds."""
    # The limiter looks at resident memory: what the allocator keeps for later counts as used there.
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc; other C libraries return it by themselves
    if malloc_trim is not None:
        malloc_trim(0)


def give_back() -> None:
    """Collect all garbage, also among what is kept for long, before free memory is returned. Takes up to half a second."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    trim()
