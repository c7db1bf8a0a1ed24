"""A running collector against malicious senders: gzip bombs, garbage on every listener, inputs for slow regexes."""

from __future__ import annotations

import gzip
import random
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from tests import otlp_data as data
from tests.collector_process import CollectorProcess
from tests.http2 import PREFACE, frame, message
from tests.sinks import OtlpSink
from tests.waiting import PATIENCE, wait_for

RULES = r"""
rules:
  - {name: never, match: {agent: {regex: "^(h|h|he|el|l|o|.)*r$"}}, expect: {any_order: []}}
  - name: evil
    match: {}
    expect:
      sequence: [{tool: look_up, arguments: {text: {regex: "^(a+)+$"}}}]
    pass: 0.9
intents:
  - {name: greedy, regex: "(x+x+)+y"}
"""
LIMIT_MIB = 8
BOMB = bytes(256 << 20)


@pytest.fixture(scope="module")
def collector(sink: OtlpSink) -> Iterator[CollectorProcess]:
    limits = {"max_recv_msg_size_mib": LIMIT_MIB}, {"max_request_body_size_mib": LIMIT_MIB}
    exporter, traces = {"endpoint": sink.endpoint, "tls": {"insecure": True}}, {"settle": "100ms"}
    with CollectorProcess(RULES, exporter, grpc=limits[0], http=limits[1], traces=traces) as process:
        yield process


def by_grpc(process: CollectorProcess, request: bytes, compression: grpc.Compression | None = None) -> str:
    options = [("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(f"127.0.0.1:{process.grpc}", options) as channel:
        try:
            channel.unary_unary(data.EXPORT_TRACES, None, None)(request, timeout=PATIENCE, compression=compression)
        except grpc.RpcError as error:
            return str(error.code().name)
        return "OK"


def by_http(process: CollectorProcess, request: bytes, **headers: str) -> int:
    url = f"http://127.0.0.1:{process.http}/v1/traces"
    post = urllib.request.Request(url, request, {"content-type": "application/x-protobuf", **headers})
    try:
        with urllib.request.urlopen(post, timeout=PATIENCE) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_gzip_bombs_are_refused_before_they_are_decompressed(collector: CollectorProcess) -> None:
    before = collector.peak_mib()
    assert by_grpc(collector, BOMB, grpc.Compression.Gzip) == "INVALID_ARGUMENT"
    assert by_http(collector, gzip.compress(BOMB, 1), **{"content-encoding": "gzip"}) == 413
    assert collector.peak_mib() - before < 4 * LIMIT_MIB
    check_listeners(collector)


def check_listeners(process: CollectorProcess) -> None:
    """Check that every listener accepts valid requests."""
    request = data.traces(data.span(1, parent=9)).SerializeToString()
    assert by_grpc(process, request) == "OK"
    assert by_http(process, request) == 200
    assert process.get("/readyz", process.admin).startswith("ok")
    assert "rightcall_traces_open" in process.get("/metrics")


def garbage(choice: random.Random) -> bytes:
    """Returns bytes that start like a request and continue with garbage."""
    request = data.traces(data.agent(1), data.tool(2, 1, "look_up")).SerializeToString()
    junk = choice.randbytes(choice.randrange(1, 2000))
    mutated = bytearray(
        choice.choice(
            (
                PREFACE + frame(4, 0, 0) + frame(1, 4, 1, junk[:200]) + frame(0, 1, 1, message(request)),
                b"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n"
                + junk,
                b"GET /metrics HTTP/1.1\r\nhost: x\r\naccept: " + junk[:50] + b"\r\n\r\n",
                PREFACE + b"".join(frame(choice.randrange(12), junk[0], 1, junk[:50]) for _ in range(20)),
                junk,
            )
        )
    )
    for _ in range(choice.randrange(4)):
        mutated[choice.randrange(len(mutated))] = choice.randrange(256)
    return bytes(mutated)


def test_any_bytes_into_any_listener(collector: CollectorProcess) -> None:
    choice = random.Random(3)
    open_files = len(list(Path(f"/proc/{collector.pid}/fd").iterdir()))
    for _ in range(150):
        for port in (collector.grpc, collector.http, collector.metrics_port, collector.admin):
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
                connection.sendall(garbage(choice))
                connection.settimeout(0.002)
                try:
                    connection.recv(1 << 16)
                except OSError:  # no response yet, or connection closed: both are fine
                    continue
    check_listeners(collector)
    wait_for(lambda: len(list(Path(f"/proc/{collector.pid}/fd").iterdir())) <= open_files + 5)
    assert [line for line in collector.log.splitlines() if "Traceback" in line] == []


def test_a_rule_with_an_evil_regex_takes_linear_time(collector: CollectorProcess, sink: OtlpSink) -> None:
    trace_id = b"evil" * 4
    arguments = '{"text": "' + "a" * 20_000 + '!"}'
    words = '[{"role": "user", "parts": [{"type": "text", "content": "' + "x" * 1_500 + '"}]}]'
    agent = data.agent(1, name="hello" * 20, trace_id=trace_id, gen_ai__input__messages=words)
    tool = data.tool(2, 1, "look_up", trace_id=trace_id, gen_ai__tool__call__arguments=arguments)
    assert by_grpc(collector, data.traces(tool, agent).SerializeToString()) == "OK"
    wait_for(lambda: any(record.trace_id == trace_id for record in sink.records()))
    (event,) = [data.values_of(record) for record in sink.records() if record.trace_id == trace_id]
    assert (event["rightcall.rule"], event["gen_ai.evaluation.score.label"]) == ("evil", "fail")
