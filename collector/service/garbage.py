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
_NEVER: Final = 1_000_000  # collections: what survived one is frozen long before that
_SURVIVED: Final = 20  # collections after which what survived them is frozen


def tune() -> None:
    """Collect in this way from now on."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _NEVER, _NEVER)


def freeze_survivors() -> None:
    """Freeze what survived, if that is worth it. Call it often: it takes microseconds."""
    # The second condition: where `tune` was not called, this is part of a program that collects in its own way.
    if gc.get_count()[1] >= _SURVIVED and gc.get_threshold()[1] == _NEVER:
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


def give_back() -> None:
    """Collect all garbage, and return free memory to the system, so that resident memory falls. Takes long."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    # The limiter looks at resident memory: what the allocator keeps for later counts as used there.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc; other C libraries return it by themselves
    if trim is not None:
        trim(0)
