"""Throughput and latency of a running collector: requests over gRPC in, scored, over gRPC out to a sink."""

from __future__ import annotations

import concurrent.futures
import contextlib
import itertools
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any, NamedTuple

import grpc
import psutil
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests import otlp_data as data
from tests.bench import content
from tests.bench.load import EPOCH, RULES, SPANS_PER_REQUEST, attribute, request, requests
from tests.bench.pacing import sleep_until, wait_until_arrived, wait_until_steady
from tests.bench.sink import PROBE, Sink
from tests.collector_process import CollectorProcess

_IN_FLIGHT = 4
_QUIET = 0.02  # of a CPU: what an idle collector takes
_SETTLED = 4.0  # seconds after which nothing more comes: held spans have left
_PROBE_EVERY = 0.01  # seconds


class Mix(NamedTuple):
    """What is sent: requests that are repeated, each of so many spans, and the rules that score them."""

    pool: Callable[[], list[bytes]]
    spans_per_request: int
    rules: str


REFERENCE = Mix(lambda: requests(150), SPANS_PER_REQUEST, RULES)
CONTENT = Mix(lambda: content.requests(20), content.SPANS_PER_TRACE, content.RULES)


def endless_requests(mix: Mix = REFERENCE) -> Iterator[bytes]:
    """Yield requests forever; no trace id is repeated."""
    pool = mix.pool()
    for epoch in itertools.count(1):
        fresh = epoch.to_bytes(8, "big")
        yield from (raw.replace(EPOCH, fresh) for raw in pool)


def collector_to(sink: Sink, spool: str | dict[str, Any], rules: str = RULES, **more: Any) -> CollectorProcess:
    """Returns a collector that exports to ``sink``; enter it to start it."""
    exporter = {"endpoint": f"127.0.0.1:{sink.port}", "tls": {"insecure": True}}
    return CollectorProcess(rules, exporter, traces={"settle": "1s", "idle_timeout": "10s"}, spool=spool, **more)


class Target(NamedTuple):
    """A running collector: its process, and the port of OTLP/gRPC."""

    pid: int
    grpc: int


def _processes(pid: int) -> list[psutil.Process]:
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def cpu_seconds(pid: int) -> float:
    """Returns the CPU time that a collector has taken."""
    times = [process.cpu_times() for process in _processes(pid)]
    return float(sum(one.user + one.system for one in times))


def rss_mib(pid: int) -> float:
    """Returns the resident memory of a collector in MiB."""
    return float(sum(process.memory_info().rss for process in _processes(pid))) / (1 << 20)


def throughput(seconds: float = 20.0, spool: str | dict[str, Any] = "memory", **more: Any) -> dict[str, float]:
    """Measure a collector at full load as `measure` does, and the time until it was ready.

    ``more`` are additional sections of the configuration.
    """
    with Sink() as sink, collector_to(sink, spool, **more) as collector:
        measured = measure(sink, Target(collector.pid, collector.grpc), seconds)
        return {**measured, "ready_seconds": collector.ready_seconds}


def measure(sink: Sink, target: Target, seconds: float, mix: Mix = REFERENCE) -> dict[str, float]:
    """Measure a collector at full load: spans per CPU-second and per second, share delivered, memory idle and after."""
    wait_until_steady(lambda: cpu_seconds(target.pid), _QUIET)
    idle = rss_mib(target.pid)
    stream, spans_per_request = endless_requests(mix), mix.spans_per_request
    warm = _send(target.grpc, stream, 3.0, spans_per_request)  # caches and connections
    wait_until_arrived(lambda: sink.counts()[0], warm, _SETTLED)
    spans_before, cpu_before = sink.counts()[0], cpu_seconds(target.pid)
    started = time.monotonic()
    sent = _send(target.grpc, stream, seconds, spans_per_request)
    sending = time.monotonic() - started
    wait_until_arrived(lambda: sink.counts()[0], spans_before + sent, _SETTLED)
    spans, events, _ = sink.counts()
    cpu = cpu_seconds(target.pid) - cpu_before
    return {
        "spans_per_cpu_second": (spans - spans_before) / cpu,
        "spans_per_second": sent / sending,
        "delivered_share": (spans - spans_before) / sent,
        "events": events,
        "idle_rss_mib": idle,
        "loaded_rss_mib": rss_mib(target.pid),
    }


def _send(port: int, stream: Iterator[bytes], seconds: float, spans_per_request: int) -> int:
    """Send as fast as the collector accepts. Returns the number of spans."""
    until, sent = time.monotonic() + seconds, 0
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        export = channel.unary_unary(data.EXPORT_TRACES, None, None)
        in_flight: set[Any] = set()
        while time.monotonic() < until:
            in_flight.add(export.future(next(stream), timeout=30))
            if len(in_flight) >= _IN_FLIGHT:
                done, in_flight = _wait_for_some(in_flight)
                sent += done
        while in_flight:
            done, in_flight = _wait_for_some(in_flight)
            sent += done
    return sent * spans_per_request


def _wait_for_some(in_flight: set[Any]) -> tuple[int, set[Any]]:
    """Wait for the oldest call, since responses come in order. Returns how many calls are done, and the others.

    Raises grpc.RpcError if a call failed.
    """
    first = next(iter(in_flight))
    first.result()
    rest = {future for future in in_flight if not future.done()}
    return len(in_flight) - len(rest), rest


def latency(
    rate: float, seconds: float = 15.0, spool: str | dict[str, Any] = "memory", **more: Any
) -> dict[str, float]:
    """Measure how many milliseconds a pass-through span takes to the sink at a load of ``rate`` spans per second.

    The collector has a core of its own, where there are two. ``more`` are other rules, or additional sections of the
    configuration.
    """
    first, *others = sorted(os.sched_getaffinity(0))
    with contextlib.ExitStack() as stack:
        stack.enter_context(_on_cores(others or [first]))
        sink = stack.enter_context(Sink())
        with _on_cores([first]):
            collector = stack.enter_context(collector_to(sink, spool, **more))
        channel = stack.enter_context(grpc.insecure_channel(f"127.0.0.1:{collector.grpc}"))
        stream, export = endless_requests(), channel.unary_unary(data.EXPORT_TRACES, None, None)
        period, first_request = SPANS_PER_REQUEST / rate, next(stream)
        # In a process of its own: in a thread of this one it would wait for what sends the load.
        prober = stack.enter_context(concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")))
        prober.submit(int).result()  # which takes as long as a process does to start
        probing, started = prober.submit(_probe, collector.grpc, seconds), time.monotonic()
        for number, raw in enumerate(itertools.chain([first_request], stream)):
            sleep_until(started + number * period)
            export.future(raw, timeout=30)
            if probing.done():
                break
        sent_at = probing.result()
        wait_until_arrived(lambda: len(sink.counts()[2]), len(sent_at), _SETTLED)
        arrived = sink.counts()[2]
        latencies = sorted((arrived[probe] - at) / 1e6 for probe, at in sent_at.items() if probe in arrived)
        return {
            "probes": len(sent_at),
            "probes_lost": len(sent_at) - len(latencies),
            "p50_ms": latencies[len(latencies) // 2],
            "p99_ms": latencies[int(len(latencies) * 0.99)],
        }


@contextlib.contextmanager
def _on_cores(cores: Iterable[int]) -> Iterator[None]:
    """Keep this thread, and processes and threads that it starts, on these cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _probe(port: int, seconds: float) -> dict[int, int]:
    """Send single spans. Returns the monotonic time at which each was sent, in nanoseconds, by the number in its attribute."""
    random, until, sent_at = Random(7), time.monotonic() + seconds, dict[int, int]()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        export = channel.unary_unary(data.EXPORT_TRACES, None, None)
        for number in itertools.count():
            if time.monotonic() >= until:
                break
            span = Span(trace_id=random.randbytes(16), span_id=random.randbytes(8), parent_span_id=random.randbytes(8))
            span.attributes.append(attribute(f"{PROBE.decode()}{number:08d}", 1))
            sent_at[number] = time.monotonic_ns()
            export(request([span]), timeout=30)
            sleep_until(time.monotonic() + _PROBE_EVERY)
    return sent_at
