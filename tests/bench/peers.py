"""Other collectors at the same job, where `make peers` has put them: the same requests in, all spans out, alternating.

``groupbytrace`` holds every trace for a second as Rightcall does, and scores nothing; the others forward what they receive.
"""

from __future__ import annotations

import socket
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.end_to_end import REFERENCE, Mix, Target, collector_to, measure
from tests.bench.load import RULES
from tests.bench.sink import Sink
from tests.collector_process import free_port
from tests.waiting import wait_for

FOLDER = Path(".bench/peers")
COMPILED = FOLDER / "compiled/bin/python"
"""Of the environment of the compiled build, if it was built."""
_OTELCOL = FOLDER / "otelcol"
_ROUNDS, _SECONDS = 3, 10.0

_CONFIG = """
receivers: {{otlp: {{protocols: {{grpc: {{endpoint: "127.0.0.1:{port}", max_recv_msg_size_mib: 64}}}}}}}}
processors: {{{processors}}}
exporters: {{otlp: {{endpoint: "127.0.0.1:{sink}", tls: {{insecure: true}}, sending_queue: {{queue_size: 20000}}}}}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines: {{traces: {{receivers: [otlp], processors: [{names}], exporters: [otlp]}}}}
"""
_GROUPED = "groupbytrace: {wait_duration: 1s, num_traces: 200000}, batch: {send_batch_size: 512, timeout: 200ms}"

Start = Callable[[Sink], AbstractContextManager[Target]]


@contextmanager
def _rightcall(sink: Sink, *, python: str, rules: str) -> Iterator[Target]:
    with collector_to(sink, "memory", rules, python=python) as collector:
        yield Target(collector.pid, collector.grpc)


@contextmanager
def _otelcol(sink: Sink, *, processors: str = "", names: str = "") -> Iterator[Target]:
    port = free_port()
    with TemporaryDirectory() as folder:
        config = Path(folder, "config.yaml")
        config.write_text(_CONFIG.format(port=port, sink=sink.port, processors=processors, names=names))
        with _process([str(_OTELCOL), "--config", str(config)], port) as target:
            yield target


@contextmanager
def _rotel(sink: Sink, *, program: Path) -> Iterator[Target]:
    port, http = free_port(), free_port()
    command = [program, "start", "--otlp-grpc-endpoint", f"127.0.0.1:{port}", "--otlp-http-endpoint", f"127.0.0.1:{http}",
               "--exporter", "otlp", "--otlp-exporter-endpoint", f"http://127.0.0.1:{sink.port}",
               "--otlp-exporter-protocol", "grpc", "--otlp-exporter-compression", "none"]  # fmt: skip
    with _process(list(map(str, command)), port) as target:
        yield target


@contextmanager
def _process(command: list[str], port: int) -> Iterator[Target]:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_for(lambda: process.poll() is not None or _listens(port))
            if process.returncode is not None:
                raise RuntimeError(f"{command[0]} did not start")
            yield Target(process.pid, port)
        finally:
            process.terminate()


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def present(rules: str = RULES) -> dict[str, Start]:
    """What can be compared here, by name."""
    found: dict[str, Start] = {"rightcall": partial(_rightcall, python=sys.executable, rules=rules)}
    if COMPILED.exists():
        found["rightcall, compiled"] = partial(_rightcall, python=str(COMPILED.absolute()), rules=rules)
    if _OTELCOL.exists():
        found["groupbytrace"] = partial(_otelcol, processors=_GROUPED, names="groupbytrace, batch")
        found["otelcol"] = _otelcol
    for program in FOLDER.glob("rotel/lib/*/site-packages/rotel/rotel-agent"):
        found["rotel"] = partial(_rotel, program=program)
    return found


def compare(
    mix: Mix = REFERENCE, rounds: int = _ROUNDS, seconds: float = _SECONDS
) -> Iterator[tuple[str, float, float, float]]:
    """Yield for each system the medians of spans per CPU-second, of the share delivered, and of MiB resident after the load."""
    results: dict[str, list[dict[str, float]]] = {}
    for _ in range(rounds):
        for name, start in present(mix.rules).items():
            with Sink() as sink, start(sink) as target:
                results.setdefault(name, []).append(measure(sink, target, seconds, mix))
    for name, rows in results.items():
        rate, share, rss = (
            statistics.median(row[key] for row in rows)
            for key in ("spans_per_cpu_second", "delivered_share", "loaded_rss_mib")
        )
        yield name, rate, share, rss
