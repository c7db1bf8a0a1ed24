"""A running collector with little memory, attacked with all that takes much of it at once, stays below its limit."""

from __future__ import annotations

import contextlib
import gzip
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator

import grpc
import pytest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue

from tests import otlp_data as data
from tests.collector_process import CollectorProcess, send
from tests.http2 import endless_headers
from tests.waiting import PATIENCE, wait_for

MIB = 1 << 20
LIMIT_MIB = 256
RULES = "rules: [{name: any, match: {}, expect: {any_order: []}}]"
ROUNDS = 30


def collector_with(**limits: int) -> CollectorProcess:
    traces = {"settle": "100ms", "confirm": "100ms"}
    return CollectorProcess(RULES, None, memory_limiter=limits, traces=traces)


@pytest.fixture
def collector() -> Iterator[CollectorProcess]:
    with collector_with(limit_mib=LIMIT_MIB) as process:
        yield process


def post(process: CollectorProcess, body: bytes, kind: str = "x-protobuf", **headers: str) -> int:
    url = f"http://127.0.0.1:{process.http}/v1/traces"
    request = urllib.request.Request(url, body, {"content-type": f"application/{kind}", **headers})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0  # closed while the body was still on its way


def unfinished(process: CollectorProcess) -> socket.socket:
    """Send 12 of 13 MiB of a body, as far as they are taken."""
    sender = socket.create_connection(("127.0.0.1", process.http), timeout=1)
    head = b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Length: %d\r\n\r\n"
    with contextlib.suppress(OSError):  # refused
        sender.sendall(head % (13 * MIB) + bytes(12 * MIB))
    return sender


def of_a_large_resource(number: int) -> bytes:
    request = data.traces(data.span(1, trace_id=number.to_bytes(16)))
    blob = KeyValue(key="blob", value=data.any_value(f"{number}" + "x" * (900 << 10)))
    request.resource_spans[0].resource.attributes.append(blob)
    return request.SerializeToString()


def with_a_large_call(number: int) -> bytes:
    trace = (1000 + number).to_bytes(16)
    call = data.tool(2, 1, "write", trace_id=trace)
    text = data.any_value('{"text": "' + "y" * (4 * MIB) + '"}')
    call.attributes.append(KeyValue(key="gen_ai.tool.call.arguments", value=text))
    return data.traces(data.agent(1, trace_id=trace), call).SerializeToString()


def test_all_that_takes_memory_stays_below_the_limit_and_others_are_served(collector: CollectorProcess) -> None:
    innocent = data.traces(data.agent(1, trace_id=bytes(15) + b"i")).SerializeToString()
    senders = [unfinished(collector) for _ in range(25)]
    assert post(collector, innocent) == 200, "while large bodies are on their way"
    for sender in senders:
        sender.close()
    bomb, nested = gzip.compress(bytes(60 * MIB)), b'{"x":[' + b"[]," * MIB + b"0]}"
    for number in range(ROUNDS):
        for nth in range(4 * number, 4 * number + 4):
            wait_for(lambda nth=nth: post(collector, of_a_large_resource(nth)) == 200)
        wait_for(lambda number=number: post(collector, with_a_large_call(number)) == 200)
        if number % 10 == 0:
            assert post(collector, bomb, **{"content-encoding": "gzip"}) in (400, 413, 429)
            assert post(collector, nested, "json") in (400, 413, 429)
    assert post(collector, innocent) == 200
    assert collector.peak_mib() < LIMIT_MIB
    assert "Traceback" not in collector.log


def test_while_everything_is_refused_what_is_read_for_its_trace_ids_takes_little_memory() -> None:
    # The process alone is above the soft limit, and below the hard one.
    with collector_with(limit_mib=LIMIT_MIB, spike_limit_mib=LIMIT_MIB - 20) as collector:
        before = collector.peak_mib()
        senders = [unfinished(collector) for _ in range(25)]
        bomb = gzip.compress(bytes(60 * MIB))
        for number in range(300):
            traces = (data.agent(1, trace_id=(100 * number + nth).to_bytes(16)) for nth in range(1, 101))
            assert post(collector, data.traces(*traces).SerializeToString()) == 429
            if number % 10 == 0:
                for body in (of_a_large_resource(number), with_a_large_call(number)):
                    assert post(collector, body) in (429, 0)
                assert post(collector, bomb, **{"content-encoding": "gzip"}) in (429, 0)
        for sender in senders:
            sender.close()
        assert collector.peak_mib() < before + 30


def test_connections_whose_headers_never_end_keep_nobody_out_for_long() -> None:
    with collector_with(limit_mib=LIMIT_MIB) as collector, contextlib.ExitStack() as senders:
        while send(collector, data.agent(1)) is grpc.StatusCode.OK:
            sender = senders.enter_context(socket.create_connection(("127.0.0.1", collector.grpc)))
            sender.sendall(endless_headers(5 * MIB))
        wait_for(lambda: send(collector, data.agent(1)) is grpc.StatusCode.OK)
        assert "all gRPC connections are closed" in collector.log
