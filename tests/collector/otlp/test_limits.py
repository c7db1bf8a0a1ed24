"""Caches and reads of what untrusted senders choose (scopes, resources, keys, events) are bounded."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue

from collector.otlp import attribute_keys, decode, lazy, schema
from collector.otlp.annotate import _envelopes, _of_spans, annotate, events_envelope
from collector.otlp.decode import Decoder
from collector.otlp.redact import Redactor
from collector.otlp.schema import Scope, ScopeItems
from collector.otlp.trim import MAX_ATTRIBUTES
from collector.results.evaluation_events import _USUAL, _encoded, _of_events
from tests import otlp_data as data

NO_ENVELOPE = lazy.Envelope(b"", b"")


def scope_named(name: str) -> bytes:
    serialized: bytes = ScopeItems(scope=Scope(name=name.encode()).SerializeToString()).SerializeToString()
    return serialized


def resource_with(**attributes: str) -> bytes:
    pairs = [pair.SerializeToString() for pair in data.attributes(attributes)]
    resource = schema.Resource(attributes=pairs).SerializeToString()
    serialized: bytes = schema.ResourceItems(resource=resource).SerializeToString()
    return serialized


def span_with(**attributes: Any) -> bytes:
    return data.span(1, **attributes).SerializeToString()


def test_a_span_filter_caches_a_bounded_number_of_scopes() -> None:
    span_filter = lazy.SpanFilter((), ("wanted",))
    span_filter._known.max_bytes = 1 << 16
    for number in range(100):
        envelope = lazy.Envelope(b"", scope_named(f"scope-{number}" + "x" * 1000))
        assert list(span_filter.find(envelope, data.items(b""), [])) == []
    assert 10 < len(span_filter._known) < 60
    assert span_filter.find(lazy.Envelope(b"", scope_named("wanted")), data.items(b""), [0]) == [0]


def test_a_decoder_caches_a_bounded_number_of_envelopes() -> None:
    decoder = Decoder(())
    decoder._envelopes.max_bytes = 1 << 18
    span = data.span(1).SerializeToString()
    for number in range(200):
        name = f"scope-{number}" + "x" * 1000
        (decoded,) = decoder.spans([span], lazy.Envelope(b"", scope_named(name)))
        assert decoded is not None
        assert decoded.scope.name == name
    assert 10 < len(decoder._envelopes) < 60


def test_a_decoder_does_not_cache_large_resources() -> None:
    decoder = Decoder(())
    decoder.spans([data.span(1).SerializeToString()], lazy.Envelope(resource_with(blob="x" * (1 << 20)), b""))
    assert len(decoder._envelopes) == 0


def test_of_a_resource_only_attributes_of_ordinary_number_and_size_are_read() -> None:
    attributes = {"blob": "x" * 5000, "service.name": "shop", **{f"key-{number}": "x" for number in range(200)}}
    (decoded,) = Decoder(()).spans([data.span(1).SerializeToString()], lazy.Envelope(resource_with(**attributes), b""))
    assert decoded is not None
    assert (decoded.resource.service, "blob" in decoded.resource.attributes) == ("shop", False)
    assert len(decoded.resource.attributes) == decode._MAX_RESOURCE_ATTRIBUTES - 1
    many = {f"key-{number}": "x" * 2000 for number in range(100)}
    (decoded,) = Decoder(()).spans([data.span(1).SerializeToString()], lazy.Envelope(resource_with(**many), b""))
    assert decoded is not None
    assert 5 < len(decoded.resource.attributes) < 10


def test_a_decoder_caches_a_bounded_number_of_keys() -> None:
    decoder = Decoder(("wanted",))
    for number in range(attribute_keys._MAX_CACHED + 10):
        decoder.spans([span_with(**{f"key-{number}": "x"})], NO_ENVELOPE)
    assert len(decoder._selected.by_bytes) <= attribute_keys._MAX_CACHED
    (decoded,) = decoder.spans([span_with(wanted="y")], NO_ENVELOPE)
    assert decoded is not None
    assert decoded.attributes == {"wanted": "y"}


def test_a_decoder_does_not_cache_long_keys() -> None:
    decoder = Decoder(("wanted",))
    decoder.spans([span_with(**{"k" * 128: "x"})], NO_ENVELOPE)
    assert decoder._selected.by_bytes == {}


def cached(decoder: Decoder) -> int:
    """Returns how many values are cached."""
    known = decoder._selected
    found = [attribute for key in known.by_bytes.values() for attribute in key.cached or ()]
    assert sorted(found) == sorted(known.strings)
    return len(found)


def test_a_decoder_caches_values_of_keys_that_have_few() -> None:
    decoder = Decoder(("kind", "id"))
    for number in range(attribute_keys._MAX_VALUES + 10):
        attributes = {"id": f"value-{number}", "kind": f"kind-{number % 5}"}
        (decoded,) = decoder.spans([span_with(**attributes)], NO_ENVELOPE)
        assert decoded is not None
        assert decoded.attributes == attributes
    assert cached(decoder) == 5


def test_a_decoder_caches_a_bounded_number_of_values_of_all_keys() -> None:
    decoder = Decoder((), prefixes=("key.",))
    keys = attribute_keys._MAX_CACHED // attribute_keys._MAX_VALUES + 2
    for key in range(keys):
        spans = [span_with(**{f"key.{key}": f"v{value}"}) for value in range(attribute_keys._MAX_VALUES)]
        decoder.spans(spans, NO_ENVELOPE)
    assert cached(decoder) == attribute_keys._MAX_CACHED


def test_a_decoder_does_not_cache_long_values() -> None:
    decoder = Decoder(("key",))
    decoder.spans([span_with(key="v" * attribute_keys.ONE_BYTE)], NO_ENVELOPE)
    assert cached(decoder) == 0


def test_only_the_first_events_of_a_span_are_read() -> None:
    span = data.span(1)
    for number in range(decode._MAX_EVENTS + 10):
        span.events.add(name=f"event-{number}")
    (decoded,) = Decoder(()).spans([span.SerializeToString()], NO_ENVELOPE)
    assert decoded is not None
    assert [event.name for event in decoded.events] == [f"event-{number}" for number in range(decode._MAX_EVENTS)]


@pytest.mark.parametrize(("own", "most"), [(10, decode._MAX_OF_EVENTS), (MAX_ATTRIBUTES - 1_000, 1_000)])
def test_a_span_and_its_events_have_so_many_attributes_together(own: int, most: int) -> None:
    span, each = data.span(1), data.attributes({f"k{number}": 1 for number in range(100)})
    span.attributes.extend(data.attributes({f"k{number}": 1 for number in range(own)}))
    for number in range(most // 100 + 10):
        span.events.add(name=f"event-{number}", attributes=each)
    (decoded,) = Decoder((), ("k",)).spans([span.SerializeToString()], NO_ENVELOPE)
    assert decoded is not None
    assert len(decoded.events) == len(span.events)
    assert len(decoded.attributes) == own
    assert sum(len(event.attributes) for event in decoded.events) == most


def test_the_caches_of_annotating_are_bounded() -> None:
    caches = (_of_spans, _of_events, _envelopes)
    usual = [None] * (len(_USUAL) - 1)
    for number in range(100):
        text = f"{number}" + "x" * 40_000
        annotate(b"", (("n", text),))
        _encoded((text, *usual))
        events_envelope(text.encode(), "rightcall", "1")
    assert all(0 < cache.bytes <= cache.max_bytes == 4 << 20 for cache in caches)
    sizes = [len(cache) for cache in caches]
    annotate(b"", (("n", "x" * (1 << 20)),))
    _encoded(("x" * (1 << 20), *usual))
    events_envelope(bytes(1 << 20), "rightcall", "1")
    assert [len(cache) for cache in caches] == sizes


def test_values_nested_too_deeply_are_masked_unread() -> None:
    value = data.any_value("no secret")
    for _ in range(40):
        value = AnyValue(array_value=ArrayValue(values=[value]))
    span = data.span(1)
    span.attributes.add(key="deep").value.CopyFrom(value)
    redacted = Redactor(lambda _: False, lambda text, _: (text, 0)).span(span.SerializeToString())
    assert b"no secret" not in redacted
    assert b"[redacted]" in redacted
