"""Message types with the wire format of OTLP that leave what the collector does not read as bytes.

A nested message and a ``bytes`` field look the same on the wire, so a schema that declares ``repeated bytes spans``
parses a real request and leaves every span as it was received. Unknown fields survive re-serialisation, so fields of newer
OTLP versions pass through. Strings are declared ``bytes`` too: invalid UTF-8 in an attribute must not fail a request.
Field numbers are those of opentelemetry-proto 1.9 (trace/v1, logs/v1, common/v1).
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE = "rightcall.lazy"
_BYTES, _INT32, _FIXED32, _FIXED64, _BOOL, _INT64, _DOUBLE = (
    descriptor_pb2.FieldDescriptorProto.TYPE_BYTES,
    descriptor_pb2.FieldDescriptorProto.TYPE_INT32,
    descriptor_pb2.FieldDescriptorProto.TYPE_FIXED32,
    descriptor_pb2.FieldDescriptorProto.TYPE_FIXED64,
    descriptor_pb2.FieldDescriptorProto.TYPE_BOOL,
    descriptor_pb2.FieldDescriptorProto.TYPE_INT64,
    descriptor_pb2.FieldDescriptorProto.TYPE_DOUBLE,
)
_ONE, _MANY = descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL, descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED

_MESSAGES: dict[str, tuple[tuple[str, int, Any, Any], ...]] = {
    # The three levels of a request, the same for traces, logs and metrics: resources, their scopes, the items of a scope.
    "Request": (("resources", 1, _BYTES, _MANY),),
    "ResourceItems": (("resource", 1, _BYTES, _ONE), ("scopes", 2, _BYTES, _MANY)),
    "ScopeItems": (("scope", 1, _BYTES, _ONE), ("items", 2, _BYTES, _MANY)),
    "Resource": (("attributes", 1, _BYTES, _MANY),),
    "Scope": (("name", 1, _BYTES, _ONE), ("version", 2, _BYTES, _ONE)),
    # Fields that nothing reads, such as trace state, are not declared. They survive as unknown fields.
    "Span": (
        ("trace_id", 1, _BYTES, _ONE),
        ("span_id", 2, _BYTES, _ONE),
        ("parent_span_id", 4, _BYTES, _ONE),
        ("name", 5, _BYTES, _ONE),
        ("kind", 6, _INT32, _ONE),
        ("start_ns", 7, _FIXED64, _ONE),
        ("end_ns", 8, _FIXED64, _ONE),
        ("attributes", 9, _BYTES, _MANY),
        ("dropped_attributes_count", 10, _INT64, _ONE),
        ("events", 11, _BYTES, _MANY),
        ("dropped_events_count", 12, _INT64, _ONE),
        ("links", 13, _BYTES, _MANY),
        ("status", 15, _BYTES, _ONE),
        ("flags", 16, _FIXED32, _ONE),
    ),
    "Event": (("time_ns", 1, _FIXED64, _ONE), ("name", 2, _BYTES, _ONE), ("attributes", 3, _BYTES, _MANY)),
    "Link": (("attributes", 4, _BYTES, _MANY),),
    "Status": (("message", 2, _BYTES, _ONE), ("code", 3, _INT32, _ONE)),
    "LogRecord": (
        ("time_ns", 1, _FIXED64, _ONE),
        ("severity", 2, _INT32, _ONE),
        ("body", 5, _BYTES, _ONE),
        ("attributes", 6, _BYTES, _MANY),
        ("trace_id", 9, _BYTES, _ONE),
        ("span_id", 10, _BYTES, _ONE),
        ("observed_ns", 11, _FIXED64, _ONE),
        ("event_name", 12, _BYTES, _ONE),
    ),
    "KeyValue": (("key", 1, _BYTES, _ONE), ("value", 2, _BYTES, _ONE)),
    "KeyValues": (("values", 1, _BYTES, _MANY),),
    "Values": (("values", 1, _BYTES, _MANY),),
    "AnyValue": (
        ("string_value", 1, _BYTES, _ONE),
        ("bool_value", 2, _BOOL, _ONE),
        ("int_value", 3, _INT64, _ONE),
        ("double_value", 4, _DOUBLE, _ONE),
        ("array_value", 5, _BYTES, _ONE),
        ("kvlist_value", 6, _BYTES, _ONE),
        ("bytes_value", 7, _BYTES, _ONE),
    ),
}


def _build() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="rightcall/lazy.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        # Only a oneof tells an empty string from the absence of a value.
        if name == "AnyValue":
            message.oneof_decl.add(name="value")
        for field, number, kind, label in fields:
            added = message.field.add(name=field, number=number, type=kind, label=label)
            if name == "AnyValue":
                added.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _MESSAGES
    }


_TYPES = _build()
Request = _TYPES["Request"]
ResourceItems = _TYPES["ResourceItems"]
ScopeItems = _TYPES["ScopeItems"]
Resource = _TYPES["Resource"]
Scope = _TYPES["Scope"]
Span = _TYPES["Span"]
Event = _TYPES["Event"]
Link = _TYPES["Link"]
Status = _TYPES["Status"]
LogRecord = _TYPES["LogRecord"]
KeyValue = _TYPES["KeyValue"]
KeyValues = _TYPES["KeyValues"]
Values = _TYPES["Values"]
AnyValue = _TYPES["AnyValue"]
