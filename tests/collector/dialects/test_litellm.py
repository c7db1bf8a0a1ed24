"""LiteLLM's callback."""

from __future__ import annotations

from typing import Any

from tests.builders import run_of, span


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
