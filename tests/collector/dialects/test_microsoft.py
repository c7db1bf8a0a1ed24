"""Microsoft's OpenTelemetry distro for Node.js (1.4), with OpenAI Agents (0.20) and LangChain (1.5) for JavaScript."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import called, doubts, run_of, runs_of, span

AGENTS, LANGCHAIN = "microsoft-otel-openai-agents", "microsoft-otel-langchain"
GO = {"role": "user", "parts": [{"type": "text", "content": "please do it"}]}
LOST = {"role": "user", "parts": [{"type": "text"}]}
DONE = {"role": "assistant", "parts": [{"type": "text", "content": "done"}]}
PAID = {"role": "tool", "parts": [{"type": "text", "content": "paid"}]}
WHOLE = 4.999999  # since the beginning of the trace, which is no whole millisecond
BOTH = pytest.mark.parametrize("scope", [AGENTS, LANGCHAIN])


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def asks(tool: str, number: int = 1, **arguments: Any) -> dict[str, Any]:
    call = {"type": "tool_call", "name": tool, "id": f"call_000{number}Zq6dnxniosli2", "arguments": arguments}
    return {"role": "assistant", "parts": [call]}


def agent(scope: str, number: int = 1, name: str = "till", *answers: Any, **more: Any) -> Span:
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    if answers and scope == LANGCHAIN:
        attributes["gen_ai.output.messages"] = compact(answers)
    more = {"lasting": 100, "kind": 2, "status": 1, **more}
    return span(f"invoke_agent {name}", number, attributes=attributes, scope=scope, **more)


def request(scope: str, number: int, at: float, answer: Any, *given: Any, parent: int = 1) -> Span:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": compact(given or [GO]),
        "gen_ai.output.messages": compact([answer]),
    }
    return span("chat m", number, parent, at, 8, attributes=attributes, scope=scope, kind=3, status=1)


def call(
    scope: str, number: int, at: float, tool: str, given: str, result: str | None, parent: int = 1, **more: Any
) -> Span:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, **more.pop("attributes", {})}
    if result is not None:
        attributes |= {"gen_ai.tool.call.arguments": given, "gen_ai.tool.call.result": compact({"result": result})}
    return span(
        f"execute_tool {tool}",
        number,
        parent,
        at,
        2,
        attributes=attributes,
        scope=scope,
        kind=3,
        **{"status": 1, **more},
    )


@BOTH
def test_a_whole_run(scope: str) -> None:
    asked = asks("pay", sum=5)
    told = [GO, LOST, LOST] if scope == AGENTS else [GO, asked, PAID]
    run = run_of(
        agent(scope, 1, "till", asked, DONE),
        request(scope, 2, 5, asked),
        call(scope, 3, 15, "pay", '{"sum":5}', "paid"),
        request(scope, 4, 20, DONE, *told),
    )
    assert (called(run), run.trajectory.calls[0].arguments, doubts(run)) == (["pay"], {"sum": 5}, [])


@BOTH
@pytest.mark.parametrize("at", [5, 10], ids=["before", "in the same millisecond"])
def test_a_run_that_begins_with_an_approved_call_began_in_another_trace(scope: str, at: float) -> None:
    asked = asks("pay", sum=5)
    told = [GO, LOST, LOST] if scope == AGENTS else [GO, asked, PAID]
    approved = call(scope, 2, at, "pay", '{"sum":5}', "paid")
    run = run_of(agent(scope, 1, "till", asked, DONE), approved, request(scope, 3, 10, DONE, *told))
    assert (called(run), doubts(run)) == (["pay"], ["other_traces"])


@BOTH
def test_a_run_that_ends_with_a_call_that_no_span_shows_waits_for_a_human(scope: str) -> None:
    find, pay = asks("find", 2, q="a"), asks("pay", sum=5)
    run = run_of(
        agent(scope, 1, "till", find, pay),
        request(scope, 2, 5, find),
        call(scope, 3, 15, "find", '{"q":"a"}', "found"),
        request(scope, 4, 20, pay),
    )
    assert (called(run), doubts(run)) == (["find", "(pay)"], ["other_traces"])


@pytest.mark.parametrize("is_told", [True, False])
@pytest.mark.parametrize("at", [WHOLE, 15], ids=["in the same millisecond", "later"])
def test_a_tool_of_langchain_that_asks_a_human_waits(at: float, *, is_told: bool) -> None:
    """LangGraph's `interrupt`, which ends the call with what it asks for in place of an error."""
    words = (
        '[\n  {\n    "id": "238064837f28c845a0456e2dbc0c762b",\n    "value": {\n      "question": "a"\n    }\n  }\n]'
    )
    asked = asks("ask", q="a")
    error = {"error.message": words, "error.type": "String"}
    waiting = call(LANGCHAIN, 3, at, "ask", "", None, status=2, attributes=error)
    attributes = request(LANGCHAIN, 2, 5, asked).attributes if is_told else {"gen_ai.operation.name": "chat"}
    quick = span("chat m", 2, 1, WHOLE, 0.7, attributes=attributes, scope=LANGCHAIN, kind=3, status=1)
    run = run_of(agent(LANGCHAIN, 1, "till", *([asked] if is_told else [])), quick, waiting)
    assert called(run) == ["(ask)"]
    assert "other_traces" in doubts(run)


def as_text(role: str, messages: list[dict[str, Any]]) -> str:
    return compact([{"role": role, "parts": [{"type": "text", "content": compact(messages)}], "finish_reason": "stop"}])


def of_chat(number: int, at: float, given: list[dict[str, Any]] | None, answer: dict[str, Any], finish: str) -> Span:
    completion = {"object": "chat.completion", "choices": [{"index": 0, "message": answer, "finish_reason": finish}]}
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.output.messages": as_text("assistant", [{"id": f"chatcmpl-{number}", **completion}]),
    }
    if given is not None:
        attributes["gen_ai.input.messages"] = as_text("user", given)
    return span("chat m", number, 1, at, 8, attributes=attributes, scope=AGENTS, kind=3, status=1)


def chat_call(tool: str, number: int, arguments: str) -> dict[str, Any]:
    function = {"name": tool, "arguments": arguments}
    one = {"id": f"call_000{number}Zq71pbwdwuenj", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [one]}


def chat_result(number: int, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"call_000{number}Zq71pbwdwuenj", "content": text}


def test_a_run_began_in_another_trace_also_where_its_last_request_alone_tells_of_the_approved_call() -> None:
    """Of inputs that repeat each other a trace keeps the longest. What is asked of the Chat Completions API, and its answers,
    are the text of one message each, and nothing says why an answer ended.
    """
    before = [{"role": "user", "content": "please do it"}, chat_call("find", 1, '{"q":"a"}'), chat_result(1, "found a")]
    before += [chat_call("pay", 2, '{"sum":5}'), chat_result(2, "paid")]
    again = chat_call("find", 3, '{"q":"b"}')
    run = run_of(
        agent(AGENTS),
        call(AGENTS, 2, 5, "pay", '{"sum":5}', "paid"),
        of_chat(3, 10, None, again, "tool_calls"),
        call(AGENTS, 4, 20, "find", '{"q":"b"}', "found b"),
        of_chat(5, 25, [*before, again, chat_result(3, "found b")], {"role": "assistant", "content": "done"}, "stop"),
    )
    assert "other_traces" in doubts(run)


def test_a_handoff_is_no_run() -> None:
    find = asks("find", q="a")
    runs = runs_of(
        span("Agent workflow", 9, lasting=200, scope=AGENTS, attributes={"gen_ai.operation.name": "chain"}),
        agent(AGENTS, 1, parent=9, lasting=40),
        request(AGENTS, 2, 5, asks("transfer_to_clerk", 2)),
        agent(AGENTS, 3, "clerk", parent=1, at=20, lasting=2, kind=3),
        agent(AGENTS, 4, "clerk", parent=9, at=52),
        request(AGENTS, 5, 55, find, parent=4),
        call(AGENTS, 6, 65, "find", '{"q":"a"}', "found", parent=4),
        request(AGENTS, 7, 70, DONE, GO, LOST, LOST, LOST, LOST, parent=4),
    )
    assert [(run.agent, "other_traces" in doubts(run)) for run in runs] == [("till", False), ("clerk", False)]


FAILED = "Error running tool (non-fatal)"
REDACTED = "An error occurred while running the tool. Please try again."
DENIED = "Tool execution was not approved."


@pytest.mark.parametrize(
    ("given", "result", "message", "expected", "in_doubt"),
    [
        ('{"sum":5}', "Tool 'pay' timed out after 40ms.", "", ("pay", {"sum": 5}), []),
        ('{"sum":5}', REDACTED, FAILED, ("pay", {"sum": 5}), []),
        ('{"arguments":""}', REDACTED, FAILED, ("pay", None), ["uncertain_execution"]),
        ('{"arguments":""}', DENIED, DENIED, ("(pay)", None), []),
    ],
)
def test_what_came_of_a_call_of_openai_agents(
    given: str, result: str, message: str, expected: Any, in_doubt: list[str]
) -> None:
    """A text is in an object of its own, and a call that did not begin has the empty text for arguments."""
    failed = call(AGENTS, 2, 10, "pay", given, result, status=2 if message else 1, message=message)
    run = run_of(agent(AGENTS), failed)
    one = run.trajectory.calls[0]
    assert (called(run)[0], one.arguments, one.status, doubts(run)) == (*expected, "error", in_doubt)


def test_middleware_of_langchain_may_answer_in_place_of_a_tool() -> None:
    asked = asks("find", q="a")
    told = {"role": "tool", "parts": [{"type": "text", "content": "cached"}]}
    run = run_of(
        agent(LANGCHAIN, 1, "till", asked, DONE),
        request(LANGCHAIN, 2, 5, asked),
        request(LANGCHAIN, 3, 20, DONE, GO, asked, told),
    )
    assert "uncertain_execution" in doubts(run)
