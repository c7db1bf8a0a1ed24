"""Replays recorded agent runs as if they happened now.

The recordings are traces of real frameworks with scripted models. Each replay gets new ids and times and the route that an
application would set; some get a fault, such as a changed prompt or model would cause.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from random import Random
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtoSpan
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded trace: its spans, each with its resource attributes and scope."""

    name: str
    route: str
    spans: tuple[tuple[Mapping[str, Any], InstrumentationScope, ProtoSpan], ...]


ROUTES: Mapping[str, str] = {
    "py-langgraph-official-multi": "/chat/trip",
    "py-pydantic-ai-native-v5-multi": "/chat/trip",
    "py-agno-official-multi": "/chat/trip",
    "js-ai7-otel-seq": "/chat/book",
    "js-mastra-otelexp-seq": "/chat/book",
    "py-openai-agents-official-fail": "/chat/pay",
    "py-pydantic-ai-native-v6-fail": "/chat/pay",
    "js-ai7-otel-fail": "/chat/pay",
}

# What a worse prompt, model or tool would change in the runs of a route: (old text, new text).
FAULTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "/chat/trip": (("book_flight", "cancel_flight"), ("Paris", "Berlin"), ("AF123", "flight one")),
    "/chat/book": (("book_flight", "hold_flight"), ("send_email", "send_fax")),
    "/chat/pay": (("charge_card", "refund_card"),),
}


def recordings() -> list[Recording]:
    """Returns the recordings in the package."""
    folder = files("collector.demo") / "recordings"
    loaded = []
    for name, route in ROUTES.items():
        requests = sorted((folder / name).iterdir(), key=lambda file: file.name)
        spans = tuple(span for file in requests for span in _spans(gzip.decompress(file.read_bytes())))
        loaded.append(Recording(name, route, spans))
    return loaded


def _spans(request: bytes) -> Iterator[tuple[Mapping[str, Any], InstrumentationScope, ProtoSpan]]:
    for resource in ExportTraceServiceRequest.FromString(request).resource_spans:
        attributes = _attributes(resource.resource.attributes)
        for scope in resource.scope_spans:
            sdk_scope = InstrumentationScope(scope.scope.name, scope.scope.version)
            yield from ((attributes, sdk_scope, span) for span in scope.spans)


def replay(
    recording: Recording, now_ns: int, random: Random, fault: tuple[str, str] | None = None
) -> list[ReadableSpan]:
    """Returns the recording as ended SDK spans, the last of which ended at ``now_ns``.

    ``fault`` is a text and its replacement in names and attributes.
    """
    shift = now_ns - max(span.end_time_unix_nano for _, _, span in recording.spans)
    trace_id = random.getrandbits(128)
    ids = {span.span_id: random.getrandbits(64) for _, _, span in recording.spans}

    def context(span_id: bytes) -> SpanContext | None:
        known = ids.get(span_id)
        return SpanContext(trace_id, known, is_remote=False, trace_flags=TraceFlags(1)) if known else None

    def with_fault(value: Any) -> Any:
        return value.replace(*fault) if fault and isinstance(value, str) else value

    def ended_span(attributes: Mapping[str, Any], scope: InstrumentationScope, span: ProtoSpan) -> ReadableSpan:
        own = {key: with_fault(value) for key, value in _attributes(span.attributes).items()}
        if not span.parent_span_id:
            # At the root, as an application would set it: the frameworks know of no route.
            own["rightcall.route"] = recording.route
        return ReadableSpan(
            with_fault(span.name),
            context(span.span_id),
            context(span.parent_span_id),
            Resource(attributes),
            own,
            [Event(event.name, _attributes(event.attributes), event.time_unix_nano + shift) for event in span.events],
            # In OTLP 0 is "unspecified" and 1 "internal", with which the numbers of the SDK begin.
            kind=SpanKind(max(0, span.kind - 1)),
            status=Status(StatusCode(span.status.code), span.status.message or None),
            start_time=span.start_time_unix_nano + shift,
            end_time=span.end_time_unix_nano + shift,
            instrumentation_scope=scope,
        )

    return [ended_span(*span) for span in recording.spans]


def _attributes(items: Any) -> dict[str, Any]:
    return {item.key: _value(item.value) for item in items if isinstance(item, KeyValue)}


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    return getattr(value, kind) if kind else ""
