"""LangSmith's OpenTelemetry mode."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import called, doubts, read_tool, run_of, runs_of, span

AGENT = "langsmith.metadata.lc_agent_name"
INTEGRATION = "langsmith.metadata.ls_integration"


def ls(kind: str, name: str, number: int, parent: int = 0, at: float = 0, lasting: float = 10, **more: Any) -> Span:
    operation = {"tool": "execute_tool", "llm": "chat"}.get(kind, "chain")
    attributes = {"langsmith.span.kind": kind, "gen_ai.operation.name": operation, **more.pop("attributes", {})}
    return span(name, number, parent, at, lasting, attributes=attributes, scope="langsmith", **more)


@pytest.mark.parametrize("status", [1, 2])
def test_a_tool_span(status: int) -> None:
    attributes = {"gen_ai.tool.name": "get", "gen_ai.tool.call.id": "c1", "gen_ai.prompt": '{"city": "Oslo"}'}
    expected = "ok" if status == 1 else "error"
    assert read_tool(ls("tool", "get", 2, 1, attributes=attributes, status=status)) == (
        "get",
        "c1",
        {"city": "Oslo"},
        expected,
    )


def test_runs_of_langchain_agents() -> None:
    message = {"lc": 1, "id": ["AIMessage"], "kwargs": {"tool_calls": [{"name": "ask", "args": {"q": 1}, "id": "c1"}]}}
    outer, inner = runs_of(
        ls(
            "chain",
            "travel",
            1,
            lasting=200,
            attributes={
                AGENT: "travel",
                "langsmith.metadata.thread_id": "t",
                "gen_ai.prompt": '{"messages": [{"role": "user", "content": "hi"}]}',
            },
        ),
        ls("chain", "model", 2, 1, attributes={AGENT: "travel"}),
        ls(
            "llm",
            "ChatOpenAI",
            3,
            2,
            1,
            5,
            attributes={"gen_ai.completion": json.dumps({"generations": [[{"message": message}]]})},
        ),
        ls("tool", "ask", 4, 1, 10, 80, attributes={"gen_ai.tool.name": "ask"}),
        ls("chain", "policy", 5, 4, 11, 70, attributes={AGENT: "policy"}),
        ls("tool", "look", 6, 5, 20, attributes={"gen_ai.tool.name": "look", "gen_ai.prompt": "{}"}),
    )
    assert (outer.agent, outer.user_input, outer.conversation_id, called(outer)) == ("travel", "hi", "t", ["ask"])
    assert (outer.trajectory.calls[0].id, outer.trajectory.calls[0].arguments) == ("c1", {"q": 1})
    assert (inner.agent, called(inner)) == ("policy", ["look"])


def test_a_traced_function_at_the_root_names_the_run() -> None:
    run = run_of(
        ls("chain", "travel", 1, attributes={"gen_ai.prompt": '{"user_input": "hi"}'}), ls("tool", "get", 2, 1)
    )
    assert (run.agent, run.user_input, called(run)) == ("travel", "hi", ["get"])


@pytest.mark.parametrize("key", ["gen_ai.tool.name", "tool.name"])
def test_an_attribute_names_the_tool_before_the_span_does(key: str) -> None:
    attributes = {"langsmith.span.kind": "tool", key: "pay", "gen_ai.prompt": '{"n": 1}'}
    assert read_tool(span("pay tool", 2, 1, attributes=attributes))[:3] == ("pay", None, {"n": 1})


def test_the_conversation_around_a_call_is_no_input_of_it() -> None:
    attributes = {
        "langsmith.span.kind": "tool",
        "gen_ai.prompt": '{"messages": [{"role": "user", "content": "Pay!"}]}',
        "langsmith.metadata.tool_arguments": '{"n": 1}',
    }
    assert read_tool(span("pay", 2, 1, attributes=attributes))[2] == {"n": 1}


@pytest.mark.parametrize(
    ("returned", "status"),
    [
        ({}, "error"),
        ({"gen_ai.completion": "{}"}, "error"),  # Python: the exporter saw the call begin, and called it a success
        ({"gen_ai.completion": '{"output":null}'}, "error"),
        ({"gen_ai.completion": '{"outputs": "paid"}'}, "ok"),
    ],
)
def test_a_call_that_raised_and_returned_nothing_failed_whatever_its_status_says(
    returned: dict[str, Any], status: str
) -> None:
    attributes = {"langsmith.span.kind": "tool", "gen_ai.prompt": '{"n": 1}', **returned}
    raised = [("exception", {"exception.message": "Error: declined"})]
    assert read_tool(span("pay", 2, 1, attributes=attributes, events=raised, status=1))[3] == status


@pytest.mark.parametrize("has_span", [True, False])
@pytest.mark.parametrize("integration", ["langchain_create_agent", "langgraph"])
def test_middleware_of_langchains_agents_may_answer_in_place_of_a_tool(integration: str, *, has_span: bool) -> None:
    """LangChain 1.x: `wrap_tool_call` returned what the model is told, whatever that says, and no tool ran."""
    calls: list[dict[str, Any]] = [{"name": name, "args": {}, "id": name} for name in ("pay", "get")]
    message = {"lc": 1, "id": ["AIMessage"], "kwargs": {"tool_calls": calls}}
    asked = {"gen_ai.completion": json.dumps({"generations": [[{"message": message}]]})}
    told = [{"type": "tool", "tool_call_id": c["id"], "content": "Not today.", "status": "success"} for c in calls]
    given = {
        "messages": [{"type": "human", "content": "hi"}, {"type": "ai", "content": "", "tool_calls": calls}, *told]
    }
    answered = {"gen_ai.prompt": json.dumps(given), "gen_ai.completion": '{"generations": [[{"text": "Done."}]]}'}
    tool = {"gen_ai.tool.name": "pay", "gen_ai.tool.call.id": "pay"}
    run = run_of(
        ls("chain", "travel", 1, lasting=90, status=1, attributes={AGENT: "travel", INTEGRATION: integration}),
        ls("llm", "ChatOpenAI", 2, 1, 1, 5, attributes=asked, status=1),
        ls("tool", "get", 3, 1, 10, attributes={"gen_ai.tool.name": "get", "gen_ai.tool.call.id": "get"}, status=1),
        *([ls("tool", "pay", 4, 1, 11, attributes=tool, status=1)] if has_span else []),
        ls("llm", "ChatOpenAI", 5, 1, 40, 5, attributes=answered, status=1),
    )
    assert called(run) == (["get", "pay"] if has_span else ["pay", "get"])
    is_open = integration == "langchain_create_agent" and not has_span
    assert ("uncertain_execution" in doubts(run)) is is_open


@pytest.mark.parametrize("is_node", [True, False])
def test_what_a_graph_asked_for_last_may_wait_for_a_human(is_node: bool) -> None:
    """LangChain 1.0 to 1.2: middleware interrupts the graph, whose own span ends well and has no sign of a graph."""
    message = {"lc": 1, "id": ["AIMessage"], "kwargs": {"tool_calls": [{"name": "pay", "args": {}, "id": "c1"}]}}
    asked = {"gen_ai.completion": json.dumps({"generations": [[{"message": message}]]})}
    asked |= {"langsmith.metadata.langgraph_node": "model"} if is_node else {}
    run = run_of(
        ls("chain", "shop", 1, lasting=90, status=1, attributes={"gen_ai.prompt": '{"messages": []}'}),
        ls("llm", "ChatOpenAI", 2, 1, 1, 5, attributes=asked, status=1),
    )
    assert ("uncertain_execution" in doubts(run)) is is_node


@pytest.mark.parametrize("is_cancelled", [True, False])
def test_a_call_that_has_no_span_may_have_run_where_the_run_was_cancelled(is_cancelled: bool) -> None:
    """A cancelled agent has the status of a success (0.8), and the tool that it was cancelled in has no span."""
    calls: list[dict[str, Any]] = [{"name": name, "args": {}, "id": name} for name in ("wait", "get")]
    message = {"lc": 1, "id": ["AIMessage"], "kwargs": {"tool_calls": calls}}
    answer = {"gen_ai.completion": json.dumps({"generations": [[{"message": message}]]})}
    returned: dict[str, Any] = {} if is_cancelled else {"messages": []}
    raised = [("exception", {"exception.message": "CancelledError()"})] if is_cancelled else []
    run = run_of(
        ls("chain", "travel", 1, lasting=90, status=1, events=raised,
           attributes={AGENT: "travel", INTEGRATION: "langchain_create_agent", "gen_ai.completion": json.dumps(returned)}),
        ls("llm", "ChatOpenAI", 2, 1, 1, 5, attributes=answer, status=1),
        ls("tool", "get", 3, 1, 10, attributes={"gen_ai.tool.name": "get", "gen_ai.tool.call.id": "get"}, status=1),
    )  # fmt: skip
    assert ("uncertain_execution" in doubts(run)) is is_cancelled


def test_an_agent_of_openais_sdk_is_the_chain_that_has_tools() -> None:
    sdk = {"langsmith.metadata.ls_integration": "openai-agents-sdk"}
    asked = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "drop", "arguments": "{}"}}]}
    run = run_of(
        ls("chain", "Agent workflow", 1, lasting=100, attributes=sdk),
        ls("chain", "shop", 2, 1, 1, 90, attributes={**sdk, "gen_ai.tool.definitions": '["pay"]'}),
        ls("llm", "Generation", 3, 2, 2, attributes={**sdk, "gen_ai.completion": json.dumps(asked)}),
    )
    # The SDK ends a run for a tool that does not exist, and the spans above say that all was well.
    assert (run.agent, called(run), doubts(run)) == ("shop", ["drop"], ["uncertain_execution", "unobserved_results"])


@pytest.mark.parametrize("status", [1, 2])
@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"error": "card declined"}, (["charge_card"], [])),
        ({"output": "The manager did not agree to this."}, (["(charge_card)"], [])),
        ({}, (["charge_card"], ["uncertain_execution"])),
    ],
)
def test_what_claudes_agent_says_of_a_call_that_failed_or_was_denied(
    told: dict[str, str], expected: tuple[list[str], list[str]], status: int
) -> None:
    """Claude Agent SDK 0.2.189 under langsmith 0.15."""
    words = next(iter(told.values()), "Tool run not completed (conversation ended)")
    attributes = {
        "langsmith.metadata.ls_integration": "claude-agent-sdk",
        "gen_ai.tool.name": "charge_card",
        "gen_ai.prompt": '{"input":{"amount":500}}',
        "gen_ai.completion": json.dumps(told),
    }
    raised = [("exception", {"exception.type": "Exception", "exception.message": words})]
    failed = ls("tool", "charge_card", 2, 1, attributes=attributes, status=status, events=raised)
    run = run_of(ls("chain", "claude.conversation", 1, lasting=90), failed)
    assert (called(run), doubts(run)) == expected
    assert run.trajectory.calls[0].status == "error"


def test_an_agent_that_claudes_agent_started_has_a_run_of_its_own() -> None:
    """Claude Agent SDK 0.2.189 under langsmith 0.15: it goes on after the tool that started it has ended."""
    claude = {INTEGRATION: "claude-agent-sdk"}
    started_by = {**claude, "langsmith.metadata.tool_call_id": "t1"}
    start = {**claude, "gen_ai.tool.name": "Agent", "gen_ai.tool.call.id": "t1", "gen_ai.prompt": '{"input":{"n":1}}'}
    pay = {**started_by, "gen_ai.tool.name": "pay", "gen_ai.tool.call.id": "t2", "gen_ai.prompt": '{"input":{"n":2}}'}
    inner, outer = runs_of(
        ls("chain", "claude.conversation", 1, lasting=90, attributes=claude),
        ls("tool", "Agent", 2, 1, 5, 10, attributes={**start, "gen_ai.completion": '{"isAsync":true}'}),
        ls("chain", "payer", 3, 2, 14, 60, attributes=started_by),
        ls("tool", "pay", 4, 3, 20, 10, attributes={**pay, "gen_ai.completion": '{"content":"paid"}'}),
    )
    assert (called(outer), inner.agent, called(inner)) == (["Agent"], "payer", ["pay"])


def test_an_input_of_nothing_is_no_argument() -> None:
    assert read_tool(ls("tool", "list", 2, 1, attributes={"gen_ai.prompt": '{"input":null}'}))[2] is None


def test_a_tool_that_was_interrupted_waits_for_a_human() -> None:
    """LangGraph: all that says so is how the words of the exception begin."""
    raised = {
        "exception.type": "Exception",
        "exception.message": "GraphInterrupt((Interrupt(value={'q': 'x'}),))Traceback",
    }
    attributes = {AGENT: "a", "gen_ai.tool.name": "ask", "gen_ai.prompt": '{"q": "x"}', "gen_ai.completion": "{}"}
    run = run_of(
        ls("chain", "a", 1, lasting=90, attributes={AGENT: "a"}),
        ls("llm", "ChatOpenAI", 2, 1, at=1, lasting=5),
        ls("tool", "ask", 3, 1, at=10, attributes=attributes, status=2, events=[("exception", raised)]),
    )
    assert (called(run), "uncertain_execution" in doubts(run)) == (["(ask)"], True)


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ({"output": "paid"}, ("ok", [])),
        # That it waits for an approval, and that it was cancelled.
        ({"output": None}, ("ok", ["other_traces", "uncertain_execution"])),
        ({"output": "Tool 'pay' timed out after 0.05 seconds."}, ("error", [])),
        ({"output": "This payment is not allowed."}, ("ok", ["uncertain_execution"])),
    ],
)
def test_what_came_of_a_call_of_openais_sdk(returned: dict[str, Any], expected: tuple[str, list[str]]) -> None:
    """OpenAI Agents 0.24 under langsmith 0.14: the span ends well, whatever was given to the model in place of a result."""
    sdk = {INTEGRATION: "openai-agents-sdk"}
    asked = {"output": [{"type": "function_call", "call_id": "c1", "name": "pay", "arguments": '{"order": 7}'}]}
    call = {**sdk, "gen_ai.tool.name": "pay", "gen_ai.prompt": '{"order":7}', "gen_ai.completion": json.dumps(returned)}
    run = run_of(
        ls("chain", "Agent workflow", 1, lasting=100, attributes=sdk, status=1),
        ls("chain", "shop", 2, 1, 1, 90, attributes={**sdk, "gen_ai.tool.definitions": '["pay"]'}, status=1),
        ls("llm", "Span Response", 3, 2, 2, 5, attributes={**sdk, "gen_ai.completion": json.dumps(asked)}, status=1),
        ls("tool", "pay", 4, 2, 10, 5, attributes=call, status=1),
    )
    assert (run.trajectory.calls[0].status, doubts(run)) == expected


def test_a_guardrail_of_openais_sdk_is_no_call() -> None:
    """All but one attribute of its span is that of a tool."""
    sdk = {INTEGRATION: "openai-agents-sdk"}
    guardrail = {**sdk, "gen_ai.tool.name": "check", "langsmith.metadata.triggered": False, "gen_ai.prompt": "{}"}
    call = {**sdk, "gen_ai.tool.name": "pay", "gen_ai.prompt": '{"order":7}', "gen_ai.completion": '{"output":"paid"}'}
    run = run_of(
        ls("chain", "shop", 1, lasting=90, attributes={**sdk, "gen_ai.tool.definitions": '["pay"]'}, status=1),
        ls("tool", "check", 2, 1, 1, 2, attributes={**guardrail, "gen_ai.completion": "{}"}, status=1),
        ls("tool", "pay", 3, 1, 10, 5, attributes=call, status=1),
    )
    assert called(run) == ["pay"]


@pytest.mark.parametrize(("traced", "expected"), [(True, []), (False, ["unrecorded_calls"])])
def test_a_request_that_was_streamed_is_on_the_span_of_the_function_around_it(
    traced: bool, expected: list[str]
) -> None:
    """LangSmith 0.12 for JavaScript: those of the requests after the first are lost, and its messages are those of the end."""
    call, later = (
        {"id": f"call_sqclum{n}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        for n, name in ((33, "look"), (34, "book"))
    )
    given: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for one in (call, later):
        given += [
            {"role": "assistant", "tool_calls": [one]},
            {"role": "tool", "tool_call_id": one["id"], "content": "ok"},
        ]
    answer = {"finish_reason": "tool_calls", "message": {"role": "assistant", "content": "", "tool_calls": [call]}}
    written = {
        "langsmith.traceable": "true",
        "langsmith.trace.name": "ChatOpenAI",
        "gen_ai.prompt": json.dumps({"messages": given}),
        "gen_ai.response.finish_reasons": "tool_calls",
        "gen_ai.completion": json.dumps({"object": "chat.completion.chunk", "choices": [answer]}),
    }
    tools = [
        ls(
            "tool",
            name,
            2 + at,
            1,
            10 + at * 20,
            5,
            status=1,
            attributes={"gen_ai.tool.name": name, "gen_ai.completion": "1"},
        )
        for at, name in enumerate(("look", "book"))
    ]
    run = run_of(ls("llm", "travel", 1, lasting=8, attributes=written, status=1), *(tools if traced else []))
    assert (run.agent, called(run), [one for one in doubts(run) if one == "unrecorded_calls"]) == (
        "travel",
        ["look", "book"] if traced else ["look"],
        expected,
    )
