"""The tags are those of the messages that opentelemetry-proto describes."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.internal import wire_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import ResourceLogs, ScopeLogs
from opentelemetry.proto.metrics.v1.metrics_pb2 import ResourceMetrics, ScopeMetrics
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from collector.otlp import tags

VARINT, FIXED64, LENGTH = 0, 1, 2
WIRE_TYPES = {
    FieldDescriptor.TYPE_MESSAGE: LENGTH,
    FieldDescriptor.TYPE_STRING: LENGTH,
    FieldDescriptor.TYPE_BYTES: LENGTH,
    FieldDescriptor.TYPE_ENUM: VARINT,
    FieldDescriptor.TYPE_FIXED64: FIXED64,
}


def tag_of(message: Descriptor, name: str) -> int:
    field = message.fields_by_name[name]
    tag: int = wire_format.PackTag(field.number, WIRE_TYPES[field.type])
    return tag


@pytest.mark.parametrize(
    ("tag", "field"),
    [
        (tags.NAME, "name"), (tags.KIND, "kind"), (tags.START, "start_time_unix_nano"), (tags.END, "end_time_unix_nano"),
        (tags.ATTRIBUTE, "attributes"), (tags.EVENT, "events"), (tags.LINK, "links"), (tags.STATUS, "status"),
    ],
)  # fmt: skip
def test_fields_of_a_span(tag: int, field: str) -> None:
    assert tag == tag_of(Span.DESCRIPTOR, field)


@pytest.mark.parametrize(
    ("head", "field", "length"),
    [
        (tags.TRACE_ID_HEAD, "trace_id", 16), (tags.SPAN_ID_HEAD, "span_id", 8),
        (tags.PARENT_ID_HEAD, "parent_span_id", 8),
    ],
)  # fmt: skip
def test_the_head_of_an_id_is_its_tag_and_its_length(head: bytes, field: str, length: int) -> None:
    assert head == bytes([tag_of(Span.DESCRIPTOR, field), length])


@pytest.mark.parametrize(
    ("request_type", "resource_type", "scope_type", "resources", "scopes", "items"),
    [
        (ExportTraceServiceRequest, ResourceSpans, ScopeSpans, "resource_spans", "scope_spans", "spans"),
        (ExportLogsServiceRequest, ResourceLogs, ScopeLogs, "resource_logs", "scope_logs", "log_records"),
        (ExportMetricsServiceRequest, ResourceMetrics, ScopeMetrics, "resource_metrics", "scope_metrics", "metrics"),
    ],
)
def test_requests_of_all_signals_have_the_same_nesting(
    request_type: Any, resource_type: Any, scope_type: Any, resources: str, scopes: str, items: str
) -> None:
    nesting = [
        tag_of(request_type.DESCRIPTOR, resources), tag_of(resource_type.DESCRIPTOR, "resource"),
        tag_of(resource_type.DESCRIPTOR, scopes), tag_of(scope_type.DESCRIPTOR, items),
    ]  # fmt: skip
    assert nesting == [tags.RESOURCE, tags.RESOURCE, tags.ITEM, tags.ITEM]


def test_fields_of_an_attribute() -> None:
    assert [tag_of(KeyValue.DESCRIPTOR, "key"), tag_of(KeyValue.DESCRIPTOR, "value")] == [tags.KEY, tags.VALUE]
    assert tag_of(AnyValue.DESCRIPTOR, "string_value") == tags.STRING
