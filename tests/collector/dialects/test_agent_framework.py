"""Microsoft's Agent Framework for Python (agent-framework-core 1.23), which follows the GenAI conventions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import agent_span, called, doubts, model_span, result, run_of, runs_of, span, tool_span, user

SCOPE = "agent_framework"
ANSWER = {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "ok"}]}])}
ASKED = [("c1", "drop", {"user": "u7"}), ("c2", "get", {"city": "Oslo"})]
REJECTED = "Error: Tool call invocation was rejected by user."


def call(call_id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": json.dumps(arguments)}


def approval_request(call_id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    asked = {"type": "function_call", "call_id": call_id, "name": name, "arguments": json.dumps(arguments)}
    return {"type": "function_approval_request", "function_call": asked, "user_input_request": True, "id": "af-call-1"}


def run_that_waits(parent: int = 0) -> list[Span]:
    """A model asks for two calls at once, one of which a human has to approve: neither runs before that."""
    parts = [*(call(*one) for one in ASKED), approval_request(*ASKED[0])]
    output = json.dumps([{"role": "assistant", "parts": parts}])
    return [
        agent_span(number=1, parent=parent, lasting=90, scope=SCOPE, attributes={"gen_ai.output.messages": output}),
        model_span(ASKED, 2, 1, at=10, scope=SCOPE, input_messages=[user("go")]),
    ]


def test_calls_of_an_answer_for_which_a_human_is_asked_have_not_run() -> None:
    (run,) = runs_of(*run_that_waits())
    assert (called(run), doubts(run)) == (["(drop)", "(get)"], ["other_traces"])


def test_an_agent_inside_a_call_cannot_wait_for_a_human() -> None:
    """The call fails, and the agent does not go on."""
    inner = {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [approval_request(*ASKED[0])]}])}
    _, run = runs_of(
        agent_span("outer", 7, lasting=95, scope=SCOPE),
        tool_span("ask", {}, 8, 7, at=1, lasting=92, scope=SCOPE, status=2),
        agent_span("inner", 1, 8, at=2, lasting=88, scope=SCOPE, attributes=inner),
        model_span(ASKED[:1], 2, 1, at=10, scope=SCOPE, input_messages=[user("go")]),
    )
    assert (called(run), doubts(run)) == (["(drop)"], [])


def test_a_run_that_begins_with_the_answer_of_a_human_goes_on_from_another_trace() -> None:
    answered = {**approval_request(*ASKED[0]), "type": "function_approval_response", "approved": False}
    given = {"gen_ai.input.messages": json.dumps([{"role": "user", "parts": [answered]}])}
    before = {"role": "assistant", "parts": [call("call_before_the_question", "get", {"city": "Rome"})]}
    request = {"role": "assistant", "parts": [call(*ASKED[0])]}
    told = [user("go"), before, result("call_before_the_question", "21"), request, result("c1", REJECTED)]
    after = {"role": "assistant", "parts": [call("call_after_the_answer", "get", {"city": "Oslo"})]}
    run = run_of(
        agent_span(number=1, lasting=90, scope=SCOPE, attributes=given),
        model_span([("call_after_the_answer", "get", {"city": "Oslo"})], 2, 1, at=10, scope=SCOPE, input_messages=told),
        tool_span("get", {"city": "Oslo"}, 3, 1, call_id="call_after_the_answer", at=30, scope=SCOPE),
        model_span((), 4, 1, at=50, scope=SCOPE, input_messages=[*told, after, result("call_after_the_answer", "18")]),
    )
    assert (called(run), doubts(run)) == (["get"], ["other_traces"])


def test_an_agent_of_a_workflow_that_begins_with_the_answer_of_a_human_goes_on_from_another_trace() -> None:
    """Also where it made no call before the one that was approved: what it made is in this trace, and not all that it did."""
    answered = {**approval_request(*ASKED[0]), "type": "function_approval_response", "approved": True}
    given = {"gen_ai.input.messages": json.dumps([{"role": "user", "parts": [answered]}])}
    returned = {"gen_ai.tool.call.result": "dropped"}
    told = [user("go"), {"role": "assistant", "parts": [call(*ASKED[0])]}, result("c1", "dropped")]
    run = run_of(
        span("workflow.run", 9, lasting=300, scope=SCOPE),
        agent_span(number=1, parent=9, at=10, lasting=90, scope=SCOPE, attributes=given),
        tool_span("drop", {"user": "u7"}, 2, 1, call_id="c1", at=20, scope=SCOPE, attributes=returned),
        model_span((), 3, 1, at=50, scope=SCOPE, input_messages=told),
    )
    assert (called(run), doubts(run)) == (["drop"], ["other_traces"])


def test_without_content_a_run_that_begins_with_a_call_goes_on_from_another_trace() -> None:
    run = run_of(
        agent_span(number=1, lasting=90, scope=SCOPE),
        tool_span("drop", None, 2, 1, call_id="c1", at=10, scope=SCOPE),
        model_span((), 3, 1, at=30, scope=SCOPE),
    )
    assert (called(run), doubts(run)) == (["drop"], ["other_traces"])


def test_what_a_human_approved_runs_when_the_agent_goes_on() -> None:
    request = {"role": "assistant", "parts": [call(*one) for one in ASKED]}
    told = [user("go"), request, result("c1", REJECTED), result("c2", "18")]
    first, second = runs_of(
        *run_that_waits(),
        agent_span(number=3, at=100, scope=SCOPE),
        tool_span("get", {"city": "Oslo"}, 4, 3, call_id="c2", at=110, scope=SCOPE),
        model_span((), 5, 3, at=130, scope=SCOPE, input_messages=told),
    )
    assert (called(first), doubts(first)) == (["(drop)", "(get)"], [])
    assert ("drop" in called(second), "get" in called(second), doubts(second)) == (False, True, [])


def test_a_question_in_the_words_of_the_model_is_none() -> None:
    words = json.dumps(approval_request(*ASKED[0]))
    output = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": words}]}])
    (run,) = runs_of(
        agent_span(number=1, lasting=90, scope=SCOPE, attributes={"gen_ai.output.messages": output}),
        model_span(ASKED[:1], 2, 1, at=10, scope=SCOPE),
    )
    assert doubts(run) == ["uncertain_execution", "unobserved_results"]


def test_an_agent_that_is_told_of_a_call_that_a_human_approved_is_told_of_the_call_before_it() -> None:
    """In a workflow the next agent begins with the answer of the human, which has an id of its own, and the result."""
    answered = {**approval_request(*ASKED[0]), "type": "function_approval_response", "approved": True}
    given = [{"role": "user", "parts": [answered]}, result("c1", "dropped")]
    returned = {"gen_ai.tool.call.result": "done"}
    runs = runs_of(
        span("workflow.run", 9, lasting=300, scope=SCOPE),
        *run_that_waits(9),
        agent_span("helper", 3, 9, at=100, lasting=50, scope=SCOPE),
        tool_span("drop", {"user": "u7"}, 4, 3, call_id="c1", at=110, scope=SCOPE, attributes=returned),
        agent_span(
            "writer", 5, 9, at=200, lasting=50, scope=SCOPE, attributes={"gen_ai.input.messages": json.dumps(given)}
        ),
        model_span([("c3", "write", {})], 6, 5, at=205, lasting=2, scope=SCOPE, input_messages=given[1:]),
        tool_span("write", {}, 7, 5, call_id="c3", at=210, scope=SCOPE, attributes=returned),
    )
    expected = [["(drop)", "(get)"], ["drop"], ["write"]]
    assert [(called(run), doubts(run)) for run in runs] == [(names, []) for names in expected]


@pytest.mark.parametrize("limit", ["invocation", "exception"])
def test_a_call_beyond_the_limit_of_its_function_has_not_run(limit: str) -> None:
    words = f"Function 'pay' has reached its maximum {limit} limit, you can no longer use this tool."
    raised = {"exception.type": "agent_framework.exceptions.ToolException", "exception.message": words}
    refused = tool_span(
        "pay", {"sum": 2}, call_id="c2", at=20, scope=SCOPE, status=2, message=f'ToolException("{words}")',
        attributes={"error.type": "ToolException"}, events=[("exception", raised)],
    )  # fmt: skip
    (run,) = runs_of(agent_span(scope=SCOPE), refused)
    assert (called(run), doubts(run)) == (["(pay)"], [])


def test_without_content_a_call_beyond_the_limit_of_its_function_may_not_have_run() -> None:
    raised = [
        tool_span(
            "pay",
            None,
            number,
            call_id=f"c{number}",
            at=number * 10,
            scope=SCOPE,
            status=2,
            attributes={"error.type": kind},
        )
        for number, kind in ((2, "RuntimeError"), (3, "ToolException"))
    ]
    (run,) = runs_of(agent_span(scope=SCOPE), *raised)
    assert [(doubt.name, doubt.calls) for doubt in run.trajectory.doubts] == [("uncertain_execution", (1,))]


@pytest.mark.parametrize(
    "scope",
    [
        SCOPE,
        "opentelemetry.instrumentation.genai.langchain",
        "semantic_kernel.utils.telemetry.agent_diagnostics.decorators",
    ],
)
def test_middleware_may_have_answered_in_place_of_a_tool(scope: str) -> None:
    """agent-framework 1.23, langchain 1.5, semantic-kernel 1.45: a call leaves a span, unless it was not let through."""
    request = {"role": "assistant", "parts": [call("c1", "get", {"city": "Oslo"})]}
    run = run_of(
        agent_span(number=1, lasting=90, scope=scope),
        model_span([("c1", "get", {"city": "Oslo"})], 2, 1, at=10, scope=scope, input_messages=[user("go")]),
        model_span((), 3, 1, at=30, scope=scope, input_messages=[user("go"), request, result("c1", "blocked")]),
    )
    assert "uncertain_execution" in doubts(run)


def test_what_a_provider_ran_is_in_the_answer_of_its_model() -> None:
    """Under types of its own. A call of MCP that failed has no result with OpenAI, or an empty one; with Anthropic no flag."""
    search = {"call_id": "ws_1", "status": "completed", "tool_name": "web_search", "additional_properties": {}}
    failed = {**search, "call_id": "ws_2", "status": "failed"}
    asked = {"type": "search", "query": "weather"}
    lookup = {"type": "mcp_server_tool_call", "tool_name": "lookup", "server_name": "srv", "additional_properties": {}}
    printed = [{"type": "text", "text": "1", "additional_properties": {}}]
    listed = {"type": "shell_command_output", "stdout": "a.txt", "exit_code": 0, "timed_out": False}
    parts = [
        {"type": "search_tool_call", **search, "arguments": asked},
        {"type": "search_tool_result", **search, "result": {"action": asked}},
        {"type": "search_tool_call", **failed, "arguments": asked},
        {"type": "search_tool_result", **failed, "result": {"action": asked}},
        {"type": "code_interpreter_tool_call", "call_id": "ci_1", "inputs": printed, "status": "completed"},
        {"type": "code_interpreter_tool_result", "call_id": "ci_1", "outputs": printed, "status": "completed"},
        {"type": "shell_tool_call", "call_id": "call_1", "commands": ["ls"], "status": "completed"},
        {"type": "shell_tool_result", "call_id": "call_1", "outputs": [listed]},
        {"type": "image_generation_tool_call", "image_id": "ig_1"},
        {"type": "image_generation_tool_result", "image_id": "ig_1", "outputs": {"type": "data", "uri": "data:,"}},
        {**lookup, "call_id": "mcp_1", "arguments": '{"q":"x"}'},
        {"type": "mcp_server_tool_result", "call_id": "mcp_1", "output": printed},
        {**lookup, "call_id": "mcp_2", "arguments": '{"q":"y"}'},
        {**lookup, "call_id": "mcptoolu_1", "arguments": {"q": "z"}},
        {"type": "mcp_server_tool_result", "call_id": "mcptoolu_1", "output": printed},
        {**lookup, "call_id": "mcp_3", "arguments": '{"q":"w"}'},
        {"type": "mcp_server_tool_result", "call_id": "mcp_3", "additional_properties": {}},
    ]
    answer = json.dumps([{"role": "assistant", "parts": parts, "finish_reason": "stop"}])
    run = run_of(
        agent_span(number=1, lasting=90, scope=SCOPE),
        model_span((), 2, 1, at=10, scope=SCOPE, attributes={"gen_ai.output.messages": answer}),
    )
    calls = [(one.name, one.arguments, one.status) for one in run.trajectory.calls]
    assert calls == [
        ("web_search", asked, "ok"),
        ("web_search", asked, "error"),
        ("code_interpreter", None, "ok"),
        ("shell", {"commands": ["ls"]}, "ok"),
        ("image_generation", None, "ok"),
        ("lookup", {"q": "x"}, "ok"),
        ("lookup", {"q": "y"}, "unset"),
        ("lookup", {"q": "z"}, "unset"),
        ("lookup", {"q": "w"}, "unset"),
    ]
    assert [(doubt.name, doubt.calls) for doubt in run.trajectory.doubts] == [
        ("uncertain_execution", (6,)),
        ("unobserved_results", (6, 7, 8)),
    ]


def test_what_the_application_is_to_make_goes_on_in_another_trace() -> None:
    """A tool without a function: the run ends well with its call, and the next begins with what came of that."""
    told = [user("go"), {"role": "assistant", "parts": [call(*ASKED[0])]}, result("c1", "dropped")]
    given = {"gen_ai.input.messages": json.dumps(told)}
    parts = [call(*one) for one in ASKED]
    output = json.dumps([{"role": "assistant", "parts": parts}, result("c2", "18")])
    asked = run_of(
        agent_span(number=1, lasting=90, scope=SCOPE, attributes={"gen_ai.output.messages": output}),
        model_span(ASKED, 2, 1, at=10, scope=SCOPE, input_messages=told[:1]),
        tool_span("get", {"city": "Oslo"}, 3, 1, call_id="c2", at=30, scope=SCOPE),
    )
    answered = run_of(
        agent_span(number=1, lasting=90, scope=SCOPE, attributes=given),
        model_span((), 2, 1, at=10, scope=SCOPE, input_messages=told),
    )
    assert ("other_traces" in doubts(asked), doubts(answered)) == (True, ["other_traces"])


def test_an_agent_of_a_workflow_that_is_given_the_results_of_another_began_here() -> None:
    given = {"gen_ai.input.messages": json.dumps([user("go"), {"role": "assistant", "parts": []}, result("c1", "18")])}
    first, second = runs_of(
        span("workflow.run", 9, lasting=300, scope=SCOPE),
        agent_span("first", 1, 9, at=5, lasting=50, scope=SCOPE),
        tool_span("get", {}, 2, 1, call_id="c1", at=10, scope=SCOPE, attributes={"gen_ai.tool.call.result": "18"}),
        agent_span("second", 3, 9, at=100, lasting=50, scope=SCOPE, attributes=given),
        model_span((), 4, 3, at=110, scope=SCOPE, attributes=ANSWER),
    )
    assert (doubts(first), doubts(second)) == ([], [])


@pytest.mark.parametrize("is_inside", [False, True])
def test_without_content_a_run_that_ends_with_calls_may_wait_for_more(is_inside: bool) -> None:
    """Beside what ran, the last answer may have asked for what a human has to approve. Inside a tool no agent can wait."""
    asks = {"gen_ai.response.finish_reasons": ["tool_calls"]}
    around = [agent_span("outer", 7, lasting=95, scope=SCOPE), tool_span("ask", None, 8, 7, lasting=92, scope=SCOPE)]
    *_, run = runs_of(
        *(around if is_inside else ()),
        agent_span("inner", 1, 8 if is_inside else 0, at=2, lasting=88, scope=SCOPE, attributes=asks),
        model_span((), 2, 1, at=10, scope=SCOPE, attributes=asks),
        tool_span("get", None, 3, 1, call_id="c2", at=30, scope=SCOPE),
    )
    assert doubts(run) == ([] if is_inside else ["other_traces"])


def openinference(kind: str, name: str = "", **more: Any) -> dict[str, Any]:
    return {"openinference.span.kind": kind, **({"tool.name": name} if name else {}), **more}


def test_what_a_human_answered_is_read_under_openinference() -> None:
    """Its processor (0.1.13) leaves the answer out of its own attributes, but not the conventions'."""
    answered = {**approval_request(*ASKED[0]), "type": "function_approval_response", "approved": True}
    given = {"gen_ai.input.messages": json.dumps([{"role": "user", "parts": [answered]}])}
    left = {"input.value": '{"messages": [{"message.role": "system", "message.content": "do it"}], "model": "gpt-4o"}'}
    run = run_of(
        agent_span(number=1, lasting=90, scope=SCOPE, attributes=openinference("AGENT", **given, **left)),
        tool_span(
            "drop", {"user": "u7"}, 2, 1, call_id="c1", at=20, scope=SCOPE, attributes=openinference("TOOL", "drop")
        ),
        model_span((), 3, 1, at=50, scope=SCOPE, attributes=openinference("LLM", **{"output.value": "ok"})),
    )
    assert (run.dialect, called(run), "other_traces" in doubts(run)) == ("openinference", ["drop"], True)


def test_what_a_provider_ran_is_read_under_openinference() -> None:
    asked = {"type": "search", "query": "weather"}
    parts = [
        {"type": "search_tool_call", "call_id": "ws_1", "arguments": asked, "tool_name": "web_search"},
        {"type": "search_tool_result", "call_id": "ws_1", "result": {"action": asked}, "tool_name": "web_search"},
        call(*ASKED[1]),
    ]
    answer = {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts}])}
    flat = {
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c2",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "get",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"city": "Oslo"}',
    }
    run = run_of(
        agent_span(number=1, lasting=90, scope=SCOPE, attributes=openinference("AGENT")),
        model_span((), 2, 1, at=10, scope=SCOPE, attributes=openinference("LLM", **answer, **flat)),
        tool_span(
            "get", {"city": "Oslo"}, 3, 1, call_id="c2", at=30, scope=SCOPE, attributes=openinference("TOOL", "get")
        ),
    )
    assert (called(run), run.trajectory.calls[0].arguments) == (["web_search", "get"], asked)


def test_a_request_of_a_client_without_an_agent_is_a_part() -> None:
    """The client makes the call that the answer asks for, and asks again, each in a trace of its own."""
    run = run_of(model_span(ASKED[:1], 2, 0, scope=SCOPE, input_messages=[user("go")]))
    assert "other_traces" in doubts(run)


@pytest.mark.parametrize(("kind", "expected"), [("web_search", ["unrecorded_calls"]), ("function", [])])
def test_without_content_nothing_tells_what_a_provider_ran(kind: str, expected: list[str]) -> None:
    """The agent's span tells all the same which tools were offered."""
    offered = json.dumps([{"type": "function", "name": "get"}, {"type": kind, "name": "web_search"}])
    run = run_of(
        agent_span(number=1, lasting=90, scope=SCOPE, attributes={"gen_ai.tool.definitions": offered}),
        model_span((), 2, 1, at=10, scope=SCOPE, attributes={"gen_ai.response.finish_reasons": ["tool_calls"]}),
        tool_span("get", None, 3, 1, call_id="c1", at=30, scope=SCOPE),
        model_span((), 4, 1, at=50, scope=SCOPE, attributes={"gen_ai.response.finish_reasons": ["stop"]}),
    )
    assert doubts(run) == expected


def without_content(number: int, at: float, reason: str, *inside: Span) -> list[Span]:
    """A request of which only the instrumentation of the client inside it records what was said (OpenLIT, OpenLLMetry)."""
    attributes = {"gen_ai.response.finish_reasons": json.dumps([reason])}
    return [model_span((), number, 1, at=at, lasting=9, scope=SCOPE, attributes=attributes), *inside]


def test_a_run_without_content_waits_where_the_client_inside_tells_what_its_model_asked_for() -> None:
    client = model_span(ASKED[:1], 3, 2, at=11, lasting=7, scope="openlit.instrumentation.openai")
    (run,) = runs_of(agent_span(lasting=90, scope=SCOPE), *without_content(2, 10, "tool_calls", client))
    assert "other_traces" in doubts(run)
    ran = tool_span("drop", None, 4, at=30, call_id="c1", scope=SCOPE)
    (run,) = runs_of(agent_span(lasting=90, scope=SCOPE), *without_content(2, 10, "tool_calls", client), ran)
    assert (called(run), doubts(run)) == (["drop"], [])  # middleware may end a run with a call


def test_a_run_without_content_goes_on_where_a_call_precedes_what_the_client_tells() -> None:
    told = [user("go"), result("c1", "dropped")]
    client = model_span(
        (), 3, 2, at=21, lasting=7, input_messages=told, attributes=ANSWER, scope="openlit.instrumentation.openai"
    )
    (run,) = runs_of(
        agent_span(lasting=90, scope=SCOPE),
        tool_span("drop", None, 4, at=5, call_id="c1", scope=SCOPE),
        *without_content(2, 20, "stop", client),
    )
    assert (called(run), doubts(run)) == (["drop"], ["other_traces"])
