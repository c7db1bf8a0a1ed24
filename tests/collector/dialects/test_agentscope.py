"""AgentScope: the conventions, and a state in the result."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model.span import Span
from collector.reconstruction.run import Run
from tests.builders import agent_span, called, doubts, model_span, read_tool, run_of, span, tool_span


@pytest.mark.parametrize(("state", "status"), [("ERROR: 'error'", "error"), ("SUCCESS: 'success'", "ok")])
def test_the_state_in_a_tools_result(state: str, status: str) -> None:
    result = f"ToolResponse(content=[TextBlock(type='text', text='declined')], state=<ToolResultState.{state}>)"
    tool = tool_span(
        "pay", {"order": 7}, call_id="c1", scope="agentscope", status=1, attributes={"gen_ai.tool.call.result": result}
    )
    assert read_tool(tool) == ("pay", "c1", {"order": 7}, status)


@pytest.mark.parametrize(
    ("response", "status", "executed"),
    [
        (
            {"content": [{"type": "text", "text": "declined", "id": "b"}], "state": "error", "metadata": {}},
            "error",
            True,
        ),
        ({"content": [{"type": "text", "text": '"state": "error"'}], "state": "success", "metadata": {}}, "ok", True),
        ({"content": [], "state": "success", "metadata": {"state": "error"}}, "ok", True),
        ({"content": [{"type": "text", "text": "Tool pay not found"}], "state": "error"}, "error", False),
    ],
)
def test_the_state_in_a_result_in_json(response: dict[str, Any], status: str, executed: bool) -> None:
    attributes = {"gen_ai.tool.call.result": json.dumps(response)}
    run = run_of(agent_span(), tool_span("pay", {"n": 1}, scope="agentscope", status=1, attributes=attributes))
    assert [(call.status, call.executed) for call in run.trajectory.calls] == [(status, executed)]


@pytest.mark.parametrize(
    ("text", "status", "executed"),
    [
        ("Error: declined", "error", True),
        ("Error: it's declined", "error", True),  # its repr has other quotes
        ("Error occurred when calling MCP tool: declined", "error", True),
        ("FunctionNotFoundError: Cannot find the function named pay", "error", False),
        ("FunctionInactiveError: The function 'pay' is in the inactive group 'cards'. Activate it.", "error", False),
        ("The log says 'Error: declined'", "ok", True),
    ],
)
def test_what_the_toolkit_said_before_there_was_a_state(text: str, status: str, executed: bool) -> None:
    response = f"ToolResponse(content=[{ ({'type': 'text', 'text': text})!r}], metadata=None, is_interrupted=False)"
    attributes = {"gen_ai.tool.call.result": json.dumps(response)}
    run = run_of(agent_span(), tool_span("pay", {"n": 1}, scope="agentscope", status=1, attributes=attributes))
    assert [(call.status, call.executed) for call in run.trajectory.calls] == [(status, executed)]


@pytest.mark.parametrize(
    "response",
    [
        "\"ToolResponse(content=[TextBlock(type='text', text='declined', id='b')], state=<ToolResultState.ERROR: 'error'>)\"",
        '{"content": [{"type": "text", "text": "declined", "id": "b"}], "state": "error", "metadata": {}}',
    ],
)
def test_a_result_of_which_the_end_was_cut_off_lacks_the_state(response: str) -> None:
    attributes = {"gen_ai.tool.call.result": response[:50]}
    run = run_of(agent_span(), tool_span("pay", {"n": 1}, scope="agentscope", status=1, attributes=attributes))
    assert ([call.status for call in run.trajectory.calls], doubts(run)[-1:]) == (["unset"], ["unobserved_results"])


@pytest.mark.parametrize(("text", "status"), [("Error: Tool execution failed: declined", "error"), ("paid", "unset")])
def test_what_a_tool_returned_in_java(text: str, status: str) -> None:
    attributes = {"gen_ai.tool.call.result": f'[{{"text":"{text}"}}]'}
    assert read_tool(tool_span("pay", {"order": 7}, scope="agentscope-java", attributes=attributes))[3] == status


def test_a_tool_that_java_does_not_know_did_not_run() -> None:
    attributes = {"gen_ai.tool.call.result": '[{"text":"Error: Tool not found: pay"}]'}
    assert called(run_of(agent_span(), tool_span("pay", {}, scope="agentscope-java", attributes=attributes))) == [
        "(pay)"
    ]


def test_formatting_messages_for_a_model_is_no_call() -> None:
    attributes = {"gen_ai.operation.name": "format", "agentscope.function.name": "ChatFormatter.format"}
    formatting = span("format openai", 2, 1, attributes=attributes, scope="agentscope-java")
    assert called(run_of(agent_span(), formatting)) == []


@pytest.mark.parametrize(("scope", "status"), [("agentscope", 1), ("agentscope-java", 0)])
def test_a_call_without_its_result_may_have_failed(scope: str, status: int) -> None:
    run = run_of(agent_span(), tool_span("pay", {"n": 1}, scope=scope, status=status))
    assert (called(run), doubts(run)) == (["pay"], ["unobserved_results"])


def of_java_2(number: int, at: float, tools: str = "", ended: str = "", **more: Any) -> Span:
    """A span of AgentScope for Java 2.0: of a request, or of the calls of a turn."""
    if not tools:
        attributes: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o-mini"}
        return span("chat gpt-4o-mini", number, 1, at, attributes=attributes, scope="io.agentscope", status=1)
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tools}
    if ended:
        attributes["gen_ai.tool.call.id"] = ended
    return span(f"execute_tool {tools}", number, 1, at, attributes=attributes, scope="io.agentscope", status=1, **more)


def run_of_java_2(*spans: Span) -> Run:
    return run_of(agent_span("shop", scope="io.agentscope", status=1), of_java_2(2, 1), *spans)


def test_a_span_of_java_2_is_of_all_calls_of_a_turn() -> None:
    run = run_of_java_2(
        of_java_2(3, 20, "search, search, book", "call_2,call_1,call_3"),
        of_java_2(4, 40),
        of_java_2(5, 60, "search", "call_4"),
        of_java_2(6, 80),
    )
    assert (called(run), doubts(run)) == (["search", "search", "book", "search"], ["unobserved_results"])
    assert [call.step for call in run.trajectory.calls] == [0, 0, 0, 1]


def test_a_call_of_java_2_does_not_say_whether_it_failed() -> None:
    run = run_of_java_2(of_java_2(3, 20, "pay", "call_1"), of_java_2(4, 40))
    assert ([call.status for call in run.trajectory.calls], doubts(run)) == (["unset"], ["unobserved_results"])


@pytest.mark.parametrize(("tools", "ended"), [("pay", ""), ("pay, book", ""), ("pay, book", "call_2")])
def test_a_call_of_java_2_without_an_id_waits_for_a_human(tools: str, ended: str) -> None:
    run = run_of_java_2(of_java_2(3, 20, tools, ended))
    assert {"other_traces", "uncertain_execution"} <= set(doubts(run))
    assert not any(call.executed for call in run.trajectory.calls)


def test_a_run_of_java_2_without_calls() -> None:
    run = run_of_java_2()
    assert (run.agent, called(run), doubts(run)) == ("shop", [], [])


PAY = {"type": "tool_call", "id": "c1", "name": "pay", "arguments": {"n": 1}}
GET = {**PAY, "id": "c0", "name": "get"}


def asked_first(*told: dict[str, Any]) -> str:
    """The input of a request: what an agent said and was told since the question is one message of its own."""
    question = {"role": "user", "parts": [{"type": "text", "content": "go"}]}
    return json.dumps([question, {"role": "assistant", "parts": list(told), "name": "shop"}])


def answering(number: int, at: float, told: str, *parts: dict[str, Any]) -> Span:
    messages = {
        "gen_ai.input.messages": told,
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts}]),
    }
    return model_span((), number, at=at, scope="agentscope", attributes=messages)


def told(call: dict[str, Any], words: str) -> dict[str, Any]:
    return {"type": "tool_call_response", "id": call["id"], "response": words}


@pytest.mark.parametrize(
    ("waits", "expected"),
    [
        ("agentscope.agent.hitl_pending_tools", ["other_traces"]),
        (
            "agentscope.agent.external_execution_pending_tools",
            ["other_traces", "uncertain_execution", "unobserved_results"],
        ),
        ("agentscope.agent.reply_id", []),
    ],
)
def test_a_run_that_waits_for_a_human_or_for_the_application_goes_on_in_another_trace(
    waits: str, expected: list[str]
) -> None:
    """Python 2.0: one call ran, and the next waits; or is of a tool that is not there."""
    agent = agent_span("shop", lasting=100, scope="agentscope", attributes={waits: '["pay"]'})
    done = tool_span("get", {"n": 1}, 3, at=20, call_id="c0", scope="agentscope")
    asking = answering(2, 1, asked_first(), GET)
    waiting = answering(4, 40, asked_first(GET, told(GET, "fine")), PAY)
    run = run_of(agent, asking, done, waiting)
    assert (called(run), doubts(run)) == (["get", "(pay)"], expected)


def test_a_run_that_begins_with_the_call_that_a_human_confirmed_began_in_another_trace() -> None:
    run = run_of(
        agent_span("shop", lasting=100, scope="agentscope"),
        tool_span("pay", {"n": 1}, 2, at=5, call_id="c1", scope="agentscope"),
        answering(3, 30, asked_first(PAY, told(PAY, "paid")), {"type": "text", "content": "ok"}),
    )
    assert (called(run), doubts(run)) == (["pay"], ["other_traces"])


def test_a_call_without_a_span_of_which_a_result_was_told_may_have_been_denied_by_a_rule() -> None:
    """Python 2.0: the words are those of the permission, whatever they are."""
    run = run_of(
        agent_span("shop", lasting=100, scope="agentscope"),
        answering(2, 1, asked_first(), GET, PAY),
        tool_span("get", {"n": 1}, 3, at=20, call_id="c0", scope="agentscope"),
        answering(
            4, 40, asked_first(GET, PAY, told(GET, "fine"), told(PAY, "Ask Ada")), {"type": "text", "content": "ok"}
        ),
    )
    assert "uncertain_execution" in doubts(run)
