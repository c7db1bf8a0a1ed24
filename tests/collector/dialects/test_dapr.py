"""Dapr Agents (0.10, 1.0), whose own instrumentation writes OpenInference's words."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import called, doubts, run_of, span_of_kind, steps

kind = partial(span_of_kind, "openinference.span.kind", scope="dapr_agents.observability.instrumentor", status=1)
AGENT = kind("AGENT", "trip.run", 1, lasting=100, attributes={"agent.name": "trip", "input.value": "Plan a trip"})
RAISED = "An error occurred during the execution of tool 'Pay': "


def request(number: int, at: float, *tools: str) -> Span:
    attributes: dict[str, Any] = {"output.value": "{}", "llm.output_messages.0.message.role": "assistant"}
    for place, tool in enumerate(tools):
        call = f"llm.output_messages.0.message.tool_calls.{place}.tool_call"
        attributes |= {
            f"{call}.id": f"c{place}",
            f"{call}.function.name": tool,
            f"{call}.function.arguments": '{"n": 1}',
        }
    return kind("LLM", "ChatCompletion", number, 1, at, attributes=attributes)


def batch(number: int, at: float) -> Span:
    attributes = {"agent.name": "trip", "input.value": '{"instance_id": "trip-4570", "tool_calls": ["id=\'c0\'"]}'}
    return kind("TOOL", "trip.tool_batch", number, 1, at, lasting=20, attributes={**attributes, "output.value": "[]"})


def tool(name: str, number: int, parent: int, at: float, output: str, args: Any = ()) -> Span:
    given = json.dumps({"tool_name": name, "args": args, "kwargs": {"n": 1}})
    attributes = {"tool.name": name, "agent.name": "AgentToolExecutor", "input.value": given, "output.value": output}
    return kind("TOOL", name, number, parent, at, lasting=1, attributes=attributes)


def failed(words: str) -> str:
    text = f"Error executing tool 'Pay': {RAISED}{words}"
    return f"content=[TextContent(type='text', text={text!r})] structuredContent=None isError=True"


def test_the_calls_of_one_answer_are_inside_a_span_that_is_none() -> None:
    run = run_of(
        AGENT, request(2, 1, "Look", "Pay"), batch(3, 20), tool("Look", 4, 3, 21, "seen"), tool("Pay", 5, 3, 22, "paid"),
        request(6, 60),
    )  # fmt: skip
    assert (called(run), steps(run), doubts(run)) == (["Look", "Pay"], [0, 0], [])
    assert [(call.arguments, call.id) for call in run.trajectory.calls] == [({"n": 1}, "c0"), ({"n": 1}, "c1")]


@pytest.mark.parametrize(
    ("output", "expected", "status"),
    [
        (failed("no money on card"), ["Pay"], "error"),
        (failed("Validation error in tool 'Pay': 1 validation error for n\nn\n  Field required"), ["(Pay)"], "error"),
        ("the field isError=True", ["Pay"], "ok"),
    ],
)
def test_a_failure_is_told_by_what_stands_for_the_result(output: str, expected: list[str], status: str) -> None:
    run = run_of(AGENT, request(2, 1, "Pay"), tool("Pay", 4, 1, 21, output), request(6, 60))
    assert (called(run), run.trajectory.calls[0].status, doubts(run)) == (expected, status, [])


def test_arguments_by_position_have_no_names() -> None:
    run = run_of(AGENT, tool("Pay", 4, 1, 21, "paid", args=[7]))
    assert doubts(run) == ["unreadable_arguments"]
