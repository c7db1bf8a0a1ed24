"""What a test can leave behind: threads, asyncio tasks, child processes, files."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from asyncio import runners
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

_ROOT = Path(__file__).parent.parent
_ENDING_SECONDS = 10.0
"""How long threads and processes that were told to end may take to do so."""
_GRPC_POLLER = "_poll_wrapper"
"""The one thread of asyncio's gRPC, which lives while any of its objects does, garbage included."""


@dataclass(frozen=True)
class Snapshot:
    """What was there at one moment."""

    threads: frozenset[threading.Thread]
    processes: frozenset[psutil.Process]
    files: frozenset[str]

    @classmethod
    def take(cls, temporary: Path) -> Snapshot:
        """Take one of this process, of its children, and of the files in ``temporary`` and at the top of the project."""
        project = (entry.path for entry in os.scandir(_ROOT) if not entry.name.startswith("."))  # caches have dots
        files = frozenset((*project, *(entry.path for entry in os.scandir(temporary))))
        return cls(frozenset(thread for thread in threading.enumerate() if _is_ours(thread)), _children(), files)

    def runs_the_same_as(self, other: Snapshot) -> bool:
        """Whether threads and processes are those of the other."""
        return (self.threads, self.processes) == (other.threads, other.processes)

    def since(self, before: Snapshot) -> list[str]:
        """Describe what is here and was not before."""
        threads = (f"thread {thread.name}" for thread in self.threads - before.threads)
        processes = (f"process {process}" for process in self.processes - before.processes)
        return sorted((*threads, *processes, *(f"file {path}" for path in self.files - before.files)))


def _is_ours(thread: threading.Thread) -> bool:
    """False for the threads of gRPC's C library that once called Python, which Python never sees end."""
    return not isinstance(thread, threading._DummyThread) and _GRPC_POLLER not in thread.name


def _children() -> frozenset[psutil.Process]:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # there are none: much cheaper to find out than which there are
        return frozenset()
    return frozenset(psutil.Process().children())


def left_since(before: Snapshot, temporary: Path) -> list[str]:
    """Describe what was left, once it had time to end."""
    until = time.monotonic() + _ENDING_SECONDS
    while (left := Snapshot.take(temporary).since(before)) and time.monotonic() < until:
        threading.Event().wait(0.01)
    return left


@contextmanager
def unfinished_tasks() -> Iterator[list[str]]:
    """Within the block, collect descriptions of the tasks that ``asyncio.run`` finds unfinished and not even cancelled."""
    found: list[str] = []
    cancel_all = runners._cancel_all_tasks  # type: ignore[attr-defined]

    def note_and_cancel_all(loop: asyncio.AbstractEventLoop) -> None:
        found.extend(f"task {task!r}" for task in asyncio.all_tasks(loop) if not task.cancelling())
        cancel_all(loop)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runners, "_cancel_all_tasks", note_and_cancel_all)
        yield found
