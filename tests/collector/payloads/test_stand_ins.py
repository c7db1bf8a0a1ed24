"""Calls of a stand-in, which tell the refused call of another tool."""

from __future__ import annotations

import json

import pytest

from collector.payloads.stand_ins import refused_tool
from tests.builders import agent_span, model_span, result, run_of, span, tool_span, user

ABSENT = "Model tried to call unavailable tool 'drop_all'. Available tools: 'get_weather'."
WRONG = "Invalid input for tool pay: Type validation failed: Value: {}."


@pytest.mark.parametrize(("tool", "error"), [("drop_all", ABSENT), ("pay", WRONG)])
def test_its_arguments_name_the_tool_and_how_it_was_refused(tool: str, error: str) -> None:
    arguments = {"tool": tool, "error": error}
    assert refused_tool(arguments) == refused_tool(json.dumps(arguments)) == tool


def test_langchains_agents_run_invalid_tool() -> None:
    arguments = {"requested_tool_name": "drop_all", "available_tool_names": ["get_weather"]}
    assert refused_tool(arguments) == refused_tool(json.dumps(arguments)) == refused_tool(repr(arguments)) == "drop_all"
    assert refused_tool({"requested_tool_name": "drop_all"}) is None


@pytest.mark.parametrize(
    "arguments",
    [
        None,
        "",
        '{"tool": "drop_all", "error": ',
        '["tool", "error"]',
        {"tool": "hammer", "error": "it broke"},  # a tool that reports faults
        {"tool": "pay", "error": ABSENT},  # the refusal of another
        {"tool": "drop_all", "error": ABSENT, "order": 7},
        {"tool": ["drop_all"], "error": ABSENT},
        {"tool": "drop_all", "error": None},
        json.dumps({"tool": "drop_all", "error": ABSENT + "x" * 10_000}),
    ],
)
def test_other_arguments_are_those_of_a_tool(arguments: object) -> None:
    assert refused_tool(arguments) is None


def test_the_call_of_a_stand_in_is_the_refused_call_that_was_asked_for() -> None:
    told = {"tool": "drop_all", "error": ABSENT}
    run = run_of(
        agent_span(),
        model_span([("c1", "invalid", told)], 2, at=1),
        tool_span("invalid", told, 3, call_id="c1", at=20),
        model_span([], 4, input_messages=[user("Drop it."), result("c1", ABSENT)], at=40),
    )
    (call,) = run.trajectory.calls
    assert (call.name, call.arguments, call.executed, call.span_id) == ("drop_all", None, False, f"{3:016x}")
    assert run.trajectory.doubts == []


def test_a_span_in_other_words_with_the_id_of_the_refused_call_is_the_stand_in() -> None:
    """OpenCode's own span of each tool that it runs, beside that of Vercel's SDK."""
    given = json.dumps({"tool": "drop_all", "error": ABSENT})
    sdk = {
        "ai.operationId": "ai.toolCall",
        "ai.toolCall.name": "invalid",
        "ai.toolCall.id": "c1",
        "ai.toolCall.args": given,
    }
    own = {"tool.name": "invalid", "tool.call_id": "c1", "session.id": "s"}
    run = run_of(
        agent_span(),
        span("Tool.execute", 3, 1, at=20, attributes=own, scope="opencode", status=1),
        span("ai.toolCall", 4, 1, at=20.1, attributes=sdk, scope="opencode"),
    )
    assert [(call.name, call.id, call.executed) for call in run.trajectory.calls] == [("drop_all", "c1", False)]
