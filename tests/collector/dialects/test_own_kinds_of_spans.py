"""The fallback: what tracers of one's own say of a call in values, in names of spans and in standards written by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.builders import calls_of, span

PAY = {"to": "Ada", "sum": 5}
GIVEN = json.dumps(PAY)
FAILED = {"isError": True, "content": [{"type": "text", "text": "no money"}]}


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("unit", {"unit.type": "agent_tool", "unit.name": "pay", "unit.params": GIVEN, "unit.status": "DONE"}),
        ("pay", {"op": "ai.tool", "description": "pay", "data": GIVEN, "status": "ok"}),
        ("flow.step", {"step.kind": "tool", "step.ref": "pay", "step.vars": GIVEN, "step.output": "paid"}),
        ("stage", {"stage.group": "tools", "stage.handler": "pay", "stage.input": GIVEN}),
        ("Outbound.execute", {"port": "ToolPort", "port.adapter": "pay", "port.body": GIVEN, "port.reply": "paid"}),
        ("rpc.send", {"rpc.call": "tools/call", "rpc.params": json.dumps({"name": "pay", "arguments": PAY})}),
    ],
)
def test_a_value_tells_of_what_sort_a_span_is(name: str, attributes: dict[str, Any]) -> None:
    assert [call[:2] for call in calls_of(span(name, 2, 1, attributes=attributes))] == [("pay", PAY)]


@pytest.mark.parametrize(
    "attributes",
    [
        {"unit.type": "extract", "unit.name": "pay", "unit.params": GIVEN},
        {"message.type": "tool", "unit.name": "pay", "unit.params": GIVEN},
        {"unit.owner": "tool", "unit.name": "pay", "unit.params": GIVEN},
        {"rpc.call": "tools/list", "rpc.params": json.dumps({"name": "pay", "arguments": PAY})},
        {"rpc.call": "prompts/get", "rpc.params": json.dumps({"name": "tool", "arguments": PAY})},
    ],
)
def test_other_sorts_are_no_calls(attributes: dict[str, Any]) -> None:
    assert calls_of(span("unit", 2, 1, attributes=attributes)) == []


def test_a_span_that_is_named_after_an_action_has_that_name() -> None:
    attributes = {"step.kind": "tool", "step.source": "python", "input": GIVEN}
    assert calls_of(span("PayAction", 2, 1, attributes=attributes)) == [("PayAction", PAY, "unset")]


def test_json_rpc_by_hand_tells_of_a_failure_in_the_result() -> None:
    params = json.dumps({"name": "pay", "arguments": PAY})
    attributes = {"jsonrpc.method": "tools/call", "jsonrpc.params": params, "jsonrpc.result": json.dumps(FAILED)}
    assert calls_of(span("jsonrpc", 2, 1, attributes=attributes)) == [("pay", PAY, "error")]
