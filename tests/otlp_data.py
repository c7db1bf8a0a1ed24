"""Real OTLP messages, made with the official classes: what the wire tests send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from collector.otlp.structure import Items

EPOCH_NS = 1_700_000_000_000_000_000
TRACE = bytes(range(1, 17))
EXPORT_TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
"""The method of gRPC that takes requests of spans."""


def items(*raws: bytes) -> Items:
    """Raw items of a scope, with nothing between them."""
    ends = list(accumulate(map(len, raws)))
    return Items(
        b"".join(raws), [position for end, raw in zip(ends, raws, strict=True) for position in (end - len(raw), end)]
    )


def any_value(value: Any) -> AnyValue:
    """Plain data as an AnyValue."""
    if isinstance(value, str):
        return AnyValue(string_value=value)
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, bytes):
        return AnyValue(bytes_value=value)
    if isinstance(value, Mapping):
        return AnyValue(kvlist_value=KeyValueList(values=attributes(value)))
    if isinstance(value, Sequence):
        return AnyValue(array_value=ArrayValue(values=[any_value(item) for item in value]))
    return AnyValue()


def attributes(values: Mapping[str, Any]) -> list[KeyValue]:
    """A mapping as attributes."""
    return [KeyValue(key=key, value=any_value(value)) for key, value in values.items()]


def span_id(number: int) -> bytes:
    """A span id that is never all zeros."""
    return number.to_bytes(8, "big")


def span(
    number: int, parent: int = 0, name: str = "GET", at: float = 0.0, trace_id: bytes = TRACE, **values: Any
) -> Span:
    """One span, ``at`` seconds after the epoch, a millisecond long; attribute names have ``__`` for ``.``."""
    start = EPOCH_NS + int(at * 1e9)
    return Span(
        trace_id=trace_id,
        span_id=span_id(number),
        parent_span_id=span_id(parent) if parent else b"",
        name=name,
        kind=Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=start,
        end_time_unix_nano=start + 1_000_000,
        attributes=attributes({key.replace("__", "."): value for key, value in values.items()}),
    )


def tool(number: int, parent: int, name: str, at: float = 0.0, trace_id: bytes = TRACE, **values: Any) -> Span:
    """One execution of a tool."""
    said = {
        "gen_ai__operation__name": "execute_tool",
        "gen_ai__tool__name": name,
        "gen_ai__tool__call__id": f"call_{number}",
    }
    return span(number, parent, f"execute_tool {name}", at, trace_id, **said, **values)


def agent(
    number: int, parent: int = 0, name: str = "helper", at: float = 0.0, trace_id: bytes = TRACE, **values: Any
) -> Span:
    """One agent run."""
    said = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": name}
    return span(number, parent, f"invoke_agent {name}", at, trace_id, **said, **values)


def answer(number: int, parent: int, at: float = 0.0, trace_id: bytes = TRACE) -> Span:
    """One request to a model that answered with text, and so requested no tool."""
    values = {"gen_ai__operation__name": "chat", "gen_ai__response__finish_reasons": ["stop"]}
    return span(number, parent, "chat", at, trace_id, **values)


def traces(*spans: Span, service: str = "shop", scope: str = "agents") -> ExportTraceServiceRequest:
    """A request with one resource and one scope."""
    return ExportTraceServiceRequest(
        resource_spans=[
            ResourceSpans(
                resource=Resource(attributes=attributes({"service.name": service})),
                scope_spans=[ScopeSpans(scope=InstrumentationScope(name=scope, version="1"), spans=spans)],
            )
        ]
    )


def logs(*records: LogRecord) -> ExportLogsServiceRequest:
    """A request with one resource and one scope."""
    return ExportLogsServiceRequest(
        resource_logs=[ResourceLogs(resource=Resource(), scope_logs=[ScopeLogs(log_records=records)])]
    )


def all_spans(request: bytes) -> list[Span]:
    """Every span of a request, in order."""
    parsed = ExportTraceServiceRequest.FromString(request)
    return [item for resource in parsed.resource_spans for scope in resource.scope_spans for item in scope.spans]


def all_records(request: bytes) -> list[LogRecord]:
    """Every log record of a request, in order."""
    parsed = ExportLogsServiceRequest.FromString(request)
    return [item for resource in parsed.resource_logs for scope in resource.scope_logs for item in scope.log_records]


def values_of(item: Span | LogRecord) -> dict[str, Any]:
    """The attributes as plain data; of arrays, the strings."""
    found: dict[str, Any] = {}
    for pair in item.attributes:
        kind = pair.value.WhichOneof("value")
        if kind == "array_value":
            found[pair.key] = [value.string_value for value in pair.value.array_value.values]
        else:
            found[pair.key] = getattr(pair.value, kind) if kind else None
    return found
