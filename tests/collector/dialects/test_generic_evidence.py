"""The fallback: what tells a call from a step on the way to it, a request from a call, and an agent inside another."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED, Role
from collector.model.span import Span
from tests.builders import agent_span, called, doubts, other_doubts, read_tool, run_of, runs_of, span, tool_span

ROOT = span("travel", 1, attributes={"span_type": "agent"}, lasting=100)


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("book", {"acme.tool.name": "book"}),
        ("tool-book", {"acme.tool.name": "book"}),
        ("gateway.tool_call.book", {"acme.tool.name": "book"}),
        ("mcp.book", {"acme.tool.name": "book"}),
        ("function_step", {"acme.tool.name": "book", "acme.tool.output": "done"}),
        ("Booked a room", {"acme.tool.name": "book", "acme.result.bytes": 12}),
        ("step", {"acme.tool.name": "book", "acme.tool.success": True}),
        ("step", {"mcp.tool.name": "book", "mcp.method": "tools/call"}),
        ("mcp.call", {"mcp_tool": "book"}),
        ("action.execute", {"tool_name": "book"}),
    ],
)
def test_a_span_that_is_named_after_its_tool_or_has_returned_is_a_call(name: str, attributes: dict[str, Any]) -> None:
    run = run_of(ROOT, span(name, 2, 1, 5, attributes=attributes))
    assert (called(run), other_doubts(run)) == (["book"], [])


@pytest.mark.parametrize("name", ["step", "rebook", "agent.book", "policy.tool.check book"])
def test_nothing_else_tells_that_the_tool_ran(name: str) -> None:
    run = run_of(ROOT, span(name, 2, 1, 5, attributes={"acme.tool.name": "book"}))
    assert (called(run), other_doubts(run)) == (["book"], ["uncertain_execution"])


def test_a_function_at_work_for_an_operation_of_another_name_is_no_tool() -> None:
    attributes = {
        "gen_ai.operation.name": "format",
        "acme.function.name": "ChatFormatter.format",
        "acme.function.input": '[{"role": "user"}]',
        "acme.function.output": "[]",
    }
    assert called(run_of(ROOT, span("format chat", 2, 1, 5, attributes=attributes))) == []
    assert called(run_of(ROOT, span("pay", 2, 1, 5, attributes={"acme.function.name": "pay"}))) == ["pay"]


def test_a_status_in_the_answer_may_be_of_something_else() -> None:
    answer = {"tool.name": "status_of", "tool.input": '{"n": 1}', "tool.output": '{"status": "failed", "build": 7}'}
    run = run_of(ROOT, span("status_of", 2, 1, 5, attributes=answer))
    assert (called(run), other_doubts(run)) == (["status_of"], ["unobserved_results"])


def test_an_argument_may_be_called_like_a_failure() -> None:
    given = {"tool.name": "report", "arguments.error": "E7", "arguments.status": "failed", "tool.output": "noted"}
    run = run_of(ROOT, span("report", 2, 1, 5, attributes=given))
    assert [(call.status, call.arguments) for call in run.trajectory.calls] == [
        ("unset", {"error": "E7", "status": "failed"})
    ]


def test_a_check_before_a_call_is_no_call() -> None:
    """Counted, it would be a second booking."""
    attributes = {"tool.name": "book", "tool.arguments": '{"room": 1}', "success": True}
    check = span("acme.call_validation", 2, 1, 5, attributes=attributes)
    run = run_of(ROOT, check, span("acme.call_tool", 3, 1, 20, attributes=attributes))
    assert (called(run), other_doubts(run)) == (["book"], [])


def test_a_tool_may_be_called_like_a_check() -> None:
    run = run_of(ROOT, span("tool_call.check_room", 2, 1, 5, attributes={"acme.tool.name": "check_room"}))
    assert (called(run), other_doubts(run)) == (["check_room"], [])


def test_plain_attributes_beside_a_tool_may_be_its_arguments() -> None:
    run = run_of(ROOT, span("book", 2, 1, 5, attributes={"tool.name": "book", "room": "12", "floor_no": "3"}))
    assert (called(run), other_doubts(run)) == (["book"], ["unreadable_arguments"])
    run = run_of(ROOT, span("book", 2, 1, 5, attributes={"tool.name": "book", "session.id": "s", "status": "done"}))
    assert other_doubts(run) == []


REQUESTS = [
    ("gen_ai.tool.call", {"tool_call.id": "c1", "tool_call.name": "look_up", "tool_call.input": "{'n': 1}"}),
    ("gen_ai.tool.call", {"tool_call.id": "c2", "tool_call.name": "book", "tool_call.input": "{}"}),
]


def test_events_of_a_model_are_requests_and_the_last_hides_none_before_it() -> None:
    attributes = {"gen_ai.request.model": "m", "gen_ai.usage.output_tokens": 9, "gen_ai.tool.name": "look_up"}
    run = run_of(ROOT, span("messages.create", 2, 1, 5, attributes=attributes, events=REQUESTS))
    assert called(run) == ["look_up", "book"]
    assert {call.known_by for call in run.trajectory.calls} == {"request"}


def test_a_request_that_the_run_denied_did_not_run() -> None:
    model = span("create", 2, 1, 5, attributes={"llm.output_tokens": 9}, events=REQUESTS)
    done = span("tool:look_up", 3, 1, 20, attributes={"tool.input": '{"n": 1}'})
    run = run_of(ROOT, model, done, span("create", 4, 1, 60, attributes={"llm.output_tokens": 9, "tool_count": 2}))
    assert [call.name for call in run.trajectory.calls if call.executed] == ["look_up"]


def test_calls_that_started_together_have_no_order() -> None:
    events = [(f"tool.{what}", {"tool.name": name}) for what, name in
              (("started", "look_up"), ("started", "book"), ("finished", "book"), ("started", "pay"))]  # fmt: skip
    run = run_of(ROOT, span("tools", 2, 1, 5, events=events))
    assert [(call.name, call.step) for call in run.trajectory.calls] == [("look_up", 0), ("book", 0), ("pay", 1)]


@pytest.mark.parametrize(
    ("name", "agent"),
    [
        ("invoke_agent clerk", "clerk"),
        ("agent.run", None),
        ("Subagent: look around", "look around"),
        ("agent:clerk", "clerk"),
    ],
)
def test_the_calls_of_an_agent_inside_another_are_its_own(name: str, agent: str | None) -> None:
    outer = span("tool:delegate", 2, 1, 5, 40, attributes={"tool.input": "{}"})
    inner = span(name, 3, 2, 10, 20, attributes={"acme.span.type": "DEFAULT"})
    runs = runs_of(ROOT, outer, inner, span("tool:book", 4, 3, 12))
    assert [(run.agent, called(run)) for run in runs] == [("travel", ["delegate"]), (agent, ["book"])]


@pytest.mark.parametrize("name", ["agent:step", "Agent/Run", "user agent", "agent: llm call", "agents.run"])
def test_a_span_that_is_no_run_of_an_agent(name: str) -> None:
    runs = runs_of(ROOT, span(name, 2, 1, 5, 40, attributes={"acme.span.type": "x"}), span("tool:book", 3, 2, 12))
    assert [(run.agent, called(run)) for run in runs] == [("travel", ["book"])]


@pytest.mark.parametrize("summary", [{"argument_keys": ["room"]}, {"input_keys": ["room"], "issues": 1}])
def test_the_names_of_arguments_are_not_the_arguments(summary: dict[str, Any]) -> None:
    assert read_tool(span("tool:book", 2, 1, attributes={"tool.input": summary}))[2] is None


def test_the_tool_of_an_agent_is_not_called_agent() -> None:
    run = run_of(ROOT, span("agent.tool", 2, 1, 5, attributes={"tool.input": "{}"}))
    assert called(run) == []
    assert "unrecorded_calls" in other_doubts(run)


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("tool.call.book", "book"),
        ("execute_tool.book", "book"),
        ("tool.book.execute", "book"),
        ("acme.tool_call.check_room", "check_room"),
    ],
)
def test_a_tool_between_dots(name: str, tool: str) -> None:
    assert called(run_of(ROOT, span(name, 2, 1, 5, attributes={"acme": "tool"}))) == [tool]


@pytest.mark.parametrize("name", ["tool.call.started", "tool_call.retry", "tool.call.validation"])
def test_a_step_between_dots(name: str) -> None:
    assert called(run_of(ROOT, span(name, 2, 1, 5, attributes={"acme": "tool"}))) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [("status", "denied"), ("tool.outcome", "BLOCKED"), ("permission.decision", "deny"), ("policy.verdict", "DENY")],
)
def test_a_call_that_was_denied_did_not_run(key: str, value: str) -> None:
    """A rule that forbids the tool passes: the guard did its work."""
    run = run_of(ROOT, span("tool.call", 2, 1, 5, attributes={"tool": "book", key: value}))
    assert (called(run), other_doubts(run)) == (["(book)"], [])


def test_a_rejection_may_be_the_answer_of_the_tool() -> None:
    run = run_of(ROOT, span("tool.call", 2, 1, 5, attributes={"tool": "book", "status": "rejected"}))
    assert other_doubts(run) == ["uncertain_execution"]


@pytest.mark.parametrize(
    ("key", "value"),
    [("tool.blocked", True), ("call.skipped", "true"), ("toolApproved", False), ("rejected", True)],
)
def test_a_flag_leaves_open_whether_a_call_ran(key: str, value: object) -> None:
    """What a guard held back may be what the tool returned."""
    run = run_of(ROOT, span("tool.call", 2, 1, 5, attributes={"tool": "book", key: value}))
    assert other_doubts(run) == ["uncertain_execution"]


def test_a_flag_that_a_call_was_not_executed() -> None:
    run = run_of(ROOT, span("tool.call", 2, 1, 5, attributes={"tool": "book", "tool.executed": False}))
    assert (called(run), other_doubts(run)) == (["(book)"], [])


@pytest.mark.parametrize(("key", "value"), [("tool.blocked", False), ("tool.approved", True), ("tool.skipped", "no")])
def test_a_flag_that_lets_a_call_pass(key: str, value: object) -> None:
    run = run_of(ROOT, span("tool.call", 2, 1, 5, attributes={"tool": "book", key: value}))
    assert (called(run), other_doubts(run)) == (["book"], [])


@pytest.mark.parametrize("outcome", ["error", "timeout", "Cancelled", "tool_error"])
def test_an_outcome_tells_how_a_call_ended(outcome: str) -> None:
    assert read_tool(span("tool.call", 2, 1, attributes={"tool": "book", "tool.outcome": outcome}))[3] == "error"


def test_spans_for_the_request_and_for_the_approval_of_a_call_are_not_further_calls() -> None:
    tool = {"gen_ai.tool.name": "book", "gen_ai.tool.call.id": "c1"}
    run = run_of(
        agent_span(),
        span("Loop.ToolCallRequested", 2, 1, 5, 1, attributes={**tool, "gen_ai.tool.call.arguments": "9F3C"}),
        span("approval_wait", 3, 1, 10, 20, attributes={"gen_ai.tool.name": "book"}),
        tool_span("book", {"room": 1}, 4, 1, at=40),
    )
    assert (called(run), other_doubts(run)) == (["book"], [])


def test_a_span_of_a_kind_has_its_tool_beside_the_kind() -> None:
    """Named after the span, the call and the span inside it would be two."""
    action = span("agent.action", 2, 1, 5, 20, attributes={"action.kind": "tool", "action.name": "book"})
    run = run_of(
        ROOT, action, span("toolCall", 3, 2, 6, 10, attributes={"tool.name": "book", "tool.input": '{"n": 1}'})
    )
    assert [(call.name, call.arguments) for call in run.trajectory.calls] == [("book", {"n": 1})]


def test_a_span_beside_the_calls_that_is_only_called_an_agent_is_no_run() -> None:
    step = span("acme.agent.run", 2, 1, 5, 40, attributes={"agent_id": "main", "tool_count": 1})
    runs = runs_of(span("gateway", 1, lasting=100), step, span("tool:book", 3, 1, 12))
    assert [(called(run), other_doubts(run)) for run in runs] == [(["book"], [])]


def test_an_agent_by_its_name_in_which_nothing_was_recorded_is_left_open() -> None:
    step = span("acme.agent.run", 1, attributes={"agent_id": "main", "tool_count": 1})
    assert other_doubts(run_of(step)) == ["nothing_recorded"]


def test_hooks_before_and_after_a_call_are_one_call() -> None:
    before = {"event_type": "PreToolUse", "tool_name": "book", "tool_input_size": 9}
    after = {"event_type": "PostToolUse", "tool_name": "book", "success": False}
    run = run_of(ROOT, span("hook", 2, 1, 5, 1, attributes=before), span("hook", 3, 1, 20, 1, attributes=after))
    assert ([(call.name, call.status) for call in run.trajectory.calls], other_doubts(run)) == ([("book", "error")], [])


def test_a_request_to_a_model_is_no_call_of_the_tool_that_it_names() -> None:
    turn = {"llm.provider": "x", "llm.token_count.prompt": 5, "acme.tool": "pay", "output.value": "done"}
    runs = runs_of(span("turn", 1, lasting=100, attributes=turn), span("tool:book", 2, 1, 5))
    assert [(called(run), other_doubts(run)) for run in runs] == [(["book"], [])]


def test_events_may_name_the_tool_by_name_alone() -> None:
    events = [("tool_call", {"name": "look_up"}), ("tool.called", {"tool": "book"}), ("log", {"name": "x"})]
    run = run_of(ROOT, span("turn", 2, 1, 5, events=events))
    assert called(run) == ["look_up", "book"]


def test_a_permission_that_was_denied_beside_the_attributes_of_a_convention() -> None:
    run = run_of(agent_span(), tool_span("book", attributes={"agent.tool.permission": "deny"}, status=2, message="no"))
    assert called(run) == ["(book)"]


def test_a_method_of_all_tools_is_a_step_of_the_call_that_it_is_inside_of() -> None:
    """Counted as a call, it would fail the run for a tool that does not exist."""
    call = span("Tool.execute", 2, 1, 5, lasting=20, attributes={"tool.name": "read", "tool.call_id": "c1"})
    run = run_of(ROOT, call, span("Tool.checkPath", 3, 2, 6))
    assert (called(run), other_doubts(run)) == (["read"], [])
    alone = run_of(ROOT, span("Tool.checkPath", 3, 1, 6))
    assert (called(alone), other_doubts(alone)) == ([], ["unrecorded_calls", "nothing_recorded"])
    told = run_of(ROOT, span("Tool.search", 3, 1, 6, attributes={"input": '{"q": 1}'}))
    assert (called(told), other_doubts(told)) == (["search"], [])


FUNCTION = {"acme.span_type": "Function"}


def test_a_function_is_a_tool_where_a_model_asked_for_it() -> None:
    """A tracer of functions sees the application's own as well."""
    answer = '{"tool_calls": [{"id": "c1", "function": {"name": "pay", "arguments": "{\\"n\\": 1}"}}]}'
    asked = span("llm", 2, 1, 1, 5, attributes={"span_type": "llm", "output": answer})
    pay = span("Shop.tools.<locals>.pay", 3, 1, 10, 5, attributes={**FUNCTION, "inputs": '{"n": 1}', "output": "paid"})
    told = f'[{{"role": "assistant", {answer[1:]}, {{"role": "tool", "tool_call_id": "c1", "content": "paid"}}]'
    answered = span("llm", 4, 1, 20, 5, attributes={"span_type": "llm", "input": told, "output": "Paid."})
    root = span("main", 1, attributes={**FUNCTION, "inputs": '{"question": "pay"}'}, lasting=100)
    run = run_of(root, asked, pay, answered)
    assert (called(run), other_doubts(run)) == (["pay"], [])
    helper = span("load_profile", 5, 1, 30, 5, attributes={**FUNCTION, "inputs": '{"user": 7}', "output": "Ada"})
    run = run_of(root, asked, pay, answered, helper)
    assert (called(run), other_doubts(run)) == (["pay", "load_profile"], ["uncertain_execution"])


def test_a_tool_whose_span_has_the_path_of_its_function() -> None:
    """Models take no names with dots."""
    attributes = {"acme.event_type": "tool", "acme_inputs.n": 1, "acme_inputs.to": "Ada"}
    assert read_tool(span("shop.tools.pay", 2, 1, attributes=attributes)) == (
        "pay",
        None,
        {"n": 1, "to": "Ada"},
        "unset",
    )
    assert read_tool(span("pay v1.2", 2, 1, attributes={"acme.event_type": "tool"}))[0] == "pay v1.2"


def test_a_span_of_its_own_for_the_failure_of_a_call_is_no_call() -> None:
    kind = {"acme.event_type": "tool"}
    failed = span("shop.pay", 2, 1, 5, attributes={**kind, "acme_inputs.n": 1}, status=2, message="declined")
    report = span("pay_error", 3, 1, 6, attributes={**kind, "acme_error": "declined"}, status=2, message="declined")
    run = run_of(ROOT, failed, report)
    assert (called(run), other_doubts(run)) == (["pay"], ["uncertain_execution"])
    run = run_of(ROOT, report)
    assert (called(run), other_doubts(run)) == (["pay_error"], ["uncertain_execution"])


def test_a_turn_of_an_agent_is_no_run() -> None:
    agent, tool = {"span.type": "agentic.invocation"}, {"span.type": "agentic.tool.invocation"}
    spans = [
        span("workflow", 1, lasting=100, attributes={"span.type": "workflow"}),
        span("agents.run_single_turn", 2, 1, 1, 20, attributes=agent),
        span("call", 3, 2, 5, 5, attributes={**tool, "tool.name": "look_up"}),
        span("agents.run_single_turn", 4, 1, 30, 20, attributes=agent),
        span("call", 5, 4, 35, 5, attributes={**tool, "tool.name": "book"}),
    ]
    assert [called(run) for run in runs_of(*spans)] == [["look_up", "book"]]


FAILED: dict[str, Any] = {"status": 2, "message": 'refused: missing required parameter "price"'}
PARTIAL, WHOLE = '{"flight": "AF1"}', '{"flight": "AF1", "price": 9.5}'


def dispatched(number: int, at: float, arguments: str, **more: Any) -> Span:
    """A call as a loop dispatches it, which checks it inside the span."""
    attributes = {"tool.name": "book", "tool.input": arguments, **more.pop("attributes", {})}
    return span("tool.call", number, 1, at, 5, attributes=attributes, **more)


def test_a_failure_in_words_of_its_own_may_be_a_refusal() -> None:
    failed = dispatched(2, 5, WHOLE, status=2, message="operator said no")
    answered = dispatched(2, 5, WHOLE, status=2, attributes={"tool.output": "sold out"})
    assert other_doubts(run_of(ROOT, failed)) == ["uncertain_execution"]
    assert other_doubts(run_of(ROOT, answered)) == []


@pytest.mark.parametrize(("arguments", "expected"), [(WHOLE, []), (PARTIAL, ["uncertain_execution"])])
def test_what_succeeded_the_next_time_ran(arguments: str, expected: list[str]) -> None:
    run = run_of(ROOT, dispatched(2, 5, arguments, **FAILED), dispatched(3, 20, WHOLE))
    assert (called(run), other_doubts(run)) == (["book", "book"], expected)


def test_a_step_whose_kind_is_an_action_is_a_call() -> None:
    action = {"step.type": "action", "step.action": "book", "step.action_input": WHOLE, "step.observation": "done"}
    answer = {"step.type": "final", "step.answer": "It is booked."}
    run = run_of(ROOT, span("step", 2, 1, 5, attributes=action), span("step", 3, 1, 30, attributes=answer))
    assert (called(run), other_doubts(run)) == (["book"], [])


def test_a_call_that_was_dispatched() -> None:
    """As goose writes it: its status is nowhere else, for what the tool said is told to the model as text."""
    attributes = {"input": '{"name": "book", "arguments": {"city": "Oslo"}}', "output": "no rooms"}
    call = read_tool(span("dispatch_tool_call", 2, 1, attributes=attributes, status=2))
    assert call == ("book", None, {"city": "Oslo"}, "error")


def test_the_function_that_made_a_call_is_not_its_tool() -> None:
    """NeMo's agent toolkit names the function around a call, and the tool elsewhere."""
    attributes = {
        "nat.span.kind": "TOOL",
        "nat.function.name": "planner",
        "nat.subspan.name": "book",
        "input.value": "{}",
    }
    assert read_tool(span("book", 2, 1, attributes=attributes))[0] == "book"


def test_the_component_of_a_framework_is_the_kind_of_its_span() -> None:
    """As tracers of Eino's callbacks write it, after its `RunInfo`."""
    function = {"name": "book", "arguments": "{}"}
    asked = json.dumps({"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "function": function}]})
    model = {"eino.component": "ChatModel", "eino.input": '[{"role":"user","content":"hi"}]', "eino.output": asked}
    tool = {"eino.component": "Tool", "eino.type": "Book", "eino.input": "{}", "eino.output": "done"}
    nodes = {"eino.component": "ToolsNode", "eino.input": asked}
    run = run_of(
        span("travel", 1, lasting=90),
        span("ChatModel", 2, 1, 1, attributes=model),
        span("Tools", 3, 1, 19, attributes=nodes),
        span("book", 4, 3, 20, attributes=tool),
        span("ChatModel", 5, 1, 40, attributes={**model, "eino.output": '{"role":"assistant","content":"Booked."}'}),
    )
    assert (called(run), other_doubts(run)) == (["book"], [])


@pytest.mark.parametrize("key", ["component", "app.component", "service.component", "system.component"])
def test_the_component_of_an_application_is_no_kind(key: str) -> None:
    attributes = {key: "agent", "tool": "none"}
    assert len(runs_of(ROOT, span("work", 2, 1, attributes=attributes), tool_span("book", {}, 3, 2))) == 1


def test_functions_of_semantic_kernel_for_java() -> None:
    """Version 1.4 captures no content: what was called is in doubt, and is there all the same."""
    model = {"gen_ai.operation.name": "chat.completions", "gen_ai.request.model": "gpt-4o"}
    function = {
        "semantic_kernel.function.invocation.name": "book",
        "semantic_kernel.function.invocation.plugin_name": "shop",
    }
    asked = run_of(span("chat.completions gpt-4o", 2, attributes=model, scope="SemanticKernel"))
    invoked = run_of(span("function_invocation shop-book", 4, 3, attributes=function, scope="SemanticKernel"))
    assert (called(asked), doubts(asked)) == ([], ["nothing_recorded"])
    assert called(invoked) == ["book"]
    assert "unconfirmed_reading" in doubts(invoked)


def test_a_span_that_only_its_name_calls_a_request_is_one_where_it_holds_an_answer() -> None:
    """As an application of Burr's traces its own request to a model."""
    function = {"name": "book", "arguments": "{}"}
    answer = {"role": "assistant", "tool_calls": [{"id": "c1", "function": function}]}
    last = {"role": "assistant", "content": "Booked."}
    run = run_of(
        span("run", 1, lasting=90),
        span("chat_completion", 2, 1, 1, attributes={"response": json.dumps(answer)}),
        span("chat_completion", 3, 1, 20, attributes={"response": json.dumps(last)}),
        span("chat_completion", 4, 1, 40, attributes={"response": "200"}),
    )
    assert (called(run), doubts(run)) == (["book"], ["unconfirmed_reading", "unobserved_results"])


def test_events_that_each_name_a_tool_make_no_call_of_the_span_around_the_calls() -> None:
    """As a hand-written tracer of LangChainGo's callbacks notes each decision of a chain."""
    decided = [("acme.decided", {"acme.tool": name, "acme.tool_input": "{}"}) for name in ("find", "book")]
    run = run_of(
        ROOT,
        span("acme.chain", 2, 1, 1, 90, events=decided),
        span("acme.tool find", 3, 2, 10, attributes={"acme.tool": "find", "acme.tool_input": "{}"}),
        span("acme.tool book", 4, 2, 30, attributes={"acme.tool": "book", "acme.tool_input": "{}"}),
    )
    assert called(run) == ["find", "book"]


def _asked(number: int, at: float, told: list[Any], reply: dict[str, Any], parent: int = 1) -> Span:
    attributes = {"model": "m", "messages": json.dumps(told), "reply": json.dumps(reply), "logfire.msg": "ask m"}
    return span("ask {model}", number, parent, at, 5, attributes=attributes)


PAY_7 = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"order": 7}'}}
ASKING = {"role": "assistant", "content": None, "tool_calls": [PAY_7]}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("paid", (["pay"], [])),
        ("Error: declined", (["pay"], [])),
        ("Error: no such tool", (["(pay)"], ["uncertain_execution"])),
    ],
)
def test_a_message_of_a_model_is_an_answer_under_any_key(told: str, expected: tuple[list[str], list[str]]) -> None:
    asked: list[Any] = [{"role": "user", "content": "Pay."}]
    answered = [*asked, ASKING, {"role": "tool", "tool_call_id": "c1", "content": told}]
    use = {"tool": "pay", "arguments": '{"order": 7}', "call": "c1"}
    run = run_of(
        ROOT,
        _asked(2, 1, asked, ASKING),
        span("use {tool}", 3, 1, 10, attributes=use, status=2 if told != "paid" else 0, message=told),
        _asked(4, 20, answered, {"role": "assistant", "content": "Done."}),
    )
    assert (called(run), doubts(run), run.trajectory.calls[0].id) == (*expected, "c1")


def test_a_message_that_the_root_returned_is_the_runs() -> None:
    read = dialects.read_span(_asked(1, 0, [], ASKING, parent=0))
    assert read is not None
    assert read.role is Role.OTHER


def test_the_parts_of_an_answer_beside_messages_are_one() -> None:
    pay = {"type": "tool_use", "id": "c1", "name": "pay", "input": {"order": 7}}
    asked: list[Any] = [{"role": "user", "content": [{"type": "text", "text": "Pay."}]}]
    told = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "paid"}]}
    answered = [*asked, {"role": "assistant", "content": [pay]}, told]
    final = [{"type": "text", "text": "Done."}]

    def completion(number: int, at: float, conversation: list[Any], answer: list[Any]) -> Span:
        attributes = {"engine": "m", "conversation": json.dumps(conversation), "answer": json.dumps(answer)}
        return span("completion", number, 1, at, 5, attributes=attributes)

    run = run_of(ROOT, completion(2, 1, asked, [pay]), completion(3, 20, answered, final))
    assert (called(run), run.trajectory.calls[0].status, other_doubts(run)) == (["pay"], "ok", [])
    assert dialects.read_span(span("step", 2, 1, attributes={"shown": json.dumps(final), "tool_count": 1})) is IGNORED
