"""Simulated agents: two routes of a shop, traced with the OpenTelemetry SDK. For trying things out, not for load tests.

    python deploy/agents.py --endpoint localhost:4317 --runs 5 --wrong 0.03 --worse 0.5 --every 600

Sends about RUNS agent runs per second that match config/rules.yaml, a share WRONG of them with wrong tools. With ``--every N``
that share is WORSE during every second period of N seconds, as if a prompt or model had been changed and rolled back.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from random import Random

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Tracer

ROUTES = {
    "/chat/refund": ("support", ["lookup_order", "check_policy", "check_inventory", "refund_card"]),
    "/chat/book": ("travel", ["search_flights", "book_flight", "send_email"]),
}


def wrong(random: Random, tools: Sequence[str]) -> list[str]:
    """Returns the calls of a wrong run: a step is left out, or a forbidden tool is called."""
    calls = list(tools)
    if random.random() < 0.5:
        calls.pop(random.randrange(1, len(calls)))
    else:
        calls[-1] = "delete_order"
    return calls


def run_agent(tracer: Tracer, random: Random, route: str, wrong_share: float) -> None:
    """Record one agent run: a server span, its agent span, and the tool calls of the agent."""
    name, tools = ROUTES[route]
    calls = wrong(random, tools) if random.random() < wrong_share else tools
    with (
        tracer.start_as_current_span(f"POST {route}", kind=SpanKind.SERVER, attributes={"http.route": route}),
        tracer.start_as_current_span(
            f"invoke_agent {name}",
            attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name},
        ),
    ):
        for tool in calls:
            attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": tool,
                "gen_ai.tool.call.id": f"call_{random.getrandbits(48):x}",
                "gen_ai.tool.call.arguments": f'{{"order_id": "ord_{random.randrange(10**6)}"}}',
            }
            with tracer.start_as_current_span(f"execute_tool {tool}", attributes=attributes):
                pass


def main() -> None:
    """Parse the command line; send until stopped or until ``--seconds`` have passed."""
    parser = argparse.ArgumentParser(description="Simulate agents that call tools.")
    parser.add_argument("--endpoint", default="localhost:4317", help="OTLP/gRPC, host:port")
    parser.add_argument("--runs", type=float, default=5.0, help="agent runs per second")
    parser.add_argument("--wrong", type=float, default=0.03, help="share of wrong runs, 0 to 1")
    parser.add_argument("--worse", type=float, default=0.5, help="share of wrong runs in every second period")
    parser.add_argument("--every", type=float, default=0.0, help="seconds per period; with 0 the share never changes")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this many seconds")
    options = parser.parse_args()

    provider = TracerProvider(resource=Resource.create({"service.name": "shop", "service.version": "1.0.0"}))
    exporter = OTLPSpanExporter(endpoint=options.endpoint, insecure=True)
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=500))
    tracer, random, start = provider.get_tracer("agents"), Random(), time.monotonic()  # noqa: S311
    while (passed := time.monotonic() - start) < options.seconds:
        is_worse = options.every > 0 and int(passed / options.every) % 2 == 1
        run_agent(tracer, random, random.choice(list(ROUTES)), options.worse if is_worse else options.wrong)
        time.sleep(random.expovariate(options.runs))
    provider.shutdown()


if __name__ == "__main__":
    main()
