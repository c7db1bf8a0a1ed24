"""OpenInference, and what its instrumentors do differently."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from collector.payloads.messages import MAX_CALLS
from collector.payloads.values import MAX_TEXT
from collector.reconstruction.joined_runs import join_runs
from tests.builders import (
    agent_span,
    called,
    doubts,
    model_span,
    read_tool,
    result,
    run_of,
    runs_of,
    span,
    span_of_kind,
    tool_span,
)

KIND = "openinference.span.kind"


oi = partial(span_of_kind, KIND)
_AGENTS_JS = "@arizeai/openinference-instrumentation-openai-agents"


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        ("get", {"tool.name": "get", "input.value": '{"city": "Paris"}'}, ("get", None, {"city": "Paris"})),
        ("get.run", {"input.value": '{"city": "Paris"}'}, ("get", None, {"city": "Paris"})),
        ("get.__call__", {"input.value": '{"kwargs": {"city": "Paris"}}'}, ("get", None, {"city": "Paris"})),
        (
            "SimpleTool",
            {
                "tool.name": "get",
                "input.value": '{"args": [], "sanitize_inputs_outputs": true, "kwargs": {"city": "Paris"}}',
            },
            ("get", None, {"city": "Paris"}),
        ),
        (
            "get",
            {"tool.name": "get", "tool_call.id": "c1", "tool.parameters": '{"city": "Paris"}'},
            ("get", "c1", {"city": "Paris"}),
        ),
        (
            "get",
            {"tool.name": "get", "tool.parameters": '{"type": "object", "properties": {"city": {}}}'},
            ("get", None, None),
        ),
        ("get", {"tool.name": "get", "tool.parameters": '{"city": {"type": "string"}}'}, ("get", None, None)),
        (
            "get",
            {"tool.name": "get", "input.value": "Paris", "output.value": '{"tool_call_id": "c1"}'},
            ("get", "c1", None),
        ),
    ],
)
def test_a_tool_span(name: str, attributes: dict[str, Any], expected: Any) -> None:
    assert read_tool(oi("TOOL", name, 2, 1, attributes=attributes, status=1)) == (*expected, "ok")


@pytest.mark.parametrize(
    ("output", "executed"),
    [
        ("Error: tool 'drop_all' not found in any workbench", False),
        ("Error: tool 'hammer' not found on any shelf; drop_all", True),
        ("Error: nothing to drop_all", True),
    ],
)
def test_a_tool_that_does_not_exist_ends_well_in_autogen(output: str, *, executed: bool) -> None:
    attributes = {"tool.name": "drop_all", "output.value": output}
    run = run_of(agent_span(), oi("TOOL", "shop.drop_all", 2, 1, attributes=attributes))
    assert [(call.name, call.executed) for call in run.trajectory.calls] == [("drop_all", executed)]


@pytest.mark.parametrize(
    ("arguments", "expected", "doubted"),
    [
        ({"city": "Oslo"}, "(book)", []),
        ({"city": "Oslo", "nights": 2}, "book", []),
        ({"city": "Oslo", "nights": "several"}, "(book)", []),
        ({"city": "Oslo", "nights": "2"}, "book", ["uncertain_execution"]),
    ],
)
def test_a_call_that_failed_without_a_reason_ran_if_its_arguments_fitted(
    arguments: Any, expected: str, doubted: list[str]
) -> None:
    """OpenAI Agents 0.24 tells of all failures in the same words, to the model as well."""
    schema = {"properties": {"city": {"type": "string"}, "nights": {"type": "integer"}}, "required": ["city", "nights"]}
    attributes = {"tool.name": "book", "input.value": json.dumps(arguments), "tool.parameters": json.dumps(schema)}
    redacted = "Error running tool (non-fatal): {'error': 'Tool execution failed. Error details are redacted.'}"
    told = model_span(
        number=3, at=20, input_messages=[result("c1", "An error occurred while running the tool. Please try again.")]
    )
    asked = model_span([("c1", "book", arguments)], number=4, at=-5, lasting=2)
    failed = oi("TOOL", "book", 2, 1, 5, attributes=attributes, status=2, message=redacted)
    run = run_of(agent_span(at=-10, lasting=50), asked, failed, told)
    assert (called(run), doubts(run)) == ([expected], doubted)


def test_a_tool_with_agent_in_its_name_is_still_a_tool() -> None:
    outer, inner = runs_of(
        oi("AGENT", "travel", 1, lasting=100),
        oi("AGENT", "ask_policy_agent", 2, 1, attributes={"tool.name": "ask_policy_agent"}, at=1, lasting=50),
        oi("AGENT", "policy", 3, 2, at=2, lasting=40),
        oi("TOOL", "look", 4, 3, attributes={"tool.name": "look"}, at=3),
    )
    assert (outer.agent, called(outer), inner.agent, called(inner)) == (
        "travel",
        ["ask_policy_agent"],
        "policy",
        ["look"],
    )


@pytest.mark.parametrize(
    ("name", "attributes", "agent"),
    [
        ("travel.run", {}, "travel"),
        ("travel._execute_core", {}, "travel"),
        ("agent_run [travel]", {}, "travel"),
        ("travel", {"metadata": '{"lc_agent_name": "other"}'}, "other"),
        ("Runner", {"agent.name": "travel"}, "travel"),
    ],
)
def test_an_agents_name(name: str, attributes: dict[str, str], agent: str) -> None:
    assert run_of(oi("AGENT", name, 1, attributes=attributes)).agent == agent


def test_a_langchain_chain_with_the_agents_name_is_the_agent() -> None:
    metadata = json.dumps({"lc_agent_name": "travel", "thread_id": "conv"})
    run = run_of(
        span("POST", 1, lasting=100),
        oi(
            "CHAIN",
            "travel",
            2,
            1,
            attributes={"metadata": metadata, "input.value": '{"messages": [{"role": "user", "content": "hi"}]}'},
        ),
        oi("CHAIN", "tools", 3, 2, attributes={"metadata": metadata}),
        oi("TOOL", "get", 4, 3, attributes={"tool.name": "get", "metadata": metadata}),
    )
    assert (run.agent, run.conversation_id, run.user_input, called(run)) == ("travel", "conv", "hi", ["get"])


def test_a_chain_of_an_agent_class_is_an_agent_without_a_name() -> None:
    run = run_of(
        oi("CHAIN", "FunctionAgent.run", 1), oi("TOOL", "FunctionTool.acall", 2, 1, attributes={"tool.name": "get"})
    )
    assert (run.agent, called(run)) == (None, ["get"])


CALLS = {
    "llm.output_messages.0.message.tool_calls.1.tool_call.function.name": "b",
    "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "a",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"n": 1}',
}


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (CALLS, [("c1", "a", {"n": 1}), (None, "b", None)]),
        (
            {**CALLS, "llm.output_messages.0.message.contents.0.tool_call.function.name": "a"},
            [("c1", "a", {"n": 1}), (None, "b", None)],
        ),
        ({"llm.output_messages.0.message.contents.1.tool_call.function.name": "a"}, [(None, "a", None)]),
        (
            {
                "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "a",
                "llm.output_messages.1.message.tool_calls.0.tool_call.function.name": "b",
            },
            [(None, "a", None), (None, "b", None)],
        ),
        ({"message.tool_calls.0.tool_call.function.name": "a"}, [(None, "a", None)]),
        ({"llm.input_messages.0.message.tool_calls.0.tool_call.function.name": "old"}, []),
    ],
)
def test_requested_calls_are_flattened_attributes(attributes: dict[str, str], expected: Any) -> None:
    run = run_of(span("POST", 1, lasting=100), oi("LLM", "ChatCompletion", 2, 1, attributes=attributes))
    assert [(call.id, call.name, call.arguments) for call in run.trajectory.calls] == expected


def test_over_native_spans_each_dialect_adds_what_the_other_lacks() -> None:
    native = tool_span(
        "get", number=2, call_id="c1", attributes={KIND: "TOOL", "tool.name": "get", "input.value": '{"city": "Paris"}'}
    )
    assert read_tool(native) == ("get", "c1", {"city": "Paris"}, "unset")


def test_autogen_records_arguments_in_the_outer_span_and_the_id_in_the_inner() -> None:
    run = run_of(
        agent_span("travel"),
        oi("AGENT", "travel.on_messages_stream", 2, 1),
        oi(
            "TOOL",
            "travel.pay",
            3,
            2,
            attributes={"tool.name": "pay", "input.value": '{"order": 7}'},
            status=1,
            at=1,
            lasting=20,
        ),
        tool_span("pay", number=4, parent=3, call_id="c1", status=2, at=2),
    )
    (call,) = run.trajectory.calls
    assert (run.agent, call.id, call.arguments, call.status) == ("travel", "c1", {"order": 7}, "error")


@pytest.mark.parametrize("kind", ["RETRIEVER", "EMBEDDING", "RERANKER", "GUARDRAIL", "EVALUATOR", "PROMPT", "CHAIN"])
def test_other_kinds_are_ignored(kind: str) -> None:
    assert dialects.read_span(oi(kind, "x", 2, 1)) is IGNORED


def test_a_handoff_is_not_a_call() -> None:
    assert dialects.read_span(oi("TOOL", "handoff to policy_agent", 2, 1)) is IGNORED
    named = oi("TOOL", "handoff to policy_agent", 2, 1, attributes={"tool.name": "handoff_to_policy_agent"})
    assert dialects.read_span(named) is IGNORED


def test_a_run_of_vercels_sdk_that_waits_for_an_approval_has_called_nothing() -> None:
    """The processor for it (2.5) calls the run a chain, and its request names the tool that was not run yet."""
    asked = {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.response.toolCalls": '[{"toolCallId": "c1", "toolName": "pay", "input": "{}"}]',
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "pay",
    }
    chain = {"ai.operationId": "ai.generateText", "session.id": "s"}
    run = run_of(
        oi("CHAIN", "ai.generateText", 1, lasting=100, attributes=chain, scope="ai"),
        oi("LLM", "ai.generateText.doGenerate", 2, 1, attributes=asked, scope="ai"),
    )
    assert (run.conversation_id, called(run), doubts(run)) == ("s", ["(pay)"], ["other_traces"])


def test_openai_agents_asks_a_server_of_mcp_for_its_tools_and_calls_none() -> None:
    listed = {"output.value": '["pay", "refund"]', "output.mime_type": "application/json"}
    assert dialects.read_span(oi("TOOL", "mcp_tools", 2, 1, attributes=listed, status=1)) is IGNORED
    called_so = oi("TOOL", "mcp_tools", 2, 1, attributes={"tool.name": "mcp_tools", "input.value": "{}"})
    assert read_tool(called_so)[0] == "mcp_tools"


@pytest.mark.parametrize("parameter", ["input", "args"])
def test_the_only_parameter_of_a_tool_may_have_the_name_of_a_wrapper(parameter: str) -> None:
    given = {parameter: {"order": 7, "reason": "late"}}
    tool = oi("TOOL", "refund", 3, 1, 20, attributes={"tool.name": "refund", "input.value": json.dumps(given)})
    run = run_of(agent_span(), model_span([("c1", "refund", given)], 2, at=1), tool)
    assert [(call.id, call.arguments) for call in run.trajectory.calls] == [("c1", given)]
    other = run_of(agent_span(), model_span([("c1", "refund", given[parameter])], 2, at=1), tool)
    assert other.trajectory.calls[0].arguments == given[parameter]


@pytest.mark.parametrize(("name", "expected"), [("Ada", {"name": "Ada", "arguments": {"n": 1}}), ("invite", {"n": 1})])
def test_the_parameters_of_a_tool_may_have_the_names_of_the_parts_of_a_call(name: str, expected: Any) -> None:
    given = json.dumps({"name": name, "arguments": {"n": 1}})
    assert (
        read_tool(oi("TOOL", "invite", 2, 1, attributes={"tool.name": "invite", "input.value": given}))[2] == expected
    )


@pytest.mark.parametrize(
    "later",
    [
        [],
        ["Analyze the tool result. If requirements are met, provide the Final Answer. Otherwise, call the next tool."],
        ["User feedback: be longer\nInstructions: Use this feedback to enhance the next output iteration.\nNote: x"],
    ],
)
def test_crewai_records_the_task_outside_the_input(later: list[str]) -> None:
    """CrewAI 1.15, which has more to say to its model as the user."""
    tasks = json.dumps([{"description": "Pay order 7", "agent_role": "travel"}])
    task = "\nCurrent Task: Pay order 7\n\nThis is the expected criteria for your final answer: x"
    output = json.dumps({"messages": [{"role": "user", "content": said} for said in (task, *later)]})
    given = {"crew_key": "k", "input.value": '{"agent": {}}', "output.value": output}
    run = run_of(
        oi("CHAIN", "crew.kickoff", 1, attributes={"crew_key": "k", "crew_tasks": tasks}),
        oi("AGENT", "travel._execute_core", 2, 1, attributes=given),
    )
    assert (run.agent, run.user_input) == ("travel", "Pay order 7")


def test_arguments_by_position_and_what_a_framework_injects() -> None:
    common = {"openinference.span.kind": "TOOL", "tool.name": "pay"}
    schema = '{"order": {"type": "integer"}, "note": {"type": "string"}}'
    called_so = {"tool.parameters": schema, "input.value": '{"args": [7], "kwargs": {"note": "x"}}'}
    assert read_tool(span("T", 2, 1, attributes={**common, **called_so}))[2] == {"order": 7, "note": "x"}
    injected = '{"kwargs": {"ctx": "<workflows.Context object at 0x7fd7c3025550>", "order": 7}}'
    assert read_tool(span("T", 2, 1, attributes={**common, "input.value": injected}))[2] == {"order": 7}
    assert read_tool(span("T", 2, 1, attributes={**common, "input.value": '{"input": {"order": 7}}'}))[2] == {
        "order": 7
    }


def test_a_span_for_merged_results_is_no_call() -> None:
    merged = {"openinference.span.kind": "TOOL", "tool.name": "(merged tools)"}
    assert dialects.read_span(span("execute_tool (merged tools)", 2, 1, attributes=merged)) is IGNORED


def test_a_function_of_a_graph_with_agent_in_its_name_is_no_run() -> None:
    scope = "openinference.instrumentation.langchain"
    agent = {"openinference.span.kind": "AGENT"}
    spans = [
        span("graph", 1, attributes=agent, scope=scope, lasting=100),
        span("route_to_agent", 2, 1, 10, attributes=agent, scope=scope),
        span("pay", 3, 1, 30, attributes={"openinference.span.kind": "TOOL", "tool.name": "pay"}, scope=scope),
    ]
    assert [run.agent for run in runs_of(*spans)] == ["graph"]


def node(name: str, number: int, parent: int, at: float, lasting: float = 10, agent: str | None = None) -> Span:
    metadata = json.dumps({"lc_agent_name": agent, "langgraph_step": 1, "langgraph_node": name})
    return oi("AGENT", name, number, parent, at, lasting, attributes={"metadata": metadata})


def asked(number: int, parent: int, at: float, call_id: str | None = None, tool: str = "pay") -> Span:
    call = "llm.output_messages.0.message.tool_calls.0.tool_call"
    said = {f"{call}.id": call_id, f"{call}.function.name": tool, f"{call}.function.arguments": "{}"} if call_id else {}
    return oi("LLM", "ChatOpenAI", number, parent, at, 5, attributes={"output.value": "{}", **said})


def tool(number: int, parent: int, at: float, name: str = "pay") -> Span:
    return oi(
        "TOOL", name, number, parent, at, attributes={"tool.name": name, "input.value": "{}", "output.value": "done"}
    )


def test_a_node_that_asks_the_model_is_a_step_of_the_graph_that_runs_the_tools() -> None:
    """Otherwise each answer of the model would be a run in which nothing is known of its calls."""
    run = run_of(
        oi("CHAIN", "LangGraph", 1, lasting=100),
        node("agent", 2, 1, 1),
        asked(3, 2, 2, "c1"),
        span("tools", 4, 1, 20, 15),
        tool(5, 4, 21),
        node("agent", 6, 1, 40),
        asked(7, 6, 41),
        node("Hooks.after_agent", 8, 1, 60, agent="shop"),
    )
    assert (called(run), run.trajectory.doubts) == (["pay"], [])


def test_a_node_that_runs_tools_is_an_agent() -> None:
    outer, inner = runs_of(
        oi("AGENT", "supervisor", 1, lasting=100),
        node("billing_agent", 2, 1, 1, 50),
        node("agent", 3, 2, 2),
        asked(4, 3, 3, "c1"),
        span("tools", 5, 2, 20, 15),
        tool(6, 5, 21),
        tool(7, 1, 60, "log"),
    )
    assert [(run.agent, called(run)) for run in (outer, inner)] == [("supervisor", ["log"]), ("billing_agent", ["pay"])]


def test_methods_of_the_parts_of_an_agent_are_steps() -> None:
    leaked = {"tool.name": "pay", "input.value": '{"step": "TaskStep()"}'}
    run = run_of(
        oi("AGENT", "AgentRunner.chat", 1, lasting=100),
        oi("AGENT", "AgentRunner._run_step", 2, 1, 1, 50),
        oi("AGENT", "FunctionCallingAgentWorker.run_step", 3, 2, 2, 48, attributes=leaked),
        asked(4, 3, 3, "c1"),
        tool(5, 3, 20),
        oi("AGENT", "AgentRunner.finalize_response", 6, 1, 70),
    )
    assert (called(run), run.trajectory.doubts) == (["pay"], [])


def test_events_of_an_emitter_recorded_as_spans_are_no_runs_and_leave_open_how_many_calls_they_are() -> None:
    told = {"tool.name": "Wikipedia", "tool.parameters": "{'query': 'Barcelona'}"}
    run = run_of(
        oi("AGENT", "framework-main", 1),
        oi("AGENT", "agent.react.start-4", 2, 1, 1, 1, attributes={"target": "agent.react.start"}),
        oi("AGENT", "agent.react.update-5", 3, 1, 2, 1, attributes={"target": "agent.react.update", **told}),
        oi("TOOL", "tool.search.wikipedia.start-6", 4, 3, 2, 1, attributes={"target": "tool.search.wikipedia.start"}),
        oi("AGENT", "agent.react.update-7", 5, 1, 4, 1, attributes={"target": "agent.react.update", **told}),
    )

    assert set(called(run)) == {"Wikipedia"}
    assert "uncertain_execution" in doubts(run)


def test_events_of_an_emitter_below_the_call_they_are_about_are_no_calls() -> None:
    failed = {"metadata.path": "tool.custom.pay.error", "input.value": '{"error": "no funds"}'}
    run = run_of(
        oi("AGENT", "shop", 1, lasting=100),
        oi(
            "TOOL", "pay", 2, 1, 10, attributes={"tool.name": "pay", "input.value": "{}", "output.value": "x"}, status=2
        ),
        oi("TOOL", "error", 3, 2, 12, 1, attributes=failed, status=2),
        oi("AGENT", "final_answer", 4, 1, 40, attributes={"metadata.path": "agent.planner.final_answer"}),
    )
    assert ([(call.name, call.status) for call in run.trajectory.calls], run.trajectory.doubts) == (
        [("pay", "error")],
        [],
    )


@pytest.mark.parametrize(
    ("tool", "words", "expected"),
    [
        ("charge_card", "The manager did not agree to this.", (["charge_card"], ["uncertain_execution"])),
        ("charge_card", "PreToolUse:charge_card hook error: over the budget", (["(charge_card)"], [])),
        (
            "get_wether",
            "<tool_use_error>Error: No such tool available: get_wether</tool_use_error>",
            (["(get_wether)"], []),
        ),
        ("Bash", "Exit code 3", (["Bash"], [])),
    ],
)
def test_a_failed_call_of_claudes_agent_may_have_been_denied(
    tool: str, words: str, expected: tuple[list[str], list[str]]
) -> None:
    """Claude Agent SDK 0.2.189. Its application denies a call in words of its own."""
    scope = "openinference.instrumentation.claude_agent_sdk"
    attributes = {
        "tool.name": tool,
        "tool.id": "toolu_1",
        "input.value": '{"amount": 5}',
        "tool.parameters": '{"amount": 5}',
    }
    raised = [("exception", {"exception.type": "Exception", "exception.message": words})]
    failed = oi("TOOL", tool, 2, 1, 10, attributes=attributes, events=raised, status=2, message=words, scope=scope)
    run = run_of(oi("AGENT", "ClaudeAgentSDK.query", 1, lasting=90, scope=scope), failed)
    assert (called(run), doubts(run)) == expected


def test_what_openai_runs_itself_is_in_the_answer_alone() -> None:
    """OpenAI Agents 0.24 under 2.6: the attributes lack calls of hosted servers of tools, and the rest of a search."""
    found: dict[str, Any] = {"id": "m1", "type": "mcp_call", "name": "look_up", "arguments": '{"q": 1}', "output": "x"}
    items: list[dict[str, Any]] = [
        {**found, "error": None, "status": "completed"},
        {**found, "id": "m2", "arguments": '{"q": 2}', "output": None, "error": "boom", "status": "failed"},
        {"id": "w1", "action": {"type": "search", "query": "x"}, "status": "completed", "type": "web_search_call"},
        {"type": "function_call", "id": "f1", "call_id": "c1", "name": "pay", "arguments": '{"n": 1}'},
    ]
    key = "llm.output_messages.0.message.tool_calls"
    answer = {
        "output.value": json.dumps({"id": "r1", "object": "response", "output": items}, separators=(",", ":")),
        f"{key}.0.tool_call.id": "w1",
        f"{key}.0.tool_call.function.name": "web_search_call",
        f"{key}.1.tool_call.id": "c1",
        f"{key}.1.tool_call.function.name": "pay",
        f"{key}.1.tool_call.function.arguments": '{"n": 1}',
    }
    paid = {"tool.name": "pay", "input.value": '{"n": 1}', "output.value": "paid"}
    run = run_of(
        oi("AGENT", "shop", 1, lasting=100),
        oi("LLM", "response", 2, 1, 1, 5, attributes=answer),
        oi("TOOL", "pay", 3, 1, 10, 5, attributes=paid, status=1),
        oi("LLM", "response", 4, 1, 20, 5, attributes={"output.value": "Done."}),
    )
    assert [(call.name, call.status, call.executed) for call in run.trajectory.calls] == [
        ("look_up", "ok", True),
        ("look_up", "error", True),
        ("web_search", "ok", True),
        ("pay", "ok", True),
    ]
    assert doubts(run) == []


@pytest.mark.parametrize("length", [150, 4])
def test_an_answer_that_was_cut_may_lack_what_its_provider_ran(length: int) -> None:
    """`OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT`: attributes hold the calls of the application, and the answer the others."""
    found = {"type": "mcp_call", "id": "m1", "name": "look_up", "arguments": '{"q": 1}', "output": "x" * 200}
    answer = json.dumps({"id": "r1", "object": "response", "output": [found]}, separators=(",", ":"))[:length]
    attributes = {"output.value": answer, "llm.output_messages.0.message.content": "It is here."}
    run = run_of(oi("AGENT", "shop", 1, lasting=100), oi("LLM", "response", 2, 1, 1, 5, attributes=attributes))
    assert (called(run), doubts(run)) == ([], ["unrecorded_calls"] if length > 4 else [])


@pytest.mark.parametrize(("by_provider", "expected"), [(True, ("ok", [])), (False, ("unset", ["unobserved_results"]))])
def test_commands_that_a_model_asks_for_are_in_the_answer_alone(by_provider: bool, expected: Any) -> None:
    """OpenAI's client (0.1.66) whose shell is a container of the provider, or the application's."""
    action = {"commands": ["ls"]}
    items: list[dict[str, Any]] = [{"id": "sh_1", "action": action, "call_id": "c1", "type": "shell_call"}]
    if by_provider:
        output = [{"outcome": {"exit_code": 0, "type": "exit"}, "stderr": "", "stdout": "a"}]
        items.append({"id": "so_1", "call_id": "c1", "output": output, "type": "shell_call_output"})
        items.append({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]})
    answer = json.dumps({"id": "r1", "object": "response", "output": items}, separators=(",", ":"))
    scope = "openinference.instrumentation.openai"
    asked = oi("LLM", "Response", 2, 1, 1, 5, attributes={"output.value": answer}, scope=scope)
    run = run_of(oi("CHAIN", "handle", 1, lasting=100), asked)
    (call,) = run.trajectory.calls
    assert (call.name, call.arguments, call.executed) == ("shell", action, True)
    assert (call.status, doubts(run)) == expected


def test_a_server_of_tools_does_not_know_for_which_of_claudes_agents_it_was_called() -> None:
    """Its spans (mcp 2.3), where it is in the process of the SDK, are all directly below the outermost agent."""
    scope = "openinference.instrumentation.claude_agent_sdk"

    def pay(number: int, parent: int, at: float, n: int) -> Span:
        about = {"tool.name": "mcp__shop__pay", "tool.id": f"t{number}", "input.value": json.dumps({"n": n})}
        return oi("TOOL", "mcp__shop__pay", number, parent, at, 10, attributes=about, status=1, scope=scope)

    def served(number: int, at: float) -> Span:
        about = {"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay"}
        return span("tools/call pay", number, 1, at, 1, attributes=about, kind=2, scope="mcp-python-sdk")

    outer, inner = runs_of(
        oi("AGENT", "ClaudeAgentSDK.query", 1, lasting=200, scope=scope),
        oi("AGENT", "ClaudeAgentSDK.Subagent", 2, 1, 10, 100, scope=scope),
        pay(3, 2, 20, 1),
        served(4, 25),
        pay(5, 1, 40, 2),
        served(6, 45),
    )
    assert [[call.arguments for call in run.trajectory.calls] for run in (outer, inner)] == [[{"n": 2}], [{"n": 1}]]
    assert doubts(outer) == doubts(inner) == []


@pytest.mark.parametrize("scope", [
    "openinference.instrumentation.claude_agent_sdk", "@arizeai/openinference-instrumentation-claude-agent-sdk",
])  # fmt: skip
def test_the_form_of_an_output_of_claudes_agent_is_no_tool_that_ran(scope: str) -> None:
    told = {
        "tool.name": "StructuredOutput",
        "input.value": '{"sum": 5}',
        "output.value": "Structured output provided successfully",
    }
    run = run_of(
        oi("AGENT", "till", 1, lasting=100, scope=scope, status=1),
        oi("TOOL", "StructuredOutput", 2, 1, 10, scope=scope, status=1, attributes=told),
    )
    assert (called(run), doubts(run)) == (["(StructuredOutput)"], [])


@pytest.mark.parametrize("scope", [
    "openinference.instrumentation.claude_agent_sdk", "@arizeai/openinference-instrumentation-claude-agent-sdk",
])  # fmt: skip
def test_a_run_of_claudes_agent_without_a_call_called_none(scope: str) -> None:
    run = run_of(oi("AGENT", "ClaudeAgent.query", 1, attributes={"input.value": "Hi."}, scope=scope))
    assert (called(run), doubts(run)) == ([], [])


def asks_for(name: str, **arguments: Any) -> dict[str, Any]:
    return {"parts": [{"function_call": {"args": arguments, "name": name}}], "role": "model"}


def answers_for(name: str, **response: Any) -> dict[str, Any]:
    return {"parts": [{"function_response": {"parts": None, "name": name, "response": response}}], "role": "user"}


def loop(
    number: int,
    *told: dict[str, Any],
    parent: int = 1,
    at: float = 1,
    lasting: float = 10,
    given: str = "Pay.",
    **last: Any,
) -> Span:
    """The span of google-genai's automatic calling (2.34 and 3.6): ``told`` is what it did, ``last`` what it asked for then."""
    contents = [{"parts": [{"text": given}], "role": "user"}]
    history = [{"parts": [{"text": given}]}, *told]
    content = asks_for("pay", **last) if last else {"parts": [{"text": "Done."}], "role": "model"}
    output = {"candidates": [{"content": content, "index": 0}], "automatic_function_calling_history": history}
    calls = [message["parts"][0]["function_call"] for message in told if message["role"] == "model"]
    flat = {f"message.tool_calls.{at}.tool_call.function.name": call["name"] for at, call in enumerate(calls)}
    if last:
        flat["llm.output_messages.0.message.tool_calls.0.tool_call.function.name"] = "pay"
        flat["llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments"] = json.dumps(last)
    texts = {
        "input.value": json.dumps({"contents": contents}),
        "output.value": json.dumps(output, separators=(",", ":")),
    }
    scope = "openinference.instrumentation.google_genai"
    return oi("LLM", "GenerateContent", number, parent, at, lasting, attributes={**texts, **flat}, scope=scope)


def test_turns_and_results_of_automatic_calling_are_in_the_output_of_its_one_span() -> None:
    told = [asks_for("get_order", order=7), answers_for("get_order", result="4 EUR")]
    run = run_of(loop(2, *told, asks_for("pay", amount=4), answers_for("pay", error="card declined"), parent=0))

    assert [(c.name, c.arguments, c.status, c.step) for c in run.trajectory.calls] == [
        ("get_order", {"order": 7}, "ok", 0),
        ("pay", {"amount": 4}, "error", 1),
    ]
    assert doubts(run) == []


@pytest.mark.parametrize("cut", [0, 150, 300])
def test_what_automatic_calling_did_is_in_doubt_where_its_history_was_cut(cut: int) -> None:
    """By a limit of the SDK (`OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT`), or left out: what is flattened has all turns as one."""
    told = [asks_for("get_order", order=7), answers_for("get_order", result="4 EUR")]
    span = loop(2, *told, asks_for("pay", amount=4), answers_for("pay", result="ok"), parent=0)
    span.attributes["output.value"] = span.attributes["output.value"][:cut]
    assert "unrecorded_calls" in doubts(run_of(span))


@pytest.mark.parametrize("count", [MAX_CALLS - 1, MAX_CALLS + 1])
def test_of_more_calls_of_automatic_calling_than_are_read_some_are_unrecorded(count: int) -> None:
    told = [message for at in range(count) for message in (asks_for("pay", n=at), answers_for("pay", result=at))]
    assert doubts(run_of(loop(2, *told, parent=0))) == (["unrecorded_calls"] if count > MAX_CALLS else [])


def test_turns_of_automatic_calling_that_are_too_long_to_be_read_are_in_doubt() -> None:
    told = [asks_for("get_order", order=7), answers_for("get_order", result="x" * MAX_TEXT)]
    run = run_of(loop(2, *told, asks_for("pay", amount=4), answers_for("pay", result="ok"), parent=0))
    assert called(run) == ["get_order", "pay"]
    assert "unrecorded_calls" in doubts(run)


def test_a_call_that_automatic_calling_left_to_the_application_may_not_have_run() -> None:
    """It had called as often as it may (`maximum_remote_calls`)."""
    told = [asks_for("pay", amount=1), answers_for("pay", result="ok"), asks_for("pay", amount=2)]
    run = run_of(agent_span(), loop(2, *told, answers_for("pay", result="ok"), amount=3))

    calls = [(call.arguments, call.status, call.known_by) for call in run.trajectory.calls]
    assert calls == [
        ({"amount": 1}, "ok", "result"),
        ({"amount": 2}, "ok", "result"),
        ({"amount": 3}, "unset", "request"),
    ]
    assert doubts(run) == ["uncertain_execution", "unobserved_results"]


@pytest.mark.parametrize("amount", [4, 5])
def test_two_loops_of_automatic_calling_made_calls_of_their_own(amount: int) -> None:
    first = loop(2, asks_for("pay", amount=4), answers_for("pay", result="ok"))
    second = loop(3, asks_for("pay", amount=amount), answers_for("pay", result="ok"), at=20)
    run = run_of(agent_span(), first, second)

    assert [call.arguments for call in run.trajectory.calls] == [{"amount": 4}, {"amount": amount}]
    assert doubts(run) == []


@pytest.mark.parametrize("parent", [1, 2], ids=["beside it", "inside it"])
def test_in_which_order_two_loops_at_once_made_their_calls_nothing_tells(parent: int) -> None:
    outer = loop(2, asks_for("ask", what="x"), answers_for("ask", result="y"), lasting=30)
    inner = loop(3, asks_for("pay", amount=4), answers_for("pay", result="ok"), parent=parent, at=10)
    run = run_of(agent_span(), outer, inner)

    assert (sorted(called(run)), doubts(run)) == (["ask", "pay"], ["uncertain_order"])


def test_automatic_calling_goes_on_with_a_conversation_that_ends_with_calls() -> None:
    before = [asks_for("pay", amount=1), answers_for("pay", result="ok")]
    again = loop(3, *before, asks_for("pay", amount=2), answers_for("pay", result="ok"), at=20)
    again.attributes["input.value"] = json.dumps({"contents": [{"parts": [{"text": "Pay."}], "role": "user"}, *before]})
    run = run_of(agent_span(), loop(2, *before), again)

    assert [call.arguments for call in run.trajectory.calls] == [{"amount": 1}, {"amount": 2}]


def test_a_chat_gives_automatic_calling_what_was_called_before() -> None:
    """google-genai 1.75, whose history has the words of the user without a role."""
    before = [asks_for("pay", amount=1), answers_for("pay", result="ok")]
    more = [*before, {"parts": [{"text": "Again."}]}]
    given = [{"parts": [{"text": "Pay."}], "role": "user"}, *before, {"parts": [{"text": "Again."}], "role": "user"}]
    history = [{"parts": [{"text": "Pay."}]}, *more, asks_for("pay", amount=1), answers_for("pay", result="ok")]
    again = loop(3, *before, at=20)
    again.attributes["input.value"] = json.dumps({"contents": given})
    output = {"candidates": [], "automatic_function_calling_history": history}
    again.attributes["output.value"] = json.dumps(output, separators=(",", ":"))
    run = run_of(agent_span(), loop(2, *before), again)
    assert called(run) == ["pay", "pay"]


def test_automatic_calling_tells_what_another_instrumentation_leaves_out() -> None:
    """OpenLLMetry (0.62) has one span for all turns, with the last answer alone."""
    hidden = model_span(
        (), 3, 1, at=0, lasting=20, scope="opentelemetry.instrumentation.google_generativeai",
        attributes={
            "gen_ai.tool.definitions": '[{"name": "pay"}]',
            "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}]',
        },
    )  # fmt: skip
    seen = loop(2, asks_for("pay", amount=4), answers_for("pay", result="ok"))
    run = run_of(agent_span(), hidden, seen)
    assert (called(run), doubts(run)) == (["pay"], [])
    assert doubts(run_of(agent_span(), hidden)) == ["unrecorded_calls"]


def test_a_stream_has_the_history_of_automatic_calling_once_for_each_turn() -> None:
    asked = {"parts": [{"text": "Pay for order 7."}]}
    first = [asked, asks_for("get_order", order=7), answers_for("get_order", result="4 EUR")]
    history = [*first, *first, asks_for("pay", amount=4), answers_for("pay", error="card declined")]
    calls = [message["parts"][0] for message in history[4::2]]
    flat = {
        f"llm.output_messages.0.message.tool_calls.{at}.tool_call.function.name": call["function_call"]["name"]
        for at, call in enumerate(calls)
    }
    output = {"candidates": [{"content": {"parts": calls}}], "automatic_function_calling_history": history}
    scope = "openinference.instrumentation.google_genai"
    attributes = {"output.value": json.dumps(output), **flat}
    run = run_of(agent_span(), oi("LLM", "AsyncGenerateContentStream", 2, 1, attributes=attributes, scope=scope))

    assert [(c.name, c.arguments, c.status, c.step) for c in run.trajectory.calls] == [
        ("get_order", {"order": 7}, "ok", 0),
        ("pay", {"amount": 4}, "error", 1),
    ]
    assert doubts(run) == []


def test_of_a_stream_that_ended_with_calls_nothing_tells_whether_these_ran() -> None:
    """The limit of calls was reached, or nobody read on (google-genai 2.34 and 3.6): in its answer are those of all turns."""
    told = [{"parts": [{"text": "Pay."}]}, asks_for("pay", amount=1), answers_for("pay", result="ok")]
    parts = [{"text": "Let me"}, *asks_for("pay", amount=1)["parts"], *asks_for("pay", amount=2)["parts"]]
    output = {"candidates": [{"content": {"parts": parts}}], "automatic_function_calling_history": told}
    flat = {f"llm.output_messages.0.message.tool_calls.{at}.tool_call.function.name": "pay" for at in range(2)}
    scope = "openinference.instrumentation.google_genai"
    attributes = {"output.value": json.dumps(output), **flat}
    run = run_of(agent_span(), oi("LLM", "GenerateContentStream", 2, 1, attributes=attributes, scope=scope))

    calls = [(call.arguments, call.status, call.known_by) for call in run.trajectory.calls]
    assert calls == [({"amount": 1}, "ok", "result"), ({"amount": 2}, "unset", "request")]
    assert doubts(run) == ["uncertain_execution", "unobserved_results"]


@pytest.mark.parametrize("calling", [{}, {"automatic_function_calling_history": []}])
def test_code_that_geminis_provider_ran_is_in_the_output_alone(calling: dict[str, Any]) -> None:
    parts = [
        {"executable_code": {"code": "1/0", "language": "PYTHON", "id": "x1"}},
        {"code_execution_result": {"outcome": "OUTCOME_FAILED", "output": "ZeroDivisionError", "id": "x1"}},
        {"executable_code": {"code": "print(4)", "language": "PYTHON"}},
        {"code_execution_result": {"outcome": "OUTCOME_OK", "output": "4\n"}},
        {"text": "It is 4"},
    ]
    output = json.dumps(
        {"candidates": [{"content": {"parts": parts, "role": "model"}}], **calling}, separators=(",", ":")
    )
    flat = {"llm.output_messages.0.message.contents.0.message_content.text": "It is 4", "output.value": output}
    scope = "openinference.instrumentation.google_genai"
    run = run_of(agent_span(), oi("LLM", "GenerateContent", 2, 1, attributes=flat, scope=scope))

    assert [(call.name, call.arguments, call.status) for call in run.trajectory.calls] == [
        ("code_execution", {"code": "1/0", "language": "PYTHON"}, "error"),
        ("code_execution", {"code": "print(4)", "language": "PYTHON"}, "ok"),
    ]
    assert doubts(run) == []


def test_what_geminis_provider_ran_is_in_the_history_of_automatic_calling_and_in_its_last_answer() -> None:
    """google-genai 2.34 and 3.6: tools of Google's own beside a function."""
    ran = [
        {"executable_code": {"code": "1/0", "language": "PYTHON"}},
        {"code_execution_result": {"outcome": "OUTCOME_FAILED", "output": "ZeroDivisionError"}},
        {"tool_call": {"id": "t1", "tool_type": "GOOGLE_SEARCH_WEB", "args": {"queries": ["weather"]}}},
        {"tool_response": {"id": "t1", "tool_type": "GOOGLE_SEARCH_WEB", "response": {"x": 1}}},
    ]
    asks = {"function_call": {"args": {"amount": 4}, "name": "pay"}}
    history = [{"parts": [{"text": "Pay."}]}, {"parts": [*ran, asks], "role": "model"}, answers_for("pay", result="ok")]
    again = {"tool_call": {"id": "t2", "tool_type": "URL_CONTEXT", "args": {"urls": ["https://x"]}}}
    parts = [again, {"tool_response": {"id": "t2", "tool_type": "URL_CONTEXT", "response": {}}}, {"text": "Done."}]
    output = {
        "candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}],
        "automatic_function_calling_history": history,
    }
    span = loop(2, asks_for("pay", amount=4), answers_for("pay", result="ok"))
    span.attributes["output.value"] = json.dumps(output, separators=(",", ":"))
    run = run_of(agent_span(), span)

    assert [(call.name, call.arguments, call.status) for call in run.trajectory.calls] == [
        ("code_execution", {"code": "1/0", "language": "PYTHON"}, "error"),
        ("google_search_web", {"queries": ["weather"]}, "ok"),
        ("pay", {"amount": 4}, "ok"),
        ("url_context", {"urls": ["https://x"]}, "ok"),
    ]
    assert doubts(run) == []


@pytest.mark.parametrize("output", ["{", '{"candidates":[]}', '{"candidates":[{"content":{"parts":[7]}}]}'])
def test_no_code_in_other_outputs(output: str) -> None:
    attributes = {"output.value": output[:-1] + ',"note":"","executable_code":{}}'}
    assert called(run_of(oi("LLM", "GenerateContent", 1, attributes=attributes))) == []


SEARCHED = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
FOUND = [{"type": "web_search_result", "url": "https://x", "title": "t", "encrypted_content": "zz"}]
TOO_MANY = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (FOUND, [("web_search", True, "ok"), ("pay", True, "ok")]),
        (TOO_MANY, [("web_search", False, "unset"), ("pay", True, "ok")]),
    ],
)
def test_what_anthropics_provider_ran_is_in_the_answer_as_it_came(content: object, expected: list[Any]) -> None:
    """Its attributes have such a call like those of the client's tools (openinference-instrumentation-anthropic 3.1)."""
    asks = {"type": "tool_use", "id": "toolu_1", "name": "pay", "input": {"amount": 4}}
    parts = [SEARCHED, {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": content}, asks]
    answer = {"role": "assistant", "type": "message", "content": parts, "stop_reason": "tool_use"}
    flat = {"output.value": json.dumps(answer, separators=(",", ":")), "llm.finish_reason": "tool_use"}
    for at, call in enumerate([SEARCHED, asks]):
        key = f"llm.output_messages.0.message.tool_calls.{at}.tool_call."
        flat |= {f"{key}id": str(call["id"]), f"{key}function.name": str(call["name"])}
    scope = "openinference.instrumentation.anthropic"
    asked = oi("LLM", "beta.messages.create", 2, 1, lasting=10, attributes=flat, scope=scope)
    run = run_of(agent_span(), asked, tool_span("pay", {"amount": 4}, 3, at=20, call_id="toolu_1", status=1))

    assert [(call.name, call.executed, call.status) for call in run.trajectory.calls] == expected
    assert doubts(run) == []


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            {"content": json.dumps("McpCall(id='m1', arguments='{\"q\":1}', name='get', type='mcp_call', error=None, "
                                   "output='ok', status='completed')")},
            ("get", {"q": 1}),
        ),
        ({"tool_calls": [{"id": "ws_1", "function": {"name": "web_search_call"}}]}, ("web_search", None)),
    ],
)  # fmt: skip
def test_what_openai_ran_is_a_repr_or_has_no_arguments_under_litellm(message: Any, expected: Any) -> None:
    """openinference-instrumentation-litellm 0.1.51, of the Responses API."""
    answer = [{"role": "assistant", **message}, {"role": "assistant", "contents": [{"text": "done", "type": "text"}]}]
    flat = {"output.value": json.dumps(answer), "input.value": '[{"role": "user", "content": "hi"}]'}
    asked = oi("LLM", "responses", 2, 1, attributes=flat, scope="openinference.instrumentation.litellm")
    run = run_of(oi("CHAIN", "handle", 1, lasting=90), asked)
    (call,) = run.trajectory.calls
    assert ((call.name, call.arguments), call.executed, call.status, doubts(run)) == (expected, True, "ok", [])


def test_what_anthropics_provider_ran_is_in_the_answer_as_langchain_has_it() -> None:
    """Its attributes lack such a call (openinference-instrumentation-langchain 0.1.80)."""
    pay = {"id": "toolu_1", "name": "pay", "args": {"amount": 4}, "type": "tool_call"}
    asks = {"type": "tool_use", "id": "toolu_1", "name": "pay", "input": {}, "partial_json": '{"amount": 4}'}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": FOUND}
    kwargs = {"content": [SEARCHED, found, asks], "type": "ai", "tool_calls": [pay], "invalid_tool_calls": []}
    answer = {"generations": [[{"text": "", "message": {"lc": 1, "type": "constructor", "kwargs": kwargs}}]]}
    key = "llm.output_messages.0.message.tool_calls.0.tool_call."
    flat = {
        "output.value": json.dumps(answer),
        f"{key}id": "toolu_1",
        f"{key}function.name": "pay",
        f"{key}function.arguments": '{"amount": 4}',
    }
    scope = "openinference.instrumentation.langchain"
    asked = oi("LLM", "ChatAnthropic", 2, 1, lasting=10, attributes=flat, scope=scope)
    run = run_of(agent_span(), asked, tool_span("pay", {"amount": 4}, 3, at=20, status=1))

    found_calls = [(call.name, call.arguments, call.executed) for call in run.trajectory.calls]
    assert found_calls == [("web_search", {"query": "q"}, True), ("pay", {"amount": 4}, True)]
    assert doubts(run) == []


@pytest.mark.parametrize(
    ("scope", "answer", "reason", "expected"),
    [
        ("google_genai", "__REDACTED__", "STOP", ["nothing_recorded"]),
        ("google_genai", '{"candidates":[]}', "STOP", []),
        ("ollama", "__REDACTED__", "stop", ["nothing_recorded"]),
        ("anthropic", "__REDACTED__", "tool_use", ["unrecorded_calls"]),
        ("openai", "__REDACTED__", None, ["nothing_recorded"]),
    ],
)
def test_an_answer_that_is_hidden_was_not_captured(
    scope: str, answer: str, reason: str | None, expected: list[str]
) -> None:
    """With `OPENINFERENCE_HIDE_OUTPUTS`."""
    attributes = {"output.value": answer, **({"llm.finish_reason": reason} if reason else {})}
    asked = oi("LLM", "request", 1, attributes=attributes, scope=f"openinference.instrumentation.{scope}")
    assert doubts(run_of(asked)) == expected


@pytest.mark.parametrize(
    ("offered", "expected"),
    [
        ('{"type": "web_search"}', ["unrecorded_calls"]),
        ('{"type": "web_search_20250305", "name": "web_search"}', ["unrecorded_calls"]),
        ('{"type": "function", "function": {"name": "get"}}', []),
    ],
)
def test_what_the_provider_ran_is_hidden_with_an_answer(offered: str, expected: list[str]) -> None:
    """LangChain, with `OPENINFERENCE_HIDE_INPUTS` and `..._OUTPUTS`: the tools that are offered stay."""
    hidden = {"input.value": "__REDACTED__", "output.value": "__REDACTED__"}
    offers = hidden | {"llm.invocation_parameters": f'{{"model": "gpt-4o", "stop": null, "tools": [{offered}]}}'}
    scope = "openinference.instrumentation.langchain"
    run = run_of(
        oi("CHAIN", "till", 1, lasting=90, attributes=hidden | {"metadata": '{"lc_agent_name": "till"}'}, scope=scope),
        oi("LLM", "ChatOpenAI", 2, 1, 5, attributes=offers, scope=scope),
        oi("TOOL", "get", 3, 1, 20, attributes=hidden | {"tool.name": "get"}, status=1, scope=scope),
        oi("LLM", "ChatOpenAI", 4, 1, 40, attributes=offers, scope=scope),
    )
    assert (called(run), doubts(run)) == (["get"], expected)


@pytest.mark.parametrize("has_own", [False, True])
def test_a_call_of_a_stream_that_was_cut_off_most_likely_did_not_run(has_own: bool) -> None:
    """Of Anthropic's client (3.1.0): the connection was closed before the answer had ended, and the program was told so.

    The client has a span of its own of the same request, which begins later and is no other.
    """
    call = "llm.output_messages.0.message.tool_calls.0.tool_call."
    attributes = {
        "llm.system": "anthropic",
        "llm.output_messages.0.message.role": "assistant",
        f"{call}id": "toolu_1",
        f"{call}function.name": "find_flights",
        f"{call}function.arguments": '{"to": "Rome"}',
    }
    scope = "openinference.instrumentation.anthropic"
    asked = oi("LLM", "messages.stream", 2, 1, at=1, lasting=5, attributes=attributes, status=2, scope=scope)
    own = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "error.type": "connection_error"}
    client = "com.anthropic.sdk.python"
    beside = (
        [span("anthropic.messages.create", 3, 1, 2, attributes=own, lasting=3, status=2, scope=client)]
        if has_own
        else []
    )
    run = run_of(span("POST /chat", 1, lasting=9), asked, *beside)
    assert [(call.name, call.executed) for call in run.trajectory.calls] == [("find_flights", False)]
    assert "uncertain_execution" in doubts(run)


@pytest.mark.parametrize("asks", [True, False])
def test_an_input_that_is_hidden_was_not_captured(asks: bool) -> None:
    """With `OPENINFERENCE_HIDE_INPUTS`, which leaves the answers of models as they are."""
    answer = {
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "pay",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"to": "Ada"}',
    }
    attributes = {"tool.name": "pay", "input.value": "__REDACTED__", "output.value": "paid"}
    made = oi("TOOL", "pay", 3, 1, 30, attributes=attributes, status=1)
    asked = [oi("LLM", "request", 2, 1, 10, attributes=answer)] if asks else []
    run = run_of(agent_span(), *asked, made)
    assert [(call.arguments, call.arguments_text) for call in run.trajectory.calls] == [
        ({"to": "Ada"} if asks else None, None)
    ]
    assert doubts(run) == []


HAYSTACK_CALL = "ToolCall(tool_name='pay', arguments={'n': 1}, id='c1', extra=None)"
HAYSTACK_RUN = [
    "ChatMessage(_role=<ChatRole.USER: 'user'>, _content=[TextContent(text='Pay.')], _name=None, _meta={})",
    f"ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[{HAYSTACK_CALL}], _name=None, _meta={{}})",
    f"ChatMessage(_role=<ChatRole.TOOL: 'tool'>, _content=[ToolCallResult(result='no', origin={HAYSTACK_CALL}, error=True)])",
]


def haystack_agent(
    messages: list[str], number: int = 2, given: Sequence[str] = HAYSTACK_RUN[:1], name: str = "Agent.run"
) -> Span:
    attributes = {"input.value": json.dumps({"messages": given}), "output.value": json.dumps({"messages": messages})}
    return oi("CHAIN", name, number, 1, number * 20, attributes=attributes)


@pytest.mark.parametrize("method", ["run", "run_async"])
def test_haystacks_agent_holds_its_calls_as_reprs_of_messages(method: str) -> None:
    agent = haystack_agent(HAYSTACK_RUN, name=f"Agent.{method}")
    run = run_of(oi("CHAIN", f"Pipeline.{method}", 1, lasting=100), agent)
    (call,) = run.trajectory.calls
    assert (call.name, call.id, call.arguments, call.status, doubts(run)) == ("pay", "c1", {"n": 1}, "error", [])


@pytest.mark.parametrize("own_id", ["c2", "c1"])
def test_haystacks_agent_has_not_made_the_calls_of_the_agent_before_it(own_id: str) -> None:
    """Haystack 3.4, two agents in a pipeline: the second is given the messages of the first, and no word of the user."""
    ship = [line.replace("'pay'", "'ship'").replace("c1", own_id) for line in HAYSTACK_RUN[1:]]
    first, second = haystack_agent(HAYSTACK_RUN), haystack_agent([*HAYSTACK_RUN, *ship], 3, given=HAYSTACK_RUN)
    runs = runs_of(oi("CHAIN", "Pipeline.run", 1, lasting=100), first, second)
    assert [(called(run), doubts(run)) for run in runs] == [(["pay"], []), (["ship"], [])]


@pytest.mark.parametrize(
    ("more", "expected"),
    [({}, []), ({"tool_call_counts": {"pay": 0}}, []), ({"tool_call_counts": {"pay": 1}}, ["nothing_recorded"])],
    ids=["2.x", "no calls", "a hook left them out"],
)
def test_haystacks_agent_tells_that_it_called_nothing(more: dict[str, Any], expected: list[str]) -> None:
    answer = "ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[TextContent(text='Done.')], _name=None, _meta={})"
    output = json.dumps({"messages": [HAYSTACK_RUN[0], answer], **more})
    given = json.dumps({"messages": HAYSTACK_RUN[:1]})
    agent = oi("CHAIN", "Agent.run", 2, 1, 5, attributes={"input.value": given, "output.value": output})
    run = run_of(oi("CHAIN", "Pipeline.run", 1, lasting=100), agent)
    assert (called(run), doubts(run)) == ([], expected)


def test_a_transcript_that_is_read_in_part_leaves_its_run_open() -> None:
    run = run_of(oi("CHAIN", "Pipeline.run", 1, lasting=100), haystack_agent([*HAYSTACK_RUN, HAYSTACK_RUN[1][:-9]]))
    assert (called(run), doubts(run)) == (["pay"], ["unrecorded_calls"])


@pytest.mark.parametrize(
    ("given", "output", "expected"),
    [
        ({}, "Error: Expecting value: line 1 column 1 (char 0)", "(pay)"),
        ({"input.value": '{"n": 1'}, "Error: Expecting ',' delimiter: line 1 column 8 (char 7)", "(pay)"),
        # The tool's own words: it was given arguments.
        ({"input.value": "{}"}, "Error: Expecting value: line 1 column 1 (char 0)", "pay"),
        ({}, "Error: Expecting value", "pay"),
    ],
)
def test_arguments_that_autogen_could_not_parse(given: dict[str, str], output: str, expected: str) -> None:
    attributes = {"tool.name": "pay", "output.value": output, **given}
    scope = "openinference.instrumentation.autogen_agentchat"
    call = oi("TOOL", "helper.pay", 2, 1, 1, 5, attributes=attributes, scope=scope, status=1)
    assert called(run_of(oi("AGENT", "helper.on_messages_stream", 1, lasting=100), call)) == [expected]


def test_a_task_of_crewai_holds_the_conversation_of_its_agent() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"n": 1}'}}
    messages = [{"role": "user", "content": "Pay!"}, {"role": "assistant", "content": "", "tool_calls": [call]}]
    messages.append({"role": "tool", "tool_call_id": "c1", "name": "pay", "content": "paid"})
    attributes = {"crew_key": "k", "output.value": json.dumps({"raw": "Paid.", "messages": messages})}
    run = run_of(oi("AGENT", "helper._execute_core", 1, lasting=100, attributes=attributes))
    assert [(c.name, c.arguments, c.known_by) for c in run.trajectory.calls] == [("pay", {"n": 1}, "result")]


@pytest.mark.parametrize(("given", "doubted"), [('{"n": 1}', []), ('{"n": 1', ["unrecorded_calls"])])
def test_a_conversation_of_crewai_in_words(given: str, doubted: list[str]) -> None:
    """CrewAI 1.15 with a model that is asked for text: no call leaves a span."""
    said = [f"Action: book\nAction Input: {given}\nObservation: booked"]
    said.append("Action: fly\nAction Input: {}\nObservation: I encountered an error: Action 'fly' don't exist, ")
    said.append('Action: pay\nAction Input: {"n": 2}\nObservation: paid')
    analyze = {"role": "user", "content": "Analyze the tool result. If requirements are met, provide the Final Answer."}
    messages: list[dict[str, str]] = [{"role": "user", "content": "Pay!"}]
    for words in said:
        messages += [{"role": "assistant", "content": f"Thought: look\n{words}"}, analyze]
    attributes = {"crew_key": "k", "output.value": json.dumps({"raw": "Paid.", "messages": messages})}
    run = run_of(oi("AGENT", "helper._execute_core", 1, lasting=100, attributes=attributes))
    expected = ["(fly)", "pay"] if doubted else ["book", "(fly)", "pay"]
    assert (called(run), doubts(run)) == (expected, doubted)


@pytest.mark.parametrize(
    ("is_in_words", "has_span", "doubted"),
    [(True, False, ["unrecorded_calls"]), (False, False, ["unrecorded_calls"]), (False, True, [])],
)
def test_crewai_keeps_no_messages_of_an_answer_that_a_guardrail_rejected(
    doubted: list[str], *, is_in_words: bool, has_span: bool
) -> None:
    """In words, its calls leave no span either; of a model that is given tools there is one for each in 1.15, none in 1.14."""
    asked = "Current Task: Pay!\n### Previous attempt failed validation: be longer\n\n\n### Previous result:\nPaid."
    said = 'Thought: pay\nAction: pay\nAction Input: {"n": 2}\nObservation: paid'
    call = {"id": "c2", "type": "function", "function": {"name": "pay", "arguments": '{"n": 2}'}}
    answer: dict[str, Any] = {"content": said} if is_in_words else {"content": "", "tool_calls": [call]}
    messages = [
        {"role": "user", "content": f"{asked}\n\nThought:" if is_in_words else asked},
        {"role": "assistant", **answer},
        *([] if is_in_words else [{"role": "tool", "content": "paid", "tool_call_id": "c2", "name": "pay"}]),
    ]
    attributes = {"crew_key": "k", "output.value": json.dumps({"raw": "Paid.", "messages": messages})}
    helper = oi("AGENT", "helper._execute_core", 1, lasting=100, attributes=attributes)
    tool = oi("TOOL", "pay.run", 2, 1, 5, attributes={"tool.name": "pay", "input.value": '{"n": 2}'}, status=1)
    run = run_of(helper, *([tool] if has_span else []))
    assert (called(run), doubts(run)) == (["pay"], doubted)


@pytest.mark.parametrize(
    "told",
    [
        "Error: Failed to parse tool arguments as JSON: Expecting value: line 1 column 1 (char 0). Please provide valid JSON",
        "Tool execution blocked by hook. Tool: pay",
        "Tool 'pay' has reached its usage limit of 1 times and cannot be used anymore.",
    ],
)
def test_a_call_that_crewai_did_not_let_run(told: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"n": 1}'}}
    messages = [{"role": "user", "content": "Pay!"}, {"role": "assistant", "content": "", "tool_calls": [call]}]
    messages.append({"role": "tool", "tool_call_id": "c1", "name": "pay", "content": told})
    attributes = {"crew_key": "k", "output.value": json.dumps({"raw": "No.", "messages": messages})}
    run = run_of(oi("AGENT", "helper._execute_core", 1, lasting=100, attributes=attributes))
    assert [(c.name, c.executed, doubts(run)) for c in run.trajectory.calls] == [("pay", False, [])]


@pytest.mark.parametrize(
    "output",
    [
        '{"text":"","toolCalls":[{"toolCallId":"c1","toolName":"pay","args":{"n":1}}]}',
        json.dumps(['[[ ## next_tool_name ## ]]\npay\n\n[[ ## next_tool_args ## ]]\n{"n": 1}']),
        json.dumps(['{"next_thought": "t", "next_tool_name": "pay", "next_tool_args": {"n": 1}}']),
    ],
)
def test_a_request_in_the_frameworks_own_form_is_read(output: str) -> None:
    run = run_of(oi("AGENT", "a", 1, lasting=100), oi("LLM", "step", 2, 1, 5, attributes={"output.value": output}))
    assert [(c.name, c.arguments, c.known_by) for c in run.trajectory.calls] == [("pay", {"n": 1}, "request")]


def test_what_an_agent_of_crewai_was_told_is_no_call_before_it() -> None:
    def task(name: str, call_id: str, number: int, at: float) -> Span:
        call = {"id": call_id, "type": "function", "function": {"name": "pay", "arguments": "{}"}}
        messages = [{"role": "user", "content": "Pay!"}, {"role": "assistant", "content": "", "tool_calls": [call]}]
        messages.append({"role": "tool", "tool_call_id": call_id, "name": "pay", "content": "paid"})
        attributes = {"crew_key": "k", "output.value": json.dumps({"raw": "Paid.", "messages": messages})}
        return oi("AGENT", f"{name}._execute_core", number, 1, at, 100, attributes=attributes)

    spans = [oi("CHAIN", "crew.kickoff", 1, lasting=500), task("first", "c1", 2, 10), task("second", "c2", 3, 200)]
    tools = [oi("TOOL", "pay.run", 4, 2, 20, attributes={"tool.name": "pay", "input.value": "{}"})]
    tools.append(oi("TOOL", "pay.run", 5, 3, 220, attributes={"tool.name": "pay", "input.value": "{}"}))
    assert [(run.agent, called(run), doubts(run)) for run in runs_of(*spans, *tools)] == [
        ("first", ["pay"], []),
        ("second", ["pay"], []),
    ]


def test_an_action_in_words_requested_a_call() -> None:
    acting = "Thought: pay\nAction: pay\nAction Input: {}\n"
    tagged = '<tool_call>\n{"name": "pay", "arguments": {}}\n</tool_call>'
    answers = (
        {"output.value": acting},
        {"output.value": json.dumps({"text": acting}), "llm.finish_reason": "stop"},
        {"output.value": tagged},
        {"output.value": json.dumps({"text": tagged}), "llm.finish_reason": "stop"},
        {"output.value": json.dumps({"text": "\u273fFUNCTION\u273f: pay\n\u273fARGS\u273f: {}"})},
    )
    runs = [run_of(oi("LLM", "completion", 1, attributes=answer)) for answer in answers]
    assert [doubts(run) for run in runs] == [["unrecorded_calls"]] * 5


@pytest.mark.parametrize(
    ("attributes", "status", "expected"),
    [
        ({"output.value": "An error occurred."}, 2, ["uncertain_execution"]),
        ({"output.value": "An error occurred.", "input.value": "{}"}, 2, []),
        ({}, 2, []),
        ({"output.value": "fine"}, 1, []),
    ],
)
def test_a_failed_call_with_a_result_and_without_arguments_may_never_have_begun(
    attributes: dict[str, Any], status: int, expected: list[str]
) -> None:
    # OpenAI Agents for JavaScript parses the arguments inside the span, and records them only if the tool takes them.
    run = run_of(agent_span(), oi("TOOL", "pay", 2, 1, attributes={"tool.name": "pay", **attributes}, status=status))
    assert doubts(run) == expected


@pytest.mark.parametrize(("attributes", "expected"), [({"input.value": '{"n": 1}'}, []), ({}, ["uncertain_execution"])])
def test_openai_agents_for_js_keeps_only_arguments_that_fit(attributes: dict[str, Any], expected: list[str]) -> None:
    told = {"tool.name": "pay", "output.value": "An error occurred while running the tool. Please try again."}
    scope = "@arizeai/openinference-instrumentation-openai-agents"
    raised = ("exception", {"exception.message": "Tool execution failed. Error details are redacted."})
    failed = oi("TOOL", "pay", 2, 1, attributes={**told, **attributes}, status=2, scope=scope, events=[raised])
    assert doubts(run_of(agent_span(), failed)) == expected


def test_openai_agents_for_js_0_8_keeps_arguments_that_do_not_fit_and_says_so() -> None:
    words = "InvalidToolInputError: Invalid JSON input for tool"
    raised = (
        "exception",
        {"exception.message": f'Error running tool (non-fatal): {{"tool_name":"pay","error":"{words}"}}'},
    )
    attributes = {
        "tool.name": "pay",
        "input.value": '{"n": "one"}',
        "output.value": f"An error occurred. Error: {words}",
    }
    scope = "@arizeai/openinference-instrumentation-openai-agents"
    run = run_of(agent_span(), oi("TOOL", "pay", 2, 1, attributes=attributes, status=2, scope=scope, events=[raised]))
    assert (called(run), doubts(run)) == (["(pay)"], [])


def _told_by_openai_agents_for_js(result: str) -> dict[str, str]:
    """Returns a request of the Responses API that is told of an earlier call, in the items of the SDK."""
    items = [
        {"type": "message", "role": "user", "content": "hi"},
        {"type": "function_call", "id": "fc_1", "callId": "call_1", "name": "get", "arguments": '{"city": "Par'},
        {"type": "function_call_result", "name": "get", "callId": "call_1", "output": {"type": "text", "text": result}},
    ]
    return {"input.value": json.dumps(items), "output.value": '{"output": []}'}


def test_openai_agents_for_js_does_not_run_a_call_whose_arguments_are_no_json() -> None:
    words = "An error occurred while parsing tool arguments. Please try again with valid JSON."
    run = run_of(
        agent_span(lasting=90),
        oi(
            "TOOL",
            "get",
            2,
            1,
            10,
            1,
            attributes={"tool.name": "get", "output.value": words},
            status=2,
            scope=_AGENTS_JS,
        ),
        oi("LLM", "response", 3, 1, 20, 5, attributes=_told_by_openai_agents_for_js(words), scope=_AGENTS_JS),
    )
    assert (called(run), doubts(run)) == (["(get)"], [])


def test_a_run_of_openai_agents_for_js_that_goes_on_was_told_of_calls_of_an_earlier_trace() -> None:
    """A human approved `pay` after `get` ran beside it."""
    paid = {"tool.name": "pay", "input.value": '{"n": 1}', "output.value": "paid"}
    run = run_of(
        agent_span(lasting=90),
        oi("TOOL", "pay", 2, 1, 10, 1, attributes=paid, status=1, scope=_AGENTS_JS),
        oi("LLM", "response", 3, 1, 20, 5, attributes=_told_by_openai_agents_for_js("sunny"), scope=_AGENTS_JS),
    )
    assert (called(run), doubts(run)) == (["pay"], ["other_traces"])


@pytest.mark.parametrize(
    ("scope", "output", "expected"),
    [
        ("openinference.instrumentation.openai_agents", "Call blocked: it holds a password", ["uncertain_execution"]),
        ("@arizeai/openinference-instrumentation-openai-agents", "Not allowed here.", ["uncertain_execution"]),
        ("openinference.instrumentation.openai_agents", "The road is blocked until 2027.", []),
        ("openinference.instrumentation.openai_agents", "This call is blocked. " + "x" * 400, []),
        ("openinference.instrumentation.agno", "This call is blocked.", []),
    ],
)
def test_a_guardrail_of_openai_agents_answers_in_place_of_the_tool(
    scope: str, output: str, expected: list[str]
) -> None:
    attributes = {"tool.name": "pay", "input.value": "{}", "output.value": output}
    run = run_of(agent_span(), oi("TOOL", "pay", 2, 1, attributes=attributes, status=1, scope=scope))
    assert (called(run), doubts(run)) == (["pay"], expected)


def test_a_tool_of_langgraph_for_js_that_waits_for_a_human_has_not_run() -> None:
    """Its span fails with the words of the interrupt, which begin with what the human is asked."""
    asked = '[\n  {\n    "id": "63efcded3a74dfe01991e858372e5295",\n    "value": {\n      "q": 1\n    }\n  }\n]'
    words = f"{asked}\n\nGraphInterrupt: {asked}\n    at interrupt (file:///app/node_modules/@langchain/langgraph)"
    attributes = {"tool.name": "ask", "input.value": "x", "metadata": '{"lc_agent_name":"travel"}'}
    raised = ("exception", {"exception.message": words})
    call = "llm.output_messages.0.message.tool_calls.0.tool_call.function."
    requested = {f"{call}name": "ask", f"{call}arguments": '{"q":"x"}'}
    run = run_of(
        agent_span(lasting=90),
        oi("LLM", "ChatOpenAI", 2, 1, attributes=requested),
        oi("TOOL", "ask", 3, 1, at=25, attributes=attributes, status=2, message=words, events=[raised]),
    )
    assert (called(run), doubts(run)) == (["(ask)"], ["other_traces", "uncertain_execution"])


@pytest.mark.parametrize(("part", "expected"), [("Input", ["(pay)"]), ("Output", ["pay"])])
def test_a_guardrail_of_openai_agents_for_js_may_end_the_run_before_the_tool_or_after_it(
    part: str, expected: list[str]
) -> None:
    error = f"Tool{part}GuardrailTripwireTriggered: Tool {part.lower()} guardrail triggered: limit"
    told = "Error running tool: " + json.dumps({"tool_name": "pay", "error": error})
    attributes = {"tool.name": "pay", "input.value": '{"sum":1}', "output.value": ""}
    scope = "@arizeai/openinference-instrumentation-openai-agents"
    failed = oi("TOOL", "pay", 2, 1, attributes=attributes, status=2, message=told, scope=scope)
    run = run_of(agent_span(), failed)
    assert (called(run), doubts(run)) == (expected, [])


@pytest.mark.parametrize(("kind", "expected"), [("input", "(pay)"), ("output", "pay")])
def test_a_guardrail_of_openai_agents_that_ends_the_run_lets_a_tool_run_if_it_looks_at_its_output(
    kind: str, expected: str
) -> None:
    """OpenAI Agents 0.24, a guardrail that answers with ``raise_exception()``."""
    raised = f"Tool {kind} guardrail Tool{kind.title()}Guardrail triggered tripwire"
    message = f"Error running tool: {{'tool_name': 'pay', 'error': '{raised}'}}"
    attributes = {"tool.name": "pay", "input.value": '{"order": "1", "amount": 2}'}
    scope = "openinference.instrumentation.openai_agents"
    call = oi("TOOL", "pay", 2, 1, attributes=attributes, status=2, message=message, scope=scope)
    run = run_of(agent_span(), call)
    assert (called(run), doubts(run)) == ([expected], [])


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ("Tool 'pay' timed out after 0.05 seconds.", "error"),
        ("Tool 'pay' timed out after 0.05 seconds. So says the log.", "ok"),
    ],
)
def test_openai_agents_tells_a_timeout_like_a_result(output: str, status: str) -> None:
    attributes = {"tool.name": "pay", "input.value": "{}", "output.value": output}
    scope = "openinference.instrumentation.openai_agents"
    (call,) = run_of(
        agent_span(), oi("TOOL", "pay", 2, 1, attributes=attributes, status=1, scope=scope)
    ).trajectory.calls
    assert (call.status, call.executed) == (status, True)


def smolagents(kind: str, name: str, number: int, parent: int, at: int, lasting: int, **attributes: Any) -> Span:
    values = {key.replace("_", "."): value for key, value in attributes.items()}
    scope = "openinference.instrumentation.smolagents"
    return oi(kind, name, number, parent, at, lasting, attributes=values, status=1, scope=scope)


CODE = {
    "role": "assistant",
    "content": 'Thought: t\n<code>\nnow()\nr = weather_agent(task="Paris")\n</code>',
    "tool_calls": None,
}
OF_CODE = '{"args": [], "sanitize_inputs_outputs": false, "kwargs": {}}'


def test_an_agent_that_the_code_of_another_calls_is_a_call_in_the_run_of_that() -> None:
    outer, inner = runs_of(
        smolagents("AGENT", "CodeAgent.run", 1, 0, 0, 90, input_value='{"task": "go"}'),
        smolagents("CHAIN", "Step 1", 2, 1, 1, 60),
        smolagents("LLM", "OpenAIModel.generate", 3, 2, 2, 4, output_value=json.dumps(CODE)),
        smolagents("TOOL", "SimpleTool", 4, 2, 8, 2, tool_name="now", input_value=OF_CODE),
        smolagents("AGENT", "weather_agent.run", 5, 2, 12, 40, input_value='{"task": "weather"}'),
        smolagents(
            "TOOL", "SimpleTool", 6, 5, 20, 2, tool_name="get_weather", input_value=OF_CODE, output_value="sunny"
        ),
        smolagents("CHAIN", "Step 2", 7, 1, 62, 20),
        smolagents(
            "LLM", "OpenAIModel.generate", 8, 7, 63, 4, output_value='{"role": "assistant", "content": "<code>"}'
        ),
        smolagents(
            "TOOL", "FinalAnswerTool", 9, 7, 70, 1, tool_name="final_answer", input_value=OF_CODE, output_value="d"
        ),
    )
    assert (called(outer), doubts(outer)) == (["now", "weather_agent", "final_answer"], [])
    assert [call.step for call in outer.trajectory.calls] == [0, 1, 2]
    assert called(inner) == ["get_weather"]


@pytest.mark.parametrize(("answer", "expected"), [(json.dumps(CODE), []), (None, ["uncertain_order"])])
def test_the_calls_of_code_are_in_order_where_the_answers_are_code(answer: str | None, expected: list[str]) -> None:
    """Several calls of one answer are not: an agent without code may run them at once."""
    told = {"output_value": answer} if answer is not None else {}
    run = run_of(
        smolagents("AGENT", "CodeAgent.run", 1, 0, 0, 90),
        smolagents("CHAIN", "Step 1", 2, 1, 1, 60),
        smolagents("LLM", "OpenAIModel.generate", 3, 2, 2, 4, **told),
        smolagents(
            "TOOL", "SimpleTool", 4, 2, 8, 2, tool_name="get_weather", input_value=OF_CODE, output_value="sunny"
        ),
        smolagents(
            "TOOL", "SimpleTool", 5, 2, 12, 2, tool_name="book_hotel", input_value=OF_CODE, output_value="booked"
        ),
    )
    assert (called(run), [doubt for doubt in doubts(run) if doubt == "uncertain_order"]) == (
        ["get_weather", "book_hotel"],
        expected,
    )


@pytest.mark.parametrize("has_spans", [False, True])
def test_the_calls_in_a_field_of_dspys_answer(*, has_spans: bool) -> None:
    """The program runs them: in traces of their own, unless a module of its own is around all."""
    asked = '{"tool_calls": [{"name": "get_weather", "args": {"city": "Paris"}}, {"name": "now", "args": {}}]}'
    field = f"[[ ## outputs ## ]]\n{asked}\n\n[[ ## completed ## ]]"
    answer = {"llm.output_messages.0.message.content": field}
    scope = "openinference.instrumentation.dspy"
    spans = [
        oi("CHAIN", "Predict.forward", 1, 0, 0, 90, status=1, scope=scope),
        oi("LLM", "LM.__call__", 2, 1, 1, 5, attributes=answer, status=1, scope=scope),
    ]
    if has_spans:
        given = {"input.value": '{"kwargs": {"city": "Paris"}}', "output.value": "sunny"}
        spans += [
            oi("TOOL", "get_weather.__call__", 3, 1, 10, 5, attributes=given, status=1, scope=scope),
            oi(
                "TOOL", "now.__call__", 4, 1, 20, 5, attributes={"input.value": '{"kwargs": {}}'}, status=2, scope=scope
            ),
        ]
    calls = run_of(*spans).trajectory.calls
    assert [(call.name, call.arguments) for call in calls] == [("get_weather", {"city": "Paris"}), ("now", {})]
    assert [call.status for call in calls] == (["ok", "error"] if has_spans else ["unset", "unset"])


OF_CHAT = (
    """ChatCompletionMessageToolCall(function=Function(arguments='{"city": "Paris"}', name='get_weather'), id='c1')"""
)
OF_RESPONSE = {"type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}, "id": "c1"}


@pytest.mark.parametrize("has_spans", [False, True])
@pytest.mark.parametrize("written", [OF_CHAT, OF_RESPONSE])
def test_the_calls_that_dspys_client_returned(written: object, *, has_spans: bool) -> None:
    """DSPy 3.4 with native calls: of chat completions it records reprs. What `ToolCall.execute` runs leaves no span."""
    scope = "openinference.instrumentation.dspy"
    answer = {"output.value": json.dumps([{"text": None, "tool_calls": [written]}])}
    spans = [
        oi("CHAIN", "Predict.forward", 1, 0, 0, 90, status=1, scope=scope),
        oi("LLM", "LM.__call__", 2, 1, 1, 5, attributes=answer, status=1, scope=scope),
    ]
    if has_spans:
        given = {"input.value": '{"kwargs": {"city": "Paris"}}', "output.value": "sunny"}
        spans.append(oi("TOOL", "get_weather.__call__", 3, 1, 10, 5, attributes=given, status=1, scope=scope))
    run = run_of(*spans)
    assert [(call.name, call.arguments) for call in run.trajectory.calls] == [("get_weather", {"city": "Paris"})]
    assert ("unobserved_results" in doubts(run)) is not has_spans


def test_a_call_that_dspys_client_returned_and_that_cannot_be_read() -> None:
    """It was asked for all the same."""
    attributes = {"output.value": json.dumps([{"text": None, "tool_calls": [OF_CHAT[:-30]]}])}
    scope = "openinference.instrumentation.dspy"
    run = run_of(
        oi("CHAIN", "Predict.forward", 1, 0, 0, 90, status=1, scope=scope),
        oi("LLM", "LM.__call__", 2, 1, 1, 5, attributes=attributes, status=1, scope=scope),
    )
    assert doubts(run) == ["unrecorded_calls"]


AGNO = "openinference.instrumentation.agno"
WEATHER: dict[str, Any] = {
    "id": "call_000000000006",
    "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
}
PAY: dict[str, Any] = {"id": "call_000000000007", "function": {"name": "pay", "arguments": '{"amount": 5}'}}


def agno_request(number: int, parent: int, at: int, *, results: Sequence[str] = ()) -> Span:
    """A model's answer with two calls or, with their results, the request after those."""
    asked = {"role": "assistant", "tool_calls": [WEATHER, PAY]}
    told = [
        {"role": "tool", "content": text, "tool_call_id": call["id"]}
        for call, text in zip((WEATHER, PAY), results, strict=False)
    ]
    messages = [{"role": "user", "content": "Go"}, *([asked, *told] if results else [])]
    attributes = {"input.value": json.dumps({"messages": messages}), "output.value": '[{"role": "assistant"}]'}
    for place, call in enumerate(() if results else (WEATHER, PAY)):
        prefix = f"llm.output_messages.0.message.tool_calls.{place}.tool_call"
        attributes |= {f"{prefix}.id": call["id"], f"{prefix}.function.name": call["function"]["name"]}
        attributes[f"{prefix}.function.arguments"] = call["function"]["arguments"]
    return oi("LLM", "OpenAIChat.invoke", number, parent, at, attributes=attributes, status=1, scope=AGNO)


def agno_agent(name: str, number: int, at: int) -> Span:
    attributes = {"agent.name": "travel", "input.value": "Go", "session.id": "s1"}
    return oi("AGENT", name, number, 0, at, 90, attributes=attributes, status=1, scope=AGNO)


@pytest.mark.parametrize(("answer", "pay"), [("no", "pay"), ("Function call was rejected by the user", "(pay)")])
def test_what_agno_tells_its_model_once_a_human_has_answered_may_be_no_result(answer: str, pay: str) -> None:
    """The human may have words of their own; what ran in the earlier trace is told of again."""
    given = {"tool.name": "get_weather", "input.value": WEATHER["function"]["arguments"], "output.value": "sunny"}
    weather = oi("TOOL", "get_weather", 12, 10, 20, attributes=given, status=1, scope=AGNO)
    before = run_of(agno_agent("travel.run", 10, 0), agno_request(11, 10, 5), weather)
    after = run_of(agno_agent("travel.continue_run", 20, 200), agno_request(21, 20, 205, results=("sunny", answer)))
    assert (called(after), set(doubts(after))) == (["get_weather", pay], {"other_traces", "uncertain_execution"})
    after.trace_id = b"2" * 16
    joined, _ = join_runs([before, after], 0, are_all=True)
    found = sorted(call.name if call.executed else f"({call.name})" for call in joined.calls)
    assert found == sorted(["get_weather", "(get_weather)", "(pay)", pay])
    of_pay = [
        joined.calls[at].name for doubt in joined.doubts if doubt.name == "uncertain_execution" for at in doubt.calls
    ]
    assert set(of_pay) == ({"pay"} if answer == "no" else set())


def test_its_processor_for_strands_leaves_the_agents_name_where_it_was() -> None:
    attributes = {"gen_ai.agent.name": "travel", "gen_ai.operation.name": "invoke_agent"}
    pay = oi("TOOL", "pay", 2, 1, attributes={"tool.name": "pay"}, scope="strands-agents")
    run = run_of(oi("AGENT", "invoke_agent travel", 1, attributes=attributes, scope="strands-agents", lasting=100), pay)
    assert run.agent == "travel"


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("Error executing tool pay: card declined", ("error", True)),
        ("Error executing tool pay: 1 validation error for payArguments\nn\n", ("error", False)),
        ("Error: that is what this tool looks up", ("ok", True)),
    ],
)
def test_what_an_mcp_server_in_python_says_in_place_of_a_result(told: str, expected: tuple[str, bool]) -> None:
    output = json.dumps({"type": "text", "text": told})
    tool = oi(
        "TOOL", "pay", 2, 1, attributes={"tool.name": "pay", "input.value": "{}", "output.value": output}, status=1
    )
    (call,) = run_of(agent_span(), tool).trajectory.calls
    assert (call.status, call.executed) == expected


@pytest.mark.parametrize("scope", ["ai", "gen_ai"])
def test_its_processor_for_the_ai_sdk_copies_the_first_failure_of_a_trace_to_later_spans(scope: str) -> None:
    raised = ("exception", {"exception.type": "Error", "exception.message": "card declined"})
    tools = [
        oi(
            "TOOL",
            name,
            at,
            1,
            at,
            attributes={"tool.name": name},
            status=2,
            message=message,
            events=events,
            scope=scope,
        )
        for at, (name, message, events) in enumerate(
            [
                ("charge", "card declined", [raised]),
                ("mail", "card declined", []),
                ("pay", "", []),  # what it raised was no Error, and had no message
            ],
            start=2,
        )
    ]
    run = run_of(oi("AGENT", "agent", 1, lasting=100, scope=scope), *tools)
    assert [(call.name, call.status) for call in run.trajectory.calls] == [
        ("charge", "error"),
        ("mail", "unset"),
        ("pay", "error"),
    ]


@pytest.mark.parametrize("scope", ["ai", "gen_ai"])
def test_so_it_does_with_that_of_a_tool_that_threw_no_error_and_so_has_no_message(scope: str) -> None:
    """Only what returned has an output."""
    failed = oi("TOOL", "pay", 2, 1, 2, attributes={"tool.name": "pay"}, status=2, scope=scope)
    output = {"tool.name": "mail", "output.value": '"sent"'}
    returned = oi("TOOL", "mail", 3, 1, 20, attributes=output, status=2, scope=scope)
    run = run_of(oi("AGENT", "agent", 1, lasting=100, scope=scope), failed, returned)
    assert [(call.name, call.status) for call in run.trajectory.calls] == [("pay", "error"), ("mail", "unset")]


def test_its_processor_for_the_ai_sdk_takes_a_turn_for_a_request() -> None:
    step = oi("LLM", "step 1", 2, 1, attributes={"gen_ai.operation.name": "agent_step"}, scope="gen_ai")
    assert dialects.read_span(step) is IGNORED


def test_every_call_that_runs_leaves_a_span_in_langchain() -> None:
    """A human's denial in words of their own is a failed result, and the denied call has no span."""
    metadata = {"metadata": json.dumps({"lc_agent_name": "travel"})}
    told = json.dumps(
        {"messages": [{"role": "tool", "tool_call_id": "c1", "content": "not allowed", "status": "error"}]}
    )
    again = oi("LLM", "ChatOpenAI", 4, 2, 30, 5, attributes={"input.value": told, "output.value": "{}"})
    run = run_of(oi("CHAIN", "travel", 2, lasting=100, attributes=metadata), asked(3, 2, 5, "c1"), again)
    assert doubts(run) == ["uncertain_execution"]


@pytest.mark.parametrize(
    ("scope", "output", "expected"),
    [
        ("openinference.instrumentation.langchain", '{"generations": []}', {}),
        ("openinference.instrumentation.langchain", None, None),  # nothing of the answer but its calls was kept
        ("openinference.instrumentation.google_genai", '{"candidates": []}', {}),
        ("openinference.instrumentation.google_genai", None, None),
        ("openinference.instrumentation.openai", '{"choices": []}', None),
    ],
)
def test_instrumentors_leave_out_arguments_that_are_empty(scope: str, output: str | None, expected: Any) -> None:
    asked = {
        "llm.output_messages.0.message.tool_calls.0.tool_call.id": "call_2lo",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "list_orders",
        **({} if output is None else {"output.value": output}),
    }
    told = {"tool.name": "list_orders", "output.value": '{"type": "tool", "data": {"tool_call_id": "call_2lo"}}'}
    run = run_of(
        agent_span(),
        oi("LLM", "ChatOpenAI", 2, 1, scope=scope, attributes=asked),
        oi("TOOL", "list_orders", 3, 1, 20, scope=scope, attributes=told),
    )
    assert [(call.name, call.arguments) for call in run.trajectory.calls] == [("list_orders", expected)]


@pytest.mark.parametrize(
    ("calling", "arguments"),
    [
        ("tool_name='get' arguments={'city': 'Oslo', 'days': None}", {"city": "Oslo", "days": None}),
        ("tool_name='get' arguments={}", {}),
        ("?", None),
    ],
)
def test_crewai_used_to_record_how_it_calls_a_tool(calling: str, arguments: object) -> None:
    use = {"tool_string": 'Action: get\nAction Input: {"city": "Oslo"}', "tool": "X(name='get')", "calling": calling}
    attributes = {"tool.name": "get", "input.value": json.dumps(use)}
    assert read_tool(oi("TOOL", "get._use", 2, 1, attributes=attributes))[2] == arguments


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ("{'error': 'seat 12A is taken'}", "error"),  # CrewAI
        ('{"id": "adk-1", "name": "book", "response": {"error": "seat 12A is taken"}}', "error"),  # Google ADK
        ('{"content": [{"type": "text", "text": "taken"}], "isError": true}', "error"),  # MCP
        (json.dumps({"type": "tool", "data": {"content": '{"error": "taken"}', "name": "book"}}), "error"),  # LangChain
        (json.dumps({"lc": 1, "kwargs": {"content": '{"error": "taken"}', "tool_call_id": "c1"}}), "error"),
        (json.dumps({"type": "tool", "data": {"content": '{"seat": 12}', "error": None}}), "ok"),
        ('{"seat": "12A", "error": null}', "ok"),
        ("Error handling is described on page 4", "ok"),
    ],
)
def test_an_output_that_says_it_is_an_error(output: str, status: str) -> None:
    attributes = {KIND: "TOOL", "tool.name": "book", "output.value": output}
    assert read_tool(span("book", 2, 1, 5, attributes=attributes, status=1))[3] == status


def test_a_span_that_names_its_run_in_brackets_does_not_name_its_tool() -> None:
    """Grasp Agents: the span of a call is named `pay.tool[5c78_agent]`."""
    run = run_of(agent_span(), span("pay.tool[5c78_agent]", 2, 1, 5, attributes={KIND: "TOOL"}))
    assert (called(run), doubts(run)) == ([], ["unrecorded_calls", "nothing_recorded"])


@pytest.mark.parametrize(
    ("given", "message", "ran"),
    [
        ('{"city": "Rome", "nights": "two"}', "Arg nights is invalid: 'two' is not of type 'integer'", False),
        ('{"city": "Rome", "zone": "x"}', "Arg zone is not in the tool's args.", False),
        ('{"city": "Rome", "nights": 2}', "Arg nights is invalid: no room is free", True),
    ],
)
def test_arguments_that_dspy_did_not_pass_to_the_tool(given: str, message: str, ran: bool) -> None:
    """DSPy 3.4 compares them with the tool's inside the span of the call."""
    call = oi(
        "TOOL", "book_hotel.__call__", 2, 1, 1, 2, attributes={"input.value": f'{{"kwargs": {given}}}'},
        status=2, message=f"ValueError: {message}",
    )  # fmt: skip
    run = run_of(oi("CHAIN", "ReAct.forward", 1, lasting=100), call)
    assert [(c.executed, c.status, doubts(run)) for c in run.trajectory.calls] == [(ran, "error", [])]


@pytest.mark.parametrize("module", ["ReAct", "ReActV2", "CodeAct"])
def test_an_agent_of_dspy_inside_a_tool_has_a_run_of_its_own(module: str) -> None:
    asked = {"input.value": '{"kwargs": {"q": "weather"}}'}
    runs = runs_of(
        oi("CHAIN", "ReAct.forward", 1, lasting=100),
        oi("TOOL", "expert.__call__", 2, 1, 10, 50, attributes=asked, status=1),
        oi("CHAIN", f"{module}.forward", 3, 2, 11, 40),
        oi("TOOL", "get_weather.__call__", 4, 3, 20, 5, attributes=asked, status=1),
    )
    assert [called(run) for run in runs] == [["expert"], ["get_weather"]]


def test_a_tool_of_llama_index_that_waited_for_a_human_is_one_call() -> None:
    """LlamaIndex 0.14: its ``wait_for_event`` ends the tool with an exception; it is run again when there is an answer."""
    asked = {"tool.name": "danger", "input.value": '{"kwargs": {"x": "1"}}'}
    waiting = "WaitingForEvent: Waiting for event <class 'workflows.events.HumanResponseEvent'>"
    first = oi("TOOL", "FunctionTool.acall", 2, 1, 10, 2, attributes=asked, status=2, message=waiting)
    answered = {**asked, "output.value": '{"raw_output":"did","is_error":false}'}
    agent = oi("CHAIN", "FunctionAgent.run", 1, lasting=100, status=1)
    run = run_of(agent, first, oi("TOOL", "FunctionTool.acall", 3, 1, 30, 2, attributes=answered, status=1))
    assert [(c.executed, c.status) for c in run.trajectory.calls] == [(False, "error"), (True, "ok")]
    assert doubts(run) == []


@pytest.mark.parametrize(("is_answered", "expected"), [(True, []), (False, ["other_traces"])])
def test_a_workflow_of_llama_index_that_ends_with_a_tool_that_waits_goes_on_elsewhere(
    is_answered: bool, expected: list[str]
) -> None:
    """LlamaIndex 0.14: its context was kept, and another run of the workflow begins with it."""
    asked = {"tool.name": "danger", "input.value": '{"kwargs": {"x": "1"}}'}
    waiting = "WaitingForEvent: Waiting for event <class 'workflows.events.HumanResponseEvent'>"
    call = "llm.output_messages.0.message.tool_calls.0.tool_call."
    answer = {f"{call}function.name": "danger", f"{call}function.arguments": '{"x": "1"}', f"{call}id": "call_1"}
    spans = [
        oi("CHAIN", "FunctionAgent.run", 1, lasting=100, status=1),
        oi("LLM", "OpenAILike.achat", 2, 1, 1, 5, attributes=answer, status=1),
        oi("TOOL", "FunctionTool.acall", 3, 1, 10, 2, attributes=asked, status=2, message=waiting),
    ]
    returned = {**asked, "output.value": '{"raw_output":"did","is_error":false}'}
    if is_answered:  # and is what the workflow returns
        spans.append(oi("TOOL", "FunctionTool.acall", 4, 1, 30, 2, attributes=returned, status=1))
    assert doubts(run_of(*spans)) == expected


@pytest.mark.parametrize(("is_running", "expected"), [("true", ["other_traces"]), ("false", [])])
def test_a_workflow_of_llama_index_with_the_context_of_one_that_waited_goes_on(
    is_running: str, expected: list[str]
) -> None:
    """LlamaIndex 0.14. That of a workflow that has ended, which remembers the conversation, is not running."""
    given = {"input.value": f'{{"init_state": {{"is_running": {is_running}, "config": {{"steps": {{}}}}}}}}'}
    asked = {"tool.name": "danger", "input.value": '{"kwargs": {"x": "1"}}', "output.value": "did"}
    run = run_of(
        oi("CHAIN", "FunctionAgent.run", 1, lasting=100, status=1, attributes=given),
        oi("TOOL", "FunctionTool.acall", 2, 1, 10, 2, attributes=asked, status=1),
        oi("LLM", "OpenAILike.achat", 3, 1, 20, 5, attributes={"output.value": "Done."}, status=1),
    )
    assert (called(run), doubts(run)) == (["danger"], expected)


def test_calls_in_words_are_those_that_the_models_spans_ask_for() -> None:
    """CrewAI 1.15 beside the instrumentation of OpenAI: the conversation in the agent's span has its own calls alone."""

    def said(words: str, number: int, at: float) -> Span:
        output = {"choices": [{"message": {"role": "assistant", "content": words}}]}
        attributes = {"llm.output_messages.0.message.content": words, "output.value": json.dumps(output)}
        return oi("LLM", "ChatCompletion", number, 1, at, 5, attributes=attributes, status=1)

    delegate = 'Thought: ask\nAction: Delegate work to coworker\nAction Input: {"task": "pay"}'
    messages = [
        {"role": "user", "content": "Pay!"},
        {"role": "assistant", "content": f"{delegate}\nObservation: Paid."},
    ]
    attributes = {"crew_key": "k", "output.value": json.dumps({"raw": "Paid.", "messages": messages})}
    boss = oi("AGENT", "boss._execute_core", 1, lasting=100, attributes=attributes)
    last = said("Thought: I know\nFinal Answer: Paid.", 5, 60)
    run = run_of(boss, said(delegate, 2, 10), last)
    assert (called(run), doubts(run)) == (["Delegate work to coworker"], [])
    pay = said('Thought: pay\nAction: pay\nAction Input: {"n": 2}', 3, 20)
    run = run_of(boss, said(delegate, 2, 10), pay, last)
    assert "uncertain_owner" in doubts(run)


@pytest.mark.parametrize(
    ("tool", "said", "is_open"),
    [
        ("Delegate work to coworker", "Paid.", True),
        ("Ask question to coworker", "Yes.", True),
        ("pay", "Paid.", False),
        (
            "Delegate work to coworker",
            "\nError executing tool. coworker mentioned not found, it must be one of the following options:\n- policy",
            False,
        ),
    ],
)
def test_nothing_tells_what_a_coworker_called_in_words(tool: str, said: str, *, is_open: bool) -> None:
    """CrewAI 1.14 with OpenInference 1.1: no span of a tool, and the conversation of the agent that delegated alone."""
    asked = f'Thought: ask\nAction: {tool}\nAction Input: {{"task": "pay"}}\nObservation: {said}'
    messages = [
        {"role": "user", "content": "Pay!"},
        {"role": "assistant", "content": asked},
        {"role": "assistant", "content": "Thought: I now know the final answer\nFinal Answer: Done."},
    ]
    attributes = {"crew_key": "k", "output.value": json.dumps({"raw": "Done.", "messages": messages})}
    run = run_of(oi("AGENT", "boss._execute_core", 1, lasting=100, attributes=attributes))
    assert [call.name for call in run.trajectory.calls] == [tool]
    assert ("unrecorded_calls" in doubts(run)) is is_open


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (
            "\nI encountered an error while trying to use the tool. This was the error: card declined.\n Tool pay accepts",
            "error",
        ),
        (
            "\nError executing tool. coworker mentioned not found, it must be one of the following options:\n- policy",
            "error",
        ),
        ("I encountered an error of 0.2 mm", "ok"),
        ("I tried reusing the same input, I must stop using this action input. I'll try something else.", "not made"),
        ("Tool not found", "not made"),
        ("Tool not found in the shop", "ok"),
        ('{"message": "no", "reason": "tool_reported", "code": null, "retryable": false, "details": {}}', "error"),
        ('{"message": "no", "reason": "tool_reported"}', "ok"),
    ],
)
@pytest.mark.parametrize("listens", [False, True])
def test_crewai_tells_of_a_failure_in_place_of_a_result(output: str, expected: str, listens: bool) -> None:
    """CrewAI 0.203 under the instrumentation's 0.1.17, and 1.15 under its 1.1.21: the span ends well. So does that of a call
    with the arguments of the one before, which is not made, and of a tool that the agent does not have."""
    attributes = {"tool.name": "pay", "input.value": '{"amount": 9.5}', "output.value": output}
    scope = "openinference.instrumentation.crewai" + ("._event_listener" if listens else "")
    call = oi("TOOL", "pay._use", 2, 1, 10, attributes=attributes, scope=scope, status=1)
    run = run_of(oi("AGENT", "travel._execute_core", 1, lasting=100), call)
    assert [c.status if c.executed else "not made" for c in run.trajectory.calls] == [expected]
    assert doubts(run) == []


@pytest.mark.parametrize(("at", "found"), [(1, "earlier"), (5, "at once"), (5, "unknown answer")])
def test_what_ran_before_a_human_answered_the_agents_sdk_for_javascript_is_none_of_the_run_that_goes_on(
    at: float, found: str
) -> None:
    """The state of a run that waited was read in another process: the approved call runs first. Clocks tick once in a
    millisecond, and of inputs that repeat each other a trace keeps the longest, so the first request has none here."""
    asked = [
        {"id": f"call_000000000{n}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        for n, name in enumerate(["pay", "refund", "look"])
    ]
    told: list[dict[str, Any]] = [{"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": asked[:2]}]
    told += [{"role": "tool", "tool_call_id": one["id"], "content": "done"} for one in asked[:2]]
    told += [{"role": "assistant", "tool_calls": asked[2:]}]
    told += [{"role": "tool", "tool_call_id": asked[2]["id"], "content": "done"}]
    call = "llm.output_messages.0.message.tool_calls.0.tool_call."
    look = {call + "id": asked[2]["id"], call + "function.name": "look", call + "function.arguments": "{}"}
    last = {"input.value": json.dumps(told), "output.value": "[{}]"}
    if found != "unknown answer":
        last["llm.finish_reason"] = "stop"
    run = run_of(
        oi("AGENT", "Helper", 1, lasting=100, scope=_AGENTS_JS),
        oi("TOOL", "refund", 2, 1, at, 1, scope=_AGENTS_JS, attributes={"tool.name": "refund", "input.value": "{}"}),
        oi("LLM", "generation", 3, 1, 5, scope=_AGENTS_JS, attributes={**look, "llm.finish_reason": "tool_calls"}),
        oi("TOOL", "look", 4, 1, 20, scope=_AGENTS_JS, attributes={"tool.name": "look", "input.value": "{}"}),
        oi("LLM", "generation", 5, 1, 40, scope=_AGENTS_JS, attributes=last),
    )
    is_known = found != "unknown answer"
    assert ("pay" in called(run), "other_traces" in doubts(run)) == (not is_known, is_known)


def test_a_completed_answer_of_the_responses_api_may_ask_for_calls() -> None:
    """@arizeai/openinference-instrumentation-openai-agents 0.2 has `stop` for each, so nothing says who runs its calls. The
    span of a call that waits for a human is missing."""
    call = "llm.output_messages.{}.message.tool_calls.0.tool_call."
    answer = {"llm.finish_reason": "stop", "output.value": "{}", "input.value": "[]"}
    for n, name in enumerate(["pay", "refund"]):
        of = call.format(n)
        answer |= {of + "id": f"call_000000000{n}", of + "function.name": name, of + "function.arguments": "{}"}
    run = run_of(
        oi("AGENT", "Helper", 1, lasting=100, scope=_AGENTS_JS),
        oi("LLM", "response", 2, 1, 5, scope=_AGENTS_JS, attributes=answer),
        oi("TOOL", "pay", 3, 1, 20, scope=_AGENTS_JS, attributes={
            "tool.name": "pay", "input.value": "{}", "output.value": "paid",
        }),
    )  # fmt: skip
    assert (sorted(called(run)), doubts(run)) == (["(refund)", "pay"], ["other_traces"])
