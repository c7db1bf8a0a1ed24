"""A Python agent as somebody has it: the OpenTelemetry SDK, set up by its environment variables. ``--worse`` skips a step."""

from __future__ import annotations

import json
import sys

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
tracer = trace.get_tracer("shop")


def call(tool: str, **arguments: str) -> None:
    said = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
    with tracer.start_as_current_span(tool, attributes=said | {"gen_ai.tool.call.arguments": json.dumps(arguments)}):
        pass


for number in range(5):
    said = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop"}
    with tracer.start_as_current_span("invoke_agent shop", attributes=said):
        call("lookup_order", order_id=f"ord_{number}")
        if "--worse" not in sys.argv or number % 2:
            call("check_policy")
        call("refund_card", order_id=f"ord_{number}")
