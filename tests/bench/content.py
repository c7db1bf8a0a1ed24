"""The mix of an application that records content: each request to a model has the conversation so far, each call its result.

A trace has 25 spans: 12 requests to a model, which grow to 60 kB, 12 calls of tools and their agent, 0.45 MB in all.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.bench.load import EPOCH, attribute, request

SPANS_PER_TRACE: Final = 25
_CALLS: Final = 12
_TOOLS: Final = ("lookup_order", "check_policy", "check_inventory", "refund_card")
_SECOND: Final = 1_000_000_000
_SYSTEM: Final = "Look at the order before you answer, and do not promise what the policy forbids. " * 40
RULES: Final = """
rules:
  - name: refund
    match: {agent: support-agent}
    expect: {sequence: [{repeat: {sequence: [lookup_order, check_policy, check_inventory, refund_card]}, min: 3, max: 3}]}
"""


def requests(count: int, seed: int = 1) -> list[bytes]:
    """Returns ``count`` serialised requests of one trace each."""
    random = Random(seed)
    return [request(_trace(random, 1_700_000_000 * _SECOND + number)) for number in range(count)]


def _trace(random: Random, start: int) -> list[Span]:
    trace_id, agent = EPOCH + random.randbytes(8), random.randbytes(8)
    messages = [_message("system", _text(_SYSTEM)), _message("user", _text(f"Refund order {random.getrandbits(30)}"))]
    spans: list[Span] = []
    for number in range(_CALLS):
        tool, call_id = _TOOLS[number % len(_TOOLS)], f"call_{random.getrandbits(96):024x}"
        arguments = {"order_id": f"ord_{random.getrandbits(32)}", "currency": "EUR"}
        call = {"type": "tool_call", "id": call_id, "name": tool, "arguments": arguments}
        asked = _message("assistant", call)
        begun = start + number * _SECOND
        spans.append(_span(random, trace_id, agent, "chat gpt-4o", begun, {
            "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4o",
            "gen_ai.input.messages": json.dumps(messages),
            "gen_ai.output.messages": json.dumps([{**asked, "finish_reason": "tool_call"}]),
        }))  # fmt: skip
        result = json.dumps({"items": [_item(random) for _ in range(70)]})
        spans.append(_span(random, trace_id, agent, f"execute_tool {tool}", begun + _SECOND // 2, {
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, "gen_ai.tool.call.id": call_id,
            "gen_ai.tool.call.arguments": json.dumps(arguments), "gen_ai.tool.call.result": result,
        }))  # fmt: skip
        messages += [asked, _message("tool", {"type": "tool_call_response", "id": call_id, "response": result})]
    anchor = _span(random, trace_id, b"", "invoke_agent support-agent", start, {
        "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "support-agent",
    })  # fmt: skip
    anchor.span_id, anchor.end_time_unix_nano = agent, start + _CALLS * _SECOND
    return [*spans, anchor]


def _span(random: Random, trace_id: bytes, parent: bytes, name: str, start: int, attributes: dict[str, str]) -> Span:
    span = Span(trace_id=trace_id, span_id=random.randbytes(8), parent_span_id=parent, name=name)
    span.start_time_unix_nano, span.end_time_unix_nano, span.kind = start, start + _SECOND // 4, Span.SPAN_KIND_INTERNAL
    span.attributes.extend(attribute(key, value) for key, value in attributes.items())
    return span


def _item(random: Random) -> dict[str, Any]:
    return {"id": random.getrandbits(40), "name": f"article {random.getrandbits(16)}", "price": random.randrange(9_000)}


def _text(content: str) -> dict[str, str]:
    return {"type": "text", "content": content}


def _message(role: str, part: object) -> dict[str, Any]:
    return {"role": role, "parts": [part]}
