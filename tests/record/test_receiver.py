"""Requests are kept as they came, numbered, decompressed, but for what names the machine."""

from __future__ import annotations

import gzip
import urllib.request
from pathlib import Path

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.record.http import LoopbackServer
from tests.record.receiver import RequestFiles
from tests.waiting import PATIENCE


def post(url: str, body: bytes, **headers: str) -> bytes:
    request = urllib.request.Request(url, body, headers, method="POST")
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        found: bytes = answer.read()
    return found


def traces(text: str, *resource: str) -> ExportTraceServiceRequest:
    """A request of one span whose event holds a text, with attributes of its resource."""
    request = ExportTraceServiceRequest()
    spans = request.resource_spans.add()
    for key in resource:
        spans.resource.attributes.add(key=key).value.string_value = "box"
    event = spans.scope_spans.add().spans.add(name="charge", trace_id=b"t" * 16).events.add(name="exception")
    event.attributes.add(key="exception.stacktrace").value.string_value = text
    return request


def test_requests_become_files(tmp_path: Path) -> None:
    logs = ExportLogsServiceRequest()
    logs.resource_logs.add().scope_logs.add().log_records.add(event_name="two")
    one, three = traces("one"), traces("three")
    with LoopbackServer(RequestFiles(tmp_path, {}).answer) as server:
        post(f"{server.url}/v1/traces", one.SerializeToString())
        post(f"{server.url}/v1/metrics", b"not kept")
        post(f"{server.url}/v1/logs", gzip.compress(logs.SerializeToString()), **{"content-encoding": "gzip"})
        assert post(f"{server.url}/v1/traces", three.SerializeToString()) == b""
    kept = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert kept == {
        "request-001.pb": one.SerializeToString(),
        "request-002-logs.pb": logs.SerializeToString(),
        "request-003.pb": three.SerializeToString(),
    }


def test_what_names_the_machine_is_not_kept(tmp_path: Path) -> None:
    sent = traces('File "/home/ada/venv/agno.py", in /home/ada/run.py', "service.name", "host.name", "process.pid")
    replaced = {"/home/ada": "/app", "/home/ada/venv": "/app/lib"}
    RequestFiles(tmp_path, replaced).answer("/v1/traces", sent.SerializeToString())
    kept = ExportTraceServiceRequest.FromString((tmp_path / "request-001.pb").read_bytes())
    assert kept == traces('File "/app/lib/agno.py", in /app/run.py', "service.name")
