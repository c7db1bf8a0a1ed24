"""The collector as a process whose spool has a small disk of its own."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from tests import otlp_data as data
from tests.collector_process import CollectorProcess, free_port, readiness, send
from tests.sinks import OtlpSink
from tests.waiting import PATIENCE, wait_for

RULES = """
rules:
  - {name: weather, match: {agent: helper}, expect: {sequence: [get_weather]}}
"""
QUEUE = 'rightcall_exporter_queue_size{exporter="otlp"}'
REFUSED = 'rightcall_receiver_refused_spans_total{reason="overload",receiver="otlp",transport="grpc"}'


def python_with_disk(disk: Path, mib: int, then: str = "true") -> Path:
    """Returns a Python that has a disk of so many MiB mounted at ``disk``, which nobody else sees; ``then`` uses it first."""
    disk.mkdir()
    enter = ["unshare", "--mount", "--map-root-user", "sh", "-c"]
    mount = shlex.join(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "none", str(disk)])
    try:
        subprocess.run([*enter, mount], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("unshare is not installed")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no disk can be mounted here: {error.stderr.decode().strip()}")
    python = disk.with_name("python")
    command = shlex.join([*enter, f'{mount} && {then} && exec "$0" "$@"', sys.executable])
    python.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    python.chmod(0o755)
    return python


@pytest.mark.parametrize(("mib", "size", "senders"), [(24, 200_000, 4), (64, 2_000_000, 32)])
def test_a_spool_that_fills_its_disk_refuses_while_there_is_room_to_drain_and_drains(
    tmp_path: Path, mib: int, size: int, senders: int
) -> None:
    disk, port = tmp_path / "disk", free_port()
    # A request whose answer does not come in time is sent once more: here it has time.
    exporter = {
        "endpoint": f"127.0.0.1:{port}", "tls": {"insecure": True}, "retry_on_failure": {"max_interval": "200ms"},
        "timeout": f"{PATIENCE:g}s",
    }  # fmt: skip
    spool = {"path": str(disk / "spool")}
    with CollectorProcess(RULES, exporter, python=python_with_disk(disk, mib), spool=spool) as process:
        told, accepted = list[grpc.StatusCode](), set[bytes]()

        def fill(number: int) -> None:
            span = data.span(number, parent=1 << 40, noise=os.urandom(size))
            told.append(status := send(process, span))
            if status is grpc.StatusCode.OK:
                accepted.add(span.span_id)

        with ThreadPoolExecutor(senders) as pool:
            while grpc.StatusCode.OK in told[-senders:] or not told:
                list(pool.map(fill, range(len(told) + 1, len(told) + 3 * senders)))
        with OtlpSink(port=port) as sink:
            wait_for(lambda: process.metric(QUEUE) == 0)
            assert sorted(span.span_id for span in sink.spans()) == sorted(accepted)
            assert send(process, data.span(1, parent=1 << 40)) is grpc.StatusCode.OK
        assert set(told) == {grpc.StatusCode.OK, grpc.StatusCode.RESOURCE_EXHAUSTED}
        assert "is full but for" in process.log
        assert "cannot be written" not in process.log
        assert process.metric(REFUSED) == told.count(grpc.StatusCode.RESOURCE_EXHAUSTED)


def test_where_others_have_filled_the_disk_it_starts_refuses_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    fill = f"! cat /dev/zero 2> {shlex.quote(str(tmp_path / 'full'))} > {shlex.quote(str(disk / 'others'))}"
    with OtlpSink() as sink, ThreadPoolExecutor(1) as pool:
        process = CollectorProcess(
            RULES,
            {"endpoint": sink.endpoint, "tls": {"insecure": True}},
            python=python_with_disk(disk, 8, fill),
            spool={"path": str(disk / "spool")},
        )
        starting = pool.submit(process.start)
        try:
            wait_for(lambda: starting.done() or (is_alive(process) and "cannot be written" in process.log))
            assert send(process, data.span(1, parent=1 << 40)) is grpc.StatusCode.UNAVAILABLE
            assert "database or disk is full" in process.log
            assert readiness(process) == "not ready: the spool cannot be written; see the log\n"
            Path(f"/proc/{process.pid}/root{disk}/others").unlink()
            starting.result()
            assert send(process, data.span(1, parent=1 << 40)) is grpc.StatusCode.OK
            wait_for(lambda: len(sink.spans()) == 1)
            assert process.stop() == 0
            assert "lost" not in process.log
        finally:
            process.close()


def is_alive(process: CollectorProcess) -> bool:
    try:
        return process.get("/livez", process.admin) == "ok\n"
    except OSError:
        return False
