"""An outage of the backend under load: ``python -m tests.bench.outage [SECONDS]`` prints /metrics once a second.

Sends the reference mix at a constant rate to a collector with a spool and default limits. After twenty seconds the backend
refuses everything for ``SECONDS`` (60); the run ends when the queue is empty again. Every acknowledged span should arrive.
"""

from __future__ import annotations

import argparse
import threading
import time

from tests.bench.end_to_end import collector_to, endless_requests, rss_mib
from tests.bench.load import SPANS_PER_REQUEST
from tests.bench.pacing import sleep_until
from tests.bench.sink import Sink
from tests.bench.soak import RATE, Sender
from tests.collector_process import CollectorProcess
from tests.waiting import wait_for

_BEFORE, _AFTER = 20, 20  # seconds of load before the outage and after it
_COLUMNS = {
    "queue": 'rightcall_exporter_queue_size{exporter="otlp"}',
    "spool MiB": "rightcall_spool_bytes",
    "open": "rightcall_traces_open",
    "accepted": 'rightcall_receiver_accepted_spans_total{receiver="otlp",transport="grpc"}',
    "sent": 'rightcall_exporter_sent_spans_total{exporter="otlp"}',
    "failed": 'rightcall_exporter_send_failed_spans_total{exporter="otlp"}',
    "refused": 'rightcall_receiver_refused_spans_total{reason="overload",receiver="otlp",transport="grpc"}',
}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.outage", description=__doc__)
    parser.add_argument("seconds", nargs="?", type=float, default=60.0, help="how long the backend refuses everything")
    outage: float = parser.parse_args().seconds
    stop = threading.Event()
    with Sink() as sink, collector_to(sink, {"path": "spool"}) as collector:
        sender = Sender(collector.grpc, endless_requests(), SPANS_PER_REQUEST, RATE / SPANS_PER_REQUEST, stop)
        sender.start()
        print("| s | backend | RSS MiB | " + " | ".join(_COLUMNS) + " |")
        started, is_up = time.monotonic(), True
        while (elapsed := time.monotonic() - started) < _BEFORE + outage + _AFTER or _queue(collector) > 10:
            if is_up and _BEFORE <= elapsed < _BEFORE + outage:
                sink.go_down()
                is_up = False
            elif not is_up and elapsed >= _BEFORE + outage:
                sink.come_up()
                is_up = True
            if elapsed > _BEFORE + outage + _AFTER:
                stop.set()
            _row(collector, elapsed, is_up)
            sleep_until(started + int(elapsed) + 1)
        stop.set()
        sender.join()
        wait_for(lambda: collector.metric(_COLUMNS["open"]) + _queue(collector) == 0, 0.5, patience=120.0)
        code, (arrived, events, _) = collector.stop(), sink.counts()
        print(f"{sender.acknowledged:,} spans acknowledged, {arrived:,} arrived with {events:,} events, exit {code}")


def _queue(collector: CollectorProcess) -> float:
    return collector.metric(_COLUMNS["queue"])


def _row(collector: CollectorProcess, elapsed: float, is_up: bool) -> None:
    series = dict(line.rsplit(" ", 1) for line in collector.get("/metrics").splitlines() if not line.startswith("#"))
    values = {name: float(series.get(key, 0)) for name, key in _COLUMNS.items()}
    values["spool MiB"] /= 1 << 20
    cells = " | ".join(f"{value:,.0f}" for value in values.values())
    print(f"| {elapsed:.0f} | {'up' if is_up else 'down'} | {rss_mib(collector.pid):.0f} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
