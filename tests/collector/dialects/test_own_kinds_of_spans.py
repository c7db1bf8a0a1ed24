"""The fallback: what tracers of one's own say of a call in values, in names of spans and in standards written by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.dialects import MARKERS
from collector.otlp import lazy
from collector.otlp.structure import Envelope
from tests import otlp_data as data
from tests.builders import agent_span, calls_of, doubts, run_of, runs_of, span, tool_span

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
        {"entity.type": "tool", "unit.name": "pay", "unit.count": 3},
        {"layer": "tools", "unit.name": "pay"},
        {"rpc.call": "tools/list", "rpc.params": json.dumps({"name": "pay", "arguments": PAY})},
        {"rpc.call": "prompts/get", "rpc.params": json.dumps({"name": "tool", "arguments": PAY})},
    ],
)
def test_other_sorts_are_no_calls(attributes: dict[str, Any]) -> None:
    assert calls_of(span("unit", 2, 1, attributes=attributes)) == []


def test_a_span_that_is_named_after_an_action_has_that_name() -> None:
    attributes = {"step.kind": "tool", "step.source": "python", "input": GIVEN}
    assert calls_of(span("PayAction", 2, 1, attributes=attributes)) == [("PayAction", PAY, "unset")]


PARAMS = {"name": "pay", "arguments": PAY}
ASKED = json.dumps(
    {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {**PARAMS, "_meta": {"progressToken": 1}}}
)


@pytest.mark.parametrize(
    ("attributes", "status"),
    [
        ({"rpc.m": "tools/call", "rpc.p": json.dumps(PARAMS)}, "unset"),
        (
            {
                "jsonrpc.method": "tools/call",
                "jsonrpc.params": json.dumps(PARAMS),
                "jsonrpc.result": json.dumps(FAILED),
            },
            "error",
        ),
        ({"sent": ASKED, "got": json.dumps({"jsonrpc": "2.0", "id": 4, "result": {"content": []}})}, "unset"),
        ({"sent": ASKED, "got": json.dumps({"jsonrpc": "2.0", "id": 4, "result": FAILED})}, "error"),
        (
            {"sent": ASKED, "got": json.dumps({"jsonrpc": "2.0", "id": 4, "error": {"code": 5, "message": "no"}})},
            "error",
        ),
    ],
)
def test_mcp_by_hand(attributes: dict[str, Any], status: str) -> None:
    assert calls_of(span("jsonrpc", 2, 1, attributes=attributes)) == [("pay", PAY, status)]


def test_a_request_for_a_call_without_parameters_names_no_tool() -> None:
    assert calls_of(span("inner", 2, 1, attributes={"acme.method": "tools/call", "acme.server": "shop"})) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tool: pay(to='Ada', sum=5)", PAY),
        ('app.tool_call pay({"to": "Ada", "sum": 5})', PAY),
        ("tool: pay()", {}),
        ("tool: pay('Ada', 5)", None),
        ("tool: pay(to=Ada, sum=5)", None),
        ("tool: pay(**given)", None),
    ],
)
def test_a_name_may_hold_the_call_as_it_was_written(name: str, expected: Any) -> None:
    assert calls_of(span(name, 2, 1)) == [("pay", expected, "unset")]
    assert calls_of(span(name.replace("tool", "task"), 2, 1, attributes={"toolbox": 1})) == []


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("loop/step_2/tool_exec", {"fn": "pay", "kwargs": GIVEN, "ok": True}),
        ("skill.invoke", {"skill.id": "pay", "skill.slots": GIVEN, "skill.outcome": "fulfilled"}),
        ("invoke_skill", {"skill": "pay", "slots": GIVEN, "via": "model"}),
        ("shop.agent_tools.pay", {"args": "()", "kwargs": repr(PAY)}),
        ("graphql.resolve tools.pay", {"graphql.args": GIVEN}),
        ("plugin/pay", {"plugin.input": GIVEN, "plugin.output": '{"ok": true}'}),
        ("functionCall", {"fc.name": "pay", "fc.args": GIVEN, "fr.response": '{"paid": true}'}),
        ("remote_function", {"remote.function": "pay", "remote.payload": GIVEN, "remote.reply": '{"paid": true}'}),
        ("sut.tool_use", {"tool_use": "pay", "tool_use.kw": GIVEN}),
        ("run", {"tool.function": "pay", "tool.arguments": GIVEN, "tool.result": "paid"}),
    ],
)
def test_names_of_spans_of_calls(name: str, attributes: dict[str, Any]) -> None:
    assert [call[:2] for call in calls_of(span(name, 2, 1, attributes=attributes))] == [("pay", PAY)]
    raw = data.span(2, 1, name, **attributes).SerializeToString()
    assert list(lazy.SpanFilter(MARKERS).find(Envelope(b"", b""), data.items(raw), [0])) == [0]


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("usage/pay", {"plugin.input": GIVEN, "toolbox": 1}),
        ("plugin.load", {"plugin.name": "pay", "plugin.input": "pay.js"}),
        ("GET tools.example", {"toolbox": 1}),
        ("remote_function", {"skill.level": 3}),
        ("dispatch", {"action.type": "cart/ADD", "action.payload": GIVEN}),
    ],
)
def test_names_of_other_spans(name: str, attributes: dict[str, Any]) -> None:
    assert calls_of(span(name, 2, 1, attributes=attributes)) == []


@pytest.mark.parametrize(
    "failure",
    [
        {"tool_err": "no money"},
        {"step.exc": "E('no')"},
        {"call.raised": "E(no)"},
        {"skill.errorText": "no money"},
        {"task.fault": "no money"},
    ],
)
def test_words_for_a_failure(failure: dict[str, Any]) -> None:
    assert calls_of(span("tool.pay", 2, 1, attributes={"tool.args": GIVEN, **failure})) == [("pay", PAY, "error")]


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ({"ok": False, "message": "no money"}, "error"),
        ({"success": False, "error": {"code": 3}}, "error"),
        ({"problem": "no money"}, "error"),
        ({"data": None, "errors": [{"message": "FORBIDDEN"}]}, "error"),
        ("Err(no money)", "error"),
        ({"ok": True, "message": "paid"}, "unset"),
        ({"data": {"paid": True}, "errors": []}, "unset"),
        ("Ok(paid)", "unset"),
    ],
)
def test_answers_that_say_that_a_call_failed(answer: Any, status: str) -> None:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    attributes = {"tool.name": "pay", "tool.args": GIVEN, "tool.result": text}
    assert calls_of(span("tool.pay", 2, 1, attributes=attributes)) == [("pay", PAY, status)]


@pytest.mark.parametrize(
    "answer", [{"ok": False, "free": 3}, {"ok": False}, {"success": False, "value": 3, "message": "x"}]
)
def test_a_flag_in_an_answer_may_be_about_something_else(answer: dict[str, Any]) -> None:
    attributes = {"tool.name": "pay", "tool.args": GIVEN, "tool.result": json.dumps(answer)}
    run = run_of(agent_span(lasting=100), span("tool.pay", 2, 1, 5, attributes=attributes))
    assert [call.status for call in run.trajectory.calls] == ["unset"]
    assert "unobserved_results" in doubts(run)


def test_the_words_of_a_failure_may_be_those_of_a_refusal() -> None:
    attributes = {"fn_name": "pay", "fn_args": GIVEN, "call_err": "missing a required argument: 'to'"}
    run = run_of(agent_span(lasting=100), span("execute_function", 2, 1, 5, attributes=attributes))
    assert "uncertain_execution" in doubts(run)


@pytest.mark.parametrize(
    "attributes",
    [
        {"arg.to.name": "Ada", "arg.to.age": 36, "arg.sum": 5},
        {"paramTo.name": "x", "argTo": "Ada", "paramSum": 5},
    ],
)
def test_arguments_in_an_attribute_each(attributes: dict[str, Any]) -> None:
    ((_, given, _),) = calls_of(span("tool.pay", 2, 1, attributes={"toolName": "pay", **attributes}))
    assert given == ({"to": {"name": "Ada", "age": 36}, "sum": 5} if "arg.sum" in attributes else PAY)


def test_a_call_and_its_result_in_an_attribute_each() -> None:
    block = {"type": "tool_use", "id": "toolu_01A", "name": "pay", "input": PAY}
    told = {"type": "tool_result", "tool_use_id": "toolu_01A", "content": "no money", "is_error": True}
    attributes = {"block": json.dumps(block), "result_block": json.dumps(told)}
    assert calls_of(span("handle", 2, 1, attributes=attributes)) == [("pay", PAY, "error")]


@pytest.mark.parametrize("key", ["out", "reply", "returned"])
def test_an_answer_under_another_word(key: str) -> None:
    attributes = {"tool.name": "pay", "tool.args": GIVEN, key: json.dumps({"ok": False, "error": "no money"})}
    assert calls_of(span("tool.pay", 2, 1, attributes=attributes)) == [("pay", PAY, "error")]


def test_the_calls_of_a_request_may_be_numbered() -> None:
    attributes = {
        "llm.1.model": "m", "tool.1.name": "pay", "tool.1.args": GIVEN, "tool.1.err": "no money",
        "tool.2.name": "ask", "tool.2.args": "{}", "tool.2.result": "yes", "tool.10.name": "pay", "tool.10.args": GIVEN,
        "tool.10.result": "paid", "tool.count": 3,
    }  # fmt: skip
    called = [("pay", PAY, "error"), ("ask", {}, "ok"), ("pay", PAY, "ok")]
    assert calls_of(span("POST /chat", 2, 1, attributes=attributes)) == called


@pytest.mark.parametrize(
    "attributes",
    [
        {"tool.1.name": "pay", "tool.1.args": GIVEN},
        {"request.tools.0.name": "pay", "request.tools.0.parameters": "{}", "request.tools.0.result": "text"},
        {"tools.0.name": "pay", "tools.0.args": GIVEN, "tools.0.result": "x", "tools.1.args": GIVEN},
    ],
)
def test_numbered_tools_that_were_not_called(attributes: dict[str, Any]) -> None:
    assert calls_of(span("POST /chat", 2, 1, attributes=attributes)) == []


def test_in_a_span_of_tools_lists_side_by_side_are_of_calls() -> None:
    attributes = {"batch.names": ["pay", "ask"], "batch.inputs": [GIVEN, "{}"], "batch.outputs": ["", "yes"]}
    failures = {"batch.failures": ["no money", ""]}
    called = [("pay", PAY, "error"), ("ask", {}, "ok")]
    assert calls_of(span("shop.tool_batch", 2, 1, attributes={**attributes, **failures})) == called
    assert calls_of(span("shop.batch", 2, 1, attributes={**attributes, **failures, "toolbox": 1})) == []


ASKS = {"id": "call_7Q", "type": "function", "function": {"name": "pay", "arguments": GIVEN}}
CONVERSATION = [
    {"role": "user", "content": "pay"},
    {"role": "assistant", "content": None, "tool_calls": [ASKS]},
    {"role": "tool", "tool_call_id": "call_7Q", "content": "Error: no money"},
    {"role": "assistant", "content": "no"},
]


def test_a_root_may_hold_the_whole_conversation() -> None:
    root = span("POST /chat", 1, lasting=100, attributes={"log": json.dumps(CONVERSATION)})
    run = run_of(root, span("pinecone.query", 2, 1, 5))
    assert [(call.name, call.arguments, call.status) for call in run.trajectory.calls] == [("pay", PAY, "error")]
    assert doubts(run) == ["unconfirmed_reading"]


def test_a_conversation_in_the_root_adds_nothing_to_what_other_spans_tell() -> None:
    root = span("POST /chat", 1, lasting=100, attributes={"log": json.dumps(CONVERSATION)})
    run = run_of(root, agent_span("helper", 2, 1, at=1, lasting=90), tool_span("pay", number=3, parent=2, at=5))
    assert [(call.name, call.status) for call in run.trajectory.calls] == [("pay", "unset")]


@pytest.mark.parametrize("messages", [CONVERSATION[:2], CONVERSATION[:3], CONVERSATION[2:]])
def test_a_part_of_a_conversation_is_none(messages: list[Any]) -> None:
    root = span("POST /chat", 1, lasting=100, attributes={"log": json.dumps(messages)})
    assert runs_of(root, span("pinecone.query", 2, 1, 5)) == []


@pytest.mark.parametrize("given", ["PayCommand(to=Ada, sum=5)", "Payment[to=Ada]", "Pay{to:Ada}"])
def test_an_object_as_a_program_prints_it_is_there_and_unreadable(given: str) -> None:
    attributes = {"port": "ToolPort", "port.adapter": "pay", "port.request": given, "port.response": "Ok(paid)"}
    run = run_of(agent_span(lasting=100), span("Port.execute", 2, 1, 5, attributes=attributes))
    assert [(call.name, call.arguments) for call in run.trajectory.calls] == [("pay", None)]
    assert "unreadable_arguments" in doubts(run)
