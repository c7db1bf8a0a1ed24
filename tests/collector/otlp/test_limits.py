"""Caches and reads of what untrusted senders choose (scopes, resources, keys, events) are bounded."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue

from collector.otlp import decode, lazy
from collector.otlp.annotate import _record_attributes, _span_attributes, annotate, events_envelope, log_record
from collector.otlp.decode import Decoder
from collector.otlp.redact import Redactor
from collector.otlp.schema import Scope, ScopeItems
from tests import otlp_data as data

NO_ENVELOPE = lazy.Envelope(b"", b"")


def scope_named(name: str) -> bytes:
    serialized: bytes = ScopeItems(scope=Scope(name=name.encode()).SerializeToString()).SerializeToString()
    return serialized


def span_with(**attributes: Any) -> bytes:
    return data.span(1, **attributes).SerializeToString()


def test_a_span_filter_caches_a_bounded_number_of_scopes() -> None:
    span_filter = lazy.SpanFilter((), ("wanted",))
    for number in range(lazy._MAX_KNOWN_SCOPES + 10):
        envelope = lazy.Envelope(b"", scope_named(f"scope-{number}"))
        assert list(span_filter.find(envelope, [b""], [])) == []
    assert len(span_filter._known) <= lazy._MAX_KNOWN_SCOPES
    assert span_filter.find(lazy.Envelope(b"", scope_named("wanted")), [b""], [0]) == [0]


def test_a_decoder_caches_a_bounded_number_of_envelopes() -> None:
    decoder = Decoder(())
    span = data.span(1).SerializeToString()
    for number in range(decode._MAX_CACHED + 10):
        (decoded,) = decoder.spans([span], lazy.Envelope(b"", scope_named(f"scope-{number}")))
        assert decoded is not None
        assert decoded.scope.name == f"scope-{number}"
    assert len(decoder._envelopes) <= decode._MAX_CACHED


def test_a_decoder_caches_a_bounded_number_of_keys() -> None:
    decoder = Decoder(("wanted",))
    for number in range(decode._MAX_CACHED + 10):
        decoder.spans([span_with(**{f"key-{number}": "x"})], NO_ENVELOPE)
    assert len(decoder._selected) <= decode._MAX_CACHED
    (decoded,) = decoder.spans([span_with(wanted="y")], NO_ENVELOPE)
    assert decoded is not None
    assert decoded.attributes == {"wanted": "y"}


def test_a_decoder_does_not_cache_long_keys() -> None:
    decoder = Decoder(("wanted",))
    decoder.spans([span_with(**{"k" * 128: "x"})], NO_ENVELOPE)
    assert list(decoder._selected) == []


def test_a_decoder_caches_a_few_values_of_each_key() -> None:
    decoder = Decoder(("id",))
    for number in range(decode._MAX_VALUES + 10):
        (decoded,) = decoder.spans([span_with(id=f"value-{number}")], NO_ENVELOPE)
        assert decoded is not None
        assert decoded.attributes == {"id": f"value-{number}"}
    assert len(decoder._selected.known) == decode._MAX_VALUES


def test_a_decoder_caches_a_bounded_number_of_values_of_all_keys() -> None:
    decoder = Decoder((), prefixes=("key.",))
    keys = decode._MAX_CACHED // decode._MAX_VALUES + 2
    for key in range(keys):
        spans = [span_with(**{f"key.{key}": f"v{value}"}) for value in range(decode._MAX_VALUES)]
        decoder.spans(spans, NO_ENVELOPE)
    assert len(decoder._selected.known) == decode._MAX_CACHED


@pytest.mark.parametrize(("key", "value"), [("k", "v" * 128), ("k" * 60, "v" * 80)], ids=["value", "key and value"])
def test_a_decoder_does_not_cache_long_values(key: str, value: str) -> None:
    decoder = Decoder((key,))
    decoder.spans([span_with(**{key: value})], NO_ENVELOPE)
    assert decoder._selected.known == {}


def test_only_the_first_events_of_a_span_are_read() -> None:
    span = data.span(1)
    for number in range(decode._MAX_EVENTS + 10):
        span.events.add(name=f"event-{number}")
    (decoded,) = Decoder(()).spans([span.SerializeToString()], NO_ENVELOPE)
    assert decoded is not None
    assert [event.name for event in decoded.events] == [f"event-{number}" for number in range(decode._MAX_EVENTS)]


def test_the_caches_of_annotating_are_bounded() -> None:
    assert _span_attributes.cache_info().maxsize == _record_attributes.cache_info().maxsize == 2048
    assert events_envelope.cache_info().maxsize == 1024
    for number in range(2048 + 10):
        annotate(b"", (("n", number),))
        log_record("e", 0, b"", b"", (("n", number),), {}, failed=False)
        events_envelope(b"%d" % number, "rightcall", "1")
    assert _span_attributes.cache_info().currsize == _record_attributes.cache_info().currsize == 2048
    assert events_envelope.cache_info().currsize == 1024


def test_values_nested_too_deeply_are_masked_unread() -> None:
    value = data.any_value("no secret")
    for _ in range(40):
        value = AnyValue(array_value=ArrayValue(values=[value]))
    span = data.span(1)
    span.attributes.add(key="deep").value.CopyFrom(value)
    redacted = Redactor(lambda _: False, lambda text: text).span(span.SerializeToString())
    assert b"no secret" not in redacted
    assert b"[redacted]" in redacted
