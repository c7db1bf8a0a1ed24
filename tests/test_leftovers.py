"""The check that every test runs under, given tests that do leave something."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from tests import leftovers
from tests.leftovers import Snapshot, left_since


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "_ENDING_SECONDS", 0.0)


def test_a_thread_is_named(temporary: Path) -> None:
    before, stop = Snapshot.take(temporary), threading.Event()
    thread = threading.Thread(target=stop.wait, name="forgotten")
    thread.start()
    assert left_since(before, temporary) == ["thread forgotten"]
    stop.set()
    thread.join()
    assert left_since(before, temporary) == []


def test_a_child_process_is_named(temporary: Path) -> None:
    before = Snapshot.take(temporary)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        (left,) = left_since(before, temporary)
        assert f"pid={process.pid}" in left
        process.communicate(b"\n")
    assert left_since(before, temporary) == []


def test_a_temporary_file_is_named(temporary: Path) -> None:
    before = Snapshot.take(temporary)
    with tempfile.NamedTemporaryFile() as file:
        assert left_since(before, temporary) == [f"file {file.name}"]
    assert left_since(before, temporary) == []


def test_a_task_is_named_unless_it_was_cancelled(unfinished: list[str]) -> None:
    async def main() -> None:
        tasks = [asyncio.create_task(asyncio.Event().wait(), name=name) for name in ("forgotten", "cancelled")]
        tasks[1].cancel()

    asyncio.run(main())
    (task,) = unfinished
    unfinished.clear()
    assert "name='forgotten'" in task
