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
    memory = {"span.type": "memory", "memory.operation": "write", "input": json.dumps(message)}
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
