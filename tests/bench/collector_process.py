"""A collector in a process of its own, as a user starts it, with its CPU time and memory in view."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import psutil

from tests.bench.load import RULES


def free_port() -> int:
    """A port nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


class CollectorProcess:
    """``toolscore run`` with the benchmark's rules, exporting to ``sink_port``; use as a context manager."""

    def __init__(self, sink_port: int, **traces: str) -> None:
        self.grpc, self.http, self.metrics, self.admin = (free_port() for _ in range(4))
        self._folder = tempfile.TemporaryDirectory(prefix="toolscore-bench-")
        folder = Path(self._folder.name)
        (folder / "rules.yaml").write_text(RULES)
        config = {
            "receivers": {
                "otlp": {
                    "protocols": {
                        "grpc": {"endpoint": f"127.0.0.1:{self.grpc}"},
                        "http": {"endpoint": f"127.0.0.1:{self.http}"},
                    }
                }
            },
            "rules": ["rules.yaml"],
            "traces": {"settle": "1s", "idle_timeout": "10s", **traces},
            "spool": "memory",
            "exporters": {
                "otlp": {"endpoint": f"127.0.0.1:{sink_port}", "tls": {"insecure": True}},
                "prometheus": {"endpoint": f"127.0.0.1:{self.metrics}"},
            },
            "admin": {"endpoint": f"127.0.0.1:{self.admin}"},
        }
        self._config = folder / "collector.yaml"
        self._config.write_text(json.dumps(config))  # JSON is YAML

    def __enter__(self) -> CollectorProcess:
        begun = time.monotonic()
        command = [sys.executable, "-m", "collector", "run", "--config", str(self._config)]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        self._usage = psutil.Process(self._process.pid)
        while not self._ready():
            if self._process.poll() is not None:
                raise RuntimeError("the collector did not start")
            time.sleep(0.01)
        self.ready_after = time.monotonic() - begun
        return self

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/readyz", timeout=1) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def cpu_seconds(self) -> float:
        """User and system time of the collector so far."""
        times = self._usage.cpu_times()
        return float(times.user + times.system)

    def rss_mib(self) -> float:
        """Resident memory."""
        return float(self._usage.memory_info().rss) / (1 << 20)

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(30)
        self._folder.cleanup()
