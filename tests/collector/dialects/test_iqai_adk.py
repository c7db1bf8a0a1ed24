"""ADK-TS (@iqai/adk 0.5.9), with its own tracer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import called, doubts, run_of, span


def iqai(name: str, number: int, parent: int, at: float, *events: tuple[str, dict[str, Any]], **more: Any) -> Span:
    return span(name, number, parent, at, scope="iqai-adk", events=events, **more)


def agent(*answers: list[dict[str, Any]], **more: Any) -> Span:
    events = [
        ("gen_ai.content.completion", {"gen_ai.completion": json.dumps({"role": "model", "parts": parts})})
        for parts in answers
    ]
    return iqai("agent_run [clerk]", 2, 1, 1, *events, lasting=90, attributes={"adk.session_id": "s1"}, **more)


def request(number: int, at: float) -> Span:
    attributes = {"gen_ai.system.name": "iqai-adk", "gen_ai.operation.name": "generate", "adk.response_count": 1}
    return iqai("llm_generate [gpt-4o]", number, 2, at, attributes=attributes)


def pay(result: dict[str, Any], **more: Any) -> Span:
    attributes = {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay", "gen_ai.tool.call.id": "call_1",
        "adk.tool_call_args": '{"order": 7}', "adk.tool_response": json.dumps(json.dumps(result)),
        "adk.llm_request": "{}", "adk.llm_response": "{}",
    }  # fmt: skip
    return iqai("execute_tool pay", 4, 2, 20, attributes=attributes, status=1, **more)


def raised(stack: str) -> Span:
    event = ("exception", {"exception.type": "Error", "exception.stacktrace": stack})
    return iqai("execute_tool pay", 4, 2, 20, event, status=2, message="declined")


ROOT = iqai("invocation", 1, 0, 0, lasting=100)
ASKED = [{"functionCall": {"id": "call_1", "name": "pay", "args": {"order": 7}}}]
TEXT = [{"text": "Done."}]


@pytest.mark.parametrize(
    ("result", "status", "open_ones"),
    [
        ({"paid": 7}, "ok", []),
        ({"error": "card declined"}, "error", []),
        ({"error": "blocked by policy"}, "error", ["uncertain_execution"]),
    ],
)
def test_a_callback_that_blocks_a_call_leaves_the_span_of_one_that_failed(
    result: dict[str, Any], status: str, open_ones: list[str]
) -> None:
    run = run_of(ROOT, agent(ASKED, TEXT), request(3, 2), pay(result), request(5, 40))
    (call,) = run.trajectory.calls
    assert (call.id, call.arguments, call.status) == ("call_1", {"order": 7}, status)
    assert (run.agent, run.conversation_id, run.dialect, doubts(run)) == ("clerk", "s1", "iqai_adk", open_ones)


def test_a_run_that_called_nothing_is_in_no_doubt() -> None:
    run = run_of(ROOT, agent(TEXT), request(3, 2))
    assert (called(run), doubts(run)) == ([], [])


@pytest.mark.parametrize(
    ("stack", "open_ones"),
    [
        ("Error: declined\n    at Pay.runAsync (app.js:1:1)\n    at callToolAsync (index.js:6599:21)\n", []),
        ("Error: declined\n    at beforeToolCallback (app.js:25:1)\n", ["uncertain_execution"]),
    ],
)
def test_the_stack_tells_whether_a_callback_raised_in_place_of_a_tool(stack: str, open_ones: list[str]) -> None:
    run = run_of(ROOT, agent(ASKED, status=2), request(3, 2), raised(stack))
    (call,) = run.trajectory.calls
    assert (call.arguments, call.status, doubts(run)) == ({"order": 7}, "error", open_ones)


def test_a_tool_that_does_not_exist_ends_the_run() -> None:
    words = "Function refund is not found in the tools_dict."
    asked = [{"functionCall": {"id": "call_2", "name": "refund", "args": {}}}]
    run = run_of(ROOT, agent(ASKED, asked, status=2, message=words), request(3, 2), pay({}), request(5, 40))
    assert (sorted(called(run)), doubts(run)) == (["(refund)", "pay"], [])


def test_the_answers_tell_of_a_call_whose_span_was_lost() -> None:
    run = run_of(ROOT, agent(ASKED, TEXT), request(3, 2), request(5, 40))
    assert doubts(run) == ["uncertain_execution", "unobserved_results"]
