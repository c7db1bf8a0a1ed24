"""VoltAgent's own traces."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import called, doubts, read_tool, run_of, runs_of, span


def volt(name: str, number: int, parent: int, **attributes: Any) -> Span:
    common = {"entity.type": "agent", "entity.name": "Travel", "conversation.id": "c"}
    return span(name, number, parent, attributes={**common, **attributes}, scope="@voltagent/core", lasting=100)


TOOL = {
    "span.type": "tool",
    "tool.name": "pay",
    "tool.call.id": "c1",
    "tool.parameters": '{"def":{"type":"object","shape":{}},"type":"object"}',
    "input": '{"order":7}',
}


def test_a_tools_parameters_are_its_schema() -> None:
    assert read_tool(volt("tool.execution:pay", 2, 1, **TOOL))[:3] == ("pay", "c1", {"order": 7})


def test_a_run() -> None:
    run = run_of(volt("Travel", 1, 0, input="pay order 7"), volt("tool.execution:pay", 2, 1, **TOOL))
    assert (run.agent, run.user_input, run.conversation_id, run.dialect) == ("Travel", "pay order 7", "c", "voltagent")


def test_an_agent_inside_another_has_the_others_name_as_well() -> None:
    inner = {"subagent.name": "Clerk", "agent.parent.name": "Travel"}
    runs = runs_of(
        volt("Travel", 1, 0, input="pay order 7"),
        volt(
            "tool.execution:delegate_task", 2, 1, **{"span.type": "tool", "tool.name": "delegate_task", "input": "{}"}
        ),
        volt("subagent:Clerk", 3, 2, **inner),
        volt("tool.execution:pay", 4, 3, **TOOL, **inner),
    )
    assert [(run.agent, called(run)) for run in runs] == [("Travel", ["delegate_task"]), ("Clerk", ["pay"])]


ISSUES = '[\n  {\n    "expected": "number",\n    "code": "invalid_type",\n    "path": [\n      "total"\n    ]\n  }\n]'


@pytest.mark.parametrize(
    ("message", "ran"),
    [
        (f"Output validation failed: {ISSUES}", True),
        (ISSUES, True),  # thrown by the tool itself, of what it had fetched
        (f"MCP error -32602: Input validation error: Invalid arguments for tool pay: {ISSUES}", False),
    ],
)
def test_what_does_not_fit_a_schema_inside_the_span_is_no_argument(message: str, ran: bool) -> None:
    tool = span(
        "tool.execution:pay", 2, 1, lasting=50, status=2, message=message, scope="@voltagent/core",
        attributes={"entity.type": "agent", "entity.name": "Travel", **TOOL, "error.type": "VoltAgentError"},
    )  # fmt: skip
    [call] = run_of(volt("Travel", 1, 0, input="pay order 7"), tool).trajectory.calls
    assert (call.executed, call.status) == (ran, "error")


def test_memory_and_model_spans_carry_the_agents_name_too() -> None:
    assert dialects.read_span(volt("memory.read", 2, 1, **{"span.type": "memory"})) is IGNORED
    assert dialects.read_span(volt("llm:generateText", 2, 1, **{"span.type": "llm"})) is IGNORED


def remembered(number: int, *parts: dict[str, Any], role: str = "assistant") -> Span:
    message = {"userId": "u", "conversationId": "c", "message": {"role": role, "parts": list(parts)}}
    memory = {"span.type": "memory", "memory.operation": "write"}
    memory["input"] = json.dumps(message, separators=(",", ":"))
    return volt("memory.write", number, 1, **memory)


def shown(name: str, call_id: str, state: str = "output-available", **more: Any) -> dict[str, Any]:
    return {"type": f"tool-{name}", "toolCallId": call_id, "state": state, "input": {"order": 7}, **more}


@pytest.mark.parametrize(
    ("part", "found"),
    [
        (shown("mail", "c2", output={"type": "text", "value": "sent"}), ["mail", "pay"]),
        (shown("mail", "c2", "output-error", errorText="Error: no server"), ["mail", "pay"]),
        (shown("mail", "c2", output={"type": "error-text", "value": "Model tried to call unavailable tool 'mail'."}),
         ["(mail)", "pay"]),
        (shown("mail", "c2", "output-denied"), ["(mail)", "pay"]),
        (shown("mail", "c2", "input-available"), ["pay"]),
    ],
)  # fmt: skip
def test_what_a_run_remembers_tells_of_calls_without_a_span(part: dict[str, Any], found: list[str]) -> None:
    paid = shown("pay", "c1", output={"type": "text", "value": "paid"})
    run = run_of(
        volt("Travel", 1, 0, input="pay order 7"), volt("tool.execution:pay", 2, 1, **TOOL), remembered(3, paid, part)
    )
    assert sorted(called(run)) == found


def test_the_users_message_that_a_run_remembers_tells_of_no_call() -> None:
    spans = [volt("Travel", 1, 0, input="use a tool"), remembered(3, {"type": "text", "text": "a tool"}, role="user")]
    assert (called(run_of(*spans)), doubts(run_of(*spans))) == ([], [])


def test_a_run_whose_memory_tells_no_more_than_its_spans_is_in_no_doubt() -> None:
    paid = shown("pay", "c1", output={"type": "text", "value": "paid"})
    run = run_of(
        volt("Travel", 1, 0, input="pay order 7"), volt("tool.execution:pay", 2, 1, **TOOL),
        remembered(3, paid), remembered(4, paid, {"type": "text", "text": "Done."}),
    )  # fmt: skip
    assert (called(run), doubts(run)) == (["pay"], [])


STOPPED = """%s
    at Object.onToolStart (file:///app/agent.mjs:36:158)
    at runToolStartHooks (/app/node_modules/@voltagent/core/dist/index.js:35466:34)
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)
    at async /app/node_modules/@voltagent/core/dist/index.js:35635:11"""
THREW = """%s
    at Object.execute (file:///app/agent.mjs:20:12)
    at async /app/node_modules/@voltagent/core/dist/index.js:35639:24"""


def failed(message: str, number: int = 2, **more: Any) -> Span:
    attributes = {"entity.type": "agent", "entity.name": "Travel", **TOOL, "error.type": "VoltAgentError", **more}
    name = f"tool.execution:{attributes['tool.name']}"
    return span(name, number, 1, lasting=50, status=2, message=message, scope="@voltagent/core", attributes=attributes)


@pytest.mark.parametrize(
    ("stack", "thrown", "found"),
    [
        (STOPPED % "Error: hook says no", "Error", ["(pay)"]),
        (STOPPED % "pay: not for you", "pay", ["(pay)"]),
        (THREW % "Error: card declined", "Error", ["pay"]),
        (STOPPED % "lookup: not for you", "lookup", ["pay"]),  # of a call of the agent that the tool asked
    ],
)
def test_a_stack_tells_that_a_hook_stopped_a_call(stack: str, thrown: str, found: list[str]) -> None:
    words = stack.partition("\n")[0].partition(": ")[2]
    told = {"error": True, "name": thrown, "message": words, "stack": stack, "toolCallId": "c1", "toolName": "pay"}
    part = shown("pay", "c1", output={"type": "json", "value": told})
    run = run_of(volt("Travel", 1, 0, input="pay order 7"), failed(words), remembered(3, part))
    assert (called(run), doubts(run)) == (found, [])


@pytest.mark.parametrize(
    ("stack", "others", "found", "expected"),
    [
        (STOPPED % "pay: not for you", [], ["(pay)"], []),
        (STOPPED % "lookup: not for you", [], ["pay"], []),  # of a call of the agent that the tool asked
        (THREW % "pay: not for you", [], ["pay"], []),  # by the tool itself
        (
            STOPPED % "pay: not for you",
            [failed("Card declined", 3, **{"tool.call.id": "c2"})],
            ["pay", "pay"],
            ["uncertain_execution", "uncertain_execution"],
        ),
    ],
)
def test_a_run_that_a_hook_ended_tells_which_call_did_not_run(
    stack: str, others: list[Span], found: list[str], expected: list[str]
) -> None:
    raised = {"exception.type": "TOOL_FORBIDDEN", "exception.message": "not for you", "exception.stacktrace": stack}
    agent = span(
        "Travel", 1, 0, lasting=200, status=2, message="not for you", scope="@voltagent/core",
        attributes={"entity.type": "agent", "entity.name": "Travel", "input": "pay"}, events=[("exception", raised)],
    )  # fmt: skip
    run = run_of(agent, failed("not for you"), *others)
    assert (called(run), [one for one in doubts(run) if one != "uncertain_order"]) == (found, expected)


def test_words_of_a_hook_leave_open_whether_the_call_ran() -> None:
    run = run_of(volt("Travel", 1, 0, input="pay"), failed("This payment was blocked by policy"))
    assert (called(run), doubts(run)) == (["pay"], ["uncertain_execution"])


PAY = {"type": "tool-pay", "toolCallId": "c1", "input": {"order": 7}}


@pytest.mark.parametrize(
    ("last", "waits"),
    [
        ({"state": "approval-requested", "approval": {"id": "a1"}}, True),
        ({"state": "input-available"}, True),  # a tool of the application's client
        ({"state": "output-available", "output": "paid"}, False),
    ],
)
def test_a_run_whose_memory_tells_of_a_call_that_waits_goes_on_in_another_trace(
    last: dict[str, Any], *, waits: bool
) -> None:
    """VoltAgent 2.10 (`needsApproval`): the run ends well."""
    made = [] if waits else [volt("tool.execution:pay", 2, 1, **TOOL)]
    run = run_of(volt("Travel", 1, 0, input='[{"role":"user","content":"pay"}]'), *made, remembered(3, {**PAY, **last}))
    assert (called(run), doubts(run)) == ([] if waits else ["pay"], ["other_traces"] if waits else [])


@pytest.mark.parametrize(
    ("finish", "memory", "expected"),
    [
        ("tool-calls", [], ["other_traces"]),
        ("tool-calls", [remembered(3, {**PAY, "state": "output-available", "output": "paid"})], []),
        ("stop", [], []),
    ],
    ids=["nothing tells", "all asked for was made", "answered"],
)
def test_without_a_memory_a_run_that_ends_with_calls_may_have_left_one_to_the_client(
    finish: str, memory: list[Span], expected: list[str]
) -> None:
    agent = volt("Travel", 1, 0, input="pay order 7", **{"ai.response.finish_reason": finish})
    run = run_of(agent, volt("tool.execution:pay", 2, 1, **TOOL), *memory)
    assert (called(run), doubts(run)) == (["pay"], expected)


def test_an_agent_that_works_for_another_leaves_no_call_to_the_client() -> None:
    inner = {"subagent.name": "Clerk", "agent.parent.name": "Travel"}
    task = {"span.type": "tool", "tool.name": "delegate_task", "tool.call.id": "d1", "input": "{}"}
    runs = runs_of(
        volt("Travel", 1, 0, input="pay order 7", **{"ai.response.finish_reason": "stop"}),
        volt("tool.execution:delegate_task", 2, 1, **task),
        volt("subagent:Clerk", 3, 2, **inner, **{"ai.response.finish_reason": "tool-calls"}),
        volt("tool.execution:pay", 4, 3, **TOOL, **inner),
    )
    assert [doubts(run) for run in runs] == [[], []]


APPROVED = {"role": "tool", "content": [{"type": "tool-approval-response", "approvalId": "a1", "approved": True}]}
FROM_CLIENT = {"type": "tool-client", "toolCallId": "c0", "state": "output-available", "input": {}, "output": "from it"}


@pytest.mark.parametrize("is_asked_more", [False, True])
@pytest.mark.parametrize("answer", [APPROVED, {"role": "assistant", "parts": [{"type": "step-start"}, FROM_CLIENT]}])
def test_a_run_that_is_given_an_answer_began_in_another_trace(answer: dict[str, Any], *, is_asked_more: bool) -> None:
    """An approval, or what a tool of the application's client returned, in a message of the user interface."""
    given: list[dict[str, Any]] = [{"role": "user", "content": "pay"}, answer]
    given += [{"role": "user", "content": "and then?"}] if is_asked_more else []
    told = json.dumps(given, separators=(",", ":"))
    answered = remembered(3, {**PAY, "state": "output-available", "output": "paid"})
    run = run_of(volt("Travel", 1, 0, input=told), volt("tool.execution:pay", 2, 1, **TOOL), answered)
    assert (called(run), doubts(run)) == (["pay"], [] if is_asked_more else ["other_traces"])


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ([{"agentName": "sub", "response": "Error in delegating task to sub: scripted failure"}], ["error"]),
        ({"error": "Failed to delegate task: No valid target agents found.", "status": "error"}, ["error"]),
        ([{"agentName": "sub", "response": "no error"}], ["ok"]),
        (
            [
                {"agentName": "sub", "response": "Error in delegating task to sub: scripted failure"},
                {"agentName": "two", "response": "done"},
            ],
            ["error"],
        ),
    ],
    ids=["failed", "no such agent", "done", "one of two failed"],
)
def test_the_result_of_a_delegation_tells_whether_its_agents_failed(output: object, expected: list[str]) -> None:
    """2.10: the span of the call ends well."""
    result = json.dumps(output, separators=(",", ":"))
    call = {"span.type": "tool", "tool.name": "delegate_task", "tool.call.id": "a1", "input": '{"task":"go"}'}
    delegation = span(
        "tool.execution:delegate_task", 2, 1, 5, 50, attributes={**call, "entity.type": "agent", "output": result},
        scope="@voltagent/core", status=1,
    )  # fmt: skip
    run = run_of(volt("Travel", 1, 0, input="go"), delegation)
    assert [*(one.status for one in run.trajectory.calls), *doubts(run)] == expected
