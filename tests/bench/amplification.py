"""What an attack costs the collector and its other senders: ``python -m tests.bench.amplification [PART OF A NAME ...]``.

Each attack is sent to a collector of its own, with a spool and ``memory_limiter.limit_mib`` of 1,024, beside a client that does
no harm. CPU seconds are those of the process until all traces have their verdict and everything is exported, without what
the client takes when nothing else goes on, so a busy machine matters little; for how long the client waits it does. Without
names, which takes about five minutes, the table in deploy/figures.md is written.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import gzip
import socket
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from tests import marked
from tests.bench.attacks import ATTACKS, Attack
from tests.bench.innocent import Innocent
from tests.bench.pacing import sleep_until, wait_until_steady
from tests.bench.sink import Sink
from tests.collector_process import CollectorProcess
from tests.waiting import wait_for

DOCUMENT = Path(__file__).parents[2] / "deploy" / "figures.md"
_RULES = """
rules:
  - name: any
    match: {}
    expect:
      sequence: [{tool: a, arguments: {x: {regex: "^ord_"}}}, {any_order: [b, c]}, {optional: d}]
      allow_extra: ["log_*"]
      forbid: ["delete_*"]
    pass: 0.9
"""
_TRACES = {"settle": "200ms", "confirm": "200ms", "idle_timeout": "2s"}
_LIMIT_MIB = 1024
_IDLE = 1.0  # seconds in which it is measured what the innocent client costs and waits for
_QUIET = 0.02  # CPU seconds in a second: what an idle collector takes
_PATIENCE = 300  # seconds
_WAITING = ("rightcall_traces_open", 'rightcall_exporter_queue_size{exporter="otlp"}')
_COLUMNS = (
    "attack", "at first", "answer", "sent, gzip", "decompressed", "CPU", "ms per KiB sent", "per KiB decompressed",
    "peak memory", "others waited", "tracebacks",
)  # fmt: skip
_HEAD = f"| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}\n"


class Cost(NamedTuple):
    """What one attack took: bytes, CPU seconds, the peak of resident MiB, and the milliseconds that others waited longer."""

    name: str
    status: int
    sent: int
    size: int
    cpu: float
    peak: int
    waited: float = 0.0
    tracebacks: int = 0
    before: str = ""

    @property
    def per_sent(self) -> float:
        """Milliseconds for each KiB that is sent."""
        return self.cpu * 1e3 / (self.sent / 1024)

    @property
    def per_size(self) -> float:
        """Milliseconds for each decompressed KiB."""
        return self.cpu * 1e3 / (self.size / 1024)

    def row(self) -> str:
        """As a row of the table."""
        cells = (
            self.name, self.before, self.status or "", f"{self.sent / 1024:,.1f} KiB", f"{self.size / 1024:,.0f} KiB",
            f"{self.cpu:.2f} s", f"{self.per_sent:,.1f}", f"{self.per_size:.2f}", f"{self.peak} MiB",
            f"{self.waited:,.0f} ms", self.tracebacks,
        )  # fmt: skip
        return f"| {' | '.join(map(str, cells))} |"


def cost(name: str, attack: Attack) -> Cost:
    """Attack a new collector, and wait until it has nothing to do any more."""
    with Sink() as sink, contextlib.ExitStack() as stack:
        exporter: dict[str, Any] = {"endpoint": f"127.0.0.1:{sink.port}", "tls": {"insecure": True}}
        collector = stack.enter_context(
            CollectorProcess(
                _RULES, exporter, spool={"path": "spool"}, traces=_TRACES, memory_limiter={"limit_mib": _LIMIT_MIB}
            )
        )
        if attack.first:
            _post(collector, attack, gzip.compress(attack.first))
            _cpu_when_idle(collector)
        with Innocent(collector.http) as innocent:
            share, each, usual = _idle(collector, innocent)
            before = _cpu(collector)
            status, sent, size, connections = _send(collector, attack)
            wait_until_steady(lambda: _cpu(collector), 1.5 * share + 2 * _QUIET)
            waited = innocent.waited()
        for connection in connections:
            connection.close()
        cpu = max(0.0, _cpu_when_idle(collector) - before - each * waited.answers)
        tracebacks = collector.log.count("Traceback")
        return Cost(
            name, status, sent, size, cpu, collector.peak_mib(), waited.longest - usual, tracebacks, attack.before
        )


def _idle(collector: CollectorProcess, innocent: Innocent) -> tuple[float, float, float]:
    """Returns the CPU seconds a second and an answer, and the milliseconds the client waits, when nothing else goes on."""
    sleep_until(time.monotonic() + _IDLE / 2)  # the first requests are not usual
    innocent.waited()
    before, begun = _cpu(collector), time.monotonic()
    sleep_until(begun + _IDLE)
    used, usual = _cpu(collector) - before, innocent.waited()
    return used / (time.monotonic() - begun), used / usual.answers, usual.median


def _send(collector: CollectorProcess, attack: Attack) -> tuple[int, int, int, list[socket.socket]]:
    """Returns the last answer, 0 if there is none, the bytes as sent and as they are, and connections that are left open."""
    if not attack.is_finished:
        with concurrent.futures.ThreadPoolExecutor(attack.times) as threads:
            connections = list(threads.map(lambda body: _send_most(collector, body), attack.bodies()))
        return 0, attack.times * len(attack.body), attack.times * len(attack.body), connections
    status = sent = size = 0
    for body in attack.bodies():
        compressed = gzip.compress(body, 9)
        status = _post(collector, attack, compressed)
        sent, size = sent + len(compressed), size + len(body)
    return status, sent, size, []


def _send_most(collector: CollectorProcess, body: bytes) -> socket.socket:
    """Send a body of which a KiB is missing, as far as it is taken."""
    connection = socket.create_connection(("127.0.0.1", collector.http), timeout=5)
    head = f"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-protobuf\r\ncontent-length: {len(body) + 1024}"
    with contextlib.suppress(OSError):  # it was refused
        connection.sendall(head.encode() + b"\r\n\r\n" + body)
    return connection


def _post(collector: CollectorProcess, attack: Attack, sent: bytes) -> int:
    headers = {"content-type": attack.content_type, "content-encoding": "gzip"}
    request = urllib.request.Request(f"http://127.0.0.1:{collector.http}{attack.path}", sent, headers)
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def _cpu_when_idle(collector: CollectorProcess) -> float:
    """Returns the CPU seconds of the process once it has nothing to do."""
    used = 0.0

    def is_idle() -> bool:
        nonlocal used
        wait_until_steady(lambda: _cpu(collector), 2 * _QUIET)
        used = _cpu(collector)  # without what the scrapes take
        return not any(collector.metric(series) for series in _WAITING)

    wait_for(is_idle, patience=_PATIENCE)
    return used


def _cpu(collector: CollectorProcess) -> float:
    times = psutil.Process(collector.pid).cpu_times()
    return float(times.user + times.system)


def section(costs: list[Cost]) -> str:
    """The section of the document: the worst case in words, then the table."""
    accepted = [cost for cost in costs[1:] if cost.status == 200]
    sent, size = max(accepted, key=lambda cost: cost.per_sent), max(accepted, key=lambda cost: cost.per_size)
    longest = max(costs[1:], key=lambda cost: cost.waited)
    return (
        f"At worst a KiB that is sent takes {sent.per_sent:,.0f} ms ({sent.name}), and a decompressed one\n"
        f"{size.per_size:.2f} ms ({size.name}); ordinary traffic takes {costs[0].per_sent:.1f} ms and "
        f"{costs[0].per_size:.2f} ms. Another\nsender waited up to {longest.waited:,.0f} ms longer than when nothing else "
        f"went on ({longest.name}).\nThe peak of the memory was {max(cost.peak for cost in costs)} of {_LIMIT_MIB:,} MiB, "
        f"and there were {sum(cost.tracebacks for cost in costs)} tracebacks in the logs.\n\n"
        f"{_HEAD}" + "".join(f"{cost.row()}\n" for cost in costs)
    )


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.amplification", description=__doc__)
    parser.add_argument("part", nargs="*", help="run the attacks with one of these in their name, and write nothing")
    wanted = parser.parse_args().part
    costs = []
    for name, make in ATTACKS.items():
        if not wanted or any(part in name for part in wanted):
            costs.append(cost(name, make()))
            print(costs[-1].row(), flush=True)
    if not wanted:
        DOCUMENT.write_text(marked.replaced(DOCUMENT.read_text(), "amplification", section(costs)))


if __name__ == "__main__":
    main()
