"""The fallback: calls in the words of teams that trace their own loops, in their language."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.dialects import MARKERS
from collector.model.genai_span import Role
from collector.model.span import Span
from collector.otlp import lazy
from collector.otlp.structure import Envelope
from tests import otlp_data as data
from tests.builders import agent_span, called, calls_of, run_of, span

PAY = {"to": "Ada", "sum": 5}
GIVEN = json.dumps(PAY)
TOLD = {"role": "tool", "tool_call_id": "call_4Tz1", "content": "paid"}


def test_a_schema_is_no_payload_of_an_action() -> None:
    attributes = {"action.name": "pay", "action.payload": json.dumps({"type": "object", "properties": {"to": {}}})}
    assert calls_of(span("inner", 2, 1, attributes=attributes)) == []


@pytest.mark.parametrize(
    "attributes",
    [
        {"action.type": "pay", "action.payload": GIVEN, "action.outcome": "completed"},
        {"ai.function.name": "pay", "ai.function.params": GIVEN, "ai.function.returned": "ok"},
        {"cmd": "pay", "arg.to": "Ada", "arg.sum": 5, "outcome": "success"},
        {"shop.tool": "pay", "shop.request": GIVEN, "shop.response": '{"ok": true}'},
        {"step.kind": "tool", "step.payload": json.dumps({"tool": "pay", "args": PAY}), "step.outcome": '{"ok": true}'},
        {"input.to": "Ada", "input.sum": 5, "call": "toolu_01Ab", "output": "paid", "cmd": "pay"},
    ],
)
def test_a_call_by_the_words_beside_its_input(attributes: dict[str, Any]) -> None:
    assert [call[:2] for call in calls_of(span("step", 2, 1, attributes=attributes))] == [("pay", PAY)]


@pytest.mark.parametrize("attributes", [{"call": "toolu_01Ab", "output": "paid", "input.to": "Ada", "input.sum": 5}, {
    "args.to": "Ada", "args.sum": 5,
}])  # fmt: skip
def test_a_span_with_nothing_but_arguments_is_named_after_its_tool(attributes: dict[str, Any]) -> None:
    assert [call[:2] for call in calls_of(span("pay", 2, 1, attributes=attributes))] == [("pay", PAY)]
    assert calls_of(span("attempt", 2, 1, attributes={"args.to": "Ada"})) == []


def test_an_argument_called_count_is_one() -> None:
    (call,) = calls_of(span("seats", 2, 1, attributes={"args.count": 2, "args.row": "F"}))
    assert call[1] == {"count": 2, "row": "F"}


def test_the_events_of_a_call_may_have_the_same_key() -> None:
    events = [("input", {"body": GIVEN}), ("output", {"body": '"paid"'})]
    assert [
        call[:2] for call in calls_of(span("shop.pay", 2, 1, attributes={"shop.call": "toolu_01Ab"}, events=events))
    ] == [("pay", PAY)]


def test_skills_are_tools() -> None:
    assert calls_of(span("skill/pay", 2, 1, attributes={"skill_input": GIVEN})) == [("pay", PAY, "unset")]
    failed = {"skill.name": "pay", "skill.args": GIVEN, "skill.status": "error"}
    assert calls_of(span("skill", 2, 1, attributes=failed)) == [("pay", PAY, "error")]


def test_attempts_of_a_call_are_one_call() -> None:
    tries = [span(f"tool:pay#{number}", number, 9, number, 0.5, status=number % 2 * 2) for number in (1, 2)]
    assert [call[0] for call in calls_of(span("tool:pay", 9, 1, 0, 5, attributes={"tool.args": GIVEN}), *tries)] == [
        "pay"
    ]


def test_the_conventions_events_are_those_of_a_request_without_an_operation() -> None:
    call = {"id": "call_4Tz1", "type": "function", "function": {"name": "pay", "arguments": GIVEN}}
    chose = ("gen_ai.choice", {"finish_reason": "tool_calls", "message": json.dumps({"tool_calls": [call]})})
    told = ("gen_ai.tool.message", {"id": "call_4Tz1", "content": "Error: no money"})
    done = ("gen_ai.choice", {"finish_reason": "stop", "message": json.dumps({"content": "No."})})
    asked = span("ask", 2, 1, 1, attributes={"gen_ai.system": "openai"}, events=[chose])
    again = span("ask", 3, 1, 20, attributes={"gen_ai.system": "openai"}, events=[told, done])
    assert calls_of(asked, again) == [("pay", PAY, "error")]


def test_what_the_model_wrote_as_react_has_it_under_any_key() -> None:
    def turn(number: int, at: float, text: str) -> Span:
        return span(f"iter-{number}", number, 1, at, attributes={"raw": text})

    asked = turn(2, 1, f"Thought: He asked.\nAction: pay\nAction Input: {GIVEN}")
    assert [call[:2] for call in calls_of(asked, turn(3, 20, "Thought: Done.\nFinal Answer: paid"))] == [("pay", PAY)]


def test_a_prompt_shows_by_an_example_how_to_ask() -> None:
    example = "Answer so:\nAction: pay\nAction Input: {}"
    assert calls_of(span("iter-1", 2, 1, attributes={"prompt": example})) == []


def test_steps_with_a_call_of_the_same_tool_each_are_two_calls() -> None:
    def turn(number: int, at: float) -> Span:
        call_id = f"call_9Zk{number}"
        events = [
            ("tool_call", {"name": "pay", "args": GIVEN, "id": call_id}),
            ("tool_result", {"id": call_id, "result": "1"}),
        ]
        return span("round", number, 1, at, events=events)

    assert calls_of(turn(2, 1), turn(3, 20)) == [("pay", PAY, "ok"), ("pay", PAY, "ok")]


def test_the_path_before_a_tools_name_is_no_part_of_it() -> None:
    call = {"id": "call_4Tz1", "type": "function", "function": {"name": "pay", "arguments": GIVEN}}
    answer = json.dumps({"role": "assistant", "tool_calls": [call]})
    asked = span("llm", 2, 1, 1, attributes={"span.type": "llm", "output.value": answer})
    made = span("tool:v1/pay", 3, 1, 20, attributes={"span.type": "tool", "input.value": GIVEN, "output.value": "paid"})
    told = span(
        "llm", 4, 1, 40, attributes={"span.type": "llm", "input.value": json.dumps([TOLD]), "output.value": "Paid."}
    )
    assert [call[0] for call in calls_of(asked, made, told)] == ["pay"]


@pytest.mark.parametrize(
    ("attributes", "tool"), [({"fn": "pay"}, "pay"), ({"resource.name": "pay"}, "pay"), ({"x": 1}, "shop")]
)
def test_before_the_word_tool_may_be_the_agents_name(attributes: dict[str, Any], tool: str) -> None:
    assert called(run_of(agent_span(), span("shop.tool", 2, 1, attributes={**attributes, "input": GIVEN}))) == [tool]


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("fn", {"fn.name": "pay", "fn.args": GIVEN, "fn.return": "paid", "fn.threw": False}),
        ("act", {"shop.action.name": "pay", "shop.action.params": GIVEN, "shop.action.outcome": "ok: paid"}),
        ("box", {"toolbox.name": "pay", "toolbox.arg.to": "Ada", "toolbox.arg.sum": 5, "toolbox.failed": False}),
        ("invoke pay", {"param.to": "Ada", "param.sum": 5, "outcome": "ok", "returned": "paid"}),
        ("turn", {"shop.calls": [json.dumps({"name": "pay", "input": PAY, "output": "paid", "success": True})]}),
    ],
)
def test_a_call_whose_parts_are_under_one_word(name: str, attributes: dict[str, Any]) -> None:
    (call,) = calls_of(span(name, 2, 1, attributes=attributes))
    assert (call[:2], call[2] in ("ok", "unset")) == (("pay", PAY), True)
    raw = data.span(2, 1, name, **attributes).SerializeToString()
    assert list(lazy.SpanFilter(MARKERS).find(Envelope(b"", b""), data.items(raw), [0])) == [0]


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("fn", {"fn.name": "pay", "fn.args": GIVEN, "fn.threw": True}),
        ("act", {"action.name": "pay", "action.params": GIVEN, "action.outcome": "failed: no money"}),
        ("invoke pay", {"param.to": "Ada", "param.sum": 5, "outcome": "error", "error.text": "no money"}),
        ("run tool", {"tool": "pay", "args": GIVEN, "tool.outcome": '{"ok": false, "message": "no money"}'}),
        ("turn", {"shop.calls": [json.dumps({"name": "pay", "input": PAY, "message": "no money", "success": False})]}),
    ],
)
def test_a_failed_call_whose_parts_are_under_one_word(name: str, attributes: dict[str, Any]) -> None:
    assert calls_of(span(name, 2, 1, attributes=attributes)) == [("pay", PAY, "error")]


def test_a_span_with_the_name_of_the_attribute_that_holds_its_tool() -> None:
    attributes = {"shop.function": "pay", "shop.function.argument_bytes": 9, "shop.function.status": "ok"}
    assert calls_of(span("shop.function", 2, 1, attributes=attributes)) == [("pay", None, "unset")]
    assert calls_of(span("shop.other", 2, 1, attributes=attributes)) == []


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("x", {"fn.name": "pay", "fn.args": GIVEN, "fn.line": 3}),
        ("x", {"job.name": "pay", "job.args": GIVEN, "job.return": "paid"}),
        ("x", {"fn.name": "pay", "fn.args": "5", "fn.return": "paid"}),
        ("shop.function", {"shop.function": "pay", "shop.other.status": "ok"}),
        ("turn", {"shop.calls": [json.dumps({"name": "pay", "input": PAY})]}),
        ("Till.Pay", {"param.to": "Ada", "param.sum": 5, "return": "paid"}),
        ("turn", {"shop.people": [json.dumps({"name": "pay", "input": PAY, "output": "paid"})]}),
    ],
)
def test_parts_that_are_of_no_call(name: str, attributes: dict[str, Any]) -> None:
    assert calls_of(span(name, 2, 1, attributes=attributes)) == []


def test_a_call_that_a_loop_says_did_not_run() -> None:
    attributes = {"step": json.dumps({"tool": "pay", "args": PAY, "ran": False})}
    assert called(run_of(agent_span(), span("dispatch", 2, 1, attributes=attributes))) == ["(pay)"]


def test_an_event_of_a_root_that_tells_of_no_such_tool() -> None:
    event = ("tool not found", {"tool": "pay"})
    read = dialects.read_span(span("till assistant", 1, events=[event]))
    assert (read is None, read and read.role) == (False, Role.OTHER)


def test_a_message_that_answers_results_is_a_models() -> None:
    """It asks for nothing, and the last of the messages tells what came of the call, which has no span of its own."""
    asked = {"id": "call_4Tz1", "type": "function", "function": {"name": "pay", "arguments": GIVEN}}
    before = [{"role": "user", "content": "Pay"}]
    asking = {"role": "assistant", "content": None, "tool_calls": [asked]}
    told = [*before, asking, {**TOLD, "content": "tool not found"}]
    first = {"shopInput": json.dumps(before), "shopOutput": json.dumps(asking)}
    last = {"shopInput": json.dumps(told), "shopOutput": json.dumps({"role": "assistant", "content": "No."})}
    run = run_of(
        span("loop", 1, lasting=100), span("ask", 2, 1, 5, attributes=first), span("ask", 3, 1, 30, attributes=last)
    )
    assert called(run) == ["(pay)"]


def test_a_word_for_no_tool_holds_the_name_of_none() -> None:
    assert calls_of(span("turn", 2, 1, attributes={"shop.unknown_tool": "pay", "args": GIVEN, "output": "x"})) == []
