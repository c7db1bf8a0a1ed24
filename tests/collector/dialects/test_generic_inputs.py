"""The fallback: where tracers of one's own put what a tool was called with."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.dialects import MARKERS
from collector.otlp import lazy
from collector.otlp.structure import Envelope
from tests import otlp_data as data
from tests.builders import agent_span, called, doubts, other_doubts, read_tool, run_of, span

TOOL = {"tool.name": "pay"}
PAY = {"to": "Ada", "sum": 5}


@pytest.mark.parametrize(
    "attributes",
    [
        {"tool.parameters.to": "Ada", "tool.parameters.sum": 5},
        {"tool.args.to": "Ada", "tool.args.sum": 5},
        {"mcp.tool.arguments.to": "Ada", "mcp.tool.arguments.sum": 5},
    ],
)
def test_each_argument_may_stand_under_the_word_for_all(attributes: dict[str, Any]) -> None:
    assert read_tool(span("tool.pay", 2, 1, attributes={**TOOL, **attributes}))[2] == PAY


@pytest.mark.parametrize("measure", ["tool.args.count", "tool.args.length", "tool.args.schema"])
def test_beside_what_is_about_the_arguments_nothing_tells_which_are_some(measure: str) -> None:
    call = span("tool.pay", 2, 1, attributes={**TOOL, "tool.args.fields": 2, measure: 2})
    run = run_of(agent_span(), call)
    assert run.trajectory.calls[0].arguments is None
    assert "unreadable_arguments" in other_doubts(run)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"tool.arg.order": "7F3"}, {"order": "7F3"}),
        ({"tool.arg.day": "2026-01-02"}, {"day": "2026-01-02"}),
        ({"tool.arg.order": "73"}, None),
        ({"tool.arg.urgent": "True"}, None),
        ({"tool.arg.order": "73", "tool.arg.sum": 5}, {"order": "73", "sum": 5}),
    ],
)
def test_a_text_that_is_no_number_is_a_text(attributes: dict[str, Any], expected: Any) -> None:
    run = run_of(agent_span(), span("tool.pay", 2, 1, attributes={**TOOL, **attributes}))
    assert run.trajectory.calls[0].arguments == expected


@pytest.mark.parametrize(
    "attributes",
    [
        {"action": "pay", "action_input": json.dumps(PAY), "observation": "paid"},
        {"agent.action": "pay", "agent.action_input": json.dumps(PAY), "agent.observation": "paid"},
        {"acme.action.name": "pay", "acme.action.input": json.dumps(PAY), "acme.result": "paid"},
        {"skill.name": "pay", "skill.args": json.dumps(PAY), "skill.result": "paid"},
        {"agent.action": json.dumps({"tool": "pay", "tool_input": PAY}), "agent.observation": "paid"},
        {"agent.action": json.dumps({"tool": "pay", "tool_input": PAY}), "agent.observation": '{"paid": true}'},
    ],
)
def test_an_action_with_its_input_and_observation_is_a_call(attributes: dict[str, Any]) -> None:
    run = run_of(agent_span(lasting=100), span("act", 2, 1, 5, attributes=attributes))
    assert [(call.name, call.arguments) for call in run.trajectory.calls] == [("pay", PAY)]
    assert doubts(run) == ["unconfirmed_reading"]
    raw = data.span(2, 1, "act", **attributes).SerializeToString()
    assert list(lazy.SpanFilter(MARKERS).find(Envelope(b"", b""), data.items(raw), [0])) == [0]


@pytest.mark.parametrize(
    "attributes",
    [
        {"output": json.dumps({"tool": "pay", "tool_input": PAY})},
        {"action": "pay", "input": json.dumps(PAY)},
        {"transaction.name": "pay", "transaction.result": "paid"},
    ],
)
def test_no_action_without_its_input_nor_what_was_only_said(attributes: dict[str, Any]) -> None:
    assert called(run_of(agent_span(lasting=100), span("think", 2, 1, 5, attributes=attributes))) == []


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({"id": "c1", "args": PAY}, ("c1", PAY)),
        ({"call_id": "c1", "arguments": PAY}, ("c1", PAY)),
        ({"id": "c1", "args": PAY, "retry": 1}, (None, None)),
        ({"args": PAY, "input": PAY}, (None, None)),
    ],
)
def test_a_request_that_holds_an_id_and_the_arguments(request_: dict[str, Any], expected: Any) -> None:
    attributes = {"invocation.tool": "pay", "invocation.request": json.dumps(request_), "invocation.response": "paid"}
    run = run_of(agent_span(), span("ToolInvoker.invoke", 2, 1, attributes=attributes))
    (call,) = run.trajectory.calls
    assert (call.id, call.arguments) == expected
    assert ("unreadable_arguments" in doubts(run)) == (call.arguments is None)
