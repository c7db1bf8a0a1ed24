"""LiteLLM's callback."""

from __future__ import annotations

import json
from typing import Any

from tests.builders import called, doubts, run_of, span, tool_span


def raw(number: int, at: float, choices: Any, messages: Any) -> Any:
    attributes = {
        "llm.openai.choices": repr(choices),
        "llm.openai.messages": repr(messages),
        "llm.openai.id": f"r{number}",
    }
    return span("raw_gen_ai_request", number, 1, at, 5, scope="litellm", attributes=attributes)


def test_requested_calls_are_read_from_raw_requests() -> None:
    call = {"id": "c1", "function": {"name": "pay", "arguments": '{"n": 1}'}, "type": "function"}
    overwritten = {
        "gen_ai.operation.name": "chat",
        "gen_ai.completion.0.function_call.name": "stale",
        "http.route": "/chat",
    }
    run = run_of(
        span("POST /chat", 1, kind=2, lasting=100, attributes=overwritten, scope="app"),
        raw(2, 1, [{"message": {"content": None, "tool_calls": [call]}}], [{"role": "user", "content": "pay it"}]),
        raw(
            3,
            20,
            [{"message": {"content": "sorry"}}],
            [{"role": "assistant"}, {"role": "tool", "tool_call_id": "c1", "content": "Error: no"}],
        ),
    )
    assert [(one.id, one.name, one.arguments, one.status) for one in run.trajectory.calls] == [
        ("c1", "pay", {"n": 1}, "error")
    ]
    assert (run.user_input, run.route, run.response_id) == ("pay it", "/chat", "r3")


def asking(call_id: str, number: int) -> list[dict[str, Any]]:
    """The choices of an answer that asks for one call."""
    call = {"id": call_id, "function": {"name": "pay", "arguments": json.dumps({"n": number})}, "type": "function"}
    return [{"message": {"content": None, "tool_calls": [call]}}]


def test_what_it_writes_to_the_span_of_its_caller_are_several_answers_in_one() -> None:
    """As OpenInference has a request (its callback for Langfuse): the second call is left there of an earlier answer."""
    overwritten: dict[str, Any] = {"openinference.span.kind": "LLM", "output.value": '{"tool_calls": [{"id": "c3"}]}'}
    for at, call_id in enumerate(("c3", "c2")):
        key = f"llm.output_messages.0.message.tool_calls.{at}.tool_call"
        overwritten |= {f"{key}.id": call_id, f"{key}.function.name": "pay", f"{key}.function.arguments": "{}"}
    run = run_of(
        span("POST /chat", 1, lasting=100, attributes=overwritten, scope="app"),
        raw(2, 1, asking("c1", 1), []),
        tool_span("pay", {"n": 1}, 3, at=10, lasting=1, call_id="c1"),
        raw(4, 20, asking("c2", 2), []),
        tool_span("pay", {"n": 2}, 5, at=30, lasting=1, call_id="c2"),
        raw(6, 40, asking("c3", 3), []),
        tool_span("pay", {"n": 3}, 7, at=50, lasting=1, call_id="c3"),
        raw(8, 60, [{"message": {"content": "paid"}}], []),
    )
    assert [(call.id, call.step) for call in run.trajectory.calls] == [("c1", 0), ("c2", 1), ("c3", 2)]
    assert doubts(run) == []


def test_its_own_span_of_a_request_is_that_request() -> None:
    messages = [
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "pay", "arguments": {"n": 1}}]}
    ]
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps(messages)}
    run = run_of(
        span("litellm_request", 1, lasting=10, attributes=attributes, scope="litellm"),
        raw(2, 1, [{"message": {"content": "in words that hold no call"}}], []),
    )
    assert [call.id for call in run.trajectory.calls] == ["c1"]


def test_a_call_of_an_earlier_trace_is_not_made_again_where_a_request_is_recorded_twice() -> None:
    """Without a span of the caller each request is a trace of its own, and the outer of its two spans lacks earlier calls."""
    told = [
        {"role": "user", "content": "pay it"},
        {"role": "assistant", "content": None, "tool_calls": asking("c1", 1)[0]["message"]["tool_calls"]},
        {"role": "tool", "tool_call_id": "c1", "content": "Error: no money"},
    ]
    flattened = {
        "llm.request.type": "completion",
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "pay it",
        "gen_ai.prompt.1.role": "tool",
        "gen_ai.prompt.1.content": "Error: no money",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "Done.",
        "gen_ai.completion.0.finish_reason": "stop",
    }
    outer = span("litellm_request", 1, at=1, lasting=5, attributes=flattened, scope="litellm")
    run = run_of(outer, raw(2, 1, [{"message": {"content": "Done."}, "finish_reason": "stop"}], told))
    assert called(run) == []
    assert "other_traces" in doubts(run)
