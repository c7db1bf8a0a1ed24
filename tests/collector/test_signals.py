"""SIGINT and SIGTERM while the process still starts: it ends quietly, with the code a shell gives."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from collector.config.model import Config
from collector.service import serve
from collector.service.service import Service
from tests.harness import listening, tasks

CODES = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
_PIPE = 4096  # bytes: the smallest pipe


def collector(*arguments: object, python: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    command = [sys.executable, *python, "-m", "collector", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(("number", "code"), CODES)
def test_while_the_configuration_is_read(number: signal.Signals, code: int, tmp_path: Path) -> None:
    config = tmp_path / "collector.yaml"
    os.mkfifo(config)
    with collector("run", "--config", config) as process, config.open("w"):  # opens when the other side does
        # Once more where it came just before the read: Python handles it when the read is over.
        while process.poll() is None:
            process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.5)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (code, "", "")


@pytest.mark.parametrize(
    ("command", "module"), [("run", "_pydantic_core"), ("demo", "_pydantic_core"), ("check", "argparse")]
)
@pytest.mark.parametrize(("number", "code"), CODES)
def test_while_modules_are_imported(
    number: signal.Signals, code: int, command: str, module: str, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "collector.yaml")
    arguments = ["--config", tmp_path / "collector.yaml"] if command == "run" else []
    with collector(command, *arguments, python=("-X", "importtime")) as process:
        assert process.stderr is not None
        fcntl.fcntl(process.stderr, fcntl.F_SETPIPE_SZ, _PIPE)  # full until it is read, so the imports wait for us
        for line in process.stderr:
            if line.rstrip().endswith(module):
                break
        process.send_signal(number)
        rest = process.stderr.read()
        process.wait(60)
    assert process.returncode == code
    assert [line for line in rest.splitlines() if not line.startswith("import time:")] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("command", "code"), [("schema", 2), ("--version", 0)])
def test_once_a_command_is_done_it_ends_with_its_code(number: signal.Signals, command: str, code: int) -> None:
    source = (
        f"import atexit, os, sys; atexit.register(lambda: os.kill(os.getpid(), {number.value}));"
        f" from collector.__main__ import main; sys.argv[1:] = [{command!r}]; sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_further_signals_do_not_change_how_a_collector_ends(number: signal.Signals, tmp_path: Path) -> None:
    path = tmp_path / "collector.yaml"
    path.write_text(config().model_dump_json(include={"receivers", "admin", "spool", "exporters"}, exclude_unset=True))
    with collector("run", "--config", path) as process:
        assert process.stderr is not None
        while "ready:" not in process.stderr.readline():
            pass
        while process.poll() is None:
            process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.001)
        rest = process.stderr.read()
    assert process.returncode == 0
    assert "Traceback" not in rest


class Endless:
    """A component whose start is under way when a signal comes, and never ends."""

    def __init__(self, number: signal.Signals) -> None:
        self._number = number
        self.stopped = False

    async def start(self) -> None:
        os.kill(os.getpid(), self._number)
        await asyncio.Event().wait()

    async def shutdown(self) -> None:
        self.stopped = True


@pytest.mark.parametrize(("number", "code"), CODES)
def test_while_parts_start(number: signal.Signals, code: int) -> None:
    left: list[object] = []
    before = listening()  # what an earlier test in this process may have left

    async def run() -> None:
        service = Service(config())
        last = Endless(number)
        service._receivers.insert(0, last)
        try:
            await serve.start(service)
        finally:
            left.extend([*(set(listening()) - set(before)), *tasks(), last.stopped])

    with pytest.raises(SystemExit) as caught:
        asyncio.run(run())
    assert caught.value.code == code
    assert left == [True]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_once_it_runs_it_stops(number: signal.Signals) -> None:
    async def run() -> None:
        service = Service(config())
        await serve.start(service)
        os.kill(os.getpid(), number)
        await service.run()
        await service.shutdown()

    asyncio.run(run())


def config() -> Config:
    anywhere, nobody = {"endpoint": "127.0.0.1:0"}, {"endpoint": "127.0.0.1:1"}
    return Config.model_validate({
        "receivers": {"otlp": {"protocols": {"grpc": anywhere, "http": anywhere}}}, "admin": anywhere, "spool": "memory",
        "exporters": {"prometheus": anywhere, "otlp": nobody},
    })  # fmt: skip
