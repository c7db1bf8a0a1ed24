"""A request divided by trace: every item arrives once, in messages of one trace that brokers take."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.errors import DecodeError
from collector.otlp.by_trace import MAX_MESSAGE, by_trace, trace_ids
from collector.otlp.wire import field
from tests import otlp_data as data

SERVICES = ("shop", "billing")


def trace_id(number: int) -> bytes:
    return bytes([number]) * 16


def request_of(spans: list[tuple[int, int]]) -> bytes:
    """A request of spans, each with the number of its trace and of its service."""
    parts = [
        data.traces(data.span(number, trace_id=trace_id(trace)), service=SERVICES[service])
        for number, (trace, service) in enumerate(spans, 1)
    ]
    return b"".join(part.SerializeToString() for part in parts)


def spans_with_service(request: bytes) -> list[tuple[str, bytes]]:
    parsed = ExportTraceServiceRequest.FromString(request)
    return [
        (resource.resource.attributes[0].value.string_value, span.SerializeToString())
        for resource in parsed.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 1)), max_size=12))
def test_every_span_is_in_one_message_of_its_trace_with_its_resource(spans: list[tuple[int, int]]) -> None:
    request = request_of(spans)
    messages = list(by_trace("traces", request))
    assert {key for key, _, _ in messages} == trace_ids("traces", request) == {trace_id(trace) for trace, _ in spans}
    assert len(messages) == len({trace for trace, _ in spans}), "small traces have one message each"
    for key, message, count in messages:
        found = data.all_spans(message)
        assert {span.trace_id for span in found} == {key}
        assert len(found) == count
    arrived = [item for _, message, _ in messages for item in spans_with_service(message)]
    assert sorted(arrived) == sorted(spans_with_service(request))


def test_a_large_trace_has_several_messages_and_none_too_large() -> None:
    spans = [data.span(number, text="x" * 100_000) for number in range(1, 31)]
    other = data.span(99, trace_id=trace_id(9))
    messages = list(by_trace("traces", data.traces(*spans[:20], other, *spans[20:]).SerializeToString()))
    sent = [span.span_id for key, message, _ in messages if key == data.TRACE for span in data.all_spans(message)]
    assert sent == [span.span_id for span in spans], "in order"
    assert sum(count for _, _, count in messages) == 31
    assert [key for key, _, _ in messages].count(trace_id(9)) == 1
    assert 4 <= len(messages) <= 6
    assert max(len(message) for _, message, _ in messages) < MAX_MESSAGE + 1_000


def test_an_item_too_large_for_any_message_has_one_of_its_own() -> None:
    large = data.span(2, text="x" * (MAX_MESSAGE + 1))
    request = data.traces(data.span(1), large, data.span(3)).SerializeToString()
    assert [count for _, _, count in by_trace("traces", request)] == [1, 1, 1]


def test_log_records_have_the_trace_of_their_own_field() -> None:
    request = data.logs(LogRecord(trace_id=trace_id(1)), LogRecord(severity_text="a"), LogRecord(trace_id=trace_id(1)))
    found = {key: count for key, _, count in by_trace("logs", request.SerializeToString())}
    assert found == {trace_id(1): 2, b"": 1}


def test_the_order_of_the_fields_of_a_span_does_not_matter() -> None:
    ids = field(0x12, bytes(8)), field(0x0A, trace_id(3))
    request = field(0x0A, field(0x12, field(0x12, b"".join(ids)) + field(0x12, b"".join(reversed(ids)))))
    assert trace_ids("traces", request) == {trace_id(3)}
    assert [key for key, _, _ in by_trace("traces", request)] == [trace_id(3)]


def test_what_is_no_span_leaves_as_it_came() -> None:
    broken = b"\x0a\x7f"
    request = field(0x0A, field(0x12, field(0x12, broken) + field(0x12, data.span(1).SerializeToString())))
    messages = {key: message for key, message, _ in by_trace("traces", request)}
    assert messages.keys() == {b"", data.TRACE}
    assert broken in messages[b""]
    assert trace_ids("traces", request) == {b"", data.TRACE}


@pytest.mark.parametrize("request_", [b"\x0a\x7f", b"\xff", b"\x0a\x02\x12\x7f"])
def test_what_is_no_request_is_refused(request_: bytes) -> None:
    with pytest.raises(DecodeError):
        list(by_trace("traces", request_))
    with pytest.raises(DecodeError):
        trace_ids("traces", request_)


def test_a_request_of_nothing_gives_nothing() -> None:
    assert list(by_trace("traces", b"")) == []
    assert list(by_trace("traces", data.traces().SerializeToString())) == []
    assert Span().trace_id not in trace_ids("traces", b"")
