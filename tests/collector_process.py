"""``rightcall run`` in a separate process, as users start it."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import grpc
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests import otlp_data as data
from tests.waiting import PATIENCE, wait_for

# Each worker of xdist has its own: between looking and listening another must not take a port. And each comes once before
# any comes again: who asks for several may not listen on them yet.
_worker, _workers = os.environ.get("PYTEST_XDIST_WORKER", "gw0"), os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")
_own_ports = range(15_000 + int(_worker.removeprefix("gw")), 30_000, int(_workers))
_ports = itertools.cycle(random.sample(_own_ports, len(_own_ports)))


def free_port() -> int:
    """Returns an unused port below the ephemeral range, so that no client connection takes it in the meantime."""
    while True:
        port = next(_ports)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


class CollectorProcess:
    """A collector on free ports with ``rules``, exporting to ``exporter``; use as a context manager.

    ``grpc`` and ``http`` are additional keys of the receivers, ``sections`` of the configuration; ``python`` is that of the
    environment it is installed in. ``ready_seconds`` is the time until it was ready, ``log`` its stderr, ``pid`` its id.
    """

    def __init__(
        self,
        rules: str,
        exporter: dict[str, Any] | None,
        *,
        grpc: Any = None,
        http: Any = None,
        python: Any = sys.executable,
        **sections: Any,
    ) -> None:
        self.grpc, self.http, self.metrics_port, self.admin = (free_port() for _ in range(4))
        self._folder = tempfile.TemporaryDirectory(prefix="rightcall-")
        self.folder = Path(self._folder.name)
        self.rules = self.folder / "rules.yaml"
        self.rules.write_text(rules)
        protocols = {
            "grpc": {"endpoint": f"127.0.0.1:{self.grpc}", **(grpc or {})},
            "http": {"endpoint": f"127.0.0.1:{self.http}", **(http or {})},
        }
        config = {
            "receivers": {"otlp": {"protocols": protocols}},
            "rules": ["rules.yaml"],
            "spool": "memory",
            "exporters": {
                **({"otlp": exporter} if exporter else {}),
                **sections.pop("exporters", {}),
                "prometheus": {"endpoint": f"127.0.0.1:{self.metrics_port}", **sections.pop("prometheus", {})},
            },
            "admin": {"endpoint": f"127.0.0.1:{self.admin}"},
            **sections,
        }
        self._config = self.folder / "collector.yaml"
        self._config.write_text(json.dumps(config))  # JSON is YAML
        self._log = self.folder / "log"
        self._python = python

    def __enter__(self) -> CollectorProcess:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def start(self) -> None:
        """Start the process and wait until it is ready."""
        started = time.monotonic()
        command = [self._python, "-P", "-m", "collector", "run", "--config", str(self._config)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stderr=log)
        self.pid = self._process.pid
        wait_for(lambda: self._process.poll() is not None or self._is_ready(), 0.01)
        if self._process.poll() is not None:
            raise RuntimeError(f"the collector did not start:\n{self.log}")
        self.ready_seconds = time.monotonic() - started

    def _is_ready(self) -> bool:
        try:
            return self.get("/readyz", self.admin).startswith("ok")
        except (urllib.error.URLError, OSError):
            return False

    @property
    def log(self) -> str:
        """Its stderr so far."""
        return self._log.read_text()

    def get(self, path: str, port: int | None = None, accept: str = "text/plain") -> str:
        """Returns a page of the metrics listener, or of the listener on ``port``."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{port or self.metrics_port}{path}", headers={"accept": accept}
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return str(answer.read().decode())

    def metric(self, series: str) -> float:
        """Returns the value of a series, named as on /metrics; 0 if there is none."""
        for line in self.get("/metrics").splitlines():
            name, _, value = line.rpartition(" ")
            if name == series:
                return float(value)
        return 0.0

    def peak_mib(self) -> int:
        """Returns the most memory that it had so far."""
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{self.pid}/status").read_text())
        assert found
        return int(found[1]) >> 10

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL; ``start`` may follow."""
        self._process.kill()
        self._process.wait(PATIENCE)

    def stop(self) -> int:
        """Send SIGTERM and return the exit code."""
        self._process.terminate()
        return self._process.wait(PATIENCE)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill it if it still runs, and remove its files."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()


def readiness(process: CollectorProcess) -> str:
    """Returns what it says of whether it is ready."""
    try:
        return process.get("/readyz", process.admin)
    except urllib.error.HTTPError as error:
        return str(error.read().decode())


def send(process: CollectorProcess, *spans: Span) -> grpc.StatusCode:
    """Send spans over gRPC. Returns the status code."""
    with grpc.insecure_channel(f"127.0.0.1:{process.grpc}") as channel:
        try:
            channel.unary_unary(data.EXPORT_TRACES, None, None)(
                data.traces(*spans).SerializeToString(), timeout=PATIENCE
            )
        except grpc.RpcError as error:
            code: grpc.StatusCode = error.code()
            return code
    return grpc.StatusCode.OK
