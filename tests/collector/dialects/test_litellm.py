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


def proxied(number: int, at: float, kind: str, messages: list[dict[str, Any]], answer: dict[str, Any]) -> Any:
    """The proxy's span of a request (1.108)."""
    attributes = {
        "llm.request.type": kind,
        "gen_ai.operation.name": kind,
        "gen_ai.input.messages": json.dumps(messages),
        **answer,
    }
    return span("litellm_request", number, 1, at, 5, scope="litellm", attributes=attributes)


def answered(text: str, finish: str) -> dict[str, Any]:
    message = {"role": "assistant", "parts": [{"type": "text", "content": text}]}
    return {"gen_ai.output.messages": json.dumps([message]), "gen_ai.response.finish_reasons": json.dumps([finish])}


AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "payer"}
ASKED = {"role": "user", "parts": [{"type": "text", "content": "pay it"}]}


def asked_for_by_messages(number: int) -> dict[str, Any]:
    empty = [{"role": "assistant", "parts": [], "finish_reason": "tool_calls"}]
    return {
        "gen_ai.output.messages": json.dumps(empty),
        "gen_ai.response.finish_reasons": '["tool_calls"]',
        "gen_ai.completion.0.function_call.arguments": json.dumps({"n": number}),
        "gen_ai.completion.0.function_call.name": "pay",
    }


def test_a_request_to_the_messages_route_of_the_proxy_is_read() -> None:
    """The answer is in a span inside, under the provider `None`, and what it is told next in the outer one alone."""
    kind = "anthropic_messages"
    content = [{"type": "tool_use", "id": "t1", "name": "pay", "input": {"n": 1}}]
    failed = {"type": "tool_result", "tool_use_id": "t1", "content": "Error: no money"}
    told = [ASKED, {"role": "assistant", "parts": content}, {"role": "user", "parts": [failed]}]
    run = run_of(
        span("invoke_agent payer", 1, lasting=100, attributes=AGENT, scope="app"),
        proxied(2, 1, kind, [ASKED], asked_for_by_messages(1)),
        span("raw_gen_ai_request", 3, 2, 1, 5, scope="litellm", attributes={"llm.None.content": repr(content)}),
        proxied(4, 20, kind, told, answered("sorry", "stop")),
    )
    assert [(call.id, call.name, call.arguments, call.status) for call in run.trajectory.calls] == [
        ("t1", "pay", {"n": 1}, "error")
    ]
    assert doubts(run) == []


def test_a_request_to_the_responses_route_of_the_proxy_is_read() -> None:
    """What the model is told next is left out: the result of a call is a text without words."""
    call = {"type": "tool_call", "name": "pay", "arguments": '{"n": 1}', "id": "c1"}
    raw_call = {"id": "fc1", "type": "function_call", "call_id": "c1", "name": "pay", "arguments": '{"n": 1}'}
    output = json.dumps([{"role": "assistant", "parts": [call]}])
    lost = {"role": "user", "parts": [{"type": "text", "content": ""}], "id": "fc1"}
    run = run_of(
        span("invoke_agent payer", 1, lasting=100, attributes=AGENT, scope="app"),
        proxied(2, 1, "aresponses", [ASKED], {"gen_ai.output.messages": output}),
        span("raw_gen_ai_request", 3, 2, 1, 5, scope="litellm", attributes={"llm.None.output": repr([raw_call])}),
        proxied(4, 20, "aresponses", [ASKED, lost], answered("paid", "completed")),
    )
    assert [(one.id, one.arguments) for one in run.trajectory.calls] == [("c1", {"n": 1})]
    assert doubts(run) == ["unobserved_results"]


def test_what_the_proxy_records_by_the_newest_conventions_has_its_calls_beside_the_messages() -> None:
    kind, chat = "acompletion", {"gen_ai.operation.name": "chat"}
    second = {
        "gen_ai.completion.1.function_call.arguments": '{"n": 2}',
        "gen_ai.completion.1.function_call.name": "pay",
    }
    told: list[dict[str, Any]] = [ASKED]
    for numbers, result in (((1, 2), "Error: no money"), ((3,), "paid")):
        calls = [asking(f"c{number}", number)[0]["message"]["tool_calls"][0] for number in numbers]
        told.append({"role": "assistant", "parts": [], "tool_calls": calls})
        results = [{"type": "text", "content": result}]
        told += [{"role": "tool", "parts": results, "tool_call_id": call["id"]} for call in calls]
    run = run_of(
        span("invoke_agent payer", 1, lasting=100, attributes=AGENT, scope="app"),
        # Their messages are dropped while a trace is assembled: those of the last request repeat them.
        proxied(2, 1, kind, [], asked_for_by_messages(1) | second | chat),
        proxied(3, 20, kind, [], asked_for_by_messages(3) | chat),
        proxied(4, 40, kind, told, answered("paid", "stop") | chat),
    )
    assert [(one.arguments, one.status, one.step) for one in run.trajectory.calls] == [
        ({"n": 1}, "error", 0),
        ({"n": 2}, "error", 0),
        ({"n": 3}, "ok", 1),
    ]
    assert doubts(run) == []
