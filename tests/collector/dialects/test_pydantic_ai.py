"""Pydantic AI's instrumentation versions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Scope, Span
from tests.builders import asked as asked_for
from tests.builders import called, doubts, log, model_span, read_tool, result, run_of, runs_of, span, user
from tests.operations import within

SCOPE = "pydantic-ai"
NAMED = {"gen_ai.tool.name": "pay", "gen_ai.tool.call.id": "c1"}


def pai(name: str, number: int, parent: int = 0, at: float = 0, lasting: float = 10, **more: Any) -> Span:
    return span(name, number, parent, at, lasting, scope=SCOPE, **more)


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("running tool", {**NAMED, "tool_arguments": '{"order": 7}'}),
        ("running tool", {**NAMED, "gen_ai.operation.name": "execute_tool", "tool_arguments": '{"order": 7}'}),
        ("execute_tool pay", {**NAMED, "gen_ai.tool.call.arguments": '{"order": 7}'}),
        (
            "execute_tool pay",
            {**NAMED, "gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": '{"order": 7}'},
        ),
    ],
    ids=["1.x version 2", "2.x version 2", "1.x version 3", "2.x version 5"],
)
def test_a_tool_span(name: str, attributes: dict[str, str]) -> None:
    assert read_tool(pai(name, 2, 1, attributes=attributes)) == ("pay", "c1", {"order": 7}, "unset")


def test_the_span_around_a_turns_tools_is_ignored() -> None:
    assert dialects.read_span(pai("running tools", 2, 1, attributes={"tools": ["pay"]})) is IGNORED


@pytest.mark.parametrize("transcript", ["pydantic_ai.all_messages", "all_messages_events"])
def test_an_agent_of_1x_has_no_operation(transcript: str) -> None:
    messages = json.dumps(
        [
            {"role": "user", "content": "old"},
            {"role": "assistant", "content": "ok"},
            {"role": "user", "content": "pay it"},
            {"role": "assistant", "content": "paid"},
        ]
    )
    run = run_of(
        pai("agent run", 1, attributes={"agent_name": "travel", transcript: messages}),
        pai("running tool", 2, 1, attributes=NAMED),
    )
    assert (run.agent, run.user_input, run.dialect, called(run)) == ("travel", "pay it", "pydantic_ai", ["pay"])


def test_a_version_1_request_is_a_list_of_events_of_which_the_choice_is_new() -> None:
    def calls(call_id: str) -> list[dict[str, Any]]:
        return [{"id": call_id, "type": "function", "function": {"name": "pay", "arguments": {"order": 7}}}]

    events = [
        {"event.name": "gen_ai.user.message", "role": "user", "content": "pay it"},
        {"event.name": "gen_ai.assistant.message", "role": "assistant", "tool_calls": calls("old")},
        {"event.name": "gen_ai.tool.message", "role": "tool", "id": "old", "content": "Error: declined"},
        {"event.name": "gen_ai.choice", "message": {"role": "assistant", "tool_calls": calls("c1")}},
    ]
    first = [events[0], {"event.name": "gen_ai.choice", "message": {"role": "assistant", "tool_calls": calls("old")}}]
    run = run_of(
        pai("agent run", 1, attributes={"agent_name": "travel"}, lasting=100),
        pai("chat m", 2, 1, 1, 5, attributes={"gen_ai.operation.name": "chat", "events": json.dumps(first)}),
        pai("chat m", 3, 1, 20, 5, attributes={"gen_ai.operation.name": "chat", "events": json.dumps(events)}),
    )
    assert [(call.id, call.status) for call in run.trajectory.calls] == [("old", "error"), ("c1", "unset")]
    assert run.user_input == "pay it"


PAY = {"properties": {"order": {"type": "integer"}}, "required": ["order"], "type": "object"}
OFFERED = {"function_tools": [{"name": "pay", "parameters_json_schema": PAY, "kind": "function"}]}
TOLD = '1 validation errors: [\n  {\n    "type": "missing",\n    "loc": [\n      "order"\n    ]\n  }\n]'


@pytest.mark.parametrize(
    ("name", "message", "told", "names"),
    [
        ("running tool", "ToolRetryError: ", {"tool_response": TOLD}, {}),
        (
            "execute_tool pay",
            "ToolRetryError: 1 validation error for 'pay'\norder\n  Field required [type=missing, input_value={}]",
            {"openinference.span.kind": "TOOL", "tool.name": "pay"},
            {"openinference.span.kind": "LLM", "llm.tools.0.tool.name": "pay"},
        ),
    ],
    ids=["1.0", "1.40 with OpenInference's processor"],
)
@pytest.mark.parametrize(
    ("arguments", "offered", "expected"),
    [
        ({"n": 1}, OFFERED, (["(pay)"], [])),
        ({"order": 7}, OFFERED, (["pay"], [])),  # a model of the tool's own did not fit
        ({"n": 1}, {}, (["pay"], ["uncertain_execution"])),
    ],
)
def test_arguments_may_not_have_fitted_the_tool(
    name: str, message: str, told: Any, names: Any, arguments: Any, offered: Any, expected: Any
) -> None:
    asked = [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "pay", "arguments": arguments}]}]
    request = {
        "gen_ai.operation.name": "chat",
        "gen_ai.output.messages": json.dumps(asked),
        "model_request_parameters": json.dumps(offered),
        **names,
    }
    call = {**NAMED, "tool_arguments": json.dumps(arguments), **told}
    run = run_of(
        pai("agent run", 1, attributes={"agent_name": "travel"}, lasting=100),
        pai("chat m", 2, 1, 1, 5, attributes=request),
        pai(name, 3, 1, 10, attributes=call, status=2, message=message),
    )
    assert (called(run), doubts(run)) == expected


def test_current_versions_follow_the_conventions() -> None:
    run = run_of(
        pai(
            "invoke_agent travel",
            1,
            attributes={"agent_name": "travel", "gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "c"},
            lasting=100,
        ),
        model_span([("c1", "pay", {"order": 7})], 2),
        pai("execute_tool pay", 3, 1, at=20, attributes={**NAMED, "gen_ai.operation.name": "execute_tool"}),
    )
    assert (run.agent, run.conversation_id, run.trajectory.calls[0].arguments) == ("travel", "c", {"order": 7})


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"pydantic_ai.tool.failure_stage": "validation"}, (["(pay)"], [])),
        ({"pydantic_ai.tool.deferral.name": "ApprovalRequired"}, (["(pay)"], ["other_traces"])),
        ({"pydantic_ai.tool.deferral.name": "CallDeferred"}, (["(pay)"], ["other_traces", "uncertain_execution"])),
        ({}, (["pay"], [])),
    ],
)
@pytest.mark.parametrize("status", [0, 2])  # versions 2 and 3 take an exception that asks for an approval for a failure
def test_a_call_may_have_ended_before_its_tool_ran(more: dict[str, str], expected: Any, status: int) -> None:
    run = run_of(
        pai("invoke_agent travel", 1, attributes={"agent_name": "travel"}, lasting=100),
        model_span([("c1", "pay", {"order": 7})], 2),
        pai(
            "execute_tool pay",
            3,
            1,
            at=20,
            attributes={**NAMED, "tool_arguments": '{"order": 7}', **more},
            status=status,
        ),
    )
    assert (called(run), doubts(run)) == expected


BLOCKED = """Traceback (most recent call last):
  File "/app/pydantic_ai/capabilities/combined.py", line 1092, in wrapped
    return await cap.wrap_tool_execute(
  File "/app/pydantic_ai/tool_manager.py", line 753, in lifecycle
    args = await cap.before_tool_execute(ctx, call=call, tool_def=tool_def, args=args)
  File "/app/policy.py", line 7, in block
RuntimeError: blocked by policy
"""
OF_OUTPUT = """Traceback (most recent call last):
  File "/app/pydantic_ai/capabilities/abstract.py", line 1478, in wrap_output_process
    return await handler(output)
  File "/app/pydantic_ai/_output.py", line 476, in execute_output_function
    output = await function_schema.call(args, run_context)
pydantic_ai.exceptions.ModelRetry: bad answer
"""


@pytest.mark.parametrize(
    ("error", "stack", "expected"),
    [
        ("RuntimeError", BLOCKED, (["(pay)"], [])),
        ("RuntimeError", None, (["pay"], [])),
        ("pydantic_ai.exceptions.ToolFailed", None, (["pay"], ["uncertain_execution"])),
        ("pydantic_ai.exceptions.ModelRetry", OF_OUTPUT, (["pay"], [])),
        ("pydantic_ai.exceptions.ToolFailedError", None, (["pay"], [])),
    ],
    ids=[
        "a hook before the tool",
        "no stack trace",
        "as hooks raise it",
        "a function of an output",
        "as tools raise it",
    ],
)
def test_a_hook_may_have_raised_in_place_of_the_tool(error: str, stack: str | None, expected: Any) -> None:
    """The hooks of 2.62, `before_tool_execute` and the like: their spans differ from those of tools that fail in this alone."""
    raised = {"exception.type": error, "exception.message": "blocked"}
    raised |= {} if stack is None else {"exception.stacktrace": stack}
    given = {**NAMED, "gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": '{"order": 7}'}
    run = run_of(
        pai("invoke_agent travel", 1, attributes={"agent_name": "travel"}, lasting=100),
        model_span([("c1", "pay", {"order": 7})], 2),
        pai("execute_tool pay", 3, 1, at=20, attributes=given, events=[("exception", raised)], status=2),
    )
    assert (called(run), doubts(run)) == expected


def denied_inside(*more: Any, kind: str = "unapproved") -> Any:
    """Builds a run of 2.68 whose handler of deferred calls denied one in words of its own, and that went on."""
    offered = {
        "model_request_parameters": json.dumps({"function_tools": [{"name": "pay", "kind": kind}]}).replace(" ", "")
    }
    call = {"type": "tool_call", "id": "c1", "name": "pay"}
    told = [user("pay"), {"role": "assistant", "parts": [call]}, result("c1", "Keep the money.")]
    scope: dict[str, Any] = {"scope": "pydantic-ai"}
    return run_of(
        pai("invoke_agent travel", 1, attributes={"agent_name": "travel"}, lasting=100),
        model_span([("c1", "pay", {"order": 7})], 2, 1, at=10, attributes=offered, **scope),
        *more,
        model_span((), 3, 1, at=60, attributes=offered, input_messages=told, **scope),
    )


@pytest.mark.parametrize(("kind", "expected"), [("unapproved", ["uncertain_execution"]), ("function", [])])
def test_a_call_that_needs_an_approval_may_have_been_denied_inside_its_run(kind: str, expected: list[str]) -> None:
    run = denied_inside(kind=kind)
    assert (called(run), [doubt for doubt in doubts(run) if doubt == "uncertain_execution"]) == (["pay"], expected)


def test_a_call_that_asked_for_an_approval_runs_in_a_span_of_its_own() -> None:
    attributes = {**NAMED, "gen_ai.tool.call.id": "c1", "tool_arguments": '{"order": 7}'}
    asked = {**attributes, "pydantic_ai.tool.deferral.name": "ApprovalRequired"}
    began = pai("execute_tool pay", 4, 1, at=20, attributes=asked)
    denied = denied_inside(began)
    assert (called(denied), "uncertain_execution" in doubts(denied)) == (["(pay)"], False)
    approved = denied_inside(began, pai("execute_tool pay", 5, 1, at=40, attributes=attributes))
    assert called(approved) == ["(pay)", "pay"]


BESIDE = {
    "llm.tools.0.tool.name": "final_result",
    "llm.tools.0.tool.json_schema": '{"properties": {"answer": {"type": "string"}}, "required": ["answer"]}',
    "llm.tools.1.tool.name": "pay",
    "llm.tools.1.tool.json_schema": '{"properties": {}}',
}


@pytest.mark.parametrize("beside", [{}, BESIDE])
@pytest.mark.parametrize(("kind", "expected"), [("output_tools", []), ("function_tools", ["final_result"])])
def test_what_is_wrong_with_an_output_is_no_result_of_a_tool(
    kind: str, expected: list[str], beside: dict[str, str]
) -> None:
    """The form of the output is offered like a tool, and leaves no span; a validator has the model try again. OpenInference's
    processor (0.1.30) writes the definitions of both like those of tools, beside these."""
    tools = {"function_tools": [{"name": "pay", "description": "Pays."}]}
    output = [{"name": "final_result", "description": "The final response", "kind": "output"}]
    offered = {"model_request_parameters": json.dumps({**tools, kind: [*tools.get(kind, []), *output]}), **beside}
    asked = {"type": "tool_call", "id": "c2", "name": "final_result", "arguments": {"answer": "a"}}
    told = [user("pay"), {"role": "assistant", "parts": [asked]}, result("c2", "That is too short.")]
    run = run_of(
        pai("invoke_agent travel", 1, attributes={"agent_name": "travel"}, lasting=100),
        model_span([("c1", "pay", {})], 2, at=1, attributes=offered),
        pai("execute_tool pay", 3, 1, at=20, attributes=NAMED),
        model_span([("c2", "final_result", {"answer": "a"})], 4, at=40, attributes=offered),
        model_span([("c3", "final_result", {"answer": "ab"})], 5, at=60, attributes=offered, input_messages=told),
    )
    assert [call.name for call in run.trajectory.calls if call.executed] == ["pay", *expected]


@pytest.mark.parametrize("conventions", [True, False])
def test_a_call_that_was_cancelled_beside_one_that_ended_the_run_may_have_gone_on(conventions: bool) -> None:
    def failed(name: str, number: int, at: float, error: str) -> Span:
        attributes = {"gen_ai.tool.name": name, "gen_ai.tool.call.id": f"c{number}", "tool_arguments": "{}"}
        if conventions:
            attributes |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": "{}"}
        raised = ("exception", {"exception.type": error, "exception.message": ""})
        return pai("execute_tool x", number, 1, at, status=2, attributes=attributes, events=[raised])

    run = run_of(
        pai("invoke_agent shop", 1, lasting=50, status=2, attributes={"agent_name": "shop"}),
        failed("get", 2, 1, "asyncio.exceptions.CancelledError"),
        failed("pay", 3, 1.5, "RuntimeError"),
    )
    assert (called(run), doubts(run)) == (["get", "pay"], ["unobserved_results"])


def deferred(call_id: str, name: str) -> str:
    """A call as the result of a run that waits holds it (2.68)."""
    part = {
        "tool_name": name,
        "args": '{"order": 7}',
        "tool_call_id": call_id,
        "tool_kind": None,
        "part_kind": "tool-call",
    }
    return json.dumps(part, separators=(",", ":"))


def run_that_waits(result: str) -> list[Span]:
    return [
        pai("invoke_agent trip", 1, lasting=90, attributes={"agent_name": "trip", "final_result": result}),
        model_span([("c1", "get", {"city": "Oslo"}), ("c2", "pay", {"order": 7})], 2, 1, at=5, scope=SCOPE),
        pai("execute_tool get", 3, 1, 20, attributes=NAMED | {"gen_ai.tool.name": "get"}),
    ]


def test_a_run_that_ends_with_a_call_for_which_a_human_is_asked_goes_on_in_another_trace() -> None:
    run = run_of(*run_that_waits('{"calls":[],"approvals":[' + deferred("c2", "pay") + '],"metadata":{},"_kinds":{}}'))
    assert (called(run), doubts(run)) == (["(pay)", "get"], ["other_traces"])


def test_a_call_that_another_process_runs_may_run_when_the_run_has_ended() -> None:
    run = run_of(*run_that_waits('{"calls":[' + deferred("c2", "pay") + '],"approvals":[],"metadata":{},"_kinds":{}}'))
    assert called(run) == ["(pay)", "get"]
    assert doubts(run) == ["other_traces", "uncertain_execution", "unobserved_results"]


@pytest.mark.parametrize(("kind", "expected"), [("function_tools", ["other_traces"]), ("output_tools", [])])
def test_without_content_a_run_that_ends_without_a_call_goes_on_in_another_trace(
    kind: str, expected: list[str]
) -> None:
    tools = {"function_tools": [{"name": "get", "parameters_json_schema": {}}], "output_tools": []}
    tools[kind] = [*tools[kind], {"name": "pay", "parameters_json_schema": {}}]
    part = {"type": "tool_call", "id": "c2", "name": "pay"}
    asked = {
        "gen_ai.operation.name": "chat",
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [part], "finish_reason": "tool_call"}]),
        "gen_ai.response.finish_reasons": ["tool_call"],
        "model_request_parameters": json.dumps(tools, separators=(",", ":")),
    }
    run = run_of(
        pai("invoke_agent trip", 1, lasting=90, attributes={"agent_name": "trip"}),
        pai("chat gpt-4o", 2, 1, 5, attributes=asked),
    )
    assert (called(run), doubts(run)) == (["(pay)"], expected)


def test_a_result_of_the_form_that_a_user_chose_waits_for_nothing() -> None:
    run = run_of(*run_that_waits('{"calls":[{"tool_call_id":"c2"}],"approvals":[]}'))
    assert doubts(run) == []


def test_a_result_that_only_begins_like_one_that_waits_is_read_once() -> None:
    result = '{"calls":[{' + '"tool_call_id":"x",' * 13_000
    with within(1.0):
        assert doubts(run_of(*run_that_waits(result))) == []


@pytest.mark.parametrize("kept", [24, 60, 150])
@pytest.mark.parametrize("begin", ['{"calls":[', '{"calls":[],"approvals":['])
def test_a_run_that_ends_with_a_call_waits_though_the_end_of_what_it_returned_was_cut_off(
    kept: int, begin: str
) -> None:
    run = run_of(*run_that_waits((begin + deferred("c2", "p" * 200))[: len(begin) + kept]))
    assert "other_traces" in doubts(run)


def run_that_goes_on(number: int, at: float) -> list[Span]:
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c2", "name": "pay", "arguments": "{}"}]}
    told = [user("go"), asked, result("c2", "paid")]
    return [
        pai("invoke_agent trip", number, 0, at, 50, attributes={"agent_name": "trip", "final_result": "done"}),
        model_span((), number + 1, number, at=at + 20, scope=SCOPE, input_messages=told),
    ]


def test_a_run_that_begins_with_results_goes_on_from_another_trace() -> None:
    assert "other_traces" in doubts(run_of(*run_that_goes_on(1, 0)))


@pytest.mark.parametrize(
    ("version", "more", "lacks_attributes", "expected"),
    [
        ("2.68.0", {}, False, []),
        ("1.1.0", {}, False, []),
        ("2.68.0", {"pydantic_ai.new_message_index": 2}, False, ["other_traces"]),
        ("1.0.15", {}, False, ["other_traces"]),
        ("", {}, False, ["other_traces"]),
        ("2.68.0", {}, True, ["other_traces"]),
    ],
)
def test_a_run_that_was_given_no_messages_lacks_the_span_of_its_first_request(
    version: str, more: dict[str, int], lacks_attributes: bool, expected: list[str]
) -> None:
    agent, request = run_that_goes_on(1, 0)
    agent.attributes |= {"pydantic_ai.all_messages": "[]", **more}
    agent.scope, agent.lacks_attributes = Scope(SCOPE, version), lacks_attributes
    paid = pai("execute_tool pay", 3, 1, 10, attributes={**NAMED, "gen_ai.tool.call.id": "c2"})
    run = run_of(agent, request, paid)
    assert (called(run), doubts(run)) == (["pay"], expected)


@pytest.mark.parametrize("answered", [False, True])
def test_messages_in_log_events_tell_whether_a_run_whose_call_seems_to_come_first_goes_on(answered: bool) -> None:
    told = [log("gen_ai.user.message", 4, {"content": "go"}, at=20)]
    if answered:
        told.append(log("gen_ai.tool.message", 4, {"id": "c1", "content": "sunny"}, at=20))
    run = run_of(
        pai("invoke_agent trip", 1, 0, 0, 50, attributes={"agent_name": "trip", "final_result": "done"}),
        pai("execute_tool get", 3, 1, 5, 10, attributes={**NAMED, "gen_ai.tool.name": "get"}),
        model_span((), 4, 1, at=20, scope=SCOPE, attributes={"gen_ai.response.finish_reasons": ["stop"]}),
        *told,
    )
    assert ("other_traces" in doubts(run)) == answered


def test_a_request_that_the_clock_does_not_show_to_be_the_first_tells_of_no_other_trace() -> None:
    told = [user("go"), asked_for(("c1", "get", {})), result("c1", "sunny")]
    run = run_of(
        pai("invoke_agent trip", 1, 0, 0, 50, attributes={"agent_name": "trip", "final_result": "done"}),
        # The later one has the lower id.
        model_span((), 2, 1, at=5, lasting=0, scope=SCOPE, input_messages=told),
        model_span([("c1", "get", {})], 4, 1, at=5, lasting=0, scope=SCOPE, input_messages=told[:1]),
        pai(
            "execute_tool get", 3, 1, 5, 0, attributes=NAMED | {"gen_ai.tool.name": "get", "gen_ai.tool.call.id": "c1"}
        ),
    )
    assert (called(run), doubts(run)) == (["get"], [])


@pytest.mark.parametrize(("begun", "spoken", "expected"), [(1, "", ["other_traces"]), (-9, "", []), (1, "go", [])])
def test_a_call_before_all_requests_that_tell_nothing_was_approved_in_another_trace(
    begun: float, spoken: str, expected: list[str]
) -> None:
    # With event_mode "logs" messages are log records; a tool on another host may have a clock that is behind.
    request = {"gen_ai.operation.name": "chat", "gen_ai.system": "function"}
    run = run_of(
        pai("agent run", 1, 0, 0, 50, attributes={"agent_name": "trip", "final_result": "done"}),
        pai("running tool", 2, 1, begun, 1, attributes={"gen_ai.tool.name": "get", "gen_ai.tool.call.id": "c1"}),
        pai("chat gpt-4o", 3, 1, 5, attributes=request),
        *([log("", 3, {"role": "user", "content": spoken}, {"event.name": "gen_ai.user.message"})] if spoken else []),
    )
    assert (called(run), doubts(run)) == (["get"], expected)


@pytest.mark.parametrize("kept", [40, 120])
def test_a_run_whose_messages_were_cut_off_and_that_begins_with_a_call_goes_on_from_another_trace(kept: int) -> None:
    agent, request = run_that_goes_on(1, 0)
    request.attributes["gen_ai.input.messages"] = request.attributes["gen_ai.input.messages"][:kept]
    paid = pai("execute_tool pay", 3, 1, 5, attributes={**NAMED, "gen_ai.tool.call.id": "c2"})
    run = run_of(agent, request, paid)
    assert (called(run), doubts(run)) == (["pay"], ["other_traces"])


def test_a_run_that_waits_may_go_on_in_its_trace() -> None:
    waiting = run_that_waits('{"calls":[],"approvals":[' + deferred("c2", "pay") + '],"metadata":{},"_kinds":{}}')
    paid = pai("execute_tool pay", 13, 11, 105, attributes={**NAMED, "gen_ai.tool.call.id": "c2"})
    runs = runs_of(*waiting, *run_that_goes_on(11, 100), paid)
    assert [(called(run), doubts(run)) for run in runs] == [(["(pay)", "get"], []), (["pay"], [])]


def test_a_limit_of_calls_ends_a_run_in_place_of_those_asked_for_last() -> None:
    words = "UsageLimitExceeded: The next tool call(s) would exceed the tool_calls_limit of 2 (tool_calls=3)."
    raised = {"exception.type": "pydantic_ai.exceptions.UsageLimitExceeded", "exception.message": words}
    named, events = {"agent_name": "trip"}, [("exception", raised)]
    run = run_of(
        pai("invoke_agent trip", 1, lasting=90, status=2, message=words, attributes=named, events=events),
        model_span([("c1", "get", {})], 2, 1, at=5, scope=SCOPE),
        pai("execute_tool get", 3, 1, 20, attributes=NAMED | {"gen_ai.tool.name": "get"}),
        model_span([("c2", "get", {}), ("c3", "get", {})], 4, 1, at=40, scope=SCOPE),
    )
    assert (called(run), doubts(run)) == (["get", "(get)", "(get)"], [])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"action": "call_tool", "tool_name": "lookup", "tool_args": {"q": 1}}, (["lookup"], {"q": 1}, [])),
        ({"action": "list_tools"}, ([], None, [])),
        (None, ([], None, ["unrecorded_calls"])),
    ],
)
def test_a_server_that_the_provider_asked_names_its_tool_in_the_arguments(given: Any, expected: Any) -> None:
    """2.68. Without content nothing tells whether it was asked for more than the names of its tools."""
    part: dict[str, Any] = {"type": "tool_call", "id": "mcp_1", "name": "mcp_server:s", "builtin": True}
    told = {**part, "type": "tool_call_response"}
    parts = [part | {"arguments": given}, told | {"result": {"error": None, "output": "ok"}}] if given else [part, told]
    message = {"role": "assistant", "parts": [*parts, {"type": "text"}], "finish_reason": "stop"}
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": '[{"role":"user","parts":[{"type":"text"}]}]',
        "gen_ai.output.messages": json.dumps([message], separators=(",", ":")),
        "gen_ai.response.finish_reasons": ["stop"],
    }
    run = run_of(
        pai("invoke_agent trip", 1, lasting=90, attributes={"agent_name": "trip"}),
        pai("chat gpt", 2, 1, 5, attributes=attributes),
    )
    calls = run.trajectory.calls
    assert (called(run), calls[0].arguments if calls else None, doubts(run)) == expected
