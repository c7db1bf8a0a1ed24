"""JSON as tools export it: several documents in a text, values of every kind, and documents that were made to break it."""

from __future__ import annotations

import contextlib
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.errors import DecodeError
from collector.otlp.exported_json import JSONSyntaxError, UnknownFormatError, documents, requests
from tests import otlp_data as data
from tests.operations import within

TRACE_ID, SPAN_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
OTLP = {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": TRACE_ID, "spanId": SPAN_ID, "name": "chat"}]}]}]}


def console(**fields: Any) -> dict[str, Any]:
    """A span as the console exporter of the Python SDK prints it."""
    context = {"trace_id": f"0x{TRACE_ID}", "span_id": f"0x{SPAN_ID}", "trace_state": "[]"}
    return {"name": "chat", "context": context, "start_time": "2026-01-02T03:04:05.000006Z", **fields}


def jaeger(**fields: Any) -> dict[str, Any]:
    """A trace of one span as Jaeger's UI saves it."""
    span = {"traceID": "1f", "spanID": "2e", "operationName": "chat", "startTime": 5, "duration": 7, **fields}
    return {"spans": [span], "processes": {}}


def only_span(document: Any) -> Span:
    (request,) = [body for _, body in requests(document)]
    (span,) = data.all_spans(request)
    return span


def test_documents_are_told_with_the_line_they_begin_at() -> None:
    assert list(documents('\ufeff{"a":\n1}\n\n [2]3\r\n"x"\n')) == [(1, {"a": 1}), (4, [2]), (4, 3), (5, "x")]
    assert list(documents(" \n\t\ufeff")) == []


def test_blank_text_is_skipped_fast() -> None:
    with within(2.0):  # seconds; it takes 0.2
        assert list(documents([" \n" * (1 << 20)] * 32)) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [("{", 1), ('{"a": 1}\n\n}', 3), ("[1,\n2,\n}", 3), ("[" * 100_000, 1), ('1\n\n["' + "9" * 9_000, 3)],
)
def test_text_that_is_no_json_is_told_by_its_line(text: str, line: int) -> None:
    with pytest.raises(JSONSyntaxError, match="not JSON") as caught:
        list(documents(text))
    assert caught.value.line == line


@given(st.lists(st.lists(st.none() | st.text(max_size=5), max_size=3), max_size=5))
def test_documents_one_after_the_other_are_all_read(values: list[Any]) -> None:
    text = "\n".join(json.dumps(value, indent=1) for value in values)
    assert [value for _, value in documents(text)] == values


@pytest.mark.parametrize(
    ("document", "what"),
    [
        (None, "a JSON null"),
        (3, "a JSON number"),
        ("resourceSpans", "a JSON string"),
        ({}, "an object with no keys"),
        ({"a": 1, "b": 2, "c": 3, "d": 4}, "an object with 'a', 'b', 'c': "),
        ([OTLP, "more"], "a JSON string"),
        ({"resourceSpans": {}}, "an object with 'resourceSpans'"),
    ],
)
def test_what_is_no_trace_is_told_from_a_damaged_one(document: Any, what: str) -> None:
    with pytest.raises(UnknownFormatError, match=what):
        list(requests(document))


def test_ids_in_base64_and_hex_are_the_same_ids() -> None:
    printed = {"trace_id": "CvdlGRbNQ92ESOshHIAxnA==", "span_id": "t61rcWkgMzE=", "name": "chat"}
    found = only_span({"resource_spans": [{"scope_spans": [{"spans": [printed]}]}]})
    assert found == only_span(OTLP)
    assert (found.trace_id.hex(), found.span_id.hex()) == (TRACE_ID, SPAN_ID)


def test_spans_of_instrumentation_libraries_have_their_scope() -> None:
    library, span = {"name": "tracer", "version": "2"}, {"traceId": TRACE_ID, "spanId": SPAN_ID, "name": "chat"}
    old = {"instrumentationLibrarySpans": [{"instrumentationLibrary": library, "spans": [{**span}]}]}
    new = {"scopeSpans": [{"scope": library, "spans": [{**span}]}]}
    assert list(requests({"batches": [old]})) == list(requests({"resourceSpans": [new]}))


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (True, "bool_value", True),
        (-(2**63), "int_value", -(2**63)),
        (2**63, "string_value", str(2**63)),
        (0.5, "double_value", 0.5),
        (math.inf, "double_value", math.inf),
        (-math.inf, "double_value", -math.inf),
        ("é", "string_value", "é"),
        (None, None, None),
    ],
)
def test_every_value_of_an_attribute_keeps_its_type(value: Any, kind: str | None, expected: Any) -> None:
    for span in (only_span(console(attributes={"a": value})), only_span(jaeger(tags=[{"key": "a", "value": value}]))):
        (found,) = [pair.value for pair in span.attributes]
        assert found.WhichOneof("value") == kind
        assert kind is None or getattr(found, kind) == expected


def test_a_value_that_is_no_number_is_read() -> None:
    (pair,) = only_span(console(attributes={"a": math.nan})).attributes
    assert math.isnan(pair.value.double_value)


def test_structured_values_are_kept() -> None:
    (pair,) = only_span(console(attributes={"a": [1, {"b": ["c"]}]})).attributes
    assert pair.value == data.any_value([1, {"b": ["c"]}])


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("2026-01-02T03:04:05.000006Z", 1_767_323_045_000_006_000),
        ("2026-01-02T04:04:05.000006+01:00", 1_767_323_045_000_006_000),
        ("1970-01-01T00:00:00Z", 0),
    ],
)
def test_printed_times_are_nanoseconds_in_utc(printed: str, expected: int) -> None:
    span = only_span(console(start_time=printed))
    assert (span.start_time_unix_nano, span.end_time_unix_nano) == (expected, expected)


def test_short_ids_of_jaeger_are_filled_up() -> None:
    span = only_span(jaeger(parentSpanID="3d"))
    ids = (span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex())
    assert ids == ("1f".rjust(32, "0"), "2e".rjust(16, "0"), "3d".rjust(16, "0"))
    assert (span.start_time_unix_nano, span.end_time_unix_nano) == (5_000, 12_000)


@pytest.mark.parametrize(
    ("reference", "parent"), [("CHILD_OF", "000000000000003d"), ("FOLLOWS_FROM", ""), ("child_of", "")]
)
def test_a_span_of_jaeger_is_the_child_of_one_reference(reference: str, parent: str) -> None:
    span = only_span(jaeger(references=[{"refType": reference, "traceID": "1f", "spanID": "3d"}]))
    assert span.parent_span_id.hex() == parent


@pytest.mark.parametrize(
    ("tags", "code"),
    [
        ({"error": True}, 2),
        ({"error": "true"}, 2),
        ({"error": False}, 0),
        ({"otel.status_code": "OK", "error": True}, 1),
        ({"otel.status_code": "ERROR"}, 2),
        ({}, 0),
    ],
)
def test_the_status_of_a_span_of_jaeger(tags: dict[str, Any], code: int) -> None:
    assert only_span(jaeger(tags=[{"key": key, "value": value} for key, value in tags.items()])).status.code == code


@pytest.mark.parametrize("depth", [250, 400, 900])
@pytest.mark.parametrize(
    "document",
    [
        console(attributes={"a": "@"}),
        jaeger(tags=[{"key": "a", "value": "@"}]),
        {"resourceSpans": ["@"]},
        {"trace": {"resourceSpans": "@"}},
    ],
    ids=["console", "jaeger", "otlp", "tempo"],
)
def test_a_document_nested_without_end_is_refused(document: Any, depth: int) -> None:
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        text = json.dumps(document).replace('"@"', opening * depth + "1" + closing * depth)
        with pytest.raises(DecodeError):
            [list(requests(found)) for _, found in documents(text)]


def test_a_trace_in_a_trace_in_a_trace_is_refused() -> None:
    document: dict[str, Any] = OTLP
    for _ in range(2_000):
        document = {"trace": document}
    with pytest.raises(DecodeError, match="nested"):
        list(requests(document))


plain = st.none() | st.booleans() | st.integers(-9, 2**70) | st.floats() | st.sampled_from(["", "1", TRACE_ID, "error"])
values = plain | st.lists(plain, max_size=2) | st.dictionaries(st.sampled_from(["type", "context", "key"]), plain)
names = st.sampled_from([
    "name", "context", "start_time", "end_time", "attributes", "events", "status", "resource", "kind", "parent_id", "spans",
    "processes", "data", "trace", "traceID", "spanID", "tags", "logs", "references", "resourceSpans", "batches",
])  # fmt: skip


@given(st.sampled_from([console(), jaeger(), OTLP]), st.dictionaries(names, values, max_size=3))
def test_no_damage_does_worse_than_a_refusal(document: dict[str, Any], damage: dict[str, Any]) -> None:
    damaged: list[Any] = [{**document, **damage}]
    if "spans" in document:
        damaged.append({**document, "spans": [{**document["spans"][0], **damage}]})
    for one in damaged:
        with contextlib.suppress(DecodeError):
            list(requests(json.loads(json.dumps(one))))
