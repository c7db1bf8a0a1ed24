"""Vercel AI SDK's own telemetry."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import agent_span, called, doubts, model_span, read_tool, run_of, runs_of, span, tool_span

CALLS = json.dumps(
    [
        {"toolCallId": "c1", "toolName": "get", "input": '{"city": "Oslo"}'},
        {"toolCallId": "c2", "toolName": "gone", "input": "{}"},
    ]
)


def ai(operation: str, number: int, parent: int = 0, at: float = 0, lasting: float = 10, **more: Any) -> Span:
    attributes = {"ai.operationId": operation, "ai.telemetry.functionId": "travel", **more.pop("attributes", {})}
    return span(operation, number, parent, at, lasting, attributes=attributes, scope="ai", **more)


TOOL = {"ai.toolCall.name": "get", "ai.toolCall.id": "c1", "ai.toolCall.args": '{"city": "Oslo"}'}


@pytest.mark.parametrize(("status", "expected"), [(0, "unset"), (2, "error")])
def test_a_tool_span(status: int, expected: str) -> None:
    assert read_tool(ai("ai.toolCall", 2, 1, attributes=TOOL, status=status)) == (
        "get",
        "c1",
        {"city": "Oslo"},
        expected,
    )


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"content": [{"type": "text", "text": "closed"}], "isError": True}, ["get"]),
        ({"content": [{"type": "text", "text": "MCP error -32602: Tool get not found"}], "isError": True}, ["(get)"]),
        ({"content": [{"type": "text", "text": "closed"}], "isError": False}, None),
        (
            {"type": "call", "serverLabel": "shop", "error": {"type": "mcp_tool_execution_error", "content": []}},
            ["get"],
        ),
        ({"type": "call", "serverLabel": "shop", "output": "closed"}, None),
        ({"error": "closed"}, None),  # of a tool that returned
    ],
)
def test_what_a_server_of_mcp_answers_tells_that_its_tool_failed(
    result: dict[str, Any], expected: list[str] | None
) -> None:
    attributes = {**TOOL, "ai.toolCall.result": json.dumps(result)}
    run = run_of(ai("ai.generateText", 1, lasting=100), ai("ai.toolCall", 2, 1, attributes=attributes))
    assert (called(run), run.trajectory.calls[0].status) == (expected or ["get"], "error" if expected else "unset")


def test_without_recorded_inputs_arguments_are_unknown() -> None:
    assert read_tool(ai("ai.toolCall", 2, 1, attributes={"ai.toolCall.name": "get"}))[2] is None


@pytest.mark.parametrize("kind", ["generate", "stream"])
def test_a_run(kind: str) -> None:
    root, model = f"ai.{kind}Text", f"ai.{kind}Text.do" + kind.title()
    prompt = json.dumps([{"role": "user", "content": [{"type": "text", "text": "hi"}]}])
    run = run_of(
        ai(
            root,
            1,
            lasting=100,
            attributes={
                "ai.prompt": '{"system": "Help.", "prompt": "hi"}',
                "ai.telemetry.metadata.sessionId": "s",
                "ai.telemetry.metadata.route": "/r",
                "ai.response.toolCalls": CALLS,
            },
        ),
        ai(
            model,
            2,
            1,
            at=1,
            lasting=5,
            attributes={"ai.response.toolCalls": CALLS, "ai.response.id": "r1", "ai.prompt.messages": prompt},
        ),
        ai("ai.toolCall", 3, 1, at=10, attributes=TOOL),
        ai(model, 4, 1, at=30, attributes={"ai.response.id": "r2"}),
    )
    assert (run.agent, run.user_input, run.conversation_id, run.dialect, run.response_id) == (
        "travel",
        "hi",
        "s",
        "ai_sdk",
        "r2",
    )
    assert run.attributes["ai.telemetry.metadata.route"] == "/r"
    assert called(run) == ["(gone)", "get"]


@pytest.mark.parametrize("operation", ["ai.embed", "ai.generateObject", "ai.embedMany.doEmbed"])
def test_other_operations_are_ignored(operation: str) -> None:
    assert dialects.read_span(ai(operation, 2, 1)) is IGNORED


def test_runs_of_releases_that_name_the_operation_otherwise() -> None:
    """Two in one request would else be one run."""

    def old(operation: str, number: int, parent: int, at: float, lasting: float = 40, **attributes: Any) -> Span:
        attributes = {"operation.name": f"{operation} travel", "ai.result.text": "", **attributes}
        return span(operation, number, parent, at, lasting, attributes=attributes, scope="ai")

    runs = runs_of(
        span("POST /chat", 1, kind=2, lasting=200),
        old("ai.streamText", 2, 1, 0),
        old("ai.toolCall", 3, 2, 10, 5, **TOOL),
        old("ai.generateText", 4, 1, 100),
        old("ai.toolCall", 5, 4, 110, 5, **TOOL),
    )
    assert [(called(run), run.dialect) for run in runs] == [(["get"], "ai_sdk")] * 2


def test_an_approved_call_that_leaves_no_span_is_one_of_the_run_that_made_it() -> None:
    """LegacyOpenTelemetry of release 7: only the next request tells of it."""
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "pay", "input": {"sum": 7}}
    asked = {"role": "assistant", "content": [call, {"type": "tool-approval-request", "toolCallId": "c1"}]}
    before = [{"role": "user", "content": "pay"}, asked]
    approved = {"role": "tool", "content": [{"type": "tool-approval-response", "approved": True}]}
    output = {"type": "text", "value": "paid"}
    result = {"type": "tool-result", "toolCallId": "c1", "toolName": "pay", "output": output}
    told = [*before, {"role": "tool", "content": [result]}]
    run = run_of(
        ai("ai.generateText", 1, lasting=50, attributes={"ai.prompt": json.dumps({"messages": [*before, approved]})}),
        ai(
            "ai.generateText.doGenerate",
            2,
            1,
            20,
            attributes={"ai.prompt.messages": json.dumps(told), "ai.response.text": "Paid."},
        ),
    )
    assert called(run) == ["pay"]
    assert doubts(run) == ["other_traces", "unobserved_results"]


def test_so_is_one_that_another_run_of_the_trace_asked_for() -> None:
    """LegacyOpenTelemetry of release 7, where one request of the application asks the human and goes on."""
    call = {"type": "tool-call", "toolCallId": "call_0000000001", "toolName": "pay", "input": {"sum": 7}}
    request = {"type": "tool-approval-request", "toolCallId": "call_0000000001"}
    output = {"type": "text", "value": "paid"}
    before = [{"role": "user", "content": "pay"}, {"role": "assistant", "content": [call, request]}]
    approved = {"role": "tool", "content": [{"type": "tool-approval-response", "approved": True}]}
    result = {"type": "tool-result", "toolCallId": "call_0000000001", "toolName": "pay", "output": output}
    told = [*before, {"role": "tool", "content": [result]}]
    asked = {"ai.response.toolCalls": json.dumps([call]), "gen_ai.response.finish_reasons": ["tool-calls"]}
    runs = runs_of(
        span("POST /chat", 1, lasting=100),
        ai("ai.generateText", 2, 1, 1, 20, attributes={"ai.prompt": json.dumps({"messages": before[:1]})}),
        ai("ai.generateText.doGenerate", 3, 2, 2, attributes=asked),
        ai("ai.generateText", 4, 1, 30, 50, attributes={"ai.prompt": json.dumps({"messages": [*before, approved]})}),
        ai("ai.generateText.doGenerate", 5, 4, 40, attributes={
            "ai.prompt.messages": json.dumps(told), "ai.response.text": "Paid.",
        }),
    )  # fmt: skip
    assert [(called(run), doubts(run)) for run in runs] == [(["(pay)"], []), (["pay"], ["unobserved_results"])]


def test_so_is_one_whose_sibling_ran_before_the_approval() -> None:
    """LegacyOpenTelemetry of release 7."""
    looked = {"type": "tool-call", "toolCallId": "c0", "toolName": "look", "input": {}}
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "pay", "input": {"sum": 7}}
    asked = {"role": "assistant", "content": [looked, call, {"type": "tool-approval-request", "toolCallId": "c1"}]}
    found, paid = (
        {"type": "tool-result", "toolCallId": i, "toolName": name, "output": {"type": "text", "value": told}}
        for i, name, told in (("c0", "look", "found"), ("c1", "pay", "paid"))
    )
    before = [{"role": "user", "content": "pay"}, asked, {"role": "tool", "content": [found]}]
    approved = {"role": "tool", "content": [{"type": "tool-approval-response", "approved": True}]}
    told = [*before, {"role": "tool", "content": [paid]}]
    request = {"ai.prompt.messages": json.dumps(told), "ai.response.text": "Paid."}
    run = run_of(
        ai("ai.generateText", 1, lasting=50, attributes={"ai.prompt": json.dumps({"messages": [*before, approved]})}),
        ai("ai.generateText.doGenerate", 2, 1, 20, attributes=request),
    )
    assert called(run) == ["pay"]


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("stop", ["uncertain_execution", "unobserved_results"]), ("tool-calls", ["other_traces"])],
)
def test_a_call_in_an_answer_that_ended_may_be_one_that_the_provider_ran(reason: str, expected: list[str]) -> None:
    search = json.dumps([{"toolCallId": "ws1", "toolName": "web_search", "input": '{"query": "news"}'}])
    answer = {"ai.response.toolCalls": search, "gen_ai.response.finish_reasons": [reason]}
    run = run_of(
        ai("ai.generateText", 1, lasting=50),
        ai("ai.generateText.doGenerate", 2, 1, 20, attributes=answer),
    )
    assert doubts(run) == expected


def test_openllmetry_moves_messages_to_the_names_of_the_conventions() -> None:
    asked = [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]
    call = {"type": "tool_call", "name": "gone", "id": "c1", "arguments": {}}
    answer = [{"role": "assistant", "finish_reason": "tool_call", "parts": [call]}]
    messages = {"gen_ai.input.messages": json.dumps(asked)}
    run = run_of(
        ai("ai.generateText", 1, lasting=50, attributes=messages),
        ai("ai.generateText.doGenerate", 2, 1, attributes={**messages, "gen_ai.output.messages": json.dumps(answer)}),
    )
    assert (run.user_input, called(run)) == ("hi", ["(gone)"])


@pytest.mark.parametrize("asked", ["Get", "fetch"])
def test_a_call_whose_name_the_application_repaired_is_one_of_the_tool_that_ran(asked: str) -> None:
    """`experimental_repairToolCall`, releases 5 and 6."""
    call = {"toolCallId": "c1", "toolName": asked, "input": '{"city": "Oslo"}'}
    offered = {"type": "function", "name": "get", "inputSchema": {"type": "object", "properties": {"city": {}}}}
    request = {"ai.prompt.tools": [json.dumps(offered)], "gen_ai.response.finish_reasons": ["tool-calls"]}
    run = run_of(
        ai("ai.generateText", 1, lasting=100),
        ai("ai.generateText.doGenerate", 2, 1, 1, attributes={**request, "ai.response.toolCalls": json.dumps([call])}),
        ai("ai.toolCall", 3, 1, 12, attributes={**TOOL, "ai.toolCall.result": '"cold"'}),
        ai("ai.generateText.doGenerate", 4, 1, 30, attributes={"ai.response.text": "Cold."}),
    )
    assert (called(run), doubts(run)) == (["get"], [])


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([("c1", "pay", 0.5), ("c2", "look", 35)], ["other_traces"]),
        ([("c2", "look", 35)], ["other_traces", "unobserved_results"]),  # release 7: an approved call leaves no span
    ],
)
def test_what_ran_before_a_human_approved_another_call_is_none_of_the_run_that_goes_on(
    spans: list[tuple[str, str, float]], expected: list[str]
) -> None:
    """Of inputs that repeat each other a trace keeps the longest, so the first request has none here."""
    looked, call, again = (
        {"type": "tool-call", "toolCallId": i, "toolName": name, "input": {}}
        for i, name in (("c0", "look"), ("c1", "pay"), ("c2", "look"))
    )
    found, paid, seen = (
        {"type": "tool-result", "toolCallId": i, "toolName": name, "output": {"type": "json", "value": {"n": 1}}}
        for i, name in (("c0", "look"), ("c1", "pay"), ("c2", "look"))
    )
    user = {"role": "user", "content": "pay"}
    asked = {"role": "assistant", "content": [looked, call, {"type": "tool-approval-request", "toolCallId": "c1"}]}
    approved = {"role": "tool", "content": [{"type": "tool-approval-response", "approved": True}]}
    given = [user, asked, {"role": "tool", "content": [found]}, approved]
    told = [user, {"role": "assistant", "content": [looked, call]}, {"role": "tool", "content": [found, paid]}]
    told += [{"role": "assistant", "content": [again]}, {"role": "tool", "content": [seen]}]
    run = run_of(
        ai("ai.generateText", 1, lasting=100, attributes={"ai.prompt": json.dumps({"messages": given})}),
        *(
            ai("ai.toolCall", number, 1, at, 5, attributes={"ai.toolCall.name": name, "ai.toolCall.id": i})
            for number, (i, name, at) in enumerate(spans, 10)
        ),
        ai("ai.generateText.doGenerate", 3, 1, 20, attributes={
            "ai.response.toolCalls": json.dumps([{**again, "input": "{}"}])
        }),
        ai("ai.generateText.doGenerate", 5, 1, 60, attributes={"ai.prompt.messages": json.dumps(told)}),
    )  # fmt: skip
    assert (called(run), doubts(run)) == (["pay", "look"], expected)


def test_a_call_without_a_result_in_a_stream_that_was_aborted_may_have_failed() -> None:
    """Release 7: a tool that threw for that has the span of one that returned nothing."""
    run = run_of(ai("ai.streamText", 1, lasting=100), ai("ai.toolCall", 2, 1, attributes=TOOL))
    assert (called(run), doubts(run)) == (["get"], ["unobserved_results"])


@pytest.mark.parametrize(
    ("result", "arguments"),
    [
        ('{"action":{"type":"search","query":"news"}}', {"type": "search", "query": "news"}),
        ('{"queries":["news"],"results":null}', {"queries": ["news"]}),
        (None, None),
    ],
)
def test_what_a_tool_that_openai_ran_was_given_is_in_its_result(result: str | None, arguments: Any) -> None:
    """AI SDK 7 writes no arguments of its calls, in the model's answer and on the span."""
    call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.type": "extension"}
    told = {} if result is None else {"gen_ai.tool.call.result": result}
    given = {**call, **told, "gen_ai.tool.call.id": "ws_1", "gen_ai.tool.call.arguments": "{}"}
    assert read_tool(span("execute_tool search", 2, 1, attributes=given, scope="gen_ai"))[2] == arguments


@pytest.mark.parametrize(("call_id", "arguments"), [("ws_1", None), ("call_1", {})])
def test_what_a_tool_that_openai_ran_was_given_is_not_recorded_before_7(call_id: str, arguments: Any) -> None:
    calls = json.dumps([{"toolCallId": call_id, "toolName": "search", "input": "{}"}])
    answer = {"ai.response.toolCalls": calls, "ai.response.finishReason": "stop"}
    run = run_of(ai("ai.generateText", 1, lasting=50), ai("ai.generateText.doGenerate", 2, 1, 1, 10, attributes=answer))
    assert [call.arguments for call in run.trajectory.calls] == [arguments]


def without_content(version: int, number: int, at: float) -> list[Span]:
    """A run whose call a human has approved, as the SDK writes it without inputs and outputs."""
    if version == 6:
        call = {"ai.toolCall.name": "pay", "ai.toolCall.id": "call_zr", "ai.telemetry.functionId": "travel"}
        ended = {"ai.response.finishReason": "stop", "ai.telemetry.functionId": "travel"}
        return [
            ai("ai.generateText", number, 9, at, 30, attributes=ended),
            ai("ai.toolCall", number + 1, number, at + 1, 5, attributes=call),
            ai("ai.generateText.doGenerate", number + 2, number, at + 8, 10, attributes=ended),
        ]
    asked = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.response.finish_reasons": ["stop"],
    }
    agent = {**asked, "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "travel"}
    call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay", "gen_ai.tool.call.id": "call_zr"}
    return [
        span("invoke_agent main", number, 9, at, 30, attributes=agent, scope="gen_ai"),
        span("execute_tool pay", number + 1, number, at + 1, 5, attributes=call, scope="gen_ai"),
        span("chat main", number + 2, number, at + 8, 10, attributes=asked, scope="gen_ai"),
    ]


@pytest.mark.parametrize("version", [6, 7])
def test_without_content_a_run_that_begins_with_a_call_began_in_another_trace(version: int) -> None:
    request = span("POST /chat", 9, 0, 0, 100, attributes={"http.route": "/chat"})
    [run] = runs_of(request, *without_content(version, 1, 50))
    assert (called(run), doubts(run)) == (["pay"], ["other_traces"])


@pytest.mark.parametrize("version", [6, 7])
def test_without_content_a_run_that_goes_on_in_its_trace_began_there(version: int) -> None:
    request = span("POST /chat", 9, 0, 0, 100, attributes={"http.route": "/chat"})
    waits, _, asks = without_content(version, 11, 5)
    runs = runs_of(request, waits, asks, *without_content(version, 1, 50))
    assert [(called(run), doubts(run)) for run in runs] == [([], []), (["pay"], [])]


@pytest.mark.parametrize(
    ("of_sdk", "result", "expected"),
    [
        ({}, None, ["unobserved_results"]),  # a call that failed has the same span
        ({}, '{"type":"json","value":{"error":"not found"}}', []),
        ({"ai.model.id": "main", "ai.settings.maxRetries": 0}, None, []),
    ],
)
def test_a_durable_agent_ends_the_span_of_a_call_that_failed_well(
    of_sdk: dict[str, Any], result: str | None, expected: list[str]
) -> None:
    asked = {"ai.model.id": "main", "ai.response.finishReason": "tool-calls"}
    call = {"ai.toolCall.name": "pay", "ai.toolCall.id": "call_4z"}
    if result is not None:
        call |= {"ai.toolCall.args": '{"amount":500}', "ai.toolCall.result": result}
    run = run_of(
        ai("ai.streamText", 1, 0, 0, 50, attributes={"ai.response.finishReason": "stop", **of_sdk}),
        ai("ai.streamText.doStream", 2, 1, 1, 10, attributes=asked),
        ai("ai.toolCall", 3, 1, 15, 5, attributes=call),
        ai("ai.streamText.doStream", 4, 1, 25, 10, attributes={**asked, "ai.response.finishReason": "stop"}),
    )
    assert (called(run), doubts(run)) == (["pay"], expected)


USER = {"role": "user", "parts": [{"type": "text", "content": "please do it"}]}
ASKED = {"type": "tool_call", "id": "call_0001Zq17avxbitf1x", "name": "client", "arguments": {"q": "a"}}
FROM_CLIENT = {"type": "tool_call_response", "id": "call_0001Zq17avxbitf1x", "response": "from client"}
ANSWERED = [USER, {"role": "assistant", "parts": [ASKED]}, {"role": "tool", "parts": [FROM_CLIENT]}]
OFFERED = {"gen_ai.tool.definitions": '[{"type":"function","name":"client","inputSchema":{"type":"object"}}]'}


def seventh(number: int, parent: int, at: float, given: list[dict[str, Any]], name: str | None) -> list[Span]:
    """A run of release 7 whose one answer asks for a call, or for none."""
    parts = [{"type": "text", "content": "done"}] if name is None else [{**ASKED, "name": name}]
    said = {"role": "assistant", "parts": parts, "finish_reason": "stop" if name is None else "tool_call"}
    messages = {
        "gen_ai.input.messages": json.dumps(given, separators=(",", ":")),
        "gen_ai.response.finish_reasons": ["stop" if name is None else "tool-calls"],
        "gen_ai.output.messages": json.dumps([said], separators=(",", ":")),
    }
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "till"}
    chat = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "fake.chat", **OFFERED}
    return [
        span("invoke_agent m", number, parent, at, 60, attributes=agent | messages, scope="gen_ai"),
        span(
            "step 1", number + 1, number, at + 2, 50, attributes={"gen_ai.operation.name": "agent_step"}, scope="gen_ai"
        ),
        span("chat m", number + 2, number + 1, at + 4, 40, attributes=chat | messages, scope="gen_ai"),
    ]


@pytest.mark.parametrize(
    ("given", "name", "expected"),
    [
        ([USER], "client", (["(client)"], ["other_traces"])),
        ([USER], "nosuch", (["(nosuch)"], [])),  # the SDK answers, and the run ends at its limit
        (ANSWERED, None, ([], ["other_traces"])),
        ([*ANSWERED, USER], None, ([], [])),
    ],
)
def test_a_run_that_ends_with_a_tool_of_the_client_goes_on_in_another_trace(
    given: list[dict[str, Any]], name: str | None, expected: tuple[list[str], list[str]]
) -> None:
    """Release 7.0.173: nothing tells it from a run that waits for an approval."""
    run = run_of(*seventh(1, 0, 0, given, name))
    assert (called(run), doubts(run)) == expected


def test_a_run_that_ends_with_a_tool_of_the_client_may_go_on_in_its_trace() -> None:
    runs = runs_of(
        span("POST /chat", 1, lasting=200),
        *seventh(2, 1, 5, [USER], "client"),
        *seventh(12, 1, 100, ANSWERED, None),
    )
    assert [(called(run), doubts(run)) for run in runs] == [(["(client)"], []), ([], [])]


def test_an_agent_inside_a_tool_ends_with_one_that_nobody_runs() -> None:
    """A tool without `execute`, taken for its answer: the tool around it has returned."""
    delegated = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "clerk",
        "gen_ai.tool.call.id": "call_0001",
    }
    runs = runs_of(
        span("invoke_agent m", 30, 0, 0, 300, scope="gen_ai", attributes={
            "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk",
        }),
        span("execute_tool clerk", 31, 30, 4, 200, attributes=delegated, scope="gen_ai"),
        *seventh(2, 31, 5, [USER], "client"),
    )  # fmt: skip
    [clerk] = [run for run in runs if run.agent == "till"]
    assert (called(clerk), "other_traces" in doubts(clerk)) == (["(client)"], False)


def test_before_release_7_the_input_tells_so_in_words_of_its_own() -> None:
    call = {"toolCallId": "call_0001Zq17avxbitf1x", "toolName": "client"}
    asked = {"role": "assistant", "content": [{"type": "tool-call", **call, "input": {"q": "a"}}]}
    output = {"type": "text", "value": "from client"}
    told = {"role": "tool", "content": [{"type": "tool-result", **call, "output": output}]}
    prompt = json.dumps({"messages": [{"role": "user", "content": "please do it"}, asked, told]}, separators=(",", ":"))
    answer = {"ai.response.finishReason": "stop", "ai.response.text": "done"}
    run = run_of(
        ai("ai.generateText", 1, lasting=60, attributes={**answer, "ai.prompt": prompt}),
        ai("ai.generateText.doGenerate", 2, 1, 5, 40, attributes=answer),
    )
    assert (called(run), doubts(run)) == ([], ["other_traces"])


@pytest.mark.parametrize(("reason", "expected"), [("tool-calls", ["other_traces"]), ("stop", [])])
def test_without_content_an_answer_may_have_asked_for_one_that_waits_beside_those_that_ran(
    reason: str, expected: list[str]
) -> None:
    asks = model_span((), 2, at=5, scope="gen_ai", attributes={"gen_ai.response.finish_reasons": ["tool-calls"]})
    last = model_span((), 4, at=40, scope="gen_ai", attributes={"gen_ai.response.finish_reasons": [reason]})
    found = tool_span("find", None, 3, at=20, call_id="call_0001", scope="gen_ai")
    sent = tool_span("mail", None, 5, at=60, call_id="call_0002", scope="gen_ai")
    run = run_of(agent_span(scope="gen_ai"), asks, found, last, *([sent] if reason == "tool-calls" else []))
    assert doubts(run) == expected
