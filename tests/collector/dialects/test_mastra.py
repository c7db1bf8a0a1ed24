"""Mastra, 0.24 and 1.x."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import called, doubts, read_tool, run_of, runs_of, span, span_id, span_of_kind

CALL = {"toolCallId": "c1", "toolName": "get", "args": {"city": "Oslo"}}
STEP = json.dumps({"text": "", "toolCalls": [CALL, {"toolCallId": "c2", "toolName": "gone", "args": {}}]})
GO = {"prompt": "go"}


mastra = partial(span_of_kind, "mastra.span.type")


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        (
            "execute_tool get",
            {"gen_ai.tool.name": "get", "gen_ai.tool.call.id": "c1", "gen_ai.tool.call.arguments": '{"city": "Oslo"}'},
            ("get", "c1", {"city": "Oslo"}, "ok"),
        ),
        (
            "tool.execute get",
            {"gen_ai.tool.input": '{"city": "Oslo"}', "input": "{}"},
            ("get", None, {"city": "Oslo"}, "ok"),
        ),
        ("tool.execute get", {"input": '{"city": "Oslo"}'}, ("get", None, {"city": "Oslo"}, "ok")),
    ],
)
def test_a_tool_span(name: str, attributes: dict[str, str], expected: Any) -> None:
    assert read_tool(mastra("tool_call", name, 2, 1, attributes=attributes, status=1)) == expected


@pytest.mark.parametrize(
    ("tool", "result", "expected"),
    [
        ("agent-clerk", {"text": "[Delegation Rejected] not allowed"}, ("(agent-clerk)", "error")),
        ("workflow-pay", {"error": "declined", "runId": "6529855c"}, ("workflow-pay", "error")),
        ("workflow-pay", {"result": {"error": "declined"}, "runId": "6529855c"}, ("workflow-pay", "ok")),
        ("pay", {"error": "declined", "runId": "6529855c"}, ("pay", "ok")),
    ],
)
def test_what_became_of_a_delegation_or_a_workflow_is_in_its_result(
    tool: str, result: dict[str, Any], expected: tuple[str, str]
) -> None:
    """The first of a hook (`onDelegationStart`). The spans of both end well."""
    told = {"gen_ai.tool.name": tool, "gen_ai.tool.call.result": json.dumps(result, separators=(",", ":"))}
    run = run_of(
        mastra("agent_run", "invoke_agent travel", 1, lasting=90),
        mastra("tool_call", f"execute_tool {tool}", 2, 1, attributes=told, status=1),
    )
    assert (*called(run), run.trajectory.calls[0].status) == expected


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("agent-sub", GO | {"suspendedToolRunId": "25966902", "threadId": "t1", "resourceId": "r1"}, GO),
        ("agent-sub", GO | {"threadId": "t1", "resourceId": "r1", "maxSteps": 5}, GO | {"maxSteps": 5}),
        ("workflow-flow", {"inputData": {"n": 1}, "suspendedToolRunId": "5fd03860"}, {"inputData": {"n": 1}}),
        ("workflow-flow", {"threadId": "t1"}, {"threadId": "t1"}),
        ("read", GO | {"threadId": "t1"}, GO | {"threadId": "t1"}),
    ],
)
def test_what_is_added_for_an_agent_or_a_workflow_that_goes_on_or_has_a_memory_is_no_argument(
    tool: str, arguments: Any, expected: Any
) -> None:
    """1.71: the model wrote the prompt, or the input of the workflow, alone."""
    told = {"gen_ai.tool.name": tool, "gen_ai.tool.call.arguments": json.dumps(arguments)}
    assert read_tool(mastra("tool_call", f"execute_tool {tool}", 2, 1, attributes=told, status=1))[2] == expected


def test_arguments_that_fail_the_schema_leave_a_span_with_status_ok() -> None:
    result = '{"error":true,"message":"Tool input validation failed for get"}'
    refused = mastra(
        "tool_call",
        "execute_tool get",
        2,
        1,
        attributes={"gen_ai.tool.name": "get", "gen_ai.tool.call.result": result},
        status=1,
    )
    assert called(run_of(mastra("agent_run", "invoke_agent a", 1), refused)) == ["(get)"]


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ("Tool output validation failed for get. The tool returned invalid output:\n- total: Invalid input", "error"),
        ("no such order", "ok"),  # an answer of the tool's own
    ],
)
def test_a_result_that_fails_the_schema_leaves_a_span_with_status_ok(message: str, status: str) -> None:
    result = json.dumps({"error": True, "message": message}, separators=(",", ":"))
    told = {"gen_ai.tool.name": "get", "gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": result}
    tool = mastra("tool_call", "execute_tool get", 2, 1, attributes=told, status=1)
    assert read_tool(tool) == ("get", None, {}, status)
    assert called(run_of(mastra("agent_run", "invoke_agent a", 1), tool)) == ["get"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [({}, ["unobserved_results"]), ({"gen_ai.tool.call.arguments": "{}"}, [])],
    ids=["no content", "a tool that returns nothing"],
)
def test_without_content_a_call_may_have_failed(arguments: dict[str, str], expected: list[str]) -> None:
    """What fails for Mastra, and not for the function, is in the result: a workflow, a result that fails the schema."""
    attributes = {"gen_ai.tool.name": "workflow-pay", "gen_ai.tool.call.id": "c1", **arguments}
    run = run_of(
        mastra("agent_run", "invoke_agent a", 1, lasting=90),
        mastra("tool_call", "execute_tool workflow-pay", 2, 1, attributes=attributes, status=1),
    )
    assert (called(run), doubts(run)) == (["workflow-pay"], expected)


def test_what_a_server_of_mcp_answers_tells_that_its_tool_failed() -> None:
    result = '{"content":[{"type":"text","text":"closed"}],"isError":true}'
    tool = mastra("mcp_tool_call", "mcp_tool: 'get'", 2, 1, attributes={"output": result}, status=1)
    assert read_tool(tool) == ("get", None, None, "error")


@pytest.mark.parametrize(
    "agent",
    [
        {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "Travel",
            "mastra.agent_run.input": "hi",
            "mastra.metadata.threadId": "t",
        },
        {"gen_ai.operation.name": "agent.run", "gen_ai.agent.id": "Travel", "input": "hi", "threadId": "t"},
    ],
    ids=["1.x", "0.24"],
)
def test_requested_calls_are_read_from_steps(agent: dict[str, str]) -> None:
    run = run_of(
        mastra("agent_run", "agent", 1, lasting=100, attributes=agent),
        mastra("model_generation", "chat m", 2, 1, 1, 90, attributes={"gen_ai.operation.name": "chat", "output": STEP}),
        mastra("model_step", "step: 0", 3, 2, 2, 50, attributes={"mastra.model_step.output": STEP}),
        mastra(
            "model_chunk",
            "chunk",
            4,
            3,
            3,
            1,
            attributes={"output": json.dumps({"toolName": "get", "toolCallId": "c1", "toolInput": {"city": "Oslo"}})},
        ),
        mastra("tool_call", "tool.execute get", 5, 3, 10, attributes={"input": '{"city": "Oslo"}'}),
        mastra("model_step", "step: 1", 6, 2, 60, 20, attributes={"output": '{"text": "done", "toolCalls": []}'}),
    )
    assert (run.agent, run.user_input, run.conversation_id) == ("Travel", "hi", "t")
    assert called(run) == ["get", "(gone)"]
    assert run.trajectory.calls[0].id == "c1"


def test_the_chunks_of_a_crashed_run_are_read() -> None:
    run = run_of(
        mastra(
            "model_chunk",
            "chunk: 'tool-call'",
            2,
            9,
            1,
            attributes={"output": '{"toolName": "gone", "toolCallId": "c1", "toolInput": {}}'},
        ),
        mastra(
            "model_chunk",
            "chunk: 'error'",
            3,
            9,
            20,
            attributes={"output": '{"error": {"message": "Tool gone not found"}}'},
        ),
    )
    assert called(run) == ["(gone)"]


@pytest.mark.parametrize("kind", ["model_generation", "model_inference", "workflow_step", "processor_run"])
def test_other_spans_are_ignored(kind: str) -> None:
    assert dialects.read_span(mastra(kind, "x", 2, 1)) is IGNORED


def test_the_input_of_a_step_tells_of_calls_without_span() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "get", "arguments": "{}"}}
    body = {
        "messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    }
    body["messages"].append({"role": "tool", "tool_call_id": "c1", "content": "cold"})
    attributes = {"input": json.dumps({"body": json.dumps(body)}), "output": STEP.replace("c1", "c3")}
    run = run_of(
        mastra("agent_run", "agent", 1, lasting=100, attributes={"input": "?"}),
        mastra("model_step", "step: 1", 2, 1, 5, attributes=attributes),
    )
    assert [(c.name, c.id, c.known_by) for c in run.trajectory.calls if c.known_by == "result"] == [
        ("get", "c1", "result")
    ]


@pytest.mark.parametrize(("responses", "count"), [(("r1", "r2"), 2), (("r1", "r1"), 1)])
def test_a_step_of_another_answer_requests_another_call_though_its_id_is_used_again(
    responses: tuple[str, str], count: int
) -> None:
    output = json.dumps({"toolCalls": [CALL]}, separators=(",", ":"))
    steps = [
        mastra("model_step", "step", number, 1, at=20 * number, attributes={"output": output, "id": response})
        for number, response in enumerate(responses, 2)
    ]
    assert len(run_of(mastra("agent_run", "agent", 1, lasting=100), *steps).trajectory.calls) == count


@pytest.mark.parametrize("kind", ["tool", "mcp_tool", "provider_tool"])
def test_the_exporter_for_laminar_writes_types_in_names_alone(kind: str) -> None:
    def laminar(name: str, number: int, parent: int = 0, at: float = 0, lasting: float = 10, **values: Any) -> Span:
        attributes = {f"lmnr.span.{key}": value for key, value in values.items()}
        return span(name, number, parent, at, lasting, attributes=attributes, scope="@mastra/laminar", status=1)

    chunk = json.dumps({"toolName": "get", "toolCallId": "c1", "toolInput": {"city": "Oslo"}})
    asked = json.dumps({"toolCalls": [CALL]}, separators=(",", ":"))
    user = json.dumps([{"role": "user", "content": "hi"}])
    run = run_of(
        laminar("agent run: 'travel'", 1, lasting=100, input=user, type="DEFAULT"),
        laminar("llm: 'gpt-4o'", 2, 1, 1, 90, output=asked, type="LLM"),
        laminar("step: 0", 3, 2, 2, 30, output=asked, type="LLM"),
        laminar("chunk: 'tool-call'", 4, 3, 5, 1, output=chunk, type="LLM"),
        laminar(f"{kind}: 'get'", 5, 3, 10, input='{"city": "Oslo"}', output='{"degrees": 7}', type="TOOL"),
        laminar("step: 1", 6, 2, 50, output='{"text": "Cold.", "toolCalls": []}', type="LLM"),
    )
    assert (run.agent, run.user_input, run.dialect, doubts(run)) == ("travel", "hi", "mastra", [])
    assert [(call.name, call.arguments, call.status) for call in run.trajectory.calls] == [
        ("get", {"city": "Oslo"}, "ok")
    ]


def test_the_exporter_for_langfuse_keeps_the_input_of_a_run_with_its_own() -> None:
    attributes = {"langfuse.observation.input": json.dumps([{"role": "user", "content": "hi"}])}
    assert run_of(mastra("agent_run", "invoke_agent travel", 1, attributes=attributes)).user_input == "hi"


def of_method(name: str, number: int, parent: int, at: float, lasting: float, **attributes: str) -> Span:
    """A span of the telemetry of 0.18."""
    attributes = {key.replace("__", "."): value for key, value in attributes.items()}
    return span(
        name, number, parent, at, lasting, attributes={"componentName": "Desk", **attributes}, scope="mastra-app"
    )


def old_run(results: list[str]) -> list[Span]:
    asked = [{"type": "tool-call", "toolCallId": f"c{n}", "toolName": "seal", "input": {"n": n}} for n in (1, 2)]
    told = {
        "agent.streamVNext.argument.0": '[{"role":"user","content":"Seal it."}]',
        "agent.streamVNext.result": json.dumps({"text": "Sealed.", "finishReason": "stop", "toolCalls": asked}),
    }
    step = {"workflow.executionWorkflow.step.map-tool-calls.result": json.dumps(asked[:1])}
    return [
        of_method("agent.generateVNext", 1, 0, 0, 100),
        of_method("agent.streamVNext", 2, 1, 1, 98, **told),
        of_method("mastra.stream.aisdk.doStream", 3, 2, 2, 5, mastra__operationId="mastra.stream.aisdk.doStream"),
        of_method("workflow.executionWorkflow.step.map-tool-calls", 4, 2, 8, 1, **step),
        *(
            of_method("mastra.stream.toolCall", 4 + n, 2, 20 * n, 5, **{
                "mastra.operationId": "mastra.stream.toolCall", "stream.toolCall.toolName": "seal",
                "stream.toolCall.toolCallId": f"c{n}", "stream.toolCall.args": json.dumps({"n": n}),
                "stream.toolCall.result": result,
            })
            for n, result in enumerate(results, 1)
        ),
    ]  # fmt: skip


def test_the_telemetry_of_0_18_tells_what_a_tool_threw_as_its_result() -> None:
    thrown = {"message": "no wax", "details": {"domain": "TOOL"}, "code": "TOOL_EXECUTION_FAILED"}
    run = run_of(*old_run([json.dumps(thrown), '{"code": "AB", "message": "sealed"}']))
    assert (run.agent, run.user_input, doubts(run)) == ("Desk", "Seal it.", [])
    assert [(call.id, call.arguments, call.status) for call in run.trajectory.calls] == [
        ("c1", {"n": 1}, "error"),
        ("c2", {"n": 2}, "unset"),
    ]


def test_a_refused_call_in_the_telemetry_of_0_18_and_one_of_which_only_the_agents_result_tells() -> None:
    refused = {"error": True, "message": "Tool input validation failed for seal"}
    run = run_of(*old_run([json.dumps(refused)]))
    assert [(call.id, call.executed) for call in run.trajectory.calls] == [("c2", True), ("c1", False)]
    assert doubts(run) == ["uncertain_execution", "uncertain_order", "unobserved_results"]


def test_a_component_of_another_tracer_is_none_of_mastra() -> None:
    other = span("render", 2, 1, attributes={"componentName": "Cart", "gen_ai.operation.name": "execute_tool"})
    assert read_tool(other)[0] == "render"


def test_chunks_that_tell_what_a_call_wrote_and_returned_ask_for_none() -> None:
    """0.24: an agent given to another as a tool, streamed."""
    named = {"toolCallId": "c1", "toolName": "get"}
    asked = json.dumps({"text": "", "toolCalls": [CALL]}, separators=(",", ":"))
    chunks = (
        ("tool-call", 6, {**named, "toolInput": {"city": "Oslo"}}),
        ("tool-output", 15, {"output": {"type": "start", "from": "AGENT"}, **named}),
        ("tool-result", 35, {"args": {"city": "Oslo"}, **named, "result": "cold"}),
    )
    run = run_of(
        mastra("agent_run", "agent.a", 1, lasting=100, attributes={"gen_ai.agent.id": "a"}),
        mastra("model_step", "step: 0", 2, 1, 5, 40, attributes={"output": asked, "id": "r1"}),
        mastra("tool_call", "tool.execute get", 3, 2, 10, 20, attributes={"input": '{"city": "Oslo"}'}),
        *(
            mastra("model_chunk", f"chunk: '{kind}'", at, 2, at, 0, attributes={"output": json.dumps(told)})
            for kind, at, told in chunks
        ),
        mastra("model_step", "step: 1", 4, 1, 60, attributes={"output": '{"text": "Cold.", "toolCalls": []}'}),
    )
    assert (called(run), doubts(run)) == (["get"], [])


def test_a_call_that_waits_for_an_approval_when_the_trace_breaks_off_may_not_have_run() -> None:
    """0.24 ends neither the step nor the agent."""
    asked = {"toolName": "pay", "toolCallId": "c1", "toolInput": '{"sum":1}'}
    waits = {"toolCallId": "c1", "toolName": "pay", "args": {"sum": 1}}
    run = run_of(
        mastra("model_chunk", "chunk: 'tool-call'", 2, 9, 1, 2, attributes={"output": json.dumps(asked)}),
        mastra("model_chunk", "chunk: 'tool-call-approval'", 3, 9, 6, 0, attributes={"output": json.dumps(waits)}),
    )
    assert called(run) == ["(pay)"]
    assert "uncertain_execution" in doubts(run)


def test_a_chunk_that_begins_and_ends_as_its_step_begins_is_the_call_of_that_step() -> None:
    """0.24 has times in whole milliseconds. Where the chunk comes first, its step looked like a later request."""
    asked = json.dumps({"text": "", "toolCalls": [CALL]}, separators=(",", ":"))
    chunk = json.dumps({"toolName": "get", "toolCallId": "c1", "toolInput": {"city": "Oslo"}})
    tools = [{"type": "function", "function": {"name": "get", "description": "get"}}]
    body = json.dumps(
        {"body": {"messages": [{"role": "user", "content": "hi"}], "tools": tools, "tool_choice": "auto"}}
    )
    run = run_of(
        mastra("agent_run", "agent.a", 1, lasting=100, attributes={"gen_ai.agent.id": "a"}),
        mastra("model_chunk", "chunk: 'tool-call'", 2, 3, 5, 0, attributes={"output": chunk}),
        mastra("model_step", "step: 0", 3, 1, 5, 40, attributes={"output": asked, "id": "r1", "input": body}),
        mastra("tool_call", "tool.execute get", 4, 3, 10, 20, attributes={"input": '{"city": "Oslo"}'}),
    )
    assert (called(run), doubts(run)) == (["get"], [])


def test_chunks_of_a_step_are_no_requests_of_their_own() -> None:
    """0.24: the first began with its step, so the second looked like the next request, and the calls like two turns."""
    calls = [{"toolCallId": f"c{n}", "toolName": "pay", "args": {"sum": n}} for n in (1, 2)]
    asked = json.dumps({"text": "", "toolCalls": calls}, separators=(",", ":"))
    chunks = [{"toolName": "pay", "toolCallId": f"c{n}", "toolInput": {"sum": n}} for n in (1, 2)]
    run = run_of(
        mastra("agent_run", "agent.a", 1, lasting=100, attributes={"gen_ai.agent.id": "a"}),
        mastra(
            "model_chunk", "chunk: 'tool-call'", 2, 4, 22, 0, attributes={"output": json.dumps(chunks[0])}, status=1
        ),
        mastra(
            "model_chunk", "chunk: 'tool-call'", 3, 4, 23, 0, attributes={"output": json.dumps(chunks[1])}, status=1
        ),
        mastra("model_step", "step: 0", 4, 1, 22, 17, attributes={"output": asked, "id": "r1"}, status=1),
        mastra("tool_call", "tool.execute pay", 5, 4, 32, 4, attributes={"input": '{"sum":1}'}, status=2),
        mastra("tool_call", "tool.execute pay", 6, 4, 32, 4, attributes={"input": '{"sum":2}'}, status=1),
        mastra(
            "model_step", "step: 1", 7, 1, 61, attributes={"output": '{"text": "Paid.", "toolCalls": []}', "id": "r2"}
        ),
    )
    calls_made = [(call.id, call.step, call.status) for call in run.trajectory.calls]
    assert (calls_made, doubts(run)) == ([("c1", 0, "error"), ("c2", 0, "ok")], [])


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("mastra.model_step.output", "client_tool_call gone"),
        ("langfuse.observation.output", "client_tool_call gone"),
        ("lmnr.span.output", "client_tool: 'gone'"),
    ],
)
def test_the_agent_has_no_function_for_a_call_of_its_client(key: str, name: str) -> None:
    """1.x: it answers that there is no such tool, or ends its run, and the client may run the tool."""
    asked = json.dumps(
        {"toolCalls": [{"toolCallId": "c1", "toolName": "gone", "args": {"q": 1}}]}, separators=(",", ":")
    )
    spans = [
        mastra("agent_run", "invoke_agent a", 1, lasting=100, attributes={"gen_ai.agent.name": "a"}),
        mastra("model_step", "agent_step a", 2, 1, 5, 30, attributes={key: asked}),
        mastra("client_tool_call", name, 3, 1, 20, 3, status=1),
    ]
    assert (called(run_of(*spans)), doubts(run_of(*spans))) == (["(gone)"], ["other_traces", "uncertain_execution"])
    later = mastra("model_step", "agent_step a", 4, 1, 40, attributes={key: '{"text":"No.","toolCalls":[]}'})
    run = run_of(*spans, later)
    assert [(call.name, call.id, call.arguments, call.executed) for call in run.trajectory.calls] == [
        ("gone", "c1", {"q": 1}, False)
    ]
    assert doubts(run) == []


@pytest.mark.parametrize("is_asked_more", [False, True])
def test_a_run_that_is_given_what_its_client_returned_began_in_another_trace(*, is_asked_more: bool) -> None:
    """1.71: `clientTools`."""
    call = {"toolCallId": "call_0001Zqnnc08hg1i2r", "toolName": "client"}
    given: list[dict[str, Any]] = [
        {"role": "user", "content": "please do it"},
        {"role": "assistant", "content": [{"type": "tool-call", **call, "input": {"q": "a"}}]},
        {
            "role": "tool",
            "content": [{"type": "tool-result", **call, "output": {"type": "text", "value": "from client"}}],
        },
    ]
    given += [{"role": "user", "content": "and then?"}] if is_asked_more else []
    told = json.dumps(given, separators=(",", ":"))
    step = {"mastra.model_step.output": '{"text":"done","toolCalls":[]}'}
    run = run_of(
        mastra("agent_run", "invoke_agent till", 1, lasting=90, attributes={"mastra.agent_run.input": told}),
        mastra("model_step", "agent_step till", 2, 1, 20, 50, attributes=step),
    )
    assert (called(run), doubts(run)) == ([], [] if is_asked_more else ["other_traces"])


def test_an_answer_that_broke_off_leaves_open_whether_its_calls_ran() -> None:
    """0.24: the run crashes on the first of two calls, whose tool does not exist."""

    def chunk(kind: str, number: int, at: float, **told: Any) -> Span:
        return mastra("model_chunk", f"chunk: '{kind}'", number, 9, at, 1, attributes={"output": json.dumps(told)})

    run = run_of(
        chunk("tool-call", 2, 1, toolName="gone", toolCallId="c1", toolInput={"q": "a"}),
        chunk("tool-call", 3, 2, toolName="ask", toolCallId="c2", toolInput={"q": "a"}),
        chunk("error", 4, 20, error={"message": "Tool gone not found"}),
    )
    assert [(call.name, call.step) for call in run.trajectory.calls] == [("gone", 0), ("ask", 0)]
    uncertain = [doubt.calls for doubt in run.trajectory.doubts if doubt.name == "uncertain_execution"]
    assert uncertain == [(0,), (1,)]


def test_a_result_of_nothing_is_no_sign_that_a_tool_ran() -> None:
    """0.24 tells a model so of a tool of its client. A tool of its own that returns nothing has a span."""
    calls = [{"toolCallId": f"c{n}", "toolName": name, "args": {"q": 1}} for n, name in enumerate(("pay", "ask"), 1)]
    asked = json.dumps({"text": "", "toolCalls": calls}, separators=(",", ":"))
    cut = {"name": "[MaxDepth]", "arguments": "[MaxDepth]"}
    messages = [
        {"role": "user", "content": "Pay it."},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": call["toolCallId"], "type": "function", "function": cut} for call in calls
        ]},
        *({"role": "tool", "tool_call_id": call["toolCallId"], "content": "null"} for call in calls),
    ]  # fmt: skip
    body = json.dumps({"body": {"model": "m", "messages": messages}}, separators=(",", ":"))
    run = run_of(
        mastra("agent_run", "agent.a", 1, lasting=100, attributes={"gen_ai.agent.id": "a"}),
        mastra("model_step", "step: 0", 2, 1, 5, 40, attributes={"output": asked, "id": "r1"}),
        mastra("tool_call", "tool.execute pay", 3, 2, 10, 20, attributes={"input": '{"q":1}'}, status=1),
        mastra("model_step", "step: 1", 4, 1, 60, attributes={"output": '{"toolCalls":[]}', "id": "r2", "input": body}),
    )
    assert (called(run), doubts(run)) == (["pay", "(ask)"], ["uncertain_execution", "unobserved_results"])


def waiting(name: str, call_id: str, number: int, parent: int = 0, at: float = 0) -> Span:
    output = json.dumps(
        {"status": "suspended", "reason": "tool-call-approval", "toolCallId": call_id}, separators=(",", ":")
    )
    attributes = {"gen_ai.agent.name": name, "mastra.agent_run.output": output}
    return mastra("agent_run", f"invoke_agent {name}", number, parent, at, 50, attributes=attributes)


def asked_in_chunk(name: str, call_id: str, number: int, parent: int, at: float) -> Span:
    output = json.dumps({"toolName": name, "toolCallId": call_id, "toolInput": "{}"})
    attributes = {"mastra.model_chunk.output": output}
    return mastra("model_chunk", "model_chunk a", number, parent, at, 1, attributes=attributes)


def ran(name: str, call_id: str, number: int, parent: int, at: float) -> Span:
    attributes = {"gen_ai.tool.name": name, "gen_ai.tool.call.id": call_id, "gen_ai.tool.call.arguments": "{}"}
    return mastra("tool_call", f"execute_tool {name}", number, parent, at, 5, attributes=attributes, status=1)


def test_a_run_that_waits_twice_and_goes_on_inside_is_one_run() -> None:
    """1.x: what goes on begins with the answer before the wait, which asks for no calls of its own."""
    asked = [{"toolCallId": f"c{n}", "toolName": name, "args": {}} for n, name in enumerate(("get", "pay"), 1)]
    repeated = {"mastra.model_step.output": json.dumps({"toolCalls": asked}, separators=(",", ":"))}
    run = run_of(
        waiting("a", "c2", 1),
        asked_in_chunk("get", "c1", 2, 1, 5),
        asked_in_chunk("pay", "c2", 3, 1, 6),
        ran("get", "c1", 4, 1, 10),
        waiting("a", "c3", 5, 1, 60),
        ran("pay", "c2", 6, 5, 65),
        mastra("model_step", "agent_step a", 7, 5, 71, 4, attributes=repeated),
        asked_in_chunk("pay", "c3", 8, 5, 80),
        mastra("agent_run", "invoke_agent a", 9, 5, 120, 90, attributes={"gen_ai.agent.name": "a"}),
        ran("pay", "c3", 10, 9, 125),
        mastra("model_step", "agent_step a", 11, 9, 131, 4, attributes=repeated),
        mastra("model_step", "agent_step a", 12, 9, 140, attributes={"mastra.model_step.output": '{"toolCalls":[]}'}),
    )
    assert ([(call.name, call.id) for call in run.trajectory.calls if call.executed], doubts(run)) == (
        [("get", "c1"), ("pay", "c2"), ("pay", "c3")], [],
    )  # fmt: skip
    assert len(run.trajectory.calls) == 3


def durable(number: int, at: float, output: str, began: int = 0) -> Span:
    resumed = (
        {"mastra.metadata.resumed": True, "mastra.metadata.resumedFromSpanId": span_id(began).hex()} if began else {}
    )
    attributes = {"gen_ai.agent.name": "a", "mastra.agent_run.output": output, **resumed}
    return mastra("agent_run", "invoke_agent a", number, at=at, lasting=50, attributes=attributes)


def test_a_durable_agent_goes_on_beside_what_waited() -> None:
    """1.71: all parts are roots. What was approved is inside the step of the part that waited, which had ended."""
    waits = '{"status":"suspended","reason":"approval","toolName":"pay","toolCallId":"c%d"}'
    first = durable(1, 0, waits % 1), asked_in_chunk("pay", "c1", 2, 1, 5)
    second = durable(4, 60, waits % 2, began=1), asked_in_chunk("pay", "c2", 5, 4, 80)
    done = {"mastra.model_step.output": '{"text":"Done","toolCalls":[]}'}
    last = durable(7, 120, '{"text":"Done"}', began=1), mastra("model_step", "agent_step a", 8, 7, 140, attributes=done)
    pay, again = ran("pay", "c1", 3, 1, 65), ran("pay", "c2", 6, 4, 125)
    run = run_of(*first, pay, *second, again, *last)
    assert ([call.id for call in run.trajectory.calls if call.executed], doubts(run)) == (["c1", "c2"], [])
    waiting = run_of(*first, pay, *second)
    assert doubts(waiting) == ["other_traces"]
    assert "other_traces" in doubts(run_of(*last))


def test_the_exporter_for_arize_keeps_what_an_agent_goes_on_with_among_the_metadata() -> None:
    told = {"mastra.agent_run.output": '{"text":"Done"}', "openinference.span.kind": "AGENT", "agent.name": "a"}
    metadata = json.dumps({"resumed": True, "resumedFromSpanId": span_id(1).hex()}, separators=(",", ":"))
    waits = {**told, "mastra.agent_run.output": '{"status":"suspended","reason":"approval","toolCallId":"c1"}'}
    run = run_of(
        mastra("agent_run", "invoke_agent a", 1, lasting=50, attributes=waits),
        asked_in_chunk("pay", "c1", 2, 1, 5),
        ran("pay", "c1", 3, 1, 65),
        mastra("agent_run", "invoke_agent a", 4, at=60, lasting=50, attributes={**told, "metadata": metadata}),
        mastra("model_step", "model_step a", 5, 4, 90, attributes={"mastra.model_step.output": '{"toolCalls":[]}'}),
    )
    assert ([call.id for call in run.trajectory.calls if call.executed], doubts(run)) == (["c1"], [])


def test_a_chunk_that_the_exporter_for_arize_calls_a_request_is_none() -> None:
    """1.71: the last chunk is written when the calls of the step have been made; a client's call has not."""
    asked = '{"text":"","toolCalls":[{"toolCallId":"c1","toolName":"pick","args":{}}]}'
    llm = {"openinference.span.kind": "LLM"}
    run = run_of(
        mastra("agent_run", "invoke_agent a", 1, lasting=90, attributes={"openinference.span.kind": "AGENT"}),
        mastra("model_step", "model_step a", 2, 1, 5, 60, attributes={"mastra.model_step.output": asked}),
        mastra("client_tool_call", "client_tool_call pick", 3, 1, 20, attributes={"gen_ai.tool.call.id": "c1"}),
        mastra("model_chunk", "model_chunk a", 4, 2, 50, 1, attributes=llm),
    )
    assert doubts(run) == ["other_traces", "uncertain_execution"]


def test_a_run_that_was_asked_nothing_goes_on_with_what_a_task_in_the_background_found() -> None:
    """1.71: `streamUntilIdle`."""
    step = mastra("model_step", "agent_step a", 2, 1, attributes={"mastra.model_step.output": '{"toolCalls":[]}'})

    def doubts_if_asked(given: str) -> list[str]:
        return doubts(
            run_of(mastra("agent_run", "invoke_agent a", 1, attributes={"mastra.agent_run.input": given}), step)
        )

    assert (doubts_if_asked("[]"), doubts_if_asked("go")) == (["other_traces"], [])


@pytest.mark.parametrize(
    ("approved", "expected"),
    [(False, []), (True, ["uncertain_execution", "unobserved_results"])],
)
def test_a_call_that_a_human_denied_did_not_run_though_the_run_that_goes_on_repeats_it(
    *, approved: bool, expected: list[str]
) -> None:
    """1.71: only what the agent goes on with tells; the next request has the name of the tool in place of the result."""
    asked = [{"toolCallId": f"c{n}", "toolName": name, "args": {}} for n, name in enumerate(("get", "pay"), 1)]
    told = '[{"role":"assistant","content":"[tool: get][tool: pay]"},{"role":"tool","content":"[tool-result: pay]"}]'
    answer = {"approved": approved, "toolName": "pay", "toolCallId": "c2"}
    run = run_of(
        waiting("a", "c2", 1),
        asked_in_chunk("get", "c1", 2, 1, 5),
        asked_in_chunk("pay", "c2", 3, 1, 6),
        ran("get", "c1", 4, 1, 10),
        mastra("agent_run", "invoke_agent a", 5, 1, 60, 90, attributes={
            "gen_ai.agent.name": "a", "mastra.agent_run.input": json.dumps(answer, separators=(",", ":")),
        }),
        mastra("model_step", "agent_step a", 6, 5, 71, 4, attributes={
            "mastra.model_step.output": json.dumps({"text": "", "toolCalls": asked}, separators=(",", ":")),
        }),
        mastra("model_step", "agent_step a", 7, 5, 80, attributes={
            "mastra.model_step.input": told, "mastra.model_step.output": '{"text":"done","toolCalls":[]}',
        }),
    )  # fmt: skip
    assert (called(run), doubts(run)) == (["(pay)", "get"], expected)


@pytest.mark.parametrize(
    ("has_ended", "result", "expected"),
    [
        (False, {}, ["(ask)", "uncertain_execution"]),
        (False, {"gen_ai.tool.call.result": "yes"}, ["ask"]),
        (True, {}, ["ask"]),  # a tool that returns nothing
    ],
)
def test_a_tool_without_a_result_may_have_suspended_a_run_whose_span_never_ended(
    *, has_ended: bool, result: dict[str, str], expected: list[str]
) -> None:
    chunk = '{"toolName":"ask","toolCallId":"c1","toolInput":{}}'
    arguments = {"gen_ai.tool.name": "ask", "gen_ai.tool.call.id": "c1", "gen_ai.tool.call.arguments": "{}", **result}
    run = run_of(
        *([mastra("agent_run", "invoke_agent a", 1, lasting=50)] if has_ended else []),
        mastra("model_chunk", "model_chunk a", 3, 1, 5, 1, attributes={"mastra.model_chunk.output": chunk}),
        mastra("tool_call", "execute_tool ask", 4, 1, 10, 3, attributes=arguments, status=1),
    )
    assert [*called(run), *(doubt for doubt in doubts(run) if doubt == "uncertain_execution")] == expected


@pytest.mark.parametrize("key", ["mastra.agent_run.output", "langfuse.observation.output", "lmnr.span.output"])
def test_a_tool_that_suspended_the_run_is_run_anew_when_that_goes_on(key: str) -> None:
    """1.x: its span ends well, without a result; the agent's says for which call the run waits."""
    output = '{"status":"suspended","reason":"tool-call-suspended","toolName":"ask","toolCallId":"c1"}'
    chunk = '{"toolName":"ask","toolCallId":"c1","toolInput":"{}"}'
    arguments = {"gen_ai.tool.name": "ask", "gen_ai.tool.call.arguments": "{}"}
    resumed = {**arguments, "gen_ai.tool.call.id": "c1", "gen_ai.tool.call.result": '{"ok":true}'}
    run = run_of(
        mastra("agent_run", "invoke_agent a", 1, lasting=50, attributes={"gen_ai.agent.name": "a", key: output}),
        mastra("model_generation", "model_generation m", 2, 1, 1, 48),
        mastra("model_chunk", "model_chunk a", 3, 2, 5, 1, attributes={"mastra.model_chunk.output": chunk}),
        mastra("tool_call", "execute_tool ask", 4, 2, 10, 3, attributes=arguments),
        mastra("agent_run", "invoke_agent a", 5, 2, 60, 90, attributes={"gen_ai.agent.name": "a"}),
        mastra("tool_call", "execute_tool ask", 6, 5, 70, attributes=resumed),
    )
    assert ([(call.name, call.id, call.executed) for call in run.trajectory.calls], doubts(run)) == (
        [("ask", "c1", True)], [],
    )  # fmt: skip


@pytest.mark.parametrize(("at", "expected"), [(130, [["find", "pay"]]), (90, [["find"], ["pay"]])])
def test_a_run_that_a_human_let_go_on_is_one_with_what_was_before(at: float, expected: list[list[str]]) -> None:
    """1.71: the step that waits has no output. That of the first step after it has, which asks no model."""

    def step(number: int, parent: int, at: float, lasting: float, *calls: tuple[str, str]) -> Span:
        asked = [{"toolCallId": call_id, "toolName": name, "args": {}} for call_id, name in calls]
        output = {"mastra.model_step.output": json.dumps({"text": "", "toolCalls": asked}, separators=(",", ":"))}
        return mastra("model_step", "agent_step a", number, parent, at, lasting, attributes=output)

    def chat(number: int, parent: int, at: float, lasting: float) -> Span:
        return span(
            "chat m", number, parent, at, lasting, kind=3,
            attributes={"gen_ai.operation.name": "chat", "mastra.span.type": "model_inference"},
        )  # fmt: skip

    answer = '{"approved":true,"toolName":"pay","toolCallId":"c2"}'
    waits = '{"status":"suspended","reason":"tool-call-approval","toolName":"pay","toolCallId":"c2"}'
    goes_on = {"gen_ai.agent.name": "a", "mastra.agent_run.input": answer, "mastra.agent_run.output": '{"text":"done"}'}
    runs = runs_of(
        mastra("agent_run", "invoke_agent a", 1, lasting=116, attributes={
            "gen_ai.agent.name": "a", "mastra.agent_run.input": "please", "mastra.agent_run.output": waits,
        }),
        step(2, 1, 37, 47, ("c1", "find")),
        ran("find", "c1", 3, 2, 60),
        mastra("model_step", "agent_step a", 4, 1, 87, 29, attributes={}),
        chat(5, 4, 88, 28),
        mastra("agent_run", "invoke_agent a", 6, 1, at, 100, attributes=goes_on),
        ran("pay", "c2", 7, 6, 168),
        step(8, 6, 175, 6, ("c2", "pay")),
        chat(9, 8, 175, 6),
        step(10, 6, 188, 40),
    )  # fmt: skip
    made = [[call.name for call in run.trajectory.calls if call.executed] for run in runs]
    assert (made, [doubts(run) for run in runs if len(runs) == 1]) == (expected, [[]] * (len(expected) == 1))


@pytest.mark.parametrize("is_approved", [True, False])
def test_an_agent_inside_that_waited_and_went_on_is_one_run_as_the_one_around_it_is(*, is_approved: bool) -> None:
    """1.71: a tool of a sub-agent asks for an approval, so both agents wait, and both go on inside the outer's span."""

    def resumed(name: str, call_id: str, number: int, parent: int, at: float, lasting: float) -> Span:
        answer = {"approved": is_approved, "toolName": "pay", "toolCallId": call_id}
        given = {"gen_ai.agent.name": name, "mastra.agent_run.input": json.dumps(answer, separators=(",", ":"))}
        return mastra("agent_run", f"invoke_agent {name}", number, parent, at, lasting, attributes=given)

    def delegation(number: int, parent: int, at: float, lasting: float, **result: str) -> Span:
        asked = {"gen_ai.tool.name": "agent-sub", "gen_ai.tool.call.id": "a1", "gen_ai.tool.call.arguments": "{}"}
        attributes = asked | {f"gen_ai.tool.call.{key}": value for key, value in result.items()}
        return mastra(
            "tool_call", "execute_tool agent-sub", number, parent, at, lasting, attributes=attributes, status=1
        )

    def step(number: int, parent: int, at: float, *asked: str) -> Span:
        calls = [{"toolCallId": call_id, "toolName": name, "args": {}} for name, call_id in map(str.split, asked)]
        output = {"mastra.model_step.output": json.dumps({"text": "", "toolCalls": calls}, separators=(",", ":"))}
        return mastra("model_step", "agent_step", number, parent, at, 4, attributes=output)

    outer, inner = runs_of(
        waiting("main", "a1", 1),
        asked_in_chunk("agent-sub", "a1", 2, 1, 2),
        delegation(3, 1, 5, 40),
        waiting("sub", "b2", 4, 3, 6),
        step(5, 4, 7, "find b1"),
        ran("find", "b1", 6, 4, 12),
        asked_in_chunk("pay", "b2", 7, 4, 20),
        resumed("main", "a1", 8, 1, 100, 90),
        delegation(9, 8, 101, 60, result='{"text":"inner"}'),
        resumed("sub", "b2", 10, 9, 102, 50),
        *([ran("pay", "b2", 11, 10, 104)] if is_approved else []),
        step(12, 10, 120, "pay b2"),
        step(13, 10, 130),
        step(14, 8, 165, "agent-sub a1"),
        step(15, 8, 175),
    )
    assert (called(outer), doubts(outer)) == (["agent-sub"], [])
    assert (called(inner), doubts(inner)) == (["find", "pay" if is_approved else "(pay)"], [])
