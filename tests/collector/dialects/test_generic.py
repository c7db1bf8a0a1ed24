"""The fallback for unknown dialects."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import called, doubts, other_doubts, read_tool, run_of, runs_of, span


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        (
            "execute_tool pay",
            {"gen_ai.tool.name": "pay", "gen_ai.tool.call.arguments": '{"n": 1}'},
            ("pay", None, {"n": 1}),
        ),
        (
            "pay",
            {"gen_ai.span.kind": "TOOL", "gen_ai.tool.name": "pay", "input.value": '{"n": 1}'},
            ("pay", None, {"n": 1}),
        ),
        ("pay", {"lmnr.span.type": "TOOL", "lmnr.span.input": '{"n": 1}', "tool.name": "pay"}, ("pay", None, {"n": 1})),
        ("step", {"tool_name": "pay", "tool_call_id": "c1", "arguments": '{"n": 1}'}, ("pay", "c1", {"n": 1})),
        ("pay", {"span.type": "tool", "input": '{"n": 1}'}, ("pay", None, {"n": 1})),
    ],
)
def test_a_tool_span(name: str, attributes: dict[str, Any], expected: Any) -> None:
    assert read_tool(span(name, 2, 1, attributes=attributes))[:3] == expected


@pytest.mark.parametrize(
    ("recorded", "status"),
    [({}, "error"), ({"returned": True, "output": "paid at the second try"}, "unset"), ({"output": "paid"}, "unset")],
)
def test_what_a_call_raised_is_its_failure_unless_it_returned(recorded: dict[str, Any], status: str) -> None:
    raised = ("exception", {"exception.type": "CardError", "exception.message": "declined"})
    read = dialects.read_span(span("pay", 2, 1, attributes={"acme.span.type": "TOOL", **recorded}, events=(raised,)))
    assert read is not None
    assert (read.status, read.error_type) == (status, "CardError" if status == "error" else None)


def test_a_run() -> None:
    output = '{"tool_calls": [{"id": "c1", "function": {"name": "pay", "arguments": "{}"}}]}'
    run = run_of(
        span("travel", 1, attributes={"span_type": "agent", "input": "hi", "session.id": "s"}, lasting=100),
        span("llm", 2, 1, 1, 5, attributes={"span_type": "llm", "output": output}),
        span("pay", 3, 1, 10, attributes={"span_type": "tool"}),
    )
    assert (run.agent, run.user_input, run.conversation_id, run.dialect, called(run)) == (
        "travel",
        "hi",
        "s",
        "generic",
        ["pay"],
    )
    assert run.trajectory.calls[0].id == "c1"


@pytest.mark.parametrize("attributes", [{"gen_ai.system": "openai"}, {"gen_ai.tool.name": "a, b"}])
def test_a_span_in_the_words_of_a_dialect_that_is_not_understood_is_none(attributes: dict[str, Any]) -> None:
    assert dialects.read_span(span("x", 2, 1, attributes=attributes)) is None


@pytest.mark.parametrize("attributes", [{"span.kind": "client"}, {"span.type": ["tool"]}, {"url.path": "/tool"}])
def test_a_span_about_something_else_is_ignored(attributes: dict[str, Any]) -> None:
    assert dialects.read_span(span("x", 2, 1, attributes=attributes)) is IGNORED


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        ("tool:pay", {"toolArgs": '{"n": 1}'}, ("pay", None, {"n": 1}, "unset")),
        ("acme.tool/pay", {"acme.tool_input": '{"n": 1}'}, ("pay", None, {"n": 1}, "unset")),
        ("tool.execution:pay", {"tool.call.id": "c1", "input": '{"n": 1}'}, ("pay", "c1", {"n": 1}, "unset")),
        ("call_tool pay", {"arguments": '{"n": 1}', "success": False}, ("pay", None, {"n": 1}, "error")),
        ("Running tool pay", {"args": '{"n": 1}', "tool.status": "failed"}, ("pay", None, {"n": 1}, "error")),
        ("mcp.tools/call", {"mcp.tool.name": "pay", "params": '{"n": 1}'}, ("pay", None, {"n": 1}, "unset")),
        (
            "step",
            {
                "gen_ai.operation.name": "tool_call",
                "acme.tool.definition.name": "pay",
                "acme.tool.call.input": '{"n": 1}',
            },
            ("pay", None, {"n": 1}, "unset"),
        ),
        (
            "pay",
            {
                "acme.kind": "TOOL_CALL",
                "tool.parameters": '{"type": "object", "properties": {"n": {}}}',
                "input": "[1]",
            },
            ("pay", None, {"n": 1}, "unset"),
        ),
        (
            "node",
            {
                "span.type": "agentic.tool.invocation",
                "entity.1.type": "tool.x",
                "entity.1.name": "pay",
                "args": '{"n": 1}',
            },
            ("pay", None, {"n": 1}, "unset"),
        ),
        (
            "tool [pay]",
            {"acme.span_attributes": '{"type": "tool"}', "acme.input_json": '{"n": 1}'},
            ("pay", None, {"n": 1}, "unset"),
        ),
        ("pay", {"type": "tool", "input": '{"input": {"n": 1}}'}, ("pay", None, {"n": 1}, "unset")),
        ("pay", {"type": "tool", "input": '{"n": 1}', "result": '{"isError": true}'}, ("pay", None, {"n": 1}, "error")),
        ("run_tool", {"function": "pay", "params": '{"n": 1}', "ok": True}, ("pay", None, {"n": 1}, "unset")),
        ("run_tool", {"fn_name": "pay", "params": '{"n": 1}', "ok": False}, ("pay", None, {"n": 1}, "error")),
        (
            "run_tool",
            {"tool": "pay", "function": "shop.pay_all", "params": '{"n": 1}'},
            ("pay", None, {"n": 1}, "unset"),
        ),
    ],
)
def test_the_words_of_unknown_tracers(name: str, attributes: dict[str, Any], expected: Any) -> None:
    assert read_tool(span(name, 2, 1, attributes=attributes)) == expected


def test_a_call_in_the_parameters_of_a_request() -> None:
    attributes = {
        "rpc.method": "tools/call",
        "rpc.request.params": '{"name": "pay", "arguments": {"n": 1}}',
        "rpc.response.result": '{"content": [{"type": "text", "text": "declined"}], "isError": true}',
    }
    assert read_tool(span("tools/call", 2, 1, attributes=attributes)) == ("pay", None, {"n": 1}, "error")


def test_arguments_in_an_event() -> None:
    events = [("acme.call", {"tool.parameters": '{"n": 1}'})]
    assert read_tool(span("tool:pay", 2, 1, events=events)) == ("pay", None, {"n": 1}, "unset")


_CALL = {"id": "c1", "type": "function", "function": {"name": "get", "arguments": '{"city": "Oslo"}'}}
ASKS = json.dumps({"role": "assistant", "content": None, "tool_calls": [_CALL]})
ROOT = span("travel", 1, attributes={"span_type": "agent"}, lasting=100)


def test_a_span_with_nothing_but_the_attributes_of_a_call_is_in_doubt() -> None:
    run = run_of(ROOT, span("handle", 2, 1, 10, attributes={"tool_name": "pay", "call_id": "c1"}))
    assert [doubt.name for doubt in run.trajectory.doubts if doubt.calls == (0,)] == [
        "unconfirmed_reading", "uncertain_execution",
    ]  # fmt: skip


def test_such_a_span_is_a_step_if_another_of_its_tool_tells_more() -> None:
    step = span("handle", 2, 1, 10, attributes={"tool_name": "pay"})
    run = run_of(ROOT, step, span("pay", 3, 1, 30, attributes={"tool_name": "pay", "call_id": "c1"}))
    assert (called(run), other_doubts(run)) == (["pay"], [])


def test_a_part_of_a_call_says_how_it_ended() -> None:
    outer = span("tool:pay", 2, 1, 10, 20)
    run = run_of(ROOT, outer, span("tool.execution", 3, 2, 12, attributes={"success": "false"}))
    assert [(call.name, call.status) for call in run.trajectory.calls] == [("pay", "error")]


def test_the_operation_of_the_convention_says_under_any_key_that_a_span_is_a_call() -> None:
    attributes = {"acme.op.name": "execute_tool", "acme.work.name": "pay", "acme.work.payload": '{"n": 1}'}
    run = run_of(ROOT, span("step", 2, 1, 10, attributes=attributes))
    assert run.trajectory.calls == [], "nothing tells the name of the tool from others"
    assert "unrecorded_calls" in [doubt.name for doubt in run.trajectory.doubts]


def test_what_came_of_a_call_may_have_a_span_of_its_own() -> None:
    def call(number: int, at: float) -> Span:
        return span("tool.call", number, 1, at, 1, attributes={"tool": "pay", "args": '{"n": 1}'})

    def came(number: int, at: float, *, ok: bool) -> Span:
        return span("tool.result", number, 1, at, 1, attributes={"tool": "pay", "ok": ok, "result": "so"})

    run = run_of(ROOT, call(2, 10), came(3, 12, ok=False), call(4, 20), came(5, 22, ok=True))
    assert calls_of(run) == [("pay", {"n": 1}, "error"), ("pay", {"n": 1}, "unset")]


def test_a_call_of_an_unknown_tool_leaves_the_run_open() -> None:
    run = run_of(ROOT, span("tool.execution", 2, 1, 10))
    assert run.trajectory.calls == []
    assert "unrecorded_calls" in [doubt.name for doubt in run.trajectory.doubts]


@pytest.mark.parametrize("name", ["tools/list", "tool.execution_loop", "tool registry", "list tools", "toolbox"])
def test_a_span_name_that_is_no_call(name: str) -> None:
    assert dialects.read_span(span(name, 2, 1, attributes={"x": 1})) is IGNORED


def calls_of(run: Any) -> list[tuple[str, Any, str]]:
    return [(call.name, call.arguments, call.status) for call in run.trajectory.calls]


def test_a_span_may_record_each_call_as_an_event() -> None:
    """As one call, the last would hide all others, and a rule that forbids one of those would pass."""
    events: list[tuple[str, dict[str, Any]]] = [
        ("user.input", {"body.messages": "hi"}),
        ("tool.call", {"tool.name": "look_up", "tool.call.id": "c1", "tool.arguments": '{"n": 1}'}),
        ("tool.result", {"tool.call.id": "c1", "tool.result": '{"found": 2}'}),
        ("tool.call", {"tool.name": "pay", "tool.arguments": '{"n": 2}'}),
        ("tool.result", {"tool.error": "no funds", "tool.status": "error"}),
    ]
    run = run_of(ROOT, span("turn", 2, 1, 5, events=events))
    assert calls_of(run) == [("look_up", {"n": 1}, "ok"), ("pay", {"n": 2}, "error")]
    assert ([call.id for call in run.trajectory.calls], other_doubts(run)) == (["c1", None], [])


def test_events_of_calls_may_call_the_tool_a_function() -> None:
    events: list[tuple[str, dict[str, Any]]] = [
        ("function_call", {"function": "pay", "call_id": "c1", "arguments": '{"n": 1}'}),
        ("function_result", {"function": "pay", "call_id": "c1", "output": "paid"}),
    ]
    run = run_of(ROOT, span("turn", 2, 1, 5, events=events))
    assert calls_of(run) == [("pay", {"n": 1}, "ok")]


@pytest.mark.parametrize("key", ["data", "acme.data"])
def test_one_attribute_may_hold_all_that_is_told_of_a_span(key: str) -> None:
    def told(number: int, at: float, **values: Any) -> Span:
        return span("step", number, 1, at, 5, attributes={key: json.dumps(values)})

    run = run_of(
        ROOT,
        told(2, 1, type="llm", output=json.dumps({"tool_calls": [{"name": "pay", "arguments": {"n": 1}}]})),
        told(3, 10, type="tool_call", name="pay", input={"n": 1}, output="paid"),
        told(4, 20, type="llm", output="Paid."),
    )
    assert (calls_of(run), doubts(run)) == ([("pay", {"n": 1}, "unset")], [])


def test_events_of_calls_without_results() -> None:
    events = [("tool.call", {"tool.name": name, "duration.ms": 3}) for name in ("look_up", "look_up", "pay")]
    run = run_of(ROOT, span("turn", 2, 1, 5, events=events))
    assert [call[:2] for call in calls_of(run)] == [("look_up", None), ("look_up", None), ("pay", None)]


def test_events_of_calls_in_the_span_of_an_agent_are_not_lost() -> None:
    events = [("acme.tool_use", {"tool": name, "input": "{}"}) for name in ("look_up", "pay")]
    run = run_of(span("travel", 1, attributes={"span_type": "agent"}, events=events))
    assert (run.agent, called(run), other_doubts(run)) == ("travel", ["look_up", "pay"], [])


@pytest.mark.parametrize("name", ["tool.list", "tool.registered", "tool_choice", "log"])
def test_an_event_that_is_no_call(name: str) -> None:
    run = run_of(ROOT, span("turn", 2, 1, 5, events=[(name, {"tool.name": "a, b"}), (name, {"tools": "pay"})]))
    assert called(run) == []


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"gen_ai.tool.name": "pay", "acme.tool.input": '{"n": 1}'}, ("pay", {"n": 1})),
        ({"gen_ai.tool.name": "pay", "acme.tool.input": "1"}, ("pay", None)),
        ({"gen_ai.tool.name": "pay", "acme.tool.input": "{}"}, ("pay", None)),  # perhaps content that is not captured
        ({"gen_ai.tool.name": "pay", "acme.input_schema": '{"properties": {"n": {}}}'}, ("pay", None)),
        ({"mcp.tool.name": "pay", "mcp.tool.arguments": '{"n": 1}'}, ("pay", {"n": 1})),
        ({"openinference.span.kind": "TOOL", "tool.name": "pay", "acme.input": '{"n": 1}'}, ("pay", {"n": 1})),
        ({"openinference.span.kind": "tool", "tool.name": "pay", "input.value": '{"n": 1}'}, ("pay", {"n": 1})),
    ],
)
def test_what_a_dialect_does_not_know_of_its_own_call_is_read_by_shape(
    attributes: dict[str, Any], expected: tuple[str, Any]
) -> None:
    if "openinference.span.kind" not in attributes:
        attributes = {"gen_ai.operation.name": "execute_tool", **attributes}
    call = read_tool(span("step.payment", 2, 1, attributes=attributes))
    assert (call[0], call[2]) == expected


@pytest.mark.parametrize(
    "more",
    [
        {"gen_ai.skill.name": "review", "gen_ai.skill.source.uri": "file:///skills/review"},
        {"gen_ai.skill.name": "review", "gen_ai.skill.resource.name": "references/format.md"},
        {"process.executable.name": "git", "process.exit.code": 1},
        {"gen_ai.transfer.target.name": "refunds", "gen_ai.transfer.mode": "delegate"},
        {"acme.tool_name": "review"},
    ],
)
def test_what_is_told_beside_the_name_of_a_tool_neither_names_it_nor_was_given_to_it(more: dict[str, Any]) -> None:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "load_skill", **more}
    call = read_tool(span("execute_tool load_skill review", 2, 1, attributes=attributes))
    assert (call[0], call[2]) == ("load_skill", None)


def test_arguments_that_a_dialect_leaves_out_on_purpose_stay_out() -> None:
    """Google ADK writes an empty object where the capture of content is off."""
    attributes = {
        "gen_ai.tool.name": "pay",
        "gcp.vertex.agent.tool_call_args": "{}",
        "gcp.vertex.agent.tool_response": "{}",
    }
    assert read_tool(span("execute_tool pay", 2, 1, attributes=attributes, scope="gcp.vertex.agent"))[2] is None


@pytest.mark.parametrize(
    ("preview", "arguments"), [('{"n": 1}', {"n": 1}), ("{'n': 1}", {"n": 1}), ('{"n": "ab', None)]
)
def test_a_preview_is_the_arguments_if_nothing_was_cut_off(preview: str, arguments: Any) -> None:
    run = run_of(ROOT, span("tool:pay", 2, 1, 5, attributes={"tool.name": "pay", "tool.args_preview": preview}))
    assert run.trajectory.calls[0].arguments == arguments
    assert (run.trajectory.calls[0].arguments_text is not None) == (arguments is None)


def test_a_span_with_a_name_of_the_tracer_has_its_tool_among_its_details() -> None:
    kind, of = {"acme.span_attributes": '{"type": "tool"}'}, "acme.metadata"
    assert read_tool(span("acme.pay", 2, 1, attributes={**kind, of: '{"name": "pay"}'}))[0] == "pay"
    assert read_tool(span("acme.pay", 2, 1, attributes={**kind, of: '{"tool_name": "charge"}'}))[0] == "charge"
    assert read_tool(span("acme.pay", 2, 1, attributes={**kind, of: '{"name": "Ada"}'}))[0] == "pay"


@pytest.mark.parametrize("flag", [{"tool.ok": False}, {"tool.error_type": "timeout"}])
def test_a_flag_of_a_tool_says_that_it_failed(flag: dict[str, Any]) -> None:
    assert read_tool(span("tool.pay", 2, 1, attributes={"tool.name": "pay", **flag}))[3] == "error"


def test_a_handoff_between_agents_is_no_call() -> None:
    assert dialects.read_span(span("handoff to billing", 2, 1, attributes={"acme.span.kind": "TOOL"})) is IGNORED


def test_what_a_conversation_mentions_is_not_the_call_of_its_span() -> None:
    """Otherwise each step that was told of an earlier call would be one more of it."""
    told = {
        "acme.input.messages.2.message.tool_calls.0.tool_call.id": "c1",
        "acme.input.messages.2.message.tool_calls.0.tool_call.function.name": "pay",
        "acme.input.messages.2.message.tool_calls.0.tool_call.function.arguments": '{"n": 1}',
    }
    run = run_of(ROOT, span("step", 2, 1, 5, attributes=told), span("tool:look_up", 3, 1, 30, attributes=told))
    assert calls_of(run) == [("look_up", None, "unset")]


def test_an_answer_of_a_model_may_have_an_attribute_for_each_part() -> None:
    answer = {
        "acme.output.messages.0.message.tool_calls.0.tool_call.id": "c1",
        "acme.output.messages.0.message.tool_calls.0.tool_call.function.name": "pay",
        "acme.output.messages.0.message.tool_calls.0.tool_call.function.arguments": '{"n": 1}',
        "acme.output.messages.0.message.tool_calls.1.tool_call.function.name": "pay",
        "acme.output.messages.0.message.tool_calls.1.tool_call.function.arguments": '{"n": 2}',
        "acme.input.messages.0.message.tool_calls.0.tool_call.function.name": "look_up",
    }
    run = run_of(ROOT, span("ask", 2, 1, 5, attributes={"acme.kind": "LLM", **answer}))
    assert [(call.id, call.name, call.arguments, call.known_by) for call in run.trajectory.calls] == [
        ("c1", "pay", {"n": 1}, "request"),
        (None, "pay", {"n": 2}, "request"),
    ]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("policies", {None: ["ask", "send"], "policies": ["look_up"]}),
        ("other", {None: ["ask", "look_up", "send"]}),
    ],
)
def test_the_description_of_an_agent_as_the_input_of_a_span_of_its_name_is_its_run(told: str, expected: Any) -> None:
    described = json.dumps({"name": told, "tools": ["look_up"], "output_type": "str"})  # Laminar, OpenAI Agents
    runs = runs_of(
        span("Agent workflow", 1, lasting=100),
        span("ask", 2, 1, 1, 50, attributes={"lmnr.span.type": "TOOL", "lmnr.span.input": '{"question": "?"}'}),
        span("policies", 3, 2, 2, 40, attributes={"lmnr.span.type": "DEFAULT", "lmnr.span.input": described}),
        span("look_up", 4, 3, 3, 30, attributes={"lmnr.span.type": "TOOL", "lmnr.span.input": "{}"}),
        span("send", 5, 1, 60, attributes={"lmnr.span.type": "TOOL", "lmnr.span.input": "{}"}),
    )
    assert {run.agent: called(run) for run in runs} == expected
    assert {run.user_input for run in runs} == {None}


def test_a_handoff_of_the_kind_of_a_tool_is_no_call() -> None:
    attributes = {"lmnr.span.type": "TOOL", "openai.agents.handoff.from": "a", "openai.agents.handoff.to": "b"}
    assert dialects.read_span(span("agents.handoff", 2, 1, attributes=attributes)) is IGNORED
    assert read_tool(span("handoff", 2, 1, attributes={"lmnr.span.type": "TOOL"}))[0] == "handoff"


def test_what_tells_of_usage_is_no_request_to_a_model() -> None:
    attributes = {"ag2.span.type": "usage", "ag2.usage.kind": "model_call", "gen_ai.usage.input_tokens": 20}  # AG2
    assert dialects.read_span(span("record_usage model_call", 2, 1, attributes=attributes)) is None


def test_a_request_to_a_model_in_words_of_ones_own() -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"n": 1}'}}]
    asked = {"role": "assistant", "content": None, "tool_calls": calls}
    exchange = [{"role": "user", "content": "Pay!"}]
    told = [*exchange, asked, {"role": "tool", "tool_call_id": "c1", "content": "paid"}]
    requests = (
        span("llm_call", number, 1, at, attributes={
            "llm.model": "gpt-4o", "llm.messages": json.dumps(messages), "llm.reply": json.dumps(reply),
        })
        for number, at, messages, reply in (
            (2, 5, exchange, asked), (4, 40, told, {"role": "assistant", "content": "Paid."}),
        )
    )  # fmt: skip
    run = run_of(span("handle", 1, lasting=100), *requests, span("action", 3, 1, 20, attributes={"action.name": "pay"}))
    calls_read = [(call.name, call.arguments, call.known_by) for call in run.trajectory.calls]
    assert (calls_read, doubts(run)) == ([("pay", {"n": 1}, "result")], [])


def test_a_span_may_be_named_by_a_template() -> None:
    """Logfire's spans of one's own: `logfire.span("tool {name}", name=..., args=...)`."""
    attributes = {"logfire.msg_template": "tool {name}", "name": "pay", "args": '{"order":7}'}
    tool = span("tool {name}", 2, 1, attributes=attributes, scope="logfire")
    assert read_tool(tool) == ("pay", None, {"order": 7}, "unset")


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("ModelGateway.complete", {"method.return": ASKS, "method.parameter.values": ["2 messages"]}),
        ("llm/generate", {"acme.kind": "llm", "acme.out": ASKS, "acme.sig": ["messages"]}),
    ],
)
def test_a_message_that_asks_for_calls_is_a_models_under_any_key(name: str, attributes: dict[str, Any]) -> None:
    run = run_of(span("handle", 1, lasting=100), span(name, 2, 1, 5, attributes=attributes))
    assert [(call.name, call.id, call.arguments) for call in run.trajectory.calls] == [("get", "c1", {"city": "Oslo"})]
    assert "unconfirmed_reading" in doubts(run)


def test_a_root_that_returns_a_message_is_not_a_request() -> None:
    assert runs_of(span("handle", 1, attributes={"method.return": ASKS})) == []
