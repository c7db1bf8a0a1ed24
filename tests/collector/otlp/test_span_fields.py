"""A span that is read in one pass is read as protobuf reads it, whatever the bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from collector.otlp import schema
from collector.otlp.lazy import iter_scopes
from collector.otlp.span_fields import attribute_fields, span_fields
from collector.otlp.trim import MAX_ATTRIBUTES
from tests import otlp_data as data
from tests.bench.load import requests

_FLAGS = [0x100, 0x101, 0x300, 0x3FF, 0x1, 0]


def parsed(raw: bytes) -> tuple[object, ...]:
    span = schema.Span.FromString(raw)
    return (
        span.trace_id, span.span_id, span.parent_span_id, span.name, span.kind, span.start_ns, span.end_ns,
        list(span.attributes), list(span.events), span.status, span.flags >> 8 & 0xFF,
    )  # fmt: skip


def in_one_pass(raw: bytes) -> tuple[object, ...] | None:
    fields = span_fields(raw)
    return None if fields is None else (*fields[:7], attribute_fields(raw, fields), list(fields[9]), *fields[10:])


texts = st.text(max_size=20) | st.sampled_from(["x" * 127, "x" * 128, "x" * 300, "y" * 17_000])
attributes = st.lists(
    st.builds(lambda key, text: KeyValue(key=key, value=AnyValue(string_value=text)), texts, texts), max_size=3
)


@st.composite
def spans(draw: st.DrawFn) -> Span:
    span = Span(
        trace_id=draw(st.sampled_from([data.TRACE, b"", b"short"])),
        span_id=draw(st.sampled_from([data.span_id(1), b"", b"longer than eight"])),
        parent_span_id=draw(st.sampled_from([data.span_id(2), b"", b"x"])),
        trace_state=draw(st.sampled_from(["", "vendor=1"])),
        name=draw(texts),
        kind=draw(st.integers(0, 5)),  # type: ignore[arg-type]
        start_time_unix_nano=draw(st.sampled_from([0, 5, 2**63])),
        end_time_unix_nano=draw(st.sampled_from([0, 9])),
        flags=draw(st.sampled_from(_FLAGS)),
        attributes=draw(attributes),
        dropped_attributes_count=draw(st.sampled_from([0, 0, 7])),
    )
    for name in draw(st.lists(texts, max_size=2)):
        span.events.add(name=name, time_unix_nano=4)
    for _ in range(draw(st.sampled_from([0, 0, 1]))):
        span.links.add(trace_id=data.TRACE)
    if draw(st.booleans()):
        span.status.CopyFrom(Status(code=draw(st.integers(0, 2)), message=draw(texts)))  # type: ignore[arg-type]
    return span


FIELDS = (
    b"",
    b"*\x01b",  # a second name
    b"J\x00",  # an attribute
    b"J\x81\x00x",  # one whose length takes a byte more than it needs
    b"0\x85\x80\x00",  # a kind that does
    b"K\x08\x01L",  # a group
    b"\x85\x01\x00\x02\x00\x00",  # flags again
    b"\xf8\x07\x01",  # a field of a newer OTLP
    b"\x95\x01abcd",  # one with the tag of another wire type
    b"\xff",
    b"J\xff\xff\xff\xff\x0f",
)


@given(spans(), st.sampled_from(FIELDS), st.sampled_from(FIELDS))
def test_every_span_that_is_read_is_read_as_protobuf_reads_it(span: Span, before: bytes, after: bytes) -> None:
    raw = before + span.SerializeToString() + after
    read = in_one_pass(raw)
    assert read is None or read == parsed(raw)


@given(spans(), st.data())
def test_a_damaged_span_is_read_as_protobuf_reads_it(span: Span, drawn: st.DataObject) -> None:
    raw = bytearray(span.SerializeToString())
    for at, byte in drawn.draw(st.lists(st.tuples(st.integers(0, 4_000), st.integers(0, 255)), max_size=3)):
        if at < len(raw):
            raw[at] = byte
    cut = bytes(raw[: drawn.draw(st.integers(0, len(raw)))])
    for damaged in (bytes(raw), cut):
        read = in_one_pass(damaged)
        assert read is None or read == parsed(damaged)


def test_what_sdks_send_is_read_in_one_pass() -> None:
    ((_, sent),) = iter_scopes(requests(1)[0])
    assert [in_one_pass(raw) for raw in sent] == [parsed(raw) for raw in sent]


@pytest.mark.parametrize("size", [127, 128, 16_383, 16_384, (1 << 21) - 1, 1 << 21])
def test_a_text_of_any_length_is_read_in_one_pass(size: int) -> None:
    span = data.span(1, parent=2)
    span.attributes.add(key="k", value=AnyValue(string_value="x" * size))
    span.attributes.add(key="after", value=AnyValue(int_value=1))
    raw = span.SerializeToString()
    assert in_one_pass(raw) == parsed(raw)


def test_a_span_with_more_attributes_than_are_read_is_left_to_protobuf() -> None:
    span = data.span(1)
    span.attributes.extend(KeyValue(key=f"k{number}") for number in range(MAX_ATTRIBUTES))
    assert in_one_pass(span.SerializeToString()) == parsed(span.SerializeToString())
    span.attributes.add(key="one more")
    assert span_fields(span.SerializeToString()) is None
