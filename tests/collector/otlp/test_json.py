"""OTLP/JSON is converted to the equivalent protobuf."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.errors import DecodeError, TooLargeError
from collector.otlp import json as otlp_json
from collector.otlp.json import any_signal, load, to_protobuf
from tests import otlp_data as data

SPAN: dict[str, Any] = {
    "traceId": "0102030405060708090a0b0c0d0e0f10",
    "spanId": "0000000000000002",
    "parentSpanId": "0000000000000001",
    "name": "execute_tool search",
    "kind": 1,
    "startTimeUnixNano": "1700000000000000000",
    "endTimeUnixNano": 1700000000001000000,
    "attributes": [
        {"key": "gen_ai.tool.name", "value": {"stringValue": "search"}},
        {"key": "n", "value": {"intValue": 7}},
        {"key": "m", "value": {"intValue": "8"}},
        {"key": "traceId", "value": {"stringValue": "not an id"}},
    ],
    "status": {"code": 2},
    "somethingNew": {"a": 1},
}


def request(**changes: Any) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": [{**SPAN, **changes}]}]}]}


def test_a_request_as_the_javascript_sdk_writes_it() -> None:
    (span,) = data.all_spans(to_protobuf("traces", json.dumps(request()).encode()))
    assert (span.trace_id, span.span_id, span.parent_span_id) == (data.TRACE, data.span_id(2), data.span_id(1))
    assert (span.start_time_unix_nano, span.end_time_unix_nano) == (data.EPOCH_NS, data.EPOCH_NS + 1_000_000)
    assert data.values_of(span) == {"gen_ai.tool.name": "search", "n": 7, "m": 8, "traceId": "not an id"}
    assert span.status.code == 2


def in_snake_case(value: Any) -> Any:
    if isinstance(value, dict):
        return {re.sub("[A-Z]", r"_\g<0>", key).lower(): in_snake_case(item) for key, item in value.items()}
    return [in_snake_case(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("rewritten", [in_snake_case, lambda span: {**span, "span_id": span["spanId"], "spanId": None}])
def test_keys_may_be_in_snake_case(rewritten: Callable[[Any], Any]) -> None:
    link = {"traceId": SPAN["traceId"], "spanId": "0000000000000007", "droppedAttributesCount": 1}
    array = {"key": "a", "value": {"arrayValue": {"values": [{"intValue": 1}]}}}
    span = {**SPAN, "links": [link], "attributes": [array]}
    assert to_protobuf("traces", spans(1, json.dumps(rewritten(span)))) == to_protobuf(
        "traces", spans(1, json.dumps(span))
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("{", "not JSON"),
        ("[]", "a JSON array"),
        ('"x"', "a JSON string"),
        ("null", "a JSON null"),
        ("true", "a JSON boolean"),
        ("1.5", "a JSON number"),
        ("[" * 100_000, "not JSON"),
        (json.dumps(request(traceId="xyz")), "not an OTLP JSON request"),
        (json.dumps(request(kind={"a": 1})), "not an OTLP JSON request"),
        (json.dumps(request(kind=float("inf"))), "not an OTLP JSON request"),
        (json.dumps(request(attributes=[{"key": "a", "value": {"doubleValue": 10**400}}])), "not an OTLP JSON request"),
        (json.dumps({"resourceSpans": {"a": 1}}), "not an OTLP JSON request"),
        ('{"resourceSpans":' + '[{"a":' * 400 + "1" + "}]" * 400 + "}", "not an OTLP JSON request"),
        (b"\xff\xfe", "not JSON"),
    ],
    ids=range(14),
)
def test_a_body_that_is_not_otlp_is_refused(body: str | bytes, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        to_protobuf("traces", body.encode() if isinstance(body, str) else body)


def spans(count: int, span: str = json.dumps(SPAN)) -> bytes:
    return f'{{"resourceSpans": [{{"scopeSpans": [{{"spans": [{", ".join([span] * count)}]}}]}}]}}'.encode()


def test_large_requests_are_converted_like_small_ones() -> None:
    large = spans(6_000)
    assert large.count(b",") > otlp_json._QUICK_VALUES
    (span,) = data.all_spans(to_protobuf("traces", spans(1)))
    assert data.all_spans(to_protobuf("traces", large)) == [span] * 6_000


@pytest.mark.parametrize("nested", [b"[" * 60_000 + b"]" * 60_000, b'{"a":' * 60_000 + b"1" + b"}" * 60_000])
def test_a_large_request_that_is_nested_too_deeply_is_refused(nested: bytes) -> None:
    with pytest.raises(DecodeError, match="recursion"):
        to_protobuf("traces", b'{"x":' + nested + b"}")


BEYOND_LIMITS = {
    "20 MiB": lambda: b'{"x": "' + b" " * (20 << 20) + b'"}',
    "500,000 objects": lambda: b'{"x": [' + b"{}," * 500_001 + b"0]}",
}


@pytest.mark.parametrize("limit", BEYOND_LIMITS)
def test_a_request_beyond_a_limit_is_too_large(limit: str) -> None:
    with pytest.raises(TooLargeError, match=f"at most {limit}"):
        to_protobuf("traces", BEYOND_LIMITS[limit]())


def test_other_threads_run_while_a_large_request_is_parsed() -> None:
    """The parser in C would hold the interpreter lock from the first value to the last."""
    body = b'{"x": [' + b"[]," * 200_000  # without an end, so that parsing is all that happens
    finished = threading.Event()

    def convert() -> None:
        try:
            with pytest.raises(DecodeError, match="not JSON"):
                to_protobuf("traces", body)
        finally:
            finished.set()

    thread = threading.Thread(target=convert)
    thread.start()
    turns = 0
    while not finished.wait(0.001):
        turns += 1
    thread.join()
    assert turns > 5


def test_a_document_of_a_file_exporter_may_be_any_signal() -> None:
    document = load(json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [{"eventName": "e"}]}]}]}))
    ((signal, body),) = any_signal(document)
    assert signal == "logs"
    assert data.all_records(body)[0].event_name == "e"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*SPAN, "x"]), inner, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(list(SPAN)), json_values))
def test_any_json_gives_protobuf_or_a_decode_error(changes: dict[str, Any]) -> None:
    try:
        body = to_protobuf("traces", json.dumps(request(**changes)).encode())
    except DecodeError:
        return
    assert len(data.all_spans(body)) == 1


@pytest.mark.parametrize("escape", [r"\ud83d", r"\uDE00", r"\ude00\ud83d"])
def test_half_a_character_costs_the_character_and_not_the_request(escape: str) -> None:
    """JavaScript SDKs that cut a long text in the middle of an emoji send this."""
    values = [{"key": f"k{escape}", "value": {"stringValue": f"cut {escape}"}}]
    body = json.dumps(request(attributes=values)).replace("\\\\", "\\")
    (span,) = data.all_spans(to_protobuf("traces", body.encode()))
    replaced = "\ufffd" * escape.count("u")
    assert data.values_of(span) == {f"k{replaced}": f"cut {replaced}"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_body_is_read_in_every_encoding_of_json(encoding: str) -> None:
    (span,) = data.all_spans(
        to_protobuf("traces", json.dumps(request(name="ö😀"), ensure_ascii=False).encode(encoding))
    )
    assert span.name == "ö😀"


def test_bytes_that_are_no_characters_are_refused() -> None:
    with pytest.raises(DecodeError, match="not JSON"):
        load('{"a": "\ud800"}'.encode("utf-8", "surrogatepass"))
