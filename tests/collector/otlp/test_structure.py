"""What a request is made of is counted, limited and sliced."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from collector.errors import DecodeError, TooLargeError
from collector.otlp import lazy, schema
from collector.otlp.structure import Limits, Structure
from collector.otlp.wire import field_head
from tests import otlp_data as data

LIMITS = Limits(resources=20, scopes=30, items=100, description=1_000)


def sliced(raw: bytes) -> list[tuple[int, bytes]]:
    """Returns each item with the number of its slice."""
    return [(at, item) for at, part in enumerate(Structure(raw).slices()) for _, items in part for item in items]


def whole_items(raw: bytes) -> list[bytes]:
    return [span.SerializeToString() for span in data.all_spans(raw)]


texts = st.text(max_size=5)
spans = st.builds(Span, trace_id=st.binary(max_size=20), name=st.text(max_size=200))
scopes = st.builds(
    ScopeSpans, scope=st.builds(InstrumentationScope, name=texts), spans=st.lists(spans, max_size=4), schema_url=texts
)
resources = st.builds(
    ResourceSpans,
    resource=st.builds(Resource, attributes=st.builds(data.attributes, st.dictionaries(texts, texts, max_size=2))),
    scope_spans=st.lists(scopes, max_size=3),
    schema_url=texts,
)
requests = st.builds(ExportTraceServiceRequest, resource_spans=st.lists(resources, max_size=3))


@given(requests)
def test_a_request_is_what_protobuf_reads(request: ExportTraceServiceRequest) -> None:
    raw = request.SerializeToString()
    read = Structure(raw)
    assert read.scopes == sum(len(resource.scope_spans) for resource in request.resource_spans)
    assert read.items == len(data.all_spans(raw))
    joined = lazy.join(group for part in read.slices() for group in part)
    # Resources that are equal become one, so what is in them may leave in another order.
    assert sorted(map(str, data.all_spans(joined))) == sorted(map(str, data.all_spans(raw)))
    described = {resource.resource.SerializeToString() for resource in request.resource_spans if resource.scope_spans}
    again = ExportTraceServiceRequest.FromString(joined)
    assert {resource.resource.SerializeToString() for resource in again.resource_spans} == described


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    try:
        read = Structure(raw)
    except DecodeError:
        return
    schema.Request.FromString(raw)  # what is read here, protobuf reads, too
    for part in read.slices():
        lazy.split(part, lazy.SpanFilter(()))


@pytest.mark.parametrize("name", ["x", "x" * 3_000], ids=["small", "large"])
def test_items_beyond_a_slice_go_into_the_next(name: str) -> None:
    raw = data.traces(*(data.span(number, 1, name=name) for number in range(1, 1_400))).SerializeToString()
    found = sliced(raw)
    assert [item for _, item in found] == whole_items(raw)
    sizes = [sum(1 for at, _ in found if at == slice_) for slice_ in range(found[-1][0] + 1)]
    assert max(sizes) == 600
    assert len(sizes) == 3


def test_bytes_beyond_a_slice_go_into_the_next() -> None:
    raw = data.traces(*(data.span(number, 1, name="x" * 700_000) for number in range(1, 10))).SerializeToString()
    assert [at for at, _ in sliced(raw)] == [0, 0, 1, 1, 2, 2, 3, 3, 4]


def test_a_large_span_is_alone_in_its_slice() -> None:
    sizes = [10, 6_000_000, 10, 10]
    raw = data.traces(*(data.span(1, 1, name="x" * size) for size in sizes)).SerializeToString()
    assert [at for at, _ in sliced(raw)] == [0, 1, 2, 2]
    assert [item for _, item in sliced(raw)] == whole_items(raw)


def test_a_batch_of_an_sdk_is_one_slice() -> None:
    raw = data.traces(*(data.agent(number) for number in range(1, 513))).SerializeToString()
    assert len(list(Structure(raw).slices())) == 1


def test_scopes_without_items_fill_a_slice_too() -> None:
    raw = b"\n\x02\x12\0" * 2_000
    assert [len(part) for part in Structure(raw).slices()] == [601, 601, 601, 197]


def request_of(resources: int = 1, scopes: int = 1, items: int = 1) -> bytes:
    return ExportTraceServiceRequest(
        resource_spans=[
            ResourceSpans(scope_spans=[ScopeSpans(spans=[Span()] * items) for _ in range(scopes)])
            for _ in range(resources)
        ]
    ).SerializeToString()


BEYOND = {
    "20 resources": request_of(resources=21),
    "30 scopes": request_of(resources=2, scopes=16),
    "30 scopes at once": request_of(scopes=31),
    "100 spans": request_of(scopes=2, items=51),
    "100 spans at once": request_of(items=101),
}


@pytest.mark.parametrize("beyond", BEYOND)
def test_what_is_beyond_a_limit_is_refused(beyond: str) -> None:
    with pytest.raises(TooLargeError, match=f"at most {beyond.removesuffix(' at once')}"):
        Structure(BEYOND[beyond], LIMITS)


def test_what_is_at_the_limits_is_read() -> None:
    read = Structure(request_of(resources=10, scopes=3, items=3), LIMITS)
    assert (read.scopes, read.items) == (30, 90)
    assert Structure(request_of(resources=20), LIMITS).scopes == 20
    assert Structure(request_of(items=100), LIMITS).items == 100


def test_a_resource_with_too_much_to_say_is_refused() -> None:
    raw = data.traces(*(data.span(1, name="x" * (1 << 20)),), service="s" * 1_001).SerializeToString()
    with pytest.raises(TooLargeError, match="a resource may have at most"):
        Structure(raw, LIMITS)
    assert Structure(raw).items == 1


@pytest.mark.parametrize("described", ["resource", "scope", "nothing"])
def test_what_slices_repeat_is_limited(described: str) -> None:
    names = {"service": "s" * 1_000} if described == "resource" else {"scope": "s" * 1_000}
    request = data.traces(*[Span(name="x" * 200)] * 1_900, **(names if described != "nothing" else {}))
    raw = request.SerializeToString()
    assert len(list(Structure(raw, Limits(repeated=3_300)).slices())) == 4
    if described == "nothing":
        assert Structure(raw, Limits(repeated=1_000)).items == 1_900, "large items are not what is repeated"
        return
    with pytest.raises(TooLargeError, match="counted once for every 600"):
        Structure(raw, Limits(repeated=3_000))


@pytest.mark.parametrize("level", [0, 1, 2])
def test_fields_that_otlp_does_not_define_are_limited(level: int) -> None:
    def request(count: int) -> bytes:
        body = b"\x18\0" * count
        for tag in (0x12, 0x0A)[2 - level :] if level else ():
            body = field_head(tag, len(body)) + body
        return body

    assert Structure(request(8)).items == 0
    with pytest.raises(DecodeError, match="too many fields"):
        Structure(request(9))


@pytest.mark.parametrize("level", ["resources", "scopes", "items"])
def test_a_flood_is_refused_before_there_is_an_object_for_each(level: str) -> None:
    flood = b"\x12\0" * 10_000_000
    if level == "resources":
        flood = b"\n\0" * 10_000_000
    elif level == "items":
        flood = field_head(0x12, len(flood)) + flood
    if level != "resources":
        flood = field_head(0x0A, len(flood)) + flood
    tracemalloc.start()
    with pytest.raises(TooLargeError):
        Structure(flood, Limits(10_000, 10_000, 10_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30 << 20  # one copy of the resource


MALFORMED = {
    "a length beyond the end": b"\n\x05ab",
    "a length that does not end": b"\n\xff\xff",
    "a length of too many bytes": b"\n" + b"\xff" * 12,
    "a group": b"\x0b\x0c",
    "a field without a number": b"\x02\0",
    "a field of too high a number": b"\x80\x80\x80\x80\x10\0",
    "a tag alone": b"\n",
    "a number that ends beyond": b"\x08\xff",
    "a fixed number that ends beyond": b"\x0d\0\0",
    "a scope beyond its resource": b"\n\x03\x12\x05a",
}


@pytest.mark.parametrize("raw", MALFORMED.values(), ids=list(MALFORMED))
def test_a_request_that_is_malformed_is_refused(raw: bytes) -> None:
    with pytest.raises(DecodeError):
        Structure(raw)
