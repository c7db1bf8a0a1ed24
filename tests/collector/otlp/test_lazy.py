"""The lazy split agrees with a full parse, however a request is encoded, and refuses what is not OTLP."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.errors import DecodeError
from collector.otlp import lazy
from collector.otlp.structure import Structure
from collector.otlp.wire import field
from tests import otlp_data as data

MARKERS = lazy.SpanFilter((b"gen_ai.operation.name", b"openinference.span.kind"), ("google.adk",))
NOTHING = lazy.SpanFilter((b"no such marker",))


def selected_ids(request: bytes) -> list[bytes]:
    return [
        Span.FromString(scope.spans[index]).span_id
        for scope in lazy.split(lazy.iter_scopes(request), MARKERS).scopes
        for index in scope.wanted
    ]


def test_only_roots_and_spans_with_a_marker_are_selected() -> None:
    request = data.traces(
        data.span(1),  # a root
        data.span(2, parent=1),
        data.tool(3, parent=1, name="search"),
        data.span(4, parent=1, openinference__span__kind="TOOL"),
    )
    assert selected_ids(request.SerializeToString()) == [data.span_id(1), data.span_id(3), data.span_id(4)]


def test_a_rare_marker_is_found_with_and_without_spans_of_the_most_common_one() -> None:
    rare = data.span(4, parent=1, openinference__span__kind="TOOL")
    assert selected_ids(data.traces(rare, data.span(5, parent=1)).SerializeToString()) == [data.span_id(4)]
    mixed = data.traces(data.tool(3, 1, "x"), data.span(5, parent=1), rare)
    assert selected_ids(mixed.SerializeToString()) == [data.span_id(3), data.span_id(4)]


@pytest.mark.parametrize("size", [10, 10_000])
def test_a_rare_marker_is_found_in_spans_of_any_size_and_not_between_two(size: int) -> None:
    spans = [data.span(number, parent=1, padding="x" * size) for number in range(2, 8)]
    for span in spans[1], spans[4]:
        span.attributes.extend(data.attributes({"openinference.span.kind": "TOOL"}))
    # Where two meet there is a marker that neither of them has.
    spans[2].status.message, spans[3].trace_state = "openinference.span", ".kind"
    assert selected_ids(data.traces(*spans).SerializeToString()) == [data.span_id(3), data.span_id(6)]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_the_most_common_marker_selects_the_spans_it_is_in_and_no_other(counts: list[int]) -> None:
    spans = [data.span(number, parent=1) for number in range(2, len(counts) + 2)]
    for span, count in zip(spans, counts, strict=True):
        for number in range(count):  # a span may have it several times, and each may be the last one
            span.attributes.extend(data.attributes({f"{number}.gen_ai.operation.name": "chat"}))
    expected = [span.span_id for span, count in zip(spans, counts, strict=True) if count]
    assert selected_ids(data.traces(*spans).SerializeToString()) == expected


KINDS = Span.SpanKind.values()
LONG = "a name of more than a hundred and twenty-seven characters, " * 3


def child(kind: int, flags: int, name: str, trace_state: str = "") -> bytes:
    """A request with one span that has a parent."""
    span = data.span(2, parent=1, name=name)
    span.kind, span.flags, span.trace_state = kind, flags, trace_state  # type: ignore[assignment]
    return data.traces(span).SerializeToString()


@pytest.mark.parametrize("name", ["rpc", "", LONG], ids=["short name", "no name", "long name"])
@pytest.mark.parametrize(
    ("kind", "flags", "wanted"),
    [
        ("SERVER", 0, True),
        ("CONSUMER", 0, True),
        ("CLIENT", 0, False),
        ("INTERNAL", 0x300, True),
        ("SERVER", 0x301, True),
        ("SERVER", 0x100, False),
        ("SERVER", 0x101, False),
        ("SERVER", 0x1, True),  # the W3C sampled flag does not tell whether the parent is remote
        ("SERVER", 0x201, True),
        ("INTERNAL", 0x1, False),
        ("INTERNAL", 0x201, False),
        ("INTERNAL", 0x700, True),  # with a flag of a newer OTLP
        ("SERVER", 0x500, False),
    ],
)
def test_a_span_with_a_remote_parent_is_selected(kind: str, flags: int, name: str, wanted: bool) -> None:
    assert bool(selected_ids(child(Span.SpanKind.Value(f"SPAN_KIND_{kind}"), flags, name))) is wanted


@given(st.sampled_from(KINDS), st.integers(0, 0x3FF), st.text(max_size=200))
def test_reading_at_fixed_offsets_agrees_with_parsing(kind: int, flags: int, name: str) -> None:
    parsed = child(kind, flags, name, trace_state="a=b")  # moves the fields behind it, so that the span is parsed
    assert selected_ids(child(kind, flags, name)) == selected_ids(parsed)


def test_every_span_of_certain_scopes_is_selected() -> None:
    request = data.traces(data.span(2, parent=1), data.span(3, parent=1), scope="google.adk")
    assert selected_ids(request.SerializeToString()) == [data.span_id(2), data.span_id(3)]


def test_join_of_iter_scopes_gives_the_same_bytes() -> None:
    request = data.traces(data.span(1), data.tool(2, 1, "search"))
    request.resource_spans.extend(data.traces(data.span(3), service="other").resource_spans)
    raw = request.SerializeToString()
    assert lazy.join(lazy.iter_scopes(raw)) == raw


def test_scopes_of_one_resource_share_it_wherever_they_stand() -> None:
    requests = [data.traces(data.span(at), service=name, scope=str(at)) for at, name in enumerate("aba", start=1)]
    raw = b"".join(request.SerializeToString() for request in requests)
    joined = ExportTraceServiceRequest.FromString(lazy.join(lazy.iter_scopes(raw)))
    assert [[scope.scope.name for scope in each.scope_spans] for each in joined.resource_spans] == [["1", "3"], ["2"]]


def test_a_body_that_is_no_request_is_found_without_splitting_it() -> None:
    request = data.traces(data.span(1)).SerializeToString()
    Structure(request)
    with pytest.raises(DecodeError, match="not an OTLP protobuf request"):
        Structure(request[:-3])


def test_every_scope_and_span_is_split_whatever_stands_before_it() -> None:
    shop, other = (lazy.Envelope(resource, b"") for resource in (b"\n\x02\n\x00", b""))
    spans = [data.span(2, 1), data.tool(3, 2, "x"), data.span(4, 3), data.span(5, 3)]
    raws = [span.SerializeToString() for span in spans]
    split = lazy.split(lazy.iter_scopes(lazy.join([(shop, [raws[0], b"\xff", raws[1]]), (other, raws[2:])])), MARKERS)
    assert [(scope.envelope, scope.wanted) for scope in split.scopes] == [(shop, [1, 2]), (other, [])]
    assert split.span_count == 5
    parents = lazy.parent_links(b"".join(split.links[data.TRACE]))
    assert parents == {data.span_id(2 + at): data.span_id(parent) for at, parent in enumerate((1, 2, 3, 3))}


def test_ids_of_wrong_sizes_do_not_shift_the_links_of_others() -> None:
    spans = [
        Span(trace_id=data.TRACE, span_id=span, parent_span_id=b"parent of a span") for span in (b"s", b"span ids")
    ]
    spans.append(data.span(7, parent=3))
    links = lazy.split(lazy.iter_scopes(data.traces(*spans).SerializeToString()), NOTHING).links[data.TRACE]
    assert lazy.parent_links(b"".join(links)) == {
        b"s".ljust(8, b"\0"): b"parent o",
        b"span ids": b"parent o",
        data.span_id(7): data.span_id(3),
    }
    short = data.traces(Span(trace_id=data.TRACE, span_id=b"a longer id", parent_span_id=b"p")).SerializeToString()
    assert lazy.split(lazy.iter_scopes(short), NOTHING).links[data.TRACE] == [b"a longer", b"p".ljust(8, b"\0")]


PARENT = b'"\x08' + data.span_id(9)
FIELDS = data.span(7, name="agent").SerializeToString()[28:]


@pytest.mark.parametrize(
    ("fields", "parent"),
    [
        (FIELDS, bytes(8)),
        (PARENT + FIELDS, data.span_id(9)),
        (FIELDS + PARENT, data.span_id(9)),
        (b'"\x03abc' + FIELDS, b"abc".ljust(8, b"\0")),
        (b"\x1a\x01x" + FIELDS, bytes(8)),  # trace state
        (data.span(7, name='"\x08', note="x").SerializeToString()[28:], bytes(8)),  # a text that looks like a parent
    ],
)
def test_a_root_is_a_span_without_a_parent_wherever_it_would_stand(fields: bytes, parent: bytes) -> None:
    raw = data.span(7).SerializeToString()[:28] + fields
    split = lazy.split([(lazy.Envelope(b"", b""), data.items(raw))], NOTHING)
    assert split.links == {data.TRACE: [data.span_id(7), parent]}
    assert split.scopes[0].wanted == ([0] if parent == bytes(8) else [])


def test_packed_links_are_read_one_by_one() -> None:
    first, second, third = map(data.span_id, (0x0102030405060708, 2, 3))
    packed = second + first + third + second + first + bytes(8)
    assert lazy.parent_links(packed) == {second: first, third: second, first: b""}


def test_fields_of_a_newer_otlp_survive() -> None:
    unknown = b"\xba\x3e\x03new"  # field 999, length-delimited
    scope = data.traces(data.span(1)).resource_spans[0].scope_spans[0].SerializeToString() + unknown
    resource = b"\x12" + bytes([len(scope)]) + scope + unknown
    raw = b"\x0a" + bytes([len(resource)]) + resource
    assert lazy.join(lazy.iter_scopes(raw)) == raw


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(data.span(7, parent=3).SerializeToString(), id="fields in order"),
        pytest.param(
            b'"\x08' + data.span_id(3) + b"\x12\x08" + data.span_id(7) + b"\n\x10" + data.TRACE, id="fields reversed"
        ),
        pytest.param(
            b"\n\x10" + data.TRACE + b"\x12\x08" + data.span_id(7) + b"\x1a\x03a=b" + b'"\x08' + data.span_id(3),
            id="with trace state",
        ),
    ],
)
def test_ids_are_found_in_any_order_of_fields(raw: bytes) -> None:
    request = (
        data.traces(Span.FromString(raw)).SerializeToString().replace(Span.FromString(raw).SerializeToString(), raw)
    )
    links = lazy.split(lazy.iter_scopes(request), NOTHING).links
    assert {trace: lazy.parent_links(b"".join(ids)) for trace, ids in links.items()} == {
        data.TRACE: {data.span_id(7): data.span_id(3)}
    }


def test_a_parent_id_of_zeros_means_no_parent() -> None:
    root = data.span(1)
    root.parent_span_id = bytes(8)
    split = lazy.split(lazy.iter_scopes(data.traces(root).SerializeToString()), NOTHING)
    assert split.scopes[0].wanted == [0]
    assert lazy.parent_links(b"".join(split.links[data.TRACE])) == {data.span_id(1): b""}


def test_a_truncated_request_is_refused() -> None:
    with pytest.raises(DecodeError, match="not an OTLP protobuf request"):
        lazy.split(lazy.iter_scopes(data.traces(data.span(1)).SerializeToString()[:-3]), MARKERS)


@given(st.binary(max_size=300))
def test_any_bytes_split_or_are_refused(raw: bytes) -> None:
    try:
        split = lazy.split(lazy.iter_scopes(raw), MARKERS)
    except DecodeError:
        return
    assert split.span_count == sum(len(scope.spans) for scope in split.scopes)


ids = st.binary(min_size=0, max_size=20)


@given(
    st.lists(
        st.builds(Span, trace_id=ids, span_id=ids, parent_span_id=ids, trace_state=st.text(max_size=5)), max_size=6
    )
)
def test_links_agree_with_a_full_parse_for_spans_with_proper_ids(spans: list[Span]) -> None:
    proper = [span for span in spans if len(span.trace_id) == 16 and len(span.span_id) == 8]
    raw = ExportTraceServiceRequest.SerializeToString(data.traces(*proper))
    for span in proper:
        links = lazy.parent_links(b"".join(lazy.split(lazy.iter_scopes(raw), NOTHING).links[span.trace_id]))
        assert span.span_id in links


def test_spans_that_nothing_can_be_joined_to_are_not_decoded() -> None:
    spans = [
        b"",
        Span(trace_id=b"short", name="gen_ai.operation.name").SerializeToString(),
        data.span(1).SerializeToString(),
    ]
    (groups,) = Structure(lazy.join([(lazy.Envelope(b"", b""), spans)])).slices()
    split = lazy.split(groups, lazy.SpanFilter(()))
    assert (split.scopes[0].wanted, split.span_count, list(split.links)) == ([2], 3, [data.TRACE])


@given(
    st.lists(st.binary(max_size=300), max_size=8),
    st.sets(st.integers(0, 7)),
    st.lists(st.sampled_from([b"", b"\xba\x3e\x03new"]), min_size=8, max_size=8),
)
def test_items_that_leave_as_they_came_are_those_that_are_left(
    raws: list[bytes], left_out: set[int], between: list[bytes]
) -> None:
    scope = b"".join([field(0x12, raw) + gap for raw, gap in zip(raws, between, strict=False)])
    ((envelope, found),) = lazy.iter_scopes(field(0x0A, field(0x12, scope)))
    assert list(found) == raws
    left = [raw for at, raw in enumerate(raws) if at not in left_out]
    assert lazy.join_fields([(envelope, found.fields_without(left_out))]) == lazy.join([(envelope, left)])
    indexes = [at for at in range(len(raws)) if at not in left_out]
    assert all(raw in b"".join(found.pieces(indexes)) for raw in left)


def test_spans_next_to_one_another_leave_in_one_piece() -> None:
    raws = [data.span(at, 1).SerializeToString() for at in range(2, 8)]
    ((_, found),) = lazy.iter_scopes(lazy.join([(lazy.Envelope(b"", b""), raws)]))
    assert len(found.fields_without({2})) == 4, (
        "a head and a piece before the one that is left out, and as much after it"
    )
    assert len(found.pieces([0, 1, 3, 4, 5])) == 2
