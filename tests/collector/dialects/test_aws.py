"""AWS Distro for OpenTelemetry (0.21), with OpenAI Agents 0.24, LangChain 1.5, LlamaIndex 0.14 and CrewAI 1.15."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import called, doubts, run_of, runs_of, span

AGENTS, LANGCHAIN, LLAMA_INDEX, CREWAI = (
    f"amazon.opentelemetry.distro.instrumentation.{name}"
    for name in ("openai_agents", "langchain", "llama_index", "crewai")
)
GO = {"role": "user", "parts": [{"type": "text", "content": "go"}]}
DONE = {"role": "assistant", "parts": [{"type": "text", "content": "done"}], "finish_reason": "stop"}
THAT_WAIT = pytest.mark.parametrize("scope", [AGENTS, LANGCHAIN])


def asks(*tools: str) -> dict[str, Any]:
    calls = [
        {"type": "tool_call", "id": f"call_0_{at}", "name": tool, "arguments": {} if "_" in tool else {"a": 1}}
        for at, tool in enumerate(tools)
    ]
    return {"role": "assistant", "parts": calls, "finish_reason": "tool_call"}


def told(*results: str) -> dict[str, Any]:
    parts = [{"type": "tool_call_response", "id": f"call_0_{at}", "response": text} for at, text in enumerate(results)]
    return {"role": "tool", "parts": parts}


def agent(
    scope: str, answer: Any, *given: Any, number: int = 1, parent: int = 0, name: str = "worker", **more: Any
) -> Span:
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": name,
        "gen_ai.input.messages": json.dumps(given or [GO]),
        "gen_ai.output.messages": json.dumps([answer]),
    }
    return span(f"invoke_agent {name}", number, parent, attributes=attributes, scope=scope, **{"lasting": 100, **more})


def request(scope: str, number: int, at: float, answer: Any, *given: Any, parent: int = 1, **more: Any) -> Span:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(given or [GO]),
        "gen_ai.output.messages": json.dumps([answer]),
        **more,
    }
    return span("chat gpt", number, parent, at, 8, attributes=attributes, scope=scope, kind=3)


def call(scope: str, number: int, at: float, tool: str, result: str | None = "3", **more: Any) -> Span:
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "gen_ai.tool.call.arguments": '{"a":1}',
        **more,
    }
    if result is not None:
        attributes["gen_ai.tool.call.result"] = result
    status = 1 if scope == CREWAI else 0
    return span(f"execute_tool {tool}", number, 1, at, 2, attributes=attributes, scope=scope, status=status)


@THAT_WAIT
def test_a_run_that_is_whole(scope: str) -> None:
    run = run_of(
        agent(scope, DONE),
        request(scope, 2, 5, asks("add")),
        call(scope, 3, 15, "add"),
        request(scope, 4, 20, DONE, GO, asks("add"), told("3")),
    )
    assert (called(run), doubts(run)) == (["add"], [])


@THAT_WAIT
@pytest.mark.parametrize("was_approved", [True, False])
def test_a_run_that_goes_on_when_a_human_has_answered_began_in_another_trace(scope: str, was_approved: bool) -> None:
    given = (GO, asks("add"), told("3" if was_approved else "Tool execution was not approved."))
    run = run_of(
        agent(scope, DONE, *given),
        *([call(scope, 2, 5, "add")] if was_approved else []),
        request(scope, 3, 10, asks("mul"), *given),
        call(scope, 4, 20, "mul"),
        request(scope, 5, 30, DONE, *given, asks("mul"), told("12")),
    )
    assert (called(run), doubts(run)) == (["add", "mul"] if was_approved else ["mul"], ["other_traces"])


@THAT_WAIT
def test_a_run_that_ends_with_a_call_that_waits_goes_on_in_another_trace(scope: str) -> None:
    begun = [call(AGENTS, 3, 15, "add", None)] if scope == AGENTS else []  # that for LangChain begins no span
    run = run_of(agent(scope, asks("add")), request(scope, 2, 5, asks("add")), *begun)
    assert called(run) == ["(add)"]
    assert "other_traces" in doubts(run)


def test_a_handoff_of_openai_agents_is_no_call_and_who_takes_over_began_here() -> None:
    asked, answer = asks("transfer_to_helper"), told('{"assistant": "helper"}')
    handed_over = {"gen_ai.tool.call.arguments": '{"from_agent":"main","to_agent":"helper"}'}
    main, helper = runs_of(
        span("workflow", 9, lasting=200, attributes={"gen_ai.operation.name": "invoke_workflow"}, scope=AGENTS),
        agent(AGENTS, asked, number=1, parent=9, name="main", lasting=30),
        request(AGENTS, 2, 5, asked),
        call(AGENTS, 3, 15, "transfer_to_helper", None, **handed_over),
        agent(AGENTS, DONE, GO, asked, answer, number=4, parent=9, name="helper", at=40, lasting=60),
        request(AGENTS, 5, 45, DONE, GO, asked, answer, parent=4),
    )
    assert (called(main), doubts(main)) == (["(transfer_to_helper)"], [])
    assert (called(helper), doubts(helper)) == ([], [])


def test_a_tool_that_openai_agents_does_not_have_did_not_run() -> None:
    run = run_of(agent(AGENTS, asks("nope")), request(AGENTS, 2, 5, asks("nope")))
    assert (called(run), doubts(run)) == (["(nope)"], [])


def steps_of_llama_index(*, is_streamed: bool) -> list[Span]:
    """Each request is below a span that is called an agent's, and of one that is streamed the span between is never sent."""
    spans = [agent(LLAMA_INDEX, DONE)]
    answers = [(asks("add", "mul"), [GO]), (DONE, [GO, asks("add", "mul"), told("3", "12")])]
    for at, (answer, given) in enumerate(answers):
        step, between, number = 10 + 10 * at, 11 + 10 * at, 12 + 10 * at
        stepping = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "worker"}
        spans.append(
            span("run_agent_step worker", step, 1, 5 + 40 * at, 12, attributes=stepping, scope=LLAMA_INDEX, status=1)
        )
        if not is_streamed:
            offered = {"gen_ai.tool.definitions": "[]"}
            spans.append(
                span("llama_index.operation", between, step, 6 + 40 * at, 10, attributes=offered, scope=LLAMA_INDEX)
            )
        more = {"gen_ai.request.stream": True} if is_streamed else {}
        spans.append(request(LLAMA_INDEX, number, 7 + 40 * at, answer, *given, parent=between, **more))
    return [*spans, call(LLAMA_INDEX, 3, 20, "add"), call(LLAMA_INDEX, 4, 22, "mul")]


@pytest.mark.parametrize("is_streamed", [False, True])
def test_the_steps_of_an_agent_of_llama_index_are_no_agents(is_streamed: bool) -> None:
    run = run_of(*steps_of_llama_index(is_streamed=is_streamed))
    assert (called(run), [one.step for one in run.trajectory.calls], doubts(run)) == (["add", "mul"], [0, 0], [])


def test_what_is_missing_above_a_streamed_request_may_be_any_of_two_agents() -> None:
    other = agent(LLAMA_INDEX, DONE, number=30, name="other")
    assert all("missing_span" in doubts(run) for run in runs_of(other, *steps_of_llama_index(is_streamed=True)))


@pytest.mark.parametrize(
    ("result", "more", "is_in_doubt"),
    [
        ("Tool not found", {}, False),
        ("Tool not found", {"gen_ai.tool.description": "Find a tool."}, True),
        ("Tool execution blocked by hook. Tool: add", {"gen_ai.tool.description": "Add."}, False),
    ],
)
def test_crewai_ends_well_the_spans_of_calls_that_it_did_not_make(
    result: str, more: dict[str, Any], is_in_doubt: bool
) -> None:
    run = run_of(
        agent(CREWAI, DONE),
        request(CREWAI, 2, 5, asks("add")),
        call(CREWAI, 3, 15, "add", result, **more),
        request(CREWAI, 4, 20, DONE, GO, asks("add"), told(result)),
    )
    assert called(run) == ["(add)"]
    assert ("uncertain_execution" in doubts(run)) is is_in_doubt
