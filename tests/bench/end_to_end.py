"""Throughput and latency of a running collector: requests over gRPC in, scored, over gRPC out to a sink."""

from __future__ import annotations

import concurrent.futures
import itertools
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import grpc
import psutil
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.bench.load import EPOCH, RULES, SPANS_PER_REQUEST, attribute, request, requests
from tests.bench.sink import PROBE, Sink
from tests.collector_process import CollectorProcess

_TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_POOL = 150
_IN_FLIGHT = 4


def _stream() -> Iterator[bytes]:
    """Requests without end, with trace ids that never come twice."""
    pool = requests(_POOL)
    for epoch in itertools.count(1):
        fresh = epoch.to_bytes(8, "big")
        yield from (raw.replace(EPOCH, fresh) for raw in pool)


def _collector(sink: Sink, spool: str | dict[str, Any], rules: str = RULES, **more: Any) -> CollectorProcess:
    exporter = {"endpoint": f"127.0.0.1:{sink.port}", "tls": {"insecure": True}}
    return CollectorProcess(rules, exporter, traces={"settle": "1s", "idle_timeout": "10s"}, spool=spool, **more)


def _cpu_seconds(collector: CollectorProcess) -> float:
    times = psutil.Process(collector.pid).cpu_times()
    return float(times.user + times.system)


def _rss_mib(collector: CollectorProcess) -> float:
    return float(psutil.Process(collector.pid).memory_info().rss) / (1 << 20)


def throughput(seconds: float = 20.0, spool: str | dict[str, Any] = "memory") -> dict[str, float]:
    """Spans per CPU-second of the collector process at full load; also its memory idle and after, and time to ready."""
    with Sink() as sink, _collector(sink, spool) as collector:
        time.sleep(1)
        idle = _rss_mib(collector)
        stream = _stream()
        _send(collector.grpc, stream, 3.0)  # warm caches and connections
        time.sleep(3)
        spans_before, cpu_before = sink.counts()[0], _cpu_seconds(collector)
        begun = time.monotonic()
        sent = _send(collector.grpc, stream, seconds)
        sending = time.monotonic() - begun
        time.sleep(4)  # let held spans settle and leave
        spans, events, _ = sink.counts()
        cpu = _cpu_seconds(collector) - cpu_before
        return {
            "spans_per_cpu_second": (spans - spans_before) / cpu,
            "spans_per_second": sent / sending,
            "delivered_share": (spans - spans_before) / sent,
            "events": events,
            "idle_rss_mib": idle,
            "loaded_rss_mib": _rss_mib(collector),
            "ready_seconds": collector.ready_seconds,
        }


def _send(port: int, stream: Iterator[bytes], seconds: float) -> int:
    """Send as fast as the collector accepts; returns the number of spans."""
    until, sent = time.monotonic() + seconds, 0
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        export = channel.unary_unary(_TRACES, None, None)
        in_flight: set[Any] = set()
        while time.monotonic() < until:
            in_flight.add(export.future(next(stream), timeout=30))
            if len(in_flight) >= _IN_FLIGHT:
                done, in_flight = _some(in_flight)
                sent += SPANS_PER_REQUEST * done
        while in_flight:
            done, in_flight = _some(in_flight)
            sent += SPANS_PER_REQUEST * done
    return sent


def _some(in_flight: set[Any]) -> tuple[int, set[Any]]:
    """Wait for the oldest call, since answers come in order; returns how many are done, and the rest. Raises if refused."""
    first = next(iter(in_flight))
    first.result()
    rest = {future for future in in_flight if not future.done()}
    return len(in_flight) - len(rest), rest


def latency(
    rate: float, seconds: float = 15.0, spool: str | dict[str, Any] = "memory", **more: Any
) -> dict[str, float]:
    """Milliseconds a pass-through span takes to the sink while ``rate`` spans a second of the mix flow.

    ``more`` are other rules, or further sections of the configuration.
    """
    with (
        Sink() as sink,
        _collector(sink, spool, **more) as collector,
        grpc.insecure_channel(f"127.0.0.1:{collector.grpc}") as channel,
    ):
        stream, export = _stream(), channel.unary_unary(_TRACES, None, None)
        left: dict[int, int] = {}
        begun = time.monotonic()
        period, number = SPANS_PER_REQUEST / rate, 0
        with concurrent.futures.ThreadPoolExecutor(1) as prober:
            probing = prober.submit(_probe, collector.grpc, seconds, left)
            while (at := begun + number * period) < begun + seconds:
                time.sleep(max(0.0, at - time.monotonic()))
                export.future(next(stream), timeout=30)
                number += 1
            probing.result()
        time.sleep(1)
        arrived = sink.counts()[2]
        taken = sorted((arrived[probe] - at) / 1e6 for probe, at in left.items() if probe in arrived)
        return {
            "probes": len(left),
            "probes_lost": len(left) - len(taken),
            "p50_ms": taken[len(taken) // 2],
            "p99_ms": taken[int(len(taken) * 0.99)],
        }


def _probe(port: int, seconds: float, left: dict[int, int]) -> None:
    random, until = Random(7), time.monotonic() + seconds
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        export = channel.unary_unary(_TRACES, None, None)
        for number in itertools.count():
            if time.monotonic() >= until:
                return
            span = Span(trace_id=random.randbytes(16), span_id=random.randbytes(8), parent_span_id=random.randbytes(8))
            span.attributes.append(attribute(f"{PROBE.decode()}{number:08d}", 1))
            left[number] = time.monotonic_ns()
            export(request([span]), timeout=30)
            time.sleep(0.01)
