"""Decoding returns the selected attributes as plain data, whatever the encoding, or raises DecodeError."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from collector import dialects
from collector.errors import DecodeError
from collector.model.genai_span import GenAISpan
from collector.otlp import lazy
from collector.otlp.decode import Decoder
from collector.otlp.wire import field
from collector.payloads.attribute_shapes import MAX_LOOKED_AT, may_tell_of_call
from collector.payloads.values import UNREADABLE
from tests import otlp_data as data

SELECTED = ("wanted", "w" * 200, "gen_ai.tool.name")


def decode_one(span: Span) -> Any:
    ((envelope, spans),) = lazy.iter_scopes(data.traces(span, service="shop", scope="agents").SerializeToString())
    (decoded,) = Decoder(SELECTED, ("llm.output.",)).spans(spans, envelope)
    return decoded


def test_every_attribute_of_certain_scopes_is_selected() -> None:
    ((envelope, spans),) = lazy.iter_scopes(
        data.traces(data.span(1, wanted="a", other=[1]), scope="agents").SerializeToString()
    )
    (decoded,) = Decoder(SELECTED, whole_scopes=["agents"]).spans(spans, envelope)
    assert decoded is not None
    assert decoded.attributes == {"wanted": "a", "other": [1]}


def test_of_our_own_attributes_only_those_are_read_that_are_asked_for() -> None:
    own = data.span(1, rightcall__outcome="extra", rightcall__route="/chat", gen_ai__evaluation__name="x", other="a")
    ((envelope, spans),) = lazy.iter_scopes(data.traces(own, scope="agents").SerializeToString())
    (decoded,) = Decoder(["rightcall.route"], ("rightcall.",), whole_scopes=["agents"]).spans(spans, envelope)
    assert decoded is not None
    assert decoded.attributes == {"rightcall.route": "/chat", "other": "a"}


@pytest.mark.parametrize(
    ("captured", "arguments", "times"),
    [
        ({"gen_ai.tool.call.arguments": "{}"}, "{}", 1),
        ({"acme.input": '{"n": 1}'}, '{"n": 1}', 2),
        ({"acme.input" + "s" * 200: "x"}, None, 2),
        ({"input.value": '{"n": 1}'}, '{"n": 1}', 1),  # another dialect's, so it is selected
        ({"acme.city": "Paris", "acme.days": 3, "gen_ai.tool.type": "function"}, None, 1),
        ({"gen_ai.tool.call.result": '{"n": 1}'}, None, 1),
        ({"rightcall.outcome": "forbidden", "gen_ai.evaluation.explanation": "{"}, None, 1),
        ({"acme.whatever": '{"n": 1}'}, UNREADABLE, 2),
        ({"acme.whatever": {"n": 1}}, UNREADABLE, 2),
        ({}, None, 1),
    ],
)
def test_a_call_without_arguments_is_decoded_once_more_only_where_a_key_may_be_of_arguments(
    captured: dict[str, Any], arguments: object, times: int
) -> None:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay", **captured}
    raw = data.traces(data.span(2, parent=1, **attributes), scope="agents").SerializeToString()
    ((envelope, spans),) = lazy.iter_scopes(raw)
    seen = []

    def read_span(span: Any) -> GenAISpan | None:
        seen.append(span)
        return dialects.read_span(span)

    decoder = Decoder(dialects.ATTRIBUTES, dialects.ATTRIBUTE_PREFIXES, markers=dialects.SHAPE_MARKERS)
    (read,) = decoder.read(spans, envelope, read_span)
    assert read is not None
    assert read[1] is not None
    assert (read[1].arguments, len(set(map(id, seen)))) == (arguments, times)


def test_fields_in_another_order_are_read() -> None:
    key, value = b"\n\x06wanted", b"\x12\x03\n\x01x"
    raw = data.span(1).SerializeToString() + b"J" + bytes([len(key + value)]) + value + key
    (span,) = Decoder(SELECTED).spans([raw], lazy.Envelope(b"", b""))
    assert span is not None
    assert span.attributes == {"wanted": "x"}


@pytest.mark.parametrize("count", [0, 1, 1 << 31])
def test_whether_the_sdk_dropped_attributes_is_read(count: int) -> None:
    span = data.span(1, wanted="a")
    span.dropped_attributes_count = count
    assert (decode_one(span).lacks_attributes, decode_one(span).lacks_events) == (bool(count), False)


@pytest.mark.parametrize("count", [0, 1, 1 << 31])
def test_whether_the_sdk_dropped_events_is_read(count: int) -> None:
    span = data.span(1, wanted="a")
    span.dropped_events_count = count
    assert (decode_one(span).lacks_attributes, decode_one(span).lacks_events) == (False, bool(count))


@pytest.mark.parametrize(
    ("value", "read"), [(b'{"city": "Troms\xc3\xb8"}', '{"city": "Troms\u00f8"}'), (b"\xff\x00", b"\xff\x00")]
)
def test_bytes_are_read_as_the_text_that_they_are(value: bytes, read: object) -> None:
    assert decode_one(data.span(1, wanted=value)).attributes == {"wanted": read}


def test_every_field_that_dialects_read() -> None:
    span = data.span(2, parent=1, name="execute_tool x", at=1.5, wanted="yes", omitted="no")
    span.status.CopyFrom(Status(code=Status.STATUS_CODE_ERROR, message="declined"))
    span.events.add(name="exception", time_unix_nano=5, attributes=data.attributes({"wanted": 1, "omitted": 2}))
    span.flags = 0x300
    decoded = decode_one(span)
    assert (decoded.trace_id, decoded.span_id, decoded.parent_span_id) == (data.TRACE, data.span_id(2), data.span_id(1))
    assert (decoded.name, decoded.start_ns, decoded.end_ns) == (
        "execute_tool x",
        data.EPOCH_NS + 1_500_000_000,
        data.EPOCH_NS + 1_501_000_000,
    )
    assert (decoded.status, decoded.status_message, decoded.remote_parent) == (2, "declined", True)
    assert decoded.attributes == {"wanted": "yes"}
    assert [(event.name, event.time_ns, event.attributes) for event in decoded.events] == [
        ("exception", 5, {"wanted": 1})
    ]
    assert (decoded.resource.service, decoded.scope.name) == ("shop", "agents")


@pytest.mark.parametrize(
    "value",
    [
        "",
        "text",
        "x" * 130,
        "x" * 70_000,
        "naïve ✈",
        True,
        False,
        0,
        -1,
        1 << 62,
        2.5,
        b"\xff",
        [1, "a", [2.0]],
        {"a": {"b": [True]}},
    ],
    ids=str,
)
def test_values_of_every_kind(value: Any) -> None:
    for key in ("wanted", "w" * 200):
        assert decode_one(data.span(1, **{key: value})).attributes == {key: value}


def test_keys_by_prefix() -> None:
    decoded = decode_one(data.span(1, llm__output__0="a", llm__input__0="b"))
    assert decoded.attributes == {"llm.output.0": "a"}


@pytest.mark.parametrize(("flags", "remote"), [(0, None), (0x1, None), (0x201, None), (0x100, False), (0x300, True)])
def test_remote_parent_is_unknown_without_the_flag(flags: int, remote: bool | None) -> None:
    span = data.span(2, parent=1)
    span.flags = flags
    assert decode_one(span).remote_parent is remote


def test_invalid_utf8_is_replaced_wherever_there_is_text() -> None:
    span = data.span(1, name="?name", wanted={"?key": ["?value"]})
    span.status.message = "?message"
    span.events.add(name="?event")
    request = data.traces(span, service="?service", scope="?scope").SerializeToString()
    ((envelope, spans),) = lazy.iter_scopes(request.replace(b"?", b"\xff"))
    (decoded,) = Decoder(SELECTED).spans(spans, envelope)
    assert decoded is not None
    texts = (decoded.name, decoded.status_message, decoded.events[0].name, decoded.resource.service, decoded.scope.name)
    assert texts == ("\ufffdname", "\ufffdmessage", "\ufffdevent", "\ufffdservice", "\ufffdscope")
    assert decoded.attributes == {"wanted": {"\ufffdkey": ["\ufffdvalue"]}}
    record = LogRecord(event_name="?event").SerializeToString().replace(b"?", b"\xff")
    assert Decoder(SELECTED).log_record(record, envelope).event_name == "\ufffdevent"


def test_values_are_read_to_32_levels() -> None:
    def nested(levels: int) -> Any:
        value: Any = "deep"
        for _ in range(levels):
            value = [value]
        return value

    for levels, read in ((32, "deep"), (33, None)):
        value = decode_one(data.span(1, wanted=nested(levels))).attributes["wanted"]
        for _ in range(levels):
            (value,) = value
        assert value == read


def test_a_span_that_is_not_protobuf_does_not_affect_the_others() -> None:
    good = data.span(1, wanted=1).SerializeToString()
    spans = Decoder(SELECTED).spans([b"\xff\xff", good], lazy.Envelope(b"", b""))
    assert spans[0] is None
    assert spans[1] is not None


def test_log_records() -> None:
    record = LogRecord(
        trace_id=data.TRACE,
        span_id=data.span_id(3),
        event_name="gen_ai.choice",
        observed_time_unix_nano=7,
        body=data.any_value({"message": {"role": "assistant"}}),
        attributes=data.attributes({"wanted": "x"}),
    )
    decoded = Decoder(SELECTED).log_record(record.SerializeToString(), lazy.Envelope(b"", b""))
    assert (decoded.trace_id, decoded.span_id, decoded.event_name) == (data.TRACE, data.span_id(3), "gen_ai.choice")
    assert (decoded.time_ns, decoded.body, decoded.attributes) == (
        7,
        {"message": {"role": "assistant"}},
        {"wanted": "x"},
    )


@given(st.binary(max_size=200), st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes_give_a_span_or_a_decode_error(raw: bytes, resource: bytes, scope: bytes) -> None:
    decoder, envelope = Decoder(SELECTED), lazy.Envelope(resource, scope)
    try:
        decoder.spans([raw], envelope)
        decoder.log_record(raw, envelope)
    except DecodeError:
        pass


@given(st.dictionaries(st.sampled_from(SELECTED), st.text() | st.integers(-(1 << 63), (1 << 63) - 1) | st.booleans()))
def test_round_trip(values: dict[str, Any]) -> None:
    assert decode_one(data.span(1, **values)).attributes == values


@given(
    key=st.sampled_from(SELECTED),
    text=st.text(min_size=1, max_size=3),
    times=st.sampled_from([100, 126, 128, 6_000, 17_000]),
    damage=st.lists(st.tuples(st.integers(0, 24), st.integers(0, 255)), max_size=2),
    after=st.sampled_from([b"", b"\x12\x03\n\x01x", b"\xf8\x07\x01"]),
)
def test_a_long_attribute_is_read_as_protobuf_reads_it(
    key: str, text: str, times: int, damage: list[tuple[int, int]], after: bytes
) -> None:
    pair = KeyValue(key=key, value=AnyValue(string_value=text * times))
    attribute = bytearray(pair.SerializeToString() + after)
    for at, byte in damage:
        attribute[at] = byte
    raw = data.span(1).SerializeToString() + field(0x4A, bytes(attribute))
    decoder, envelope = Decoder(SELECTED), lazy.Envelope(b"", b"")
    # A field that is out of order leaves the span to protobuf.
    read, parsed = decoder.spans([raw, raw + b"\x1a\x00"], envelope)
    assert (read is None) == (parsed is None)
    if read is not None and parsed is not None:
        assert read.attributes == parsed.attributes


def test_the_words_of_few_keys_are_looked_at_however_many_there_are() -> None:
    may_tell_of_call.cache_clear()
    keys: dict[str, Any] = {f"key_{number}": "x" for number in range(3_000)}
    called: dict[str, Any] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay"}
    plain, call = data.span(1, **keys), data.span(2, **called, **keys)
    ((envelope, spans),) = lazy.iter_scopes(data.traces(plain, call, scope="agents").SerializeToString())
    decoder = Decoder(dialects.ATTRIBUTES, dialects.ATTRIBUTE_PREFIXES, markers=dialects.SHAPE_MARKERS)
    assert len(decoder.read(spans, envelope, dialects.read_span)) == 2
    assert may_tell_of_call.cache_info().misses <= 2 * MAX_LOOKED_AT
