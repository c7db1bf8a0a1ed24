"""Calls in words of a sender's own, known by the id that a model's provider gave them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import BY_SHAPE, Role
from tests.builders import agent_span, called, doubts, read_tool, run_of, span, tool_span

ID = "call_Zk41"
ROOT = span("travel", 1, attributes={"span_type": "agent"}, lasting=100)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"bot.skill": "pay", "bot.ticket": ID, "bot.given": '{"n": 1}'}, ("pay", ID, {"n": 1})),
        ({"job.type": "pay", "job.order": ID, "job.spec": '{"n": 1}'}, ("pay", ID, {"n": 1})),
        (
            {"using": "pay", "ref": "toolu_01A", "payload": '{"n": 1}', "got": '{"ok": true}'},
            ("pay", "toolu_01A", {"n": 1}),
        ),
        # Its arguments have an attribute each, of which one could be a tool's name and one is an object.
        (
            {"ability.id": "pay", "ability.ref": ID, "ability.given.status": "open", "ability.given.to": '{"n": 1}'},
            ("pay", ID, {"status": "open", "to": {"n": 1}}),
        ),
    ],
)
def test_a_span_with_the_id_of_a_call(attributes: dict[str, Any], expected: Any) -> None:
    assert read_tool(span("step", 2, 1, attributes=attributes))[:3] == expected


@pytest.mark.parametrize(
    "attributes",
    [
        {"queue.name": "agent-jobs", "message.id": ID},  # what is sent to a queue: no input, no result
        {"skill": "pay", "ticket": "call_center", "given": '{"n": 1}'},
        {"skill": "pay", "ticket": ID, "other": "call_Zk42", "given": '{"n": 1}'},  # of which of the two?
        {"first": "pay", "second": "refund", "ticket": ID, "given": '{"n": 1}'},
    ],
)
def test_an_id_alone_names_no_tool(attributes: dict[str, Any]) -> None:
    read = dialects.read_span(span("step", 2, 1, attributes=attributes))
    assert read is None or read.role is not Role.TOOL


def test_the_events_of_a_request() -> None:
    events = (
        ("function started", {"ref": ID, "function": "pay", "payload": '{"n": 1}'}),
        ("function crashed", {"ref": ID, "function": "pay", "reason": "declined"}),
        ("function started", {"ref": "call_Zk42", "fn": "refund", "payload": "{}"}),
        ("function finished", {"ref": "call_Zk42", "fn": "refund", "body": "done"}),
    )
    run = run_of(ROOT, span("POST /chat", 2, 1, 5, 90, events=events))
    assert [(call.name, call.arguments, call.status) for call in run.trajectory.calls] == [
        ("pay", {"n": 1}, "error"),
        ("refund", {}, "ok"),
    ]


def test_requests_in_other_words_bear_out_the_calls() -> None:
    orders = [{"order": ID, "job": "pay", "spec": {"n": 1}}]
    answer = {"decide.orders": json.dumps(orders)}
    last = {"decide.orders": "[]", "decide.finish_reason": "stop"}
    job = {"job.type": "pay", "job.order": ID, "job.spec": '{"n": 1}', "job.product": "ok"}
    run = run_of(
        ROOT,
        span("decide", 2, 1, 5, 9, attributes=answer),
        span("job", 3, 1, 10, 20, attributes=job),
        span("decide", 4, 1, 30, 40, attributes=last),
    )
    assert (called(run), run.trajectory.calls[0].id, run.dialect) == (["pay"], ID, BY_SHAPE)


def test_arguments_that_the_model_wrote_otherwise_are_in_doubt() -> None:
    message = {"tool_calls": [{"id": ID, "function": {"name": "pay", "arguments": '{"n": 1}'}}], "role": "assistant"}
    job = {"job.type": "pay", "job.order": ID, "job.spec": '{"n": "one"}', "job.product": "ok"}
    spans = (
        ROOT,
        span("llm", 2, 1, 5, 9, attributes={"span_type": "llm", "output": json.dumps(message)}),
        span(
            "llm", 4, 1, 30, 40, attributes={"span_type": "llm", "output": '{"role": "assistant", "content": "paid"}'}
        ),
    )
    assert "unconfirmed_reading" in doubts(run_of(*spans, span("job", 3, 1, 10, 20, attributes=job)))
    job["job.spec"] = '{"n": 1}'
    assert "unconfirmed_reading" not in doubts(run_of(*spans, span("job", 3, 1, 10, 20, attributes=job)))


@pytest.mark.parametrize(("word", "is_told"), [("well", False), ("ok", True), ("failed", True)])
def test_a_status_in_an_unknown_word_tells_nothing(word: str, *, is_told: bool) -> None:
    run = run_of(ROOT, span("tool:pay", 2, 1, 5, attributes={"input": '{"n": 1}', "outcome": word, "output": "x"}))
    assert ("unobserved_results" not in doubts(run)) is is_told


def test_texts_that_may_be_numbers_in_a_list_are_not_told_apart() -> None:
    attributes = {"in.sql": "SELECT 1", "in.values": ["eu", "25"]}
    assert read_tool(span("tools/query", 2, 1, attributes=attributes))[2] is None
    assert read_tool(span("tools/query", 2, 1, attributes={"in.sql": "SELECT 1", "in.n": 2}))[2] == {
        "sql": "SELECT 1",
        "n": 2,
    }


def test_null_beside_quoted_texts_is_none() -> None:
    read = read_tool(span("tools/query", 2, 1, attributes={"in.region": '"eu"', "in.plan": "null"}))
    assert read[2] == {"region": "eu", "plan": None}


CALL = {"id": "c1", "name": "pay", "arguments": {"n": 1}}


@pytest.mark.parametrize(
    "answer",
    [
        [{"toolUse": {"name": "pay", "toolUseId": "c1", "input": {"n": 1}}}],  # Bedrock
        {
            "text": "",
            "calls": [{"type": "tool_call", "id": "c1", "name": "pay", "args": {"n": 1}}],
        },  # LangChain, in a wrapper
        {
            "id": "resp_1",
            "output": [{"type": "function_call", "call_id": "c1", "name": "pay", "arguments": '{"n": 1}'}],
        },
        {"text": "", "toolCalls": [{"toolCallId": "c1", "toolName": "pay", "args": {"n": 1}}]},  # Mastra
    ],
)
def test_calls_as_a_provider_writes_them_are_an_answer_under_any_key(answer: Any) -> None:
    run = run_of(ROOT, span("think", 2, 1, 5, attributes={"thought.body": json.dumps(answer)}))
    assert [(call.name, call.arguments, call.id) for call in run.trajectory.calls] == [("pay", {"n": 1}, "c1")]
    assert "unconfirmed_reading" in doubts(run)


@pytest.mark.parametrize(
    "beside", [{"role": "user", "content": "Pay!"}, {"role": "tool", "tool_call_id": "c1", "content": ""}]
)
def test_calls_beside_messages_of_others_are_what_a_model_was_told(beside: dict[str, Any]) -> None:
    told = [beside, {"role": "assistant", "tool_calls": [{"id": "c1", "function": CALL}]}]
    assert called(run_of(ROOT, span("think", 2, 1, 5, attributes={"thought.body": json.dumps(told)}))) == []


@pytest.mark.parametrize(
    ("name", "attributes", "read"),
    [
        ("function", {"data.name": "pay", "data.input": '{"n": 1}', "data.output": "paid"}, ("pay", {"n": 1}, True)),
        ("function", {"function.name": "pay", "function.params": '{"n": 1}'}, ("pay", {"n": 1}, False)),
        (
            "house/tool_call",
            {"title": "tool: 'pay'", "entity": "pay", "in": '{"n": 1}', "out": "paid"},
            ("pay", {"n": 1}, False),
        ),
        # The words of the arguments are those of an object around them.
        (
            "Agent._execute_tool",
            {"inputs.agent_id": "a1", "inputs.tool_name": "pay", "inputs.tool_arguments.n": 1},
            ("pay", {"n": 1}, True),
        ),
    ],
)
def test_a_span_that_says_that_it_is_a_call_and_not_under_which_key_its_tool_is(
    name: str, attributes: dict[str, Any], read: Any
) -> None:
    tool = dialects.read_span(span(name, 2, 1, attributes=attributes))
    assert tool is not None
    arguments = json.loads(tool.arguments) if isinstance(tool.arguments, str) else tool.arguments
    assert (tool.name, arguments, tool.tracing.identity == "guessed") == read


@pytest.mark.parametrize(
    ("kind", "role"), [("llm.invoke", Role.MODEL), ("tool.invoke", Role.TOOL), ("agent.invoke", Role.AGENT)]
)
def test_the_type_of_an_operation_is_a_kind(kind: str, role: Role) -> None:
    read = dialects.read_span(span("step", 2, 1, attributes={"ai.operation.type": kind, "function.name": "create"}))
    assert read is not None
    assert read.role is role


ASKED = {"output": [{"type": "function_call", "call_id": ID, "name": "pay", "arguments": '{"n": 1}'}]}


def test_what_has_the_words_of_the_id_is_about_the_call() -> None:
    attributes = {
        "acme.resource.name": "travel-agent",
        "acme.action.name": "pay",
        "acme.action.ref": ID,
        "acme.action.given": '{"n": 1}',
    }
    assert read_tool(span("step", 2, 1, attributes=attributes))[:3] == ("pay", ID, {"n": 1})


def test_an_answer_of_unknown_words_takes_nothing_from_calls_that_known_spans_show() -> None:
    asked = span("think", 2, 1, 5, attributes={"thought.body": json.dumps(ASKED)})
    pays, refunds = (
        tool_span(name, {"n": 1}, number, 1, at=at) for name, number, at in (("pay", 3, 20), ("refund", 4, 40))
    )
    assert doubts(run_of(agent_span(), asked, pays, refunds)) == []
    assert "unconfirmed_reading" in doubts(run_of(agent_span(), asked))  # nothing else shows the call


def test_what_returns_the_answer_of_a_request_is_no_second_request() -> None:
    answer = {"role": "assistant", "tool_calls": [{"id": None, "function": CALL}]}
    run = run_of(
        ROOT,
        span("node", 2, 1, 4, 20, attributes={"node.returned": json.dumps({"reply": answer})}),
        span("llm", 3, 2, 5, 9, attributes={"span_type": "llm", "output": json.dumps(answer)}),
        span("pay", 4, 1, 30, attributes={"span_type": "tool", "input": '{"n": 1}', "output": "paid"}),
    )
    assert called(run) == ["pay"]
    state = {"update": {"messages": [{"tool_calls": [{"id": "c9", "function": CALL}]}]}}
    assert called(run_of(ROOT, span("node", 2, 1, 4, attributes={"node.state": json.dumps(state)}))) == []


@pytest.mark.parametrize(
    ("beside", "status", "doubt"),
    [
        ({"action.response": '{"error": "declined"}', "llm.response": "{}"}, "error", False),
        ({"action.status": "error"}, "error", False),
        ({"action.came_back": "declined"}, "unset", True),
    ],
)
def test_what_came_of_an_identified_call(beside: dict[str, str], status: str, *, doubt: bool) -> None:
    attributes = {"action.name": "pay", "action.ref": ID, "action.given": '{"n": 1}', **beside}
    run = run_of(ROOT, span("pay", 2, 1, 5, attributes=attributes))
    assert run.trajectory.calls[0].status == status
    assert ("unobserved_results" in doubts(run)) is doubt


@pytest.mark.parametrize(("name", "attributes"), [("pay", {"acme.span.type": "TOOL"}), ("tool:pay", {})])
def test_a_span_that_says_it_is_a_call_names_its_tool_itself(name: str, attributes: dict[str, str]) -> None:
    """Laminar's spans have the language of the program beside the id."""
    beside = {"acme.span.source": "python", "acme.ref": ID, "acme.span.input": '{"n": 1}'}
    assert read_tool(span(name, 2, 1, attributes={**attributes, **beside}))[0] == "pay"
