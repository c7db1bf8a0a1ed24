"""The reference mix: traces of 13 spans (8 HTTP client, 4 tools, 1 agent), about 360 bytes per span, 512 spans per request."""

from __future__ import annotations

from random import Random

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

SPANS_PER_REQUEST = 512
SPANS_PER_TRACE = 13
EPOCH = b"EPOCH000"  # half of every trace id; replaced in each round, so that no trace id is repeated
_TOOLS = ("lookup_order", "check_policy", "check_inventory", "refund_card")
_RESOURCE = Resource(
    attributes=[
        KeyValue(key=key, value=AnyValue(string_value=value))
        for key, value in (
            ("service.name", "support-agent"),
            ("service.version", "1.4.2"),
            ("host.name", "node-7"),
            ("telemetry.sdk.language", "python"),
        )
    ]
)

RULES = """
rules:
  - name: refund
    match: {agent: support-agent}
    expect:
      sequence:
        - tool: lookup_order
          arguments: {order_id: {regex: "^ord_"}}
        - any_order: [check_policy, check_inventory]
        - refund_card
    pass: 0.9
"""


def attribute(key: str, value: str | int) -> KeyValue:
    """Returns a span attribute."""
    return KeyValue(
        key=key, value=AnyValue(string_value=value) if isinstance(value, str) else AnyValue(int_value=value)
    )


def requests(count: int, seed: int = 1) -> list[bytes]:
    """Returns ``count`` serialised requests; traces continue in the next request, as batch processors split them."""
    random, spans, made = Random(seed), list[Span](), list[bytes]()
    clock = 1_700_000_000_000_000_000
    while len(made) < count:
        spans += trace(random, clock)
        clock += 1_000_000
        while len(spans) >= SPANS_PER_REQUEST and len(made) < count:
            batch, spans = spans[:SPANS_PER_REQUEST], spans[SPANS_PER_REQUEST:]
            made.append(request(batch))
    return made


def request(spans: list[Span]) -> bytes:
    """Returns a serialised request with one resource and scope."""
    scope = ScopeSpans(scope=InstrumentationScope(name="support-agent", version="1.4.2"), spans=spans)
    return ExportTraceServiceRequest(
        resource_spans=[ResourceSpans(resource=_RESOURCE, scope_spans=[scope])]
    ).SerializeToString()


def trace(random: Random, start: int) -> list[Span]:
    """Returns an agent run that satisfies the rule: HTTP calls first, the agent span last, as exporters send them."""
    trace_id, agent = EPOCH + random.randbytes(8), random.randbytes(8)
    spans = [_http(random, trace_id, agent, start + index) for index in range(8)]
    spans += [_tool(random, trace_id, agent, start + index * 1000, name) for index, name in enumerate(_TOOLS)]
    anchor = Span(trace_id=trace_id, span_id=agent, name="invoke_agent support-agent", kind=Span.SPAN_KIND_INTERNAL)
    anchor.start_time_unix_nano, anchor.end_time_unix_nano = start - 10, start + 500_000
    anchor.attributes.extend(
        [
            attribute("gen_ai.operation.name", "invoke_agent"),
            attribute("gen_ai.agent.name", "support-agent"),
            attribute("gen_ai.conversation.id", f"conv_{random.getrandbits(64):016x}"),
            attribute("gen_ai.provider.name", "openai"),
            attribute("gen_ai.request.model", "gpt-4o-2024-11-20"),
            attribute("gen_ai.usage.input_tokens", 1812),
            attribute("gen_ai.usage.output_tokens", 214),
        ]
    )
    return [*spans, anchor]


def _http(random: Random, trace_id: bytes, parent: bytes, start: int) -> Span:
    span = Span(
        trace_id=trace_id, span_id=random.randbytes(8), parent_span_id=parent, name="GET", kind=Span.SPAN_KIND_CLIENT
    )
    span.start_time_unix_nano, span.end_time_unix_nano = start, start + 900_000
    span.attributes.extend(
        [
            attribute("http.request.method", "GET"),
            attribute(
                "url.full", f"https://orders.internal.example.com/v1/orders/{random.getrandbits(40)}?expand=items"
            ),
            attribute("http.response.status_code", 200),
            attribute("server.address", "orders.internal.example.com"),
            attribute("server.port", 443),
            attribute("network.protocol.version", "1.1"),
            attribute("user_agent.original", "python-httpx/0.28.1"),
        ]
    )
    return span


def _tool(random: Random, trace_id: bytes, parent: bytes, start: int, name: str) -> Span:
    span = Span(trace_id=trace_id, span_id=random.randbytes(8), parent_span_id=parent, name=f"execute_tool {name}")
    span.start_time_unix_nano, span.end_time_unix_nano, span.kind = start, start + 900, Span.SPAN_KIND_INTERNAL
    span.attributes.extend(
        [
            attribute("gen_ai.operation.name", "execute_tool"),
            attribute("gen_ai.tool.name", name),
            attribute("gen_ai.tool.call.id", f"call_{random.getrandbits(96):024x}"),
            attribute("gen_ai.tool.type", "function"),
            attribute(
                "gen_ai.tool.call.arguments", f'{{"order_id": "ord_{random.getrandbits(32)}", "currency": "EUR"}}'
            ),
            attribute("gen_ai.tool.call.result", '{"status": "ok", "items": 3, "total": 42.5}'),
        ]
    )
    return span
