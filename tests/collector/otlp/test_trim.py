"""Of a span too large to hold, what matters is read, and everything is forwarded."""

from __future__ import annotations

from base64 import b64encode

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.otlp import lazy
from collector.otlp.decode import _MAX_ITEMS, Decoder
from collector.otlp.structure import Envelope, Structure
from collector.otlp.trim import _FLOOD, MAX_ATTRIBUTES, may_be_flood, trim
from collector.payloads.values import MAX_TEXT
from tests import otlp_data as data

NO_ENVELOPE = Envelope(b"", b"")
HUGE = "ä" * (3 << 20)


def test_texts_are_cut_and_the_rest_is_as_it_was() -> None:
    span = data.tool(2, 1, "search", gen_ai__tool__call__arguments=HUGE, after="kept")
    span.status.message = "failed"
    trimmed = Span.FromString(trim(span.SerializeToString()))
    text = data.values_of(trimmed)["gen_ai.tool.call.arguments"]
    assert HUGE.startswith(text)
    assert len(text) > MAX_TEXT
    assert len(text.encode()) < 2 << 20
    for attribute in trimmed.attributes:
        if attribute.key == "gen_ai.tool.call.arguments":
            attribute.value.string_value = HUGE
    assert trimmed == span


def test_values_that_are_no_text_and_links_are_left_out() -> None:
    span = data.span(2, 1, before=1, blob=bytes(6 << 20), after=2)
    span.links.add(trace_id=data.TRACE)
    assert data.values_of(Span.FromString(trim(span.SerializeToString()))) == {"before": 1, "after": 2}
    assert not Span.FromString(trim(span.SerializeToString())).links


def test_all_that_is_read_is_limited() -> None:
    span = data.span(2, 1)
    span.attributes.extend(data.attributes({f"text {number}": "x" * (1 << 20) for number in range(20)}))
    assert len(trim(span.SerializeToString())) <= 4 << 20


def test_attributes_are_limited() -> None:
    span = data.span(2, 1)
    span.attributes.extend(data.attributes({f"k{number}": "v" for number in range(MAX_ATTRIBUTES + 10)}))
    assert len(Span.FromString(trim(span.SerializeToString())).attributes) == MAX_ATTRIBUTES
    (decoded,) = Decoder((), ("k",)).spans([span.SerializeToString()], NO_ENVELOPE)
    assert decoded is not None
    assert len(decoded.attributes) == MAX_ATTRIBUTES


def test_fields_are_limited_whatever_they_are() -> None:
    span = data.span(2, 1).SerializeToString()
    flood = span + b"j\0" * 30_000 + data.span(2, 1, late="y").SerializeToString()
    assert trim(flood) == span
    assert b"late" in trim(span + b"j\0" * 10_000 + data.span(2, 1, late="y").SerializeToString())


@pytest.mark.parametrize("field", [b"J\0", b"Z\0"])
def test_a_flood_of_attributes_or_events_is_suspected_and_letters_of_texts_are_not(field: bytes) -> None:
    span = data.span(2, 1).SerializeToString()
    assert may_be_flood(span + field * (_FLOOD + 1))
    assert not may_be_flood(span + field * 50_000)
    assert not may_be_flood(data.span(2, 1, image=b64encode(bytes(range(256)) * 10_000).decode()).SerializeToString())


def test_what_is_no_span_stays_none() -> None:
    (decoded,) = Decoder(()).spans([trim(b"\x4a\xff\xff\xff" + bytes(100))], NO_ENVELOPE)
    assert decoded is None


def test_attributes_of_an_event_and_items_of_a_value_are_limited() -> None:
    span = data.span(2, 1)
    span.events.add(name="e", attributes=data.attributes({f"k{number}": 1 for number in range(200)}))
    nested = AnyValue()
    for _ in range(3):
        nested.array_value.values.add().array_value.values.extend([AnyValue(int_value=1)] * 5_000)
    span.attributes.add(key="k").value.CopyFrom(nested)
    (decoded,) = Decoder((), ("k",)).spans([span.SerializeToString()], NO_ENVELOPE)
    assert decoded is not None
    assert len(decoded.events[0].attributes) == 128
    assert sum(len(inner) for inner in decoded.attributes["k"]) == _MAX_ITEMS - 3


def test_a_large_span_is_split_by_what_is_read_of_it_and_kept_whole() -> None:
    span = data.span(2, 1, before=HUGE, gen_ai__operation__name="execute_tool").SerializeToString()
    request = lazy.join([(NO_ENVELOPE, [span])])
    ((scope,),) = [lazy.split(groups, lazy.SpanFilter(())).scopes for groups in Structure(request).slices()]
    assert scope.whole == span
    assert len(scope.spans[0]) < 2 << 20
    assert scope.wanted == [0]


def test_spans_are_decoded_in_portions() -> None:
    sizes = [1, 1, 20_000, 1, 9_000, 9_000, 1]
    raw = data.traces(*(data.agent(number + 1, payload="x" * size) for number, size in enumerate(sizes)))
    (groups,) = Structure(raw.SerializeToString()).slices()
    (scope,) = lazy.split(groups, lazy.SpanFilter(())).scopes
    assert list(scope.portions()) == [[0, 1], [2], [3, 4], [5, 6]]
