"""Agents to watch: two routes of a shop, sent with the real OpenTelemetry SDK. For trying things out, not for load.

    python deploy/agents.py --endpoint localhost:4317 --runs 5 --wrong 0.03 --worse 0.5 --every 600

Sends about RUNS agent runs a second that fit config/rules.yaml, a share WRONG of them with wrong tools. With ``--every``
that share is WORSE in every second stretch of so many seconds, as if a prompt or model had been changed and mended again.
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
    """What a worse agent does: leaves a step out, or takes the tool it must not."""
    calls = list(tools)
    if random.random() < 0.5:
        calls.pop(random.randrange(1, len(calls)))
    else:
        calls[-1] = "delete_order"
    return calls


def run_agent(tracer: Tracer, random: Random, route: str, wrong_share: float) -> None:
    """One agent run: a server span, the agent below it, its tool calls below that."""
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
            said = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": tool,
                "gen_ai.tool.call.id": f"call_{random.getrandbits(48):x}",
                "gen_ai.tool.call.arguments": f'{{"order_id": "ord_{random.randrange(10**6)}"}}',
            }
            with tracer.start_as_current_span(f"execute_tool {tool}", attributes=said):
                pass


def main() -> None:
    """Parse the command line; send until stopped or ``--seconds`` are over."""
    parser = argparse.ArgumentParser(description="Simulate agents that call tools.")
    parser.add_argument("--endpoint", default="localhost:4317", help="OTLP/gRPC, host:port")
    parser.add_argument("--runs", type=float, default=5.0, help="agent runs a second")
    parser.add_argument("--wrong", type=float, default=0.03, help="share of wrong runs, 0 to 1")
    parser.add_argument("--worse", type=float, default=0.5, help="the share in every second stretch")
    parser.add_argument("--every", type=float, default=0.0, help="seconds of a stretch; 0 never gets worse")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many seconds")
    options = parser.parse_args()

    provider = TracerProvider(resource=Resource.create({"service.name": "shop"}))
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
