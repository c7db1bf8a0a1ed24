"""Kill the collector while it is loaded, start it again, many times: what was acknowledged arrives, verdicts never change."""

from __future__ import annotations

import os
import random
import threading
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

import grpc
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests import otlp_data as data
from tests.collector_process import CollectorProcess
from tests.sinks import OtlpSink
from tests.waiting import PATIENCE, wait_for

RULES = """
rules:
  - {name: orders, match: {agent: helper}, expect: {sequence: [look_up, refund]}, pass: 0.9}
  - {name: talks, scope: conversation, expect: {sequence: [look_up, refund]}, pass: 0.9}
"""
SCOPES = (None, "conversation")  # each run is a conversation of its own: it has an event of either rule
KILLS = int(os.environ.get("RIGHTCALL_KILLS", "8"))  # a long run is the same test with more of them
CLIENTS = 3


@dataclass
class Sent:
    """What clients were told is safe: span ids by trace, and traces all of whose requests were acknowledged."""

    spans: set[tuple[bytes, bytes]] = field(default_factory=set)
    whole: set[tuple[bytes, bytes]] = field(default_factory=set)


def run_of(choice: random.Random) -> tuple[bytes, list[list[Span]]]:
    """One agent run cut into requests: its parts in the order in which exporters send them, the agent last."""
    trace_id = choice.randbytes(16)
    tools = [
        data.tool(2, 1, "look_up", 0.1, trace_id),
        data.tool(3, 1, choice.choice(["refund", "pay"]), 0.2, trace_id),
    ]
    plain = [data.span(number, 2, "GET", 0.1, trace_id) for number in range(10, 14)]
    agent = data.agent(1, trace_id=trace_id, gen_ai__conversation__id=trace_id.hex())
    return trace_id, [[tools[0], *plain[:2]], [tools[1], *plain[2:]], [agent]]


def client(seed: int, port: int, stop: threading.Event, sent: Sent) -> None:
    """Send runs, each request again until it is acknowledged, and the last one to its end: what is given up is in doubt."""
    choice = random.Random(seed)
    options = [("grpc.max_reconnect_backoff_ms", 200)]
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        export = channel.unary_unary(data.EXPORT_TRACES, None, None)
        while not stop.is_set():
            trace_id, parts = run_of(choice)
            for part in parts:
                request = data.traces(*part).SerializeToString()
                wait_for(lambda request=request: is_acknowledged(export, request), 0.03)
                sent.spans.update((span.trace_id, span.span_id) for span in part)
            sent.whole.add((trace_id, data.span_id(1)))


def is_acknowledged(export: Any, request: bytes) -> bool:
    try:
        export(request, timeout=PATIENCE)
    except grpc.RpcError:
        return False
    return True


def test_killed_again_and_again_it_loses_and_changes_nothing() -> None:
    choice, stop, sent = random.Random(5), threading.Event(), Sent()
    with OtlpSink() as sink:
        exporter = {"endpoint": sink.endpoint, "tls": {"insecure": True}}
        traces = {"settle": "500ms", "idle_timeout": "3s"}
        talks = {"idle_timeout": "500ms"}
        with CollectorProcess(
            RULES, exporter, traces=traces, conversations=talks, spool={"path": "spool"}
        ) as collector:
            clients = [threading.Thread(target=client, args=(n, collector.grpc, stop, sent)) for n in range(CLIENTS)]
            for thread in clients:
                thread.start()
            for _ in range(KILLS):
                enough = len(sent.whole) + choice.randrange(1, 100)
                wait_for(lambda enough=enough: len(sent.whole) >= enough, 0.01)
                collector.kill()
                collector.start()
            stop.set()
            for thread in clients:
                thread.join(PATIENCE)
            wait_for(lambda: not missing(sink, sent), 0.5)
            assert collector.stop() == 0
        check(sink, sent)


def missing(sink: OtlpSink, sent: Sent) -> set[tuple[Any, ...]]:
    arrived = {(span.trace_id, span.span_id) for span in sink.spans()}
    judged = {(record.trace_id, record.span_id, scope_of(record)) for record in sink.records()}
    return (sent.spans - arrived) | ({(*anchor, scope) for anchor in sent.whole for scope in SCOPES} - judged)


def scope_of(record: LogRecord) -> str | None:
    scope: str | None = data.values_of(record).get("rightcall.scope")
    return scope


def check(sink: OtlpSink, sent: Sent) -> None:
    events = defaultdict(list)
    for record in sink.records():
        said = data.values_of(record)
        events[record.trace_id, scope_of(record), said["rightcall.revision"]].append(record.SerializeToString())
        assert said["rightcall.complete"] is True
    assert all(len(set(copies)) == 1 for copies in events.values()), "what is sent again is the same, byte for byte"
    assert {revision for _, _, revision in events} == {0}
    copies: dict[tuple[bytes, bytes], set[bytes]] = defaultdict(set)
    for span in sink.spans():
        copies[span.trace_id, span.span_id].add(span.SerializeToString())
    assert all(len(versions) == 1 for versions in copies.values())
    again = Counter(len(found) for found in events.values())
    print(
        f"{KILLS} kills, {len(sent.spans)} spans acknowledged, {len(sent.whole)} runs, events by copies: {dict(again)}"
    )
    assert len(sent.whole) > 20 * KILLS
