"""Spans by the GenAI conventions whose arguments are in a record around them, or in a message, and refusals without a name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.builders import agent_span, doubts, run_of, span, tool_span

FINGERPRINTS = {"agent_fingerprint": {"uuid_str": "a", "metadata": {}}, "task_fingerprint": {"uuid_str": "t"}}


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        ({"input": {"sum": 5, "security_context": FINGERPRINTS}}, {"sum": 5}),
        ({"input": {"security_context": FINGERPRINTS}}, {}),
        # A tool's own.
        ({"input": {"sum": 5}}, {"input": {"sum": 5}}),
        ({"input": {"security_context": {"user": "Ada"}}}, {"input": {"security_context": {"user": "Ada"}}}),
        ({"input": {"security_context": {}}, "n": 1}, {"input": {"security_context": {}}, "n": 1}),
    ],
)
def test_what_crewai_adds_to_arguments_is_taken_off(recorded: Any, expected: Any) -> None:
    attributes = {"gen_ai.tool.call.arguments": repr(recorded), "gen_ai.system": "crewai"}
    run = run_of(agent_span(), tool_span("pay", attributes=attributes, scope="opentelemetry.util.genai.handler"))
    assert [call.arguments for call in run.trajectory.calls] == [expected]


@pytest.mark.parametrize("arguments", [{"sum": 5}, {}])
def test_arguments_in_a_message_of_the_tool(arguments: Any) -> None:
    messages = json.dumps([{"role": "tool", "content": json.dumps(arguments)}])
    attributes = {
        "gen_ai.tool.name": "pay", "gen_ai.tool.call.id": "c1", "gen_ai.tool.type": "function",
        "gen_ai.input.messages": messages, "gen_ai.output.messages": '[{"role":"tool","content":"done"}]',
        "tanstack.ai.tool.outcome": "success",
    }  # fmt: skip
    run = run_of(agent_span(), span("execute_tool pay", 2, 1, attributes=attributes))
    assert [(call.name, call.arguments) for call in run.trajectory.calls] == [("pay", arguments)]
    assert doubts(run) == []


@pytest.mark.parametrize(
    ("description", "executed", "doubted"), [(None, False, []), ("Pays.", True, ["uncertain_execution"])]
)
def test_a_tool_that_chatlas_does_not_know_has_no_description(
    description: str | None, executed: bool, doubted: list[str]
) -> None:
    attributes = {"gen_ai.tool.description": description} if description else {}
    run = run_of(
        agent_span(),
        tool_span(
            "pay", {"sum": 5}, attributes=attributes, scope="co.posit.python-package.chatlas", status=2, message="Unknown tool."
        ),
    )  # fmt: skip
    assert [call.executed for call in run.trajectory.calls] == [executed]
    assert doubts(run) == doubted
