"""AG2 through OpenInference, and in its own spans."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED, Role
from collector.model.span import Span
from tests.builders import agent_span, called, doubts, model_span, run_of, span, tool_span

ASKED = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"order": 1}'}}
PAY = {"role": "assistant", "content": None, "tool_calls": [ASKED]}
PAID = {
    "role": "tool",
    "tool_responses": [{"tool_call_id": "c1", "role": "tool", "content": "paid"}],
    "content": "paid",
}


def _span(name: str, number: int, parent: int, at: float, output: Any, **attributes: Any) -> Span:
    about: dict[str, Any] = {"openinference.span.kind": "AGENT", "input.value": "[]", **attributes}
    if output is not None:
        about["output.value"] = output if type(output) is str else json.dumps(output)
    scope = "openinference.instrumentation.ag2"
    return span(name, number, parent, at, 100 if not parent else 5, scope=scope, attributes=about, status=1)


def _chat() -> Span:
    about = {
        "agent.name": "user",
        "ag2.recipient.name": "travel",
        "input.value": '{"message": "Pay.", "sender": "user"}',
    }
    return _span("user.initiate_chat", 1, 0, 0, "Done.", **about)


def _tool(content: str, *, is_success: bool) -> Span:
    about = {"tool.name": "pay", "tool_call.id": "c1", "openinference.span.kind": "TOOL", "agent.name": "user"}
    output = [is_success, {"name": "pay", "role": "function", "content": content}]
    tool = _span(
        "pay", 4, 3, 11, output, **{**about, "input.value": '{"arguments": "{\\"order\\": 1}", "name": "pay"}'}
    )
    tool.status = 1 if is_success else 2
    return tool


def test_a_chat_is_one_run_of_the_agent_that_was_addressed() -> None:
    run = run_of(
        _chat(),
        _span("travel.generate_reply", 2, 1, 1, PAY, **{"agent.name": "travel"}),
        _span("user.generate_reply", 3, 1, 10, PAID, **{"agent.name": "user"}),
        _tool("paid", is_success=True),
        _span("travel.a_generate_reply", 5, 1, 20, "Done.", **{"agent.name": "travel"}),
        _span("user.generate_reply", 6, 1, 30, None, **{"agent.name": "user"}),
    )
    assert (run.agent, called(run), run.trajectory.calls[0].arguments) == ("travel", ["pay"], {"order": 1})
    assert (run.user_input, run.trajectory.calls[0].id, doubts(run)) == ("Pay.", "c1", [])


@pytest.mark.parametrize(
    ("content", "executed"),
    [
        ("Error: card declined", True),
        ("Error: Function pay not found.", False),
        ("Error: Expecting value: line 1 column 36 (char 35)\n The argument must be in JSON format.", False),
    ],
)
def test_what_ag2_tells_the_model_of_a_failure(content: str, executed: bool) -> None:
    run = run_of(
        _chat(),
        _span("travel.generate_reply", 2, 1, 1, PAY),
        _span("user.generate_reply", 3, 1, 10, PAID),
        _tool(content, is_success=False),
    )
    assert [(call.status, call.executed) for call in run.trajectory.calls] == [("error", executed)]


def test_a_reply_is_a_request_or_a_step() -> None:
    read = dialects.read_span(_span("travel.generate_reply", 2, 1, 1, PAY))
    assert read is not None
    assert read.role is Role.MODEL
    assert dialects.read_span(_span("user.generate_reply", 2, 1, 1, PAID)) is IGNORED
    alone = dialects.read_span(_span("travel.generate_reply", 2, 0, 1, "Hi."))
    assert alone is not None
    assert alone.role is Role.AGENT


def _own(name: str, number: int, parent: int, at: float, **attributes: Any) -> Span:
    return span(
        name,
        number,
        parent,
        at,
        100 if not parent else 5,
        scope="opentelemetry.instrumentation.ag2",
        attributes=attributes,
    )


def _asked_in_call(**question: str) -> list[Span]:
    call = {
        "ag2.span.type": "tool",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "pay",
        "gen_ai.tool.call.id": "c1",
    }
    if question:
        call |= {"gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": "Not today."}
    asked = {"ag2.span.type": "human_input", "gen_ai.operation.name": "await_human_input"}
    return [
        _own(
            "invoke_agent travel", 1, 0, 0, **{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "travel"}
        ),
        _own("execute_tool pay", 2, 1, 1, **call),
        _own("await_human_input travel", 3, 2, 2, **asked, **{f"ag2.human_input.{k}": v for k, v in question.items()}),
    ]


@pytest.mark.parametrize(
    ("question", "call", "doubted"),
    [
        ({"prompt": "Agent wants to call the tool:\n`pay`, {}\nPlease approve or deny", "response": "n"}, "(pay)", []),
        (
            {"prompt": "Agent wants to call the tool:\n`pay`, {}\nPlease approve or deny"},
            "(pay)",
            [],
        ),  # nobody answered
        (
            {"prompt": "Agent wants to call the tool:\n`pay`, {}\nPlease approve or deny", "response": "Always"},
            "pay",
            [],
        ),
        ({"prompt": "May it pay?", "response": "no"}, "pay", ["uncertain_execution"]),
        ({"prompt": "May it pay?", "response": "yes"}, "pay", []),
        ({}, "pay", ["uncertain_execution"]),  # without content
    ],
)
def test_a_human_was_asked_whether_a_call_may_run(question: dict[str, str], call: str, doubted: list[str]) -> None:
    run = run_of(*_asked_in_call(**question))
    assert (called(run), doubts(run)) == ([call], doubted)


def test_a_call_that_waited_for_an_answer_that_nobody_can_give_may_not_have_run() -> None:
    """An approval without a hook (1.2), or what the tool itself asked."""
    words = "Human input was requested but not provided. Please set it for agent using `Agent(..., hitl_hook=func)`"
    agent = _asked_in_call()[0]
    call = {"ag2.span.type": "tool", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay"}
    scope, message = "opentelemetry.instrumentation.ag2", f"HumanInputNotProvidedError: {words}"
    failed = span("execute_tool pay", 2, 1, 1, 5, scope=scope, attributes=call, status=2, message=message)
    run = run_of(agent, failed)
    assert (called(run), doubts(run)) == (["pay"], ["uncertain_execution"])


def test_a_human_who_answered_in_place_of_a_tool_had_it_not_run() -> None:
    """AG2 0.14 with ``human_input_mode="ALWAYS"``."""
    told = {"tool_call_id": "c1", "role": "tool", "content": "USER INTERRUPTED"}
    interrupted = {"role": "user", "content": "No, do not do it", "tool_responses": [told]}
    history = json.dumps([{"role": "user", "content": "Pay."}, PAY, interrupted])
    run = run_of(
        _chat(),
        _span("travel.generate_reply", 2, 1, 1, PAY, **{"agent.name": "travel"}),
        _span("user.generate_reply", 3, 1, 10, interrupted, **{"agent.name": "user"}),
        _span("travel.generate_reply", 4, 1, 20, "Done.", **{"agent.name": "travel", "input.value": history}),
    )
    assert (called(run), doubts(run)) == (["(pay)"], [])


def _call(name: str, number: int, at: float, **more: Any) -> Span:
    attributes = {"gen_ai.tool.type": "function", **more.pop("attributes", {})}
    return tool_span(name, {"q": "x"}, number, at=at, call_id=f"c{number}", scope=OWN, attributes=attributes, **more)


OWN = "opentelemetry.instrumentation.ag2"
CALLS = [("c3", "get", {"q": "x"}), ("c4", "locate", {"q": "x"})]


@pytest.mark.parametrize("is_told", [False, True])
def test_a_run_that_ends_with_a_tool_of_the_client_goes_on_in_another_trace(is_told: bool) -> None:
    """AG2 1.2: its span ends well and has no result, as the client is to make the call."""
    told = [model_span((), 5, at=40, scope=OWN, attributes={"gen_ai.output.messages": "[]"})] * is_told
    run = run_of(
        agent_span(scope=OWN), model_span(CALLS, 2, at=0, scope=OWN),
        _call("get", 3, 20, attributes={"gen_ai.tool.call.result": "18"}), _call("locate", 4, 21), *told,
    )  # fmt: skip
    assert ("other_traces" in doubts(run)) is not is_told


def test_an_agent_that_is_a_tool_says_that_it_failed() -> None:
    words = "Sub-task 'inner' failed: Error code: 400 - no"
    run = run_of(agent_span(scope=OWN), _call("task_inner", 2, 20, attributes={"gen_ai.tool.call.result": words}))
    assert [call.status for call in run.trajectory.calls] == ["error"]
    assert called(run) == ["task_inner"]


def test_middleware_of_ag2_may_have_raised_in_place_of_a_tool() -> None:
    frame = '  File "/t.py", line 544, in on_tool_execution\n    result = await call_next(event, context)\n'
    trace = f"Traceback (most recent call last):\n{frame}PermissionError: policy\n"
    raised = {"exception.type": "PermissionError", "exception.message": "policy", "exception.stacktrace": trace}
    run = run_of(agent_span(scope=OWN), _call("book", 2, 20, status=2, events=[("exception", raised)]))
    assert doubts(run) == ["uncertain_execution"]
