"""What an attack costs the collector for each byte it sends: ``python -m tests.bench.amplification [PART OF A NAME ...]``.

Each request is sent once to a collector of its own, with a spool. CPU seconds are those of the process until all traces have
their verdict and everything is exported, so a busy machine matters little. Without names, the table in collector/README.md is
written.
"""

from __future__ import annotations

import re
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple

import psutil

from tests import marked
from tests.bench.attacks import ATTACKS, Attack
from tests.bench.sink import Sink
from tests.collector_process import CollectorProcess

README = Path(__file__).parents[2] / "collector" / "README.md"
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
_QUIET = 0.02  # CPU seconds in a second: what an idle collector takes
_PATIENCE = 300  # seconds
_HEAD = """| request | answer | sent, gzip | decompressed | CPU | ms per KiB sent | ms per KiB decompressed | peak memory |
|---|---|---|---|---|---|---|---|
"""


class Cost(NamedTuple):
    """What one attack took: bytes, CPU seconds, and the peak of resident MiB."""

    name: str
    status: int
    sent: int
    size: int
    cpu: float
    peak: int

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
            self.name, self.status, f"{self.sent / 1024:,.1f} KiB", f"{self.size / 1024:,.0f} KiB", f"{self.cpu:.2f} s",
            f"{self.per_sent:,.1f}", f"{self.per_size:.2f}", f"{self.peak} MiB",
        )  # fmt: skip
        return f"| {' | '.join(map(str, cells))} |"


def cost(name: str, attack: Attack) -> Cost:
    """Send one request to a new collector, and wait until it has nothing to do any more."""
    sent = attack.compressed
    exporter = {"tls": {"insecure": True}}
    with Sink() as sink:
        exporter["endpoint"] = f"127.0.0.1:{sink.port}"  # type: ignore[assignment]
        with CollectorProcess(_RULES, exporter, spool={"path": "spool"}, traces=_TRACES) as collector:
            before = _cpu(collector)
            status = _post(collector, attack, sent)
            cpu = _cpu_when_idle(collector) - before
            return Cost(name, status, len(sent), len(attack.body), cpu, _peak_mib(collector))


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
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        used = _cpu(collector)
        time.sleep(1)
        if _cpu(collector) - used > _QUIET:
            continue
        used = _cpu(collector)
        waiting = ("rightcall_traces_open", 'rightcall_exporter_queue_size{exporter="otlp"}')
        if not any(collector.metric(series) for series in waiting):
            return used
    raise TimeoutError(f"busy after {_PATIENCE} s")


def _cpu(collector: CollectorProcess) -> float:
    times = psutil.Process(collector.pid).cpu_times()
    return float(times.user + times.system)


def _peak_mib(collector: CollectorProcess) -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{collector.pid}/status").read_text())
    assert found
    return int(found[1]) >> 10


def section(costs: list[Cost]) -> str:
    """The section of the README: the worst case in words, then the table."""
    accepted = [cost for cost in costs[1:] if cost.status == 200]
    sent, size = max(accepted, key=lambda cost: cost.per_sent), max(accepted, key=lambda cost: cost.per_size)
    return (
        f"At worst a KiB that is sent takes {sent.per_sent:,.0f} ms ({sent.name}), and a decompressed one\n"
        f"{size.per_size:.2f} ms ({size.name}); ordinary traffic takes {costs[0].per_sent:.1f} ms and "
        f"{costs[0].per_size:.2f} ms.\n\n"
        f"{_HEAD}" + "".join(f"{cost.row()}\n" for cost in costs)
    )


def main() -> None:
    """Run from the command line."""
    wanted = sys.argv[1:]
    costs = []
    for name, make in ATTACKS.items():
        if not wanted or any(part in name for part in wanted):
            costs.append(cost(name, make()))
            print(costs[-1].row(), flush=True)
    if not wanted:
        README.write_text(marked.replaced(README.read_text(), "amplification", section(costs)))


if __name__ == "__main__":
    main()
