"""Mirascope 2: its requests to models are in the words of the conventions, and calls have no spans."""

from __future__ import annotations

import json
from typing import Any

from collector.model.span import Span
from tests.builders import called, doubts, run_of, span

CALL = {"type": "tool_call", "id": "c1", "name": "pay", "arguments": {"order": 7}}
ASKED = {"role": "user", "parts": [{"type": "text", "content": "Plan a trip"}]}


def chat(number: int, at: float, given: list[Any], answer: Any) -> Span:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.input.messages": json.dumps(given),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [answer], "finish_reason": "stop"}]),
    }
    return span("chat openai/gpt-4o", number, 1, at, attributes=attributes, scope="mirascope.llm", kind=3)


def test_the_words_of_a_result_may_be_those_of_a_failure() -> None:
    told = {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "response": "no money on card"}]}
    run = run_of(
        span("shop", 1, lasting=100, scope="mirascope.ops", attributes={"mirascope.type": "trace"}),
        chat(2, 1, [ASKED], CALL),
        chat(3, 40, [ASKED, {"role": "assistant", "parts": [CALL]}, told], {"type": "text", "content": "Done."}),
    )
    assert (called(run), doubts(run)) == (["pay"], ["unobserved_results"])
    assert run.trajectory.calls[0].status == "unset"
