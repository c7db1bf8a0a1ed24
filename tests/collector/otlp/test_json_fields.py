"""What is translated without protobuf's parser becomes the bytes that it would become with it."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.otlp import json_fields
from collector.otlp.json import to_protobuf
from tests.bench.load import requests

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
numbers = st.integers(0, 2**64 - 1).flatmap(lambda n: st.sampled_from([n, str(n)])) | st.sampled_from([0, "0", None])
small = st.integers(0, 127) | st.none()
ids = st.binary(max_size=16).map(bytes.hex)
scalars: st.SearchStrategy[dict[str, Any]] = (
    st.builds(lambda text: {"stringValue": text}, texts)
    | st.builds(lambda value: {"boolValue": value}, st.booleans())
    | st.builds(
        lambda n, as_text: {"intValue": str(n) if as_text else n}, st.integers(-(2**63), 2**63 - 1), st.booleans()
    )
    | st.builds(lambda n: {"doubleValue": n}, st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 9))
    | st.just({})
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.builds(lambda items: {"arrayValue": {"values": items}}, st.lists(inner, max_size=2))
        | st.builds(
            lambda items: {"kvlistValue": {"values": [{"key": key, "value": value} for key, value in items]}},
            st.lists(st.tuples(texts, inner), max_size=2),
        )
    ),
    max_leaves=4,
)
attributes = st.lists(st.fixed_dictionaries({"key": texts, "value": values}), max_size=2)
described: dict[str, st.SearchStrategy[Any]] = {"attributes": attributes, "droppedAttributesCount": small}
resource = st.fixed_dictionaries({}, optional=described)
scope = st.fixed_dictionaries({}, optional={"name": texts, "version": texts, **described})
event = st.fixed_dictionaries({}, optional={"timeUnixNano": numbers, "name": texts, **described})
flags = st.integers(0, 2**32 - 1)
link = st.fixed_dictionaries(
    {}, optional={"traceId": ids, "spanId": ids, "traceState": texts, "flags": flags, **described}
)
span = st.fixed_dictionaries(
    {},
    optional={
        "traceId": ids, "spanId": ids, "traceState": texts, "parentSpanId": ids, "name": texts, "kind": small,
        "startTimeUnixNano": numbers, "endTimeUnixNano": numbers, **described, "events": st.lists(event, max_size=2),
        "droppedEventsCount": small, "links": st.lists(link, max_size=1), "droppedLinksCount": small,
        "status": st.fixed_dictionaries({}, optional={"message": texts, "code": st.integers(0, 2)}), "flags": flags,
    },
)  # fmt: skip
log_record = st.fixed_dictionaries(
    {},
    optional={
        "timeUnixNano": numbers, "observedTimeUnixNano": numbers, "severityNumber": small, "severityText": texts,
        "body": values, **described, "flags": flags, "traceId": ids, "spanId": ids, "eventName": texts,
    },
)  # fmt: skip


def requests_of(resources: str, scopes: str, items: str, item: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    of_scope = {"scope": scope, items: st.lists(item, max_size=2), "schemaUrl": texts}
    of_resource = {
        "resource": resource,
        scopes: st.lists(st.fixed_dictionaries({}, optional=of_scope), max_size=2),
        "schemaUrl": texts,
    }
    return st.fixed_dictionaries(
        {}, optional={resources: st.lists(st.fixed_dictionaries({}, optional=of_resource), max_size=2)}
    )


def with_base64(node: Any) -> Any:
    """The same with ids as protobuf's parser expects them."""
    if isinstance(node, dict):
        return {
            key: base64.b64encode(bytes.fromhex(value)).decode()
            if key in ("traceId", "spanId", "parentSpanId")
            else with_base64(value)
            for key, value in node.items()
        }
    return [with_base64(item) for item in node] if isinstance(node, list) else node


@given(requests_of("resourceSpans", "scopeSpans", "spans", span))
def test_spans_become_what_protobuf_makes_of_them(document: dict[str, Any]) -> None:
    expected = json_format.ParseDict(with_base64(document), ExportTraceServiceRequest())
    assert json_fields.message(json_fields.TRACES, document) == expected.SerializeToString()


@given(requests_of("resourceLogs", "scopeLogs", "logRecords", log_record))
def test_log_records_become_what_protobuf_makes_of_them(document: dict[str, Any]) -> None:
    expected = json_format.ParseDict(with_base64(document), ExportLogsServiceRequest())
    assert json_fields.message(json_fields.LOGS, document) == expected.SerializeToString()


UNUSUAL: list[Any] = [
    {"resource_spans": []},
    {"resourceSpans": {}},
    {"resourceSpans": [None]},
    {"resourceSpans": [[]]},
    {"newer": 1},
    *(
        {"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]}
        for one in (
            {"kind": "SPAN_KIND_SERVER"},
            {"kind": True},
            {"kind": 128},
            {"startTimeUnixNano": 1.0},
            {"startTimeUnixNano": "1e3"},
            {"startTimeUnixNano": -1},
            {"startTimeUnixNano": 2**64},
            {"name": 5},
            {"traceId": 5},
            {"traceId": "xyz"},
            {"flags": 2**32},
            {"attributes": [{"key": "a"}]},
            {"attributes": [{"key": "a", "value": None}]},
            {"attributes": [{"key": "a", "value": {"intValue": 2**63}}]},
            {"attributes": [{"key": "a", "value": {"intValue": True}}]},
            {"attributes": [{"key": "a", "value": {"doubleValue": "NaN"}}]},
            {"attributes": [{"key": "a", "value": {"doubleValue": -(10**400)}}]},
            {"attributes": [{"key": "a", "value": {"bytesValue": "AA=="}}]},
            {"attributes": [{"key": "a", "value": {"stringValue": "a", "intValue": 1}}]},
            {"attributes": [{"key": "a", "value": {"arrayValue": {}}}]},
        )
    ),
]


@pytest.mark.parametrize("document", UNUSUAL)
def test_what_is_unusual_is_left_to_protobuf(document: dict[str, Any]) -> None:
    with pytest.raises((json_fields.Unusual, ValueError)):
        json_fields.message(json_fields.TRACES, document)


def test_what_sdks_send_is_translated() -> None:
    (sent,) = requests(1)
    document = json_format.MessageToDict(ExportTraceServiceRequest.FromString(sent), use_integers_for_enums=True)
    text = json.dumps(document)
    for span_of in document["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for key in ("traceId", "spanId", "parentSpanId"):
            if key in span_of:
                text = text.replace(json.dumps(span_of[key]), json.dumps(base64.b64decode(span_of[key]).hex()))
    assert json_fields.message(json_fields.TRACES, json.loads(text)) == sent
    assert to_protobuf("traces", text.encode()) == sent
