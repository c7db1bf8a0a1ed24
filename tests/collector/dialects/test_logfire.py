"""Logfire's own instrumentations."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import agent_span, called, doubts, model_span, read_tool, run_of, span, tool_span, user


def agents(name: str, number: int, parent: int = 0, at: float = 0, lasting: float = 10, **more: Any) -> Span:
    return span(name, number, parent, at, lasting, scope="logfire.openai_agents", **more)


@pytest.mark.parametrize(("attributes", "status"), [({}, "unset"), ({"error": "declined"}, "error")])
def test_a_tool_span(attributes: dict[str, str], status: str) -> None:
    values = {"name": "pay", "input": '{"n": 1}', **attributes}
    assert read_tool(agents("Function: {name}", 2, 1, attributes=values)) == ("pay", None, {"n": 1}, status)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("Tool execution failed. Error details are redacted.", "pay"),
        ("Tool pay not found in agent shop", "(pay)"),
        ("Tool input guardrail ToolInputGuardrail triggered tripwire", "(pay)"),
        ("Tool output guardrail ToolOutputGuardrail triggered tripwire", "pay"),
    ],
)
def test_an_error_tells_whether_the_tool_ran(error: str, expected: str) -> None:
    told = json.dumps({"message": "Error running tool", "data": {"error": error}}, separators=(",", ":"))
    failed = agents("Function: {name}", 2, 1, attributes={"name": "pay", "input": "{}", "error": told})
    assert called(run_of(agent_span(), failed)) == [expected]


@pytest.mark.parametrize(
    ("server", "output", "status", "expected"),
    [
        ('{"server":"till"}', '{"type":"text","text":"Error executing tool pay: declined"}', "error", []),
        ('{"server":"till"}', '{"type":"text","text":"Error: declined"}', "unset", ["unobserved_results"]),
        ('{"server":"till"}', '{"type":"text","text":"paid"}', "unset", []),
        ("null", "Error: declined", "unset", []),
        ("null", "Payments are not permitted on Sundays.", "unset", ["uncertain_execution"]),
        ("null", '{"note": "Payments are not permitted on Sundays."}', "unset", []),
    ],
)
def test_an_answer_of_a_server_or_of_a_guardrail_is_no_error_of_the_sdks(
    server: str, output: str, status: str, expected: list[str]
) -> None:
    values = {"name": "pay", "input": "{}", "output": output, "mcp_data": server}
    run = run_of(agent_span(), agents("Function: {name}", 2, 1, attributes=values))
    assert (called(run), run.trajectory.calls[0].status, doubts(run)) == (["pay"], status, expected)


@pytest.mark.parametrize(("group", "expected"), [("null", None), ("g", "g")])
def test_a_run_without_a_group_is_in_no_conversation(group: str, expected: str | None) -> None:
    """Logfire 6.0: `RunConfig.group_id` is JSON, and by default None."""
    trace = agents("OpenAI Agents trace: {name}", 1, lasting=100, attributes={"name": "workflow", "group_id": group})
    run = run_of(trace, agents("Agent run: {name!r}", 2, 1, lasting=90, attributes={"name": "shop"}))
    assert (run.agent, run.conversation_id) == ("shop", expected)


def test_a_run() -> None:
    response = {
        "output": [{"type": "function_call", "call_id": "c1", "name": "pay", "arguments": '{"n": 1}'}],
        "tools": [{"type": "function", "name": "pay"}],
    }
    model = {
        "gen_ai.operation.name": "chat",
        "response": json.dumps(response),
        "raw_input": '[{"role": "user", "content": "hi"}]',
    }
    run = run_of(
        agents("OpenAI Agents trace: {name}", 1, lasting=100, attributes={"name": "workflow", "group_id": "g"}),
        agents("Agent run: {name!r}", 2, 1, lasting=90, attributes={"name": "travel"}),
        agents("Turn {turn} for agent travel", 3, 2, attributes={"name": "turn"}),
        agents("Responses API with {gen_ai.request.model!r}", 4, 3, 1, 5, attributes=model),
        agents("Function: {name}", 5, 3, 10, attributes={"name": "pay"}),
    )
    assert (run.agent, run.user_input, run.conversation_id, called(run)) == ("travel", "hi", "g", ["pay"])
    assert (run.trajectory.calls[0].id, run.trajectory.calls[0].arguments) == ("c1", {"n": 1})


def test_handoffs_and_turns_are_ignored() -> None:
    assert dialects.read_span(agents("Handoff: {from_agent} → {to_agent}", 2, 1)) is IGNORED


def test_a_decorated_tool_has_one_attribute_per_argument() -> None:
    attributes = {
        "order": 7,
        "who": '{"name": "Ada"}',
        "return": "paid",
        "logfire.msg": "running tool pay",
        "code.lineno": 3,
        "code.function": "Shop.pay",
    }
    pay = span("running tool pay", 2, 1, scope="logfire", attributes=attributes)
    assert read_tool(pay) == ("pay", None, {"order": 7, "who": {"name": "Ada"}}, "unset")


@pytest.mark.parametrize("name", ["running tool {tool_name}", "running tool pay"])
def test_a_span_that_the_application_opens_itself_is_read_by_its_shape(name: str) -> None:
    attributes = {
        "tool_name": "pay",
        "tool_arguments": '{"n": 1}',
        "tool_response": "paid",
        "logfire.msg": "running tool pay",
        "code.function": "run_tool",
    }
    own = span(name, 2, 1, scope="logfire", attributes=attributes)
    assert read_tool(own) == ("pay", None, {"n": 1}, "unset")
    assert doubts(run_of(agent_span(), own)) == ["unconfirmed_reading"]


def test_other_decorated_functions_are_unread() -> None:
    assert dialects.read_span(span("compute", 2, 1, scope="logfire", attributes={"logfire.msg": "compute"})) is None


@pytest.mark.parametrize(("arguments", "expected"), [('{"n": 1}', ["pay"]), ("{}", ["(pay)"])])
def test_a_response_repeats_the_tools_that_tell_whether_a_failed_call_ran(arguments: str, expected: list[str]) -> None:
    parameters = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    response = {
        "output": [{"type": "function_call", "call_id": "c1", "name": "pay", "arguments": arguments}],
        "tools": [{"type": "function", "name": "pay", "parameters": parameters}],
    }
    error = {"message": "Error running tool", "data": {"error": "Tool execution failed. Error details are redacted."}}
    run = run_of(
        agents("Agent run: {name!r}", 2, lasting=90, attributes={"name": "travel"}),
        agents(
            "Responses API", 4, 2, 1, 5, attributes={"gen_ai.operation.name": "chat", "response": json.dumps(response)}
        ),
        agents(
            "Function: {name}", 5, 2, 10, attributes={"name": "pay", "input": arguments, "error": json.dumps(error)}
        ),
    )
    assert called(run) == expected
    assert not run.trajectory.doubts


def test_an_agent_that_asks_for_chat_completions() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"order": 7}'}}
    asked = {"output": json.dumps([{"role": "assistant", "content": None, "tool_calls": [call]}])}
    run = run_of(
        agents("Agent run: {name!r}", 1, lasting=100, attributes={"name": "shop"}),
        agents("Chat completion with {gen_ai.request.model!r}", 2, 1, 1, attributes=asked),
        agents("Function: {name}", 3, 1, 20, attributes={"name": "pay", "input": '{"order": 7}', "output": "null"}),
    )
    # It waits for a human: the function has neither a result nor an error.
    assert (called(run), doubts(run)) == (["(pay)"], ["other_traces", "uncertain_execution"])
    assert run.trajectory.calls[0].id == "c1"


@pytest.mark.parametrize(
    ("result", "went_on", "expected"),
    [
        ('[{"type":"text","text":"charged"}]', True, (["charge_card"], [])),
        (None, True, (["(charge_card)"], [])),
        (None, False, (["(charge_card)"], ["uncertain_execution"])),
    ],
)
def test_a_call_that_claudes_agent_asked_for_and_nobody_allowed(
    result: str | None, went_on: bool, expected: tuple[list[str], list[str]]
) -> None:
    """Claude Agent SDK 0.2.189: the hook that begins the span is asked before the one that denies the call."""
    asked = {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "toolu_1", "name": "charge_card", "arguments": {}}],
    }
    made = {"gen_ai.tool.call.result": result} if result is not None else {}
    scope = "logfire.claude_agent_sdk"
    answer = {"gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"done"}]}]'}
    last = model_span(number=4, at=50, input_messages=[user("Pay."), asked], attributes=answer, scope=scope)
    run = run_of(
        agent_span(scope=scope),
        model_span([("toolu_1", "charge_card", {})], 2, at=1, input_messages=[user("Pay.")], scope=scope),
        tool_span("charge_card", {}, 3, at=20, lasting=900, call_id="toolu_1", attributes=made, scope=scope),
        *([last] if went_on else []),
    )
    assert (called(run), doubts(run)) == expected


@pytest.mark.parametrize(
    ("started", "doubted"),
    [('{"isAsync":true,"status":"async_launched"}', [1, 2]), ('{"status":"completed","agentType":"payer"}', [1])],
)
def test_a_call_may_be_that_of_an_agent_that_claudes_agent_started(started: str, doubted: list[int]) -> None:
    """Claude Agent SDK 0.2.189: what the second agent does is beside the call that started it, and nothing names it."""
    scope = "logfire.claude_agent_sdk"
    result = {"gen_ai.tool.call.result": started}
    paid = {"gen_ai.tool.call.result": '[{"type":"text","text":"paid"}]'}
    run = run_of(
        agent_span(scope=scope, lasting=90),
        tool_span("Agent", {"prompt": "x"}, 2, at=10, lasting=20, call_id="t1", attributes=result, scope=scope),
        tool_span("pay", {"n": 1}, 3, at=20, lasting=5, call_id="t2", attributes=paid, scope=scope),
        tool_span("pay", {"n": 2}, 4, at=40, lasting=5, call_id="t3", attributes=paid, scope=scope),
    )
    doubts_of_owner = [doubt for doubt in run.trajectory.doubts if doubt.name == "uncertain_owner"]
    assert [at for doubt in doubts_of_owner for at in doubt.calls] == doubted


def magentic(name: str, number: int, parent: int = 0, at: float = 0, lasting: float = 10, **more: Any) -> Span:
    return span(name, number, parent, at, lasting, scope="magentic", **more)


def test_magentic_chains_and_calls_of_functions() -> None:
    given = {
        "to": "Ada", "sum": 5.5, "note": "[1]", "tags": '["a"]', "self._function.__name__": "pay", "code.lineno": 3,
        "logfire.json_schema": json.dumps({"properties": {"to": {}, "sum": {}, "note": {}, "tags": {"type": "array"}}}),
    }  # fmt: skip
    run = run_of(
        magentic(
            "Calling prompt-chain {func.__name__}", 1, lasting=90, attributes={"func.__name__": "travel", "q": "x"}
        ),
        magentic("Executing function call {self._function.__name__}", 2, 1, 10, attributes=given),
        magentic("Executing parallel function call", 3, 1, 30, lasting=30),
        magentic("Executing function call send", 4, 3, 40, attributes={"logfire.level_num": 17}, status=2),  # no source
    )
    assert (run.agent, called(run), doubts(run)) == ("travel", ["pay", "send"], [])
    assert [call.arguments for call in run.trajectory.calls] == [
        {"to": "Ada", "sum": 5.5, "note": "[1]", "tags": ["a"]},
        {},
    ]
    assert run.trajectory.calls[1].status == "error"


OFFERED = '{"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {}}}'
SEARCH = '{"type": "web_search"}'
OF_ANTHROPIC = '{"type": "web_search_20250305", "name": "web_search"}'
SEARCHED = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "w"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [], "input": {}},
]


def client(provider: str, name: str, number: int, at: float, **attributes: str) -> Span:
    conventions = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": provider, "gen_ai.system": provider}
    values = conventions | {"gen_ai." + key.replace("_", ".", 1): value for key, value in attributes.items()}
    return span(name, number, 1, at, attributes=values, scope=f"logfire.{provider}")


@pytest.mark.parametrize(
    ("provider", "offered", "has_messages", "expected"),
    [
        ("openai", SEARCH, True, ["unrecorded_calls"]),
        ("openai", '{"type": "mcp", "server_label": "s"}', True, ["unrecorded_calls"]),
        ("openai", SEARCH, False, ["unrecorded_calls"]),
        ("openai", OFFERED, True, []),
        ("anthropic", OF_ANTHROPIC, True, []),
        ("anthropic", OF_ANTHROPIC, False, ["unrecorded_calls"]),
        ("anthropic", OFFERED, False, []),
    ],
)
def test_what_the_provider_ran_may_be_left_out_of_an_answer(
    provider: str, offered: str, *, has_messages: bool, expected: list[str]
) -> None:
    """Of a stream there are two spans, the answer is in the second. Without messages it is the form of before 5.0."""
    offer = {"tool_definitions": f"[{OFFERED}, {offered}]"}
    asked = {"input_messages": '[{"role":"user","parts":[{"type":"text","content":"go"}]}]'} if has_messages else {}
    parts = [*(SEARCHED if offered is OF_ANTHROPIC else []), {"type": "text", "content": "ok"}]
    answer = {"output_messages": json.dumps([{"role": "assistant", "parts": parts}])} if has_messages else {}
    run = run_of(
        span("agent run", 1, lasting=90, scope="logfire"),
        client(provider, "Responses API with {gen_ai.request.model!r}", 2, 5, **offer, **asked),
        client(
            provider, "streaming response from {request_data[model]!r} took {duration:.2f}s", 3, 20, **offer, **asked,
            **answer, response_finish_reasons='["stop"]',
        ),
    )  # fmt: skip
    assert doubts(run) == expected
