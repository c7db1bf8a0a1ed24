"""Hostile load for a long time: ``python -m tests.bench.soak [MINUTES] [OUTAGE_SECONDS]`` prints a line every ten seconds.

Sends the reference mix at a constant rate, and at the same time traces that never complete, traces of 100,000 spans, one
trace id forever, and routes, tools and agents with ever new names. After a fifth of the time the backend is down for a
while. Memory should stay flat, open traces bounded, and every acknowledged span should arrive.
"""

from __future__ import annotations

import argparse
import itertools
import threading
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import grpc
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests import otlp_data as data
from tests.bench.end_to_end import endless_requests, rss_mib
from tests.bench.load import RULES, SPANS_PER_REQUEST, attribute, request
from tests.bench.pacing import sleep_until
from tests.bench.sink import Sink
from tests.collector_process import CollectorProcess
from tests.waiting import wait_for

RATE = 26_000  # spans per second of the reference mix: half of what a busy two-core machine accepts
_HUGE = 100_000
_QUEUE = 'rightcall_exporter_queue_size{exporter="otlp"}'
_LOST = ("rightcall_exporter_send_failed_spans_total", "rightcall_dropped_spans_total")
_EVERY = 10.0  # seconds between lines


def _agent_span(choice: Random, trace_id: bytes, name: str, parent: bytes = b"") -> Span:
    span = Span(trace_id=trace_id, span_id=choice.randbytes(8), parent_span_id=parent, name=name)
    span.start_time_unix_nano, span.end_time_unix_nano = time.time_ns(), time.time_ns() + 1000
    return span


def _tool(choice: Random, trace_id: bytes, tool: str) -> Span:
    span = _agent_span(choice, trace_id, f"execute_tool {tool}", choice.randbytes(8))
    span.attributes.extend([attribute("gen_ai.operation.name", "execute_tool"), attribute("gen_ai.tool.name", tool)])
    return span


def never_complete(choice: Random) -> Iterator[bytes]:
    """Tool spans whose agent span never arrives."""
    while True:
        yield request([_tool(choice, choice.randbytes(16), "lookup_order") for _ in range(50)])


def huge(choice: Random) -> Iterator[bytes]:
    """Traces of a hundred thousand spans, every tenth of which is a tool span."""
    while True:
        trace_id = choice.randbytes(16)
        for _ in range(_HUGE // 500):
            plain = [_agent_span(choice, trace_id, "GET", b"parent00") for _ in range(450)]
            yield request(plain + [_tool(choice, trace_id, "lookup_order") for _ in range(50)])


def one_forever(choice: Random) -> Iterator[bytes]:
    """A session that never ends: one trace id, run after run."""
    trace_id = choice.randbytes(16)
    while True:
        agent = _agent_span(choice, trace_id, "invoke_agent session")
        agent.attributes.extend(
            [attribute("gen_ai.operation.name", "invoke_agent"), attribute("gen_ai.agent.name", "s")]
        )
        tools = [_tool(choice, trace_id, "lookup_order") for _ in range(3)]
        for tool in tools:
            tool.parent_span_id = agent.span_id
        yield request([*tools, agent])


def label_flood(choice: Random) -> Iterator[bytes]:
    """Routes, tools and agents that never come twice."""
    for number in itertools.count():
        trace_id = choice.randbytes(16)
        agent = _agent_span(choice, trace_id, "invoke_agent")
        values = (
            ("gen_ai.operation.name", "invoke_agent"),
            ("http.route", f"/{number}"),
            ("gen_ai.agent.name", "support-agent"),
        )
        agent.attributes.extend([attribute(key, value) for key, value in values])
        tool = _tool(choice, trace_id, f"tool_{number}")
        tool.parent_span_id = agent.span_id
        yield request([tool, agent])


class Sender(threading.Thread):
    """Sends requests at a steady rate, each until it is acknowledged; counts acknowledged spans and refusals."""

    def __init__(
        self, port: int, requests: Iterator[bytes], spans: int, per_second: float, stop: threading.Event
    ) -> None:
        super().__init__(daemon=True)
        self._port, self._requests, self._spans, self._pause, self._stop_event = (
            port,
            requests,
            spans,
            1 / per_second,
            stop,
        )
        self.acknowledged = self.refused = 0

    def run(self) -> None:
        due = time.monotonic()
        with grpc.insecure_channel(f"127.0.0.1:{self._port}") as channel:
            export = channel.unary_unary(data.EXPORT_TRACES, None, None)
            while not self._stop_event.is_set():
                body = next(self._requests)
                while not self._sent(export, body) and not self._stop_event.wait(0.2):
                    pass
                due = max(due + self._pause, time.monotonic() - 1)
                self._stop_event.wait(max(0.0, due - time.monotonic()))

    def _sent(self, export: Any, body: bytes) -> bool:
        try:
            export(body, timeout=30)
        except grpc.RpcError:
            self.refused += 1
            return False
        self.acknowledged += self._spans
        return True


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.soak", description=__doc__)
    parser.add_argument("minutes", nargs="?", type=float, default=20.0, help="how long the load lasts")
    parser.add_argument("outage_seconds", nargs="?", type=float, default=60.0, help="how long the backend is down")
    arguments, stop = parser.parse_args(), threading.Event()
    with Sink() as sink:
        exporter = {"endpoint": f"127.0.0.1:{sink.port}", "tls": {"insecure": True}, "timeout": "5s"}
        traces = {"settle": "1s", "idle_timeout": "20s", "max_duration": "2m", "max_open": 5000}
        with CollectorProcess(
            RULES, exporter, traces=traces, spool={"path": "spool", "max_size_mib": 4096}
        ) as collector:
            choice, port = Random(3), collector.grpc
            senders = [
                Sender(port, endless_requests(), SPANS_PER_REQUEST, RATE / SPANS_PER_REQUEST, stop),
                Sender(port, never_complete(choice), 50, 10, stop),
                Sender(port, huge(choice), 500, 2, stop),
                Sender(port, one_forever(choice), 4, 5, stop),
                Sender(port, label_flood(choice), 2, 50, stop),
            ]
            _watch(collector, sink, senders, arguments.minutes * 60, arguments.outage_seconds, stop)


def _watch(
    collector: CollectorProcess, sink: Sink, senders: list[Sender], seconds: float, outage: float, stop: threading.Event
) -> None:
    for sender in senders:
        sender.start()
    started, outage_start, outage_end = time.monotonic(), seconds / 5, seconds / 5 + outage
    is_down = False
    while (elapsed := time.monotonic() - started) < seconds:
        sleep_until(time.monotonic() + _EVERY)
        if not is_down and outage_start <= elapsed < outage_end:
            sink.go_down()
            is_down = True
        elif is_down and elapsed >= outage_end:
            sink.come_up()
            is_down = False
        _line(collector, senders, elapsed, is_down)
    stop.set()
    for sender in senders:
        sender.join()
    wait_for(lambda: collector.metric("rightcall_traces_open") + collector.metric(_QUEUE) == 0, 1.0, patience=180.0)
    lost = [line for line in collector.get("/metrics").splitlines() if line.startswith(_LOST)]
    code = collector.stop()
    acknowledged = sum(sender.acknowledged for sender in senders)
    print("\n".join([*lost, *collector.log.splitlines()[-10:]]))
    print(f"{acknowledged:,} spans acknowledged, {sink.counts()[0]:,} arrived, exit {code}")


def _line(collector: CollectorProcess, senders: list[Sender], elapsed: float, is_down: bool) -> None:
    figures = {
        "open": collector.metric("rightcall_traces_open"),
        "queue": collector.metric(_QUEUE),
        "spool MiB": collector.metric("rightcall_spool_bytes") / (1 << 20),
        "evicted": collector.metric('rightcall_runs_total{release="evicted"}'),
        "idle": collector.metric('rightcall_runs_total{release="idle"}'),
        "overflow": collector.metric('rightcall_label_overflow_total{label="tool"}'),
    }
    shown = ", ".join(f"{name} {value:,.0f}" for name, value in figures.items())
    sent, refused = sum(s.acknowledged for s in senders), sum(s.refused for s in senders)
    when = f"{elapsed:6.0f} s{' (backend down)' if is_down else ''}"
    print(
        f"{when}: RSS {rss_mib(collector.pid):.0f} MiB, acknowledged {sent:,}, refused {refused}, {shown}", flush=True
    )


if __name__ == "__main__":
    main()
