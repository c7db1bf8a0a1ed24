"""LiveKit Agents before 1.8: spans as 1.2, 1.3 and 1.7 wrote them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import called, doubts, model_span, run_of, span, tool_span

SCOPE = "livekit-agents"
SESSION = span("agent_session", 1, lasting=1000, attributes={"lk.agent_label": "travel"}, scope=SCOPE)


def answer(
    number: int, at: float, *calls: dict[str, Any], told: tuple[dict[str, Any], ...] = (), private: str = ""
) -> Span:
    """What the model was told and what it answered; ``private`` comes before the keys since 1.7."""
    items = [{"id": "item_1", "type": "message", "role": "user", "content": ["go"], "interrupted": False}, *told]
    attributes = {
        f"lk.{private}chat_ctx": json.dumps({"items": items}),
        "lk.function_tools": ["pay", "check"],
        f"lk.{private}response.text": "" if calls else "Done.",
        f"lk.{private}response.function_calls": json.dumps(calls),
    }
    return span("llm_node", number, 1, at, attributes=attributes, scope=SCOPE)


def call(call_id: str, name: str, arguments: str = '{"order": 7}') -> dict[str, Any]:
    return {"id": f"item_{call_id}/fnc_0", "call_id": call_id, "arguments": arguments, "name": name, "extra": {}}


def told(call_id: str, name: str, output: str, *, is_error: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    asked = {**call(call_id, name), "type": "function_call"}
    result = {"type": "function_call_output", "call_id": call_id, "name": name, "output": output, "is_error": is_error}
    return asked, result


def tool(number: int, at: float, call_id: str, name: str, output: str, *, is_error: bool, private: str = "") -> Span:
    attributes = {
        "lk.function_tool.id": call_id,
        "lk.function_tool.name": name,
        f"lk.{private}function_tool.arguments": '{"order": 7}',
        f"lk.{private}function_tool.output": output,
        "lk.function_tool.is_error": is_error,
    }
    return span("function_tool", number, 1, at, attributes=attributes, scope=SCOPE)


@pytest.mark.parametrize("private", ["", "pii."])
def test_a_session_is_a_run_and_its_calls_say_whether_they_failed(private: str) -> None:
    run = run_of(
        SESSION,
        answer(2, 10, call("call_1", "pay"), private=private),
        tool(3, 30, "call_1", "pay", "card declined", is_error=True, private=private),
        answer(
            4, 50, call("call_2", "check"), told=told("call_1", "pay", "card declined", is_error=True), private=private
        ),
        # A tool's own answer, which is no failure for the framework
        tool(5, 70, "call_2", "check", "Error: not found", is_error=False, private=private),
        answer(6, 90, private=private),
    )
    found = [(one.name, one.id, one.arguments, one.status) for one in run.trajectory.calls]
    assert found == [("pay", "call_1", {"order": 7}, "error"), ("check", "call_2", {"order": 7}, "ok")]
    assert (run.agent, run.dialect, doubts(run)) == ("travel", "livekit", [])


def test_a_call_without_a_span_did_not_run() -> None:
    # of a tool that does not exist, and beyond the limit of steps
    paid = told("call_1", "pay", "paid", is_error=False)
    run = run_of(
        SESSION,
        answer(2, 10, call("call_1", "pay"), call("call_2", "teleport", "{}")),
        tool(3, 15, "call_1", "pay", "paid", is_error=False),  # while the model goes on to answer
        answer(4, 50, call("call_3", "check"), told=paid),
    )
    assert (called(run), doubts(run)) == (["pay", "(teleport)", "(check)"], [])


def test_arguments_that_a_tool_does_not_take_are_a_refusal() -> None:
    words = "Error parsing arguments for `pay`: 1 validation error for PayArgs"
    run = run_of(SESSION, answer(2, 10, call("call_1", "pay")), tool(3, 30, "call_1", "pay", words, is_error=True))
    assert called(run) == ["(pay)"]


def test_a_failure_without_content_leaves_open_whether_the_tool_ran() -> None:
    failed = {"lk.function_tool.id": "call_1", "lk.function_tool.name": "pay", "lk.function_tool.is_error": True}
    run = run_of(SESSION, span("function_tool", 2, 1, 30, attributes=failed, scope=SCOPE))
    assert (called(run), doubts(run)) == (["pay"], ["uncertain_execution"])


def test_an_answer_that_was_interrupted_or_not_captured_asks_for_nothing_unseen() -> None:
    silent = span("llm_node", 2, 1, 10, attributes={"lk.function_tools": ["pay"]}, scope=SCOPE)
    request = span("llm_request", 4, 2, 11, attributes={"gen_ai.request.model": "gpt-4o"}, scope=SCOPE)
    run = run_of(SESSION, silent, request, tool(3, 30, "call_1", "pay", "paid", is_error=False))
    assert (called(run), doubts(run)) == (["pay"], [])


def test_what_the_provider_was_asked_inside_is_the_same_answer() -> None:
    asked = '[\'{"function": {"name": "pay", "arguments": "{}"}, "id": "call_1", "type": "function"}\']'
    events = [("gen_ai.user.message", {"content": "go"}), ("gen_ai.choice", {"role": "assistant", "tool_calls": asked})]
    request = span("llm_request", 4, 2, 11, attributes={"gen_ai.request.model": "gpt-4o"}, events=events, scope=SCOPE)
    paid = tool(3, 30, "call_1", "pay", "paid", is_error=False)
    run = run_of(SESSION, answer(2, 10, call("call_1", "pay")), request, paid, answer(5, 50))
    assert (called(run), run.dialect, doubts(run)) == (["pay"], "livekit", [])


def test_spans_in_the_conventions_are_left_to_them() -> None:
    # 1.8
    turn = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "travel", "lk.speech_id": "speech_1"}
    agent = span("agent_turn", 1, lasting=500, attributes=turn, scope=SCOPE)
    made = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay", "lk.function_tool.name": "pay"}
    run = run_of(agent, span("function_tool", 2, 1, 30, attributes=made, scope=SCOPE))
    assert (called(run), run.agent, run.dialect) == (["pay"], "travel", "otel_genai")


def turn(number: int, at: float, *calls: dict[str, Any]) -> Span:
    attributes = {"gen_ai.operation.name": "chat", "lk.pii.response.function_calls": json.dumps(calls)}
    return span("agent_turn", number, 1, at, attributes=attributes, scope=SCOPE)


def test_the_turn_of_a_model_that_speaks_itself_is_its_answer() -> None:
    # 1.7
    run = run_of(
        SESSION,
        turn(2, 10, call("call_1", "pay")),
        tool(3, 15, "call_1", "pay", "paid", is_error=False, private="pii."),
        turn(4, 50),
    )
    assert (called(run), doubts(run)) == (["pay"], [])
    assert called(run_of(SESSION, turn(2, 10, call("call_1", "teleport")))) == ["(teleport)"]


TURN = span(
    "agent_turn",
    1,
    lasting=500,
    attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "travel"},
    scope=SCOPE,
)


def test_in_the_conventions_each_call_that_ran_has_a_span() -> None:
    # 1.8, of a model that speaks itself: what it answered is not recorded
    answered = span(
        "realtime_inference", 2, 1, 10, attributes={"gen_ai.operation.name": "generate_content"}, scope=SCOPE
    )
    assert (called(run_of(TURN, answered)), doubts(run_of(TURN, answered))) == ([], [])
    interrupted = run_of(TURN, model_span([("call_6ce4fa9f15f64e32bd0f", "pay", {})], 2, at=10, scope=SCOPE))
    assert (called(interrupted), doubts(interrupted)) == (["(pay)"], [])


def test_in_the_conventions_the_words_of_a_refusal_are_in_an_attribute_of_its_own() -> None:
    # 1.8
    words = "Error parsing arguments for `pay`: 1 validation error for PayArgs"
    attributes = {"error.type": "tool_error", "lk.pii.function_tool.output": words}
    failed = tool_span("pay", {"order": "soon"}, scope=SCOPE, attributes=attributes)
    assert called(run_of(TURN, failed)) == ["(pay)"]
