"""Plays the recorded runs and the benchmark's requests through a pipeline, and prints a digest of every byte that comes out.

    python -m tests.replay FOLDER      # of unpacked recordings

Two builds of the same source print the same, if ``PYTHONHASHSEED`` is the same.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from prometheus_client.exposition import generate_latest

from collector.component import Signal
from collector.receivers.otlp_file import read_file
from tests import recorded
from tests.bench.load import RULES, requests
from tests.harness import Bench

_RULES = f"""{RULES}
  - name: errors
    constraints: [{{absence: "*delete*"}}]
    expect: {{max_errors: 0, max_calls: 3, retries: collapse}}
  - {{name: trace, scope: trace, expect: {{any_order: [get_weather, send_email]}}}}
  - name: shadow
    shadow: true
    expect: {{sequence: [get_weather], max_calls: 1}}
    scorers: [{{system: trajectory}}, {{system: evalite}}]
"""


def play(received: Iterable[tuple[Signal, bytes]]) -> Iterator[str]:
    """Yield digests of what leaves for these requests, and of the metrics."""
    with TemporaryDirectory() as folder:
        bench = Bench(Path(folder), _RULES)
        for signal, request in received:
            bench.pipeline.receive(signal, request, "grpc")
            bench.wait(1.0)
        bench.wait(60.0)
        for sent in bench.queue.pending():
            yield f"{sent.signal} {sent.items} {sha256(sent.payload).hexdigest()}"
        metrics = [line for line in generate_latest(bench.telemetry.registry).splitlines() if b"rightcall_" in line]
        yield f"metrics {sha256(b''.join(metrics)).hexdigest()}"


def main(folder: Path) -> None:
    """Print the digests of all runs."""
    runs: dict[str, list[tuple[Signal, bytes]]] = {"bench": [("traces", request) for request in requests(4)]}
    for name in recorded.names():
        runs[name] = [item for path in recorded.requests(folder / name) for item in read_file(path)]
    for name, received in runs.items():
        for line in play(received):
            print(name, line)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
