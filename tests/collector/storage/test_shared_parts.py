"""A large resource is in the spool once, however many traces, scopes or log records come with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from collector.component import Signal
from collector.otlp.structure import Envelope
from collector.storage.journal import Journal, JournaledScope
from collector.storage.records import RecordKind, read_record
from collector.storage.rows import Change
from collector.storage.spool import Spool
from collector.storage.spool_file import SpoolFile
from collector.telemetry.metrics import Telemetry
from tests import otlp_data as data
from tests.harness import Life

LARGE = "x" * 20_000
MANY = 40


def trace_id(number: int) -> bytes:
    return (number + 1).to_bytes(16)


def runs(*, scopes: int, resource: str = LARGE, scope: str = "", last: int = MANY) -> ExportTraceServiceRequest:
    """So many traces of an agent with one call, in so many scopes of one resource."""
    ids = map(trace_id, range(last))
    spans = [span for i in ids for span in (data.tool(2, 1, "get_weather", trace_id=i), data.agent(1, trace_id=i))]
    return request_of(spans, scopes, resource, scope)


def request_of(spans: list[Span], scopes: int, resource: str, scope: str) -> ExportTraceServiceRequest:
    groups = [
        ScopeSpans(scope=InstrumentationScope(name=scope or f"scope {number}"), spans=spans[number::scopes])
        for number in range(scopes)
    ]
    described = Resource(attributes=data.attributes({"service.name": "shop", "host.name": resource}))
    return ExportTraceServiceRequest(resource_spans=[ResourceSpans(resource=described, scope_spans=groups)])


def log_events() -> ExportLogsServiceRequest:
    """The log events of one open trace."""
    records = [
        LogRecord(
            trace_id=trace_id(0), span_id=data.span_id(2), event_name="gen_ai.choice", time_unix_nano=number,
            attributes=data.attributes({"gen_ai.system": "openai", "index": number}),
        )
        for number in range(MANY)
    ]  # fmt: skip
    described = Resource(attributes=data.attributes({"host.name": LARGE}))
    return ExportLogsServiceRequest(
        resource_logs=[ResourceLogs(resource=described, scope_logs=[ScopeLogs(log_records=records)])]
    )


def stored_bytes(life: Life) -> int:
    assert life.file is not None
    return sum(len(record or b"") for _, _, record in life.file.inbox())


def exported(life: Life) -> dict[bytes, str]:
    """The host name under which each trace left."""
    requests = [ExportTraceServiceRequest.FromString(payload) for signal, payload in life.sent if signal == "traces"]
    return {
        span.trace_id: data.values_of(resource.resource)["host.name"]  # type: ignore[arg-type]
        for request in requests
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    }


ROOTS = request_of([data.span(1, trace_id=trace_id(number)) for number in range(MANY)], MANY, LARGE, "")


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(runs(scopes=1), id="traces"),
        pytest.param(runs(scopes=MANY), id="scopes"),
        pytest.param(runs(scopes=1, resource="x", scope=LARGE), id="a large scope"),
        pytest.param(ROOTS, id="traces without an agent"),
        pytest.param(log_events(), id="log records"),
    ],
)
def test_the_spool_takes_little_more_than_was_sent(
    tmp_path: Path, request_: ExportTraceServiceRequest | ExportLogsServiceRequest
) -> None:
    life = Life(tmp_path)
    signal: Signal = "logs" if isinstance(request_, ExportLogsServiceRequest) else "traces"
    sent = request_.SerializeToString()
    if signal == "logs":
        life.send(data.agent(1, trace_id=trace_id(0)))
    life.pipeline.receive(signal, sent, "grpc")
    life.write()
    assert len(LARGE) < stored_bytes(life) < 2 * len(sent)
    life.close()


def test_the_slices_of_a_request_share_its_resource(tmp_path: Path) -> None:
    life = Life(tmp_path)
    sent = runs(scopes=1, resource=LARGE * 10, last=1_500).SerializeToString()
    life.pipeline.receive("traces", sent, "grpc")
    life.write()
    assert stored_bytes(life) < 2 * len(sent)
    life.close()


def test_what_was_shared_comes_back_after_a_crash_and_is_deleted_with_the_last_trace(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.pipeline.receive("traces", runs(scopes=2).SerializeToString(), "grpc")
    life.write()
    life.crash()
    assert life.resumed == MANY
    life.settle()
    assert exported(life) == {trace_id(number): LARGE for number in range(MANY)}
    assert life.rows() == (0, MANY)
    life.close()


def test_a_shared_resource_stays_while_a_trace_needs_it(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.pipeline.receive("traces", runs(scopes=1, last=2).SerializeToString(), "grpc")
    life.send(data.tool(2, 9, "get_weather", trace_id=trace_id(1)))  # below a span that is missing: goes on waiting
    life.settle()
    assert life.rows() == (3, 1), "two records of the open trace, and the resource"
    life.crash()
    life.settle(60.0)
    assert {span.trace_id for span in life.spans()} == {trace_id(0), trace_id(1)}
    assert life.rows() == (0, 2)
    life.close()


def test_a_record_of_no_use_at_recovery_leaves_the_resource_to_the_next(tmp_path: Path) -> None:
    file = SpoolFile(tmp_path, fsync=False)
    spool = Spool(file, 1 << 30, Telemetry())
    first, second = trace_id(0), trace_id(1)
    envelope = Envelope(LARGE.encode(), b"")
    links = {first: [data.span_id(1), bytes(8)], second: [data.span_id(2), bytes(8)]}
    scopes = [JournaledScope(envelope, {first: [b"a"], second: [b"b"]})]
    Journal(spool, links.__contains__, 10.0).store_request(links, scopes, 0.0)
    file.apply(spool._pending)
    spool._pending = Change()
    journal = Journal(spool, {second}.__contains__, 10.0)
    for row, kind, record in journal.records():
        assert record is not None
        if kind == RecordKind.SHARED:
            journal.restored_part(row, record)
        else:
            journal.restored(read_record(row, kind, record, journal.shared_parts), 0.0)
    journal.end()
    file.apply(spool._pending)
    assert [kind for _, kind, _ in file.inbox()] == [RecordKind.SHARED, RecordKind.SPANS | 1 << 4]
    file.close()


def test_a_record_whose_resource_is_damaged_is_lost_and_no_other(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.pipeline.receive("traces", runs(scopes=1, last=1, resource=LARGE * 2).SerializeToString(), "grpc")
    life.send(data.tool(2, 1, "get_weather", trace_id=trace_id(5)), data.agent(1, trace_id=trace_id(5)))
    life.write()
    assert life.file is not None
    damaged = life.file._connection.execute("UPDATE inbox SET records = x'00' WHERE length(records) > 40000")
    assert damaged.rowcount == 1, "a record as large has a row of its own"
    life.crash()
    assert life.resumed == 1
    life.settle()
    assert {span.trace_id for span in life.spans()} == {trace_id(5)}
    life.close()
