"""What work costs: the calls it is made of, which do not depend on the machine, and where these do not tell, its time."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail where the context takes more CPU seconds. They should be many times what it takes: some machines are slow."""
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds


def calls(work: Callable[[], object]) -> int:
    """Returns how many functions are called, Python's and C's."""
    made = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return made
