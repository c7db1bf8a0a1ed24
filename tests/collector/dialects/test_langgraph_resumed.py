"""Runs of LangGraph (1.2) that wait for a human, or were stopped, and go on in another trace: by what their graph is given."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import called, doubts, run_of, runs_of, span

APPROVED: dict[str, Any] = {"graph": None, "update": None, "resume": {"decisions": [{"type": "approve"}]}, "goto": []}
ASKED: dict[str, Any] = {"messages": [{"role": "user", "content": "go"}]}
OPENINFERENCE = "openinference.instrumentation.langchain"
OPENLLMETRY = "opentelemetry.instrumentation.langchain"
TRACERS = ("openinference", "openllmetry", "langsmith")
AGENTS, GRAPHS = "langchain_create_agent", "langgraph"
UNNAMED = "LangGraph"
CALL: dict[str, Any] = {"name": "book", "args": {"city": "Oslo"}, "id": "call_1", "type": "tool_call"}
STATE: list[dict[str, Any]] = [{"content": "go", "type": "human"}, {"content": "", "type": "ai", "tool_calls": [CALL]}]
WAITING = json.dumps({"messages": STATE})
RETURNED = {"content": "booked", "type": "tool", "name": "book", "tool_call_id": "call_1", "status": "success"}
TOLD: list[dict[str, Any]] = [*STATE, RETURNED]


def graph(
    tracer: str,
    given: object,
    number: int = 1,
    parent: int = 0,
    at: float = 0,
    lasting: float = 90,
    name: str = "till",
    integration: str = AGENTS,
    ended: str | None = None,
    **more: Any,
) -> list[Span]:
    """Returns the spans of a run of a graph: OpenLLMetry has two, of which the outer one tells nothing of what it is given."""
    metadata = {"ls_integration": integration, "thread_id": "t"}
    if integration == AGENTS and name != UNNAMED:
        metadata["lc_agent_name"] = name
    if tracer == "openinference":
        attributes = {
            "openinference.span.kind": "CHAIN", "input.value": json.dumps(given), "metadata": json.dumps(metadata),
        }  # fmt: skip
        attributes |= {} if ended is None else {"output.value": ended}
        return [span(name, number, parent, at, lasting, attributes=attributes, scope=OPENINFERENCE, **more)]
    if tracer == "langsmith":
        # What is no object of named inputs is given this name.
        wrapped = given if given is ASKED else {"input": given}
        attributes = {
            "langsmith.span.kind": "chain", "gen_ai.prompt": json.dumps(wrapped, separators=(",", ":")),
            **{"langsmith.metadata." + key: value for key, value in metadata.items()},
        }  # fmt: skip
        attributes |= {} if ended is None else {"gen_ai.completion": ended}
        return [span(name, number, parent, at, lasting, attributes=attributes, scope="langsmith", **more)]
    if tracer == "langfuse":
        attributes = {
            "langfuse.observation.type": "chain", "langfuse.observation.input": json.dumps(given),
            **{"langfuse.observation.metadata." + key: value for key, value in metadata.items()}, **more,
        }  # fmt: skip
        return [span(name, number, parent, at, lasting, attributes=attributes, scope="langfuse-sdk")]
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, "gen_ai.provider.name": "langgraph"}
    workflow = {
        **agent, "traceloop.span.kind": "workflow", "traceloop.entity.name": name,
        "traceloop.entity.input": json.dumps({"inputs": given, "tags": [], "metadata": metadata}),
        **{"traceloop.association.properties." + key: value for key, value in metadata.items()},
    }  # fmt: skip
    workflow |= {} if ended is None else {"traceloop.entity.output": json.dumps({"outputs": json.loads(ended)})}
    if parent:
        return [span(f"{name}.workflow", number, parent, at, lasting, attributes=workflow, scope=OPENLLMETRY)]
    return [
        span(f"invoke_agent {name}", number + 50, 0, at, lasting, attributes=agent, scope=OPENLLMETRY),
        span(f"{name}.workflow", number, number + 50, at, lasting, attributes=workflow, scope=OPENLLMETRY),
    ]


def book(tracer: str, number: int, parent: int, at: float) -> Span:
    returned = json.dumps(TOLD[-1])
    attributes: dict[str, Any] = {
        "openinference": {
            "openinference.span.kind": "TOOL", "tool.name": "book", "input.value": '{"city": "Oslo"}',
            "output.value": json.dumps({"type": "tool", "data": TOLD[-1]}),
        },
        "openllmetry": {
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "book", "traceloop.span.kind": "tool",
            "gen_ai.tool.call.arguments": json.dumps({"input_str": "{'city': 'Oslo'}", "inputs": {"city": "Oslo"}}),
            "gen_ai.tool.call.id": "call_1", "gen_ai.tool.call.result": returned,
        },
        "langsmith": {
            "langsmith.span.kind": "tool", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "book",
            "gen_ai.tool.call.id": "call_1", "gen_ai.prompt": '{"input":"{\'city\': \'Oslo\'}"}', "gen_ai.completion": returned,
        },
    }[tracer]  # fmt: skip
    scope = {"openinference": OPENINFERENCE, "openllmetry": OPENLLMETRY}.get(tracer, "langsmith")
    name = "execute_tool book" if tracer == "openllmetry" else "book"
    return span(name, number, parent, at, 5, attributes=attributes, scope=scope)


def request(tracer: str, number: int, parent: int, at: float, told: list[dict[str, Any]], asks: bool) -> Span:
    message = {"lc": 1, "id": ["AIMessage"], "kwargs": {"content": "", "tool_calls": [CALL] if asks else []}}
    answer = json.dumps({"generations": [[{"text": "" if asks else "Done.", "message": message}]]})
    given = json.dumps({"messages": [told]})
    calls = [{"type": "tool_call", "id": "call_1", "name": "book", "arguments": {"city": "Oslo"}}]
    said = [{"type": "text", "content": "Done."}]
    call = "llm.output_messages.0.message.tool_calls.0.tool_call."
    flattened = {call + "id": "call_1", call + "function.name": "book", call + "function.arguments": '{"city": "Oslo"}'}
    attributes: dict[str, Any] = {
        "openinference": {
            "openinference.span.kind": "LLM", "input.value": given, "output.value": answer,
            "metadata": '{"ls_integration": "langchain_chat_model", "langgraph_node": "model"}', **(flattened if asks else {}),
        },
        "openllmetry": {
            "gen_ai.operation.name": "chat", "traceloop.span.kind": "chat",
            "gen_ai.input.messages": json.dumps(in_parts(told)),
            "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": calls if asks else said}]),
        },
        "langsmith": {"langsmith.span.kind": "llm", "gen_ai.prompt": given, "gen_ai.completion": answer},
    }[tracer]  # fmt: skip
    scope = {"openinference": OPENINFERENCE, "openllmetry": OPENLLMETRY}.get(tracer, "langsmith")
    name = "ChatOpenAI.chat" if tracer == "openllmetry" else "ChatOpenAI"
    return span(name, number, parent, at, 5, attributes=attributes, scope=scope)


def in_parts(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    call = {"type": "tool_call", "id": "call_1", "name": "book", "arguments": {"city": "Oslo"}}
    whole = [
        {"role": "user", "parts": [{"type": "text", "content": "go"}]},
        {"role": "assistant", "parts": [call]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": "booked"}]},
    ]
    return whole[: len(told)]


@pytest.mark.parametrize("tracer", TRACERS)
@pytest.mark.parametrize(("given", "goes_on"), [(APPROVED, True), (None, True), (ASKED, False)])
@pytest.mark.parametrize("integration", [AGENTS, GRAPHS])
def test_a_graph_that_is_given_an_answer_or_nothing_goes_on(
    tracer: str, given: object, integration: str, *, goes_on: bool
) -> None:
    """With nothing it goes on from where it was stopped (`interrupt_before`), or had failed. A graph may begin with a call."""
    name = "till" if integration == AGENTS else UNNAMED
    spans = graph(tracer, given, name=name, integration=integration)
    first = [request(tracer, 2, 1, 5, STATE[:1], asks=True)] if given is ASKED else []
    run = run_of(*spans, *first, book(tracer, 3, 1, 20), request(tracer, 4, 1, 40, TOLD, asks=False))
    assert (called(run), doubts(run)) == (["book"], ["other_traces"] if goes_on else [])


@pytest.mark.parametrize("tracer", TRACERS)
def test_a_graph_goes_on_in_its_trace(tracer: str) -> None:
    waiting, resumed = runs_of(
        span("request", 40, lasting=300),
        *graph(tracer, ASKED, 1, 40, ended=WAITING),
        request(tracer, 2, 1, 5, STATE[:1], asks=True),
        *graph(tracer, APPROVED, 3, 40, 100),
        book(tracer, 4, 3, 110),
        request(tracer, 5, 3, 140, TOLD, asks=False),
    )
    assert [(called(run), doubts(run)) for run in (waiting, resumed)] == [(["(book)"], []), (["book"], [])]


@pytest.mark.parametrize("tracer", ["openinference", "langsmith"])
@pytest.mark.parametrize("integration", [AGENTS, GRAPHS])
def test_a_graph_without_a_name_waits_and_goes_on_below_the_span_of_a_server(tracer: str, integration: str) -> None:
    root = span("POST /chat", 40, lasting=300)
    of_graph: dict[str, Any] = {"name": UNNAMED, "integration": integration}
    waiting = run_of(
        root, *graph(tracer, ASKED, 1, 40, ended=WAITING, **of_graph), request(tracer, 2, 1, 5, STATE[:1], asks=True)
    )
    resumed = run_of(
        root,
        *graph(tracer, APPROVED, 1, 40, **of_graph),
        book(tracer, 3, 1, 20),
        request(tracer, 4, 1, 40, TOLD, asks=False),
    )
    whole = run_of(
        root, *graph(tracer, ASKED, 1, 40, **of_graph), request(tracer, 2, 1, 5, STATE[:1], asks=True),
        book(tracer, 3, 1, 20), request(tracer, 4, 1, 40, TOLD, asks=False),
    )  # fmt: skip
    assert ["other_traces" in doubts(run) for run in (waiting, resumed, whole)] == [True, True, False]
    assert (called(resumed), called(whole), resumed.agent, doubts(whole)) == (["book"], ["book"], None, [])


INTERRUPTED = {
    "openinference": {"openinference.span.kind": "TOOL", "tool.name": "ask", "input.value": "w"},
    "langsmith": {"langsmith.span.kind": "tool", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ask"},
}
INTERRUPT = "(Interrupt(value={'action_requests': []}, id='5c4b'),)"
RAISED = {
    "openinference": {"exception.type": "langgraph.errors.GraphInterrupt", "exception.message": INTERRUPT},
    "langsmith": {"exception.type": "Exception", "exception.message": f"GraphInterrupt({INTERRUPT})"},
}


@pytest.mark.parametrize("tracer", INTERRUPTED)
def test_what_a_call_started_waits_with_it(tracer: str) -> None:
    """`HumanInTheLoopMiddleware` of an agent inside a tool: of a graph inside another an exception tells, and no state."""
    events, scope = [("exception", RAISED[tracer])], graph(tracer, ASKED)[0].scope.name
    outer, inner = runs_of(
        *graph(tracer, ASKED),
        span("ask", 3, 1, 20, 60, attributes=INTERRUPTED[tracer], events=events, scope=scope),
        *graph(tracer, ASKED, 4, 3, 22, 50, name="sub", events=events, status=2 if tracer == "langsmith" else 1),
        request(tracer, 5, 4, 25, STATE[:1], asks=True),
    )
    assert (called(inner), doubts(inner)[:1]) == (["(book)"], ["other_traces"])
    assert "other_traces" in doubts(outer)


def test_what_a_call_started_waits_with_it_under_langfuse() -> None:
    told = {"langfuse.observation.level": "DEFAULT", "langfuse.observation.status_message": INTERRUPT}
    tool = {"langfuse.observation.type": "tool", "langfuse.observation.input": '{"q": "w"}', **told}
    calls = json.dumps({"role": "assistant", "content": "", "tool_calls": [CALL]})
    asks = {"langfuse.observation.type": "generation", "langfuse.observation.output": calls}
    _, inner = runs_of(
        *graph("langfuse", ASKED),
        span("ask", 3, 1, 20, 60, attributes=tool, scope="langfuse-sdk"),
        *graph("langfuse", ASKED, 4, 3, 22, 50, name="sub", **told),
        span("ChatOpenAI", 5, 4, 25, 5, attributes=asks, scope="langfuse-sdk"),
    )
    assert (called(inner), doubts(inner)[:1]) == (["(book)"], ["other_traces"])


@pytest.mark.parametrize("tracer", INTERRUPTED)
def test_an_agent_inside_goes_on_with_a_call_if_the_one_around_it_goes_on(tracer: str) -> None:
    """It is given what it was given at first."""
    outer, inner = runs_of(
        *graph(tracer, APPROVED),
        span("ask", 3, 1, 20, 60, attributes=INTERRUPTED[tracer]),
        *graph(tracer, ASKED, 4, 3, 22, 50, name="sub"),
        book(tracer, 5, 4, 25),
        request(tracer, 6, 4, 40, TOLD, asks=False),
        request(tracer, 7, 1, 85, STATE[:1], asks=False),
    )
    assert (called(inner), doubts(inner)) == (["book"], ["other_traces"])
    assert "other_traces" in doubts(outer)


OFFICIAL = "opentelemetry.instrumentation.genai.langchain"
PAY: Any = {"arguments": {"n": 1}, "name": "pay", "id": "c2", "type": "tool_call"}


def graph_of_deep_agents(answer: Any, *, thread: str | None) -> Span:
    """The root of an agent of deepagents 0.7: its name is in no metadata, so that it is taken for a workflow (1.3b0)."""
    message = {"role": "assistant", "parts": [answer], "finish_reason": "", "name": "deep"}
    attributes = {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "deep",
        "gen_ai.output.messages": json.dumps([message], separators=(",", ":")),
        **({"gen_ai.conversation.id": thread} if thread else {}),
    }
    return span("invoke_workflow deep", 1, lasting=90, attributes=attributes, scope=OFFICIAL)


def official(*parts: Any, number: int, at: float) -> Span:
    message = {"role": "assistant", "parts": parts, "finish_reason": "tool_calls" if parts else "stop"}
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.response.finish_reasons": [message["finish_reason"]],
        "gen_ai.input.messages": '[{"role":"user","parts":[{"content":"hi","type":"text"}]}]',
        "gen_ai.output.messages": json.dumps([message], separators=(",", ":")),
    }
    return span("chat m", number, 1, at, attributes=attributes, scope=OFFICIAL, kind=3)


def made_by_deep_agents(number: int, at: float) -> Span:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "pay",
        "gen_ai.tool.call.id": "c2",
        "gen_ai.tool.call.arguments": '{"n":1}',
        "gen_ai.tool.call.result": "paid",
    }
    return span("execute_tool pay", number, 1, at, attributes=attributes, scope=OFFICIAL)


@pytest.mark.parametrize(
    ("thread", "is_made", "expected"),
    [
        ("t1", False, (["(pay)"], ["other_traces"])),
        ("t1", True, (["pay"], [])),  # by a tool that returns directly
        (None, False, (["pay"], ["unobserved_results"])),  # without a thread it cannot go on
    ],
)
def test_a_graph_in_a_thread_that_ends_with_a_request_for_calls_waits(
    thread: str | None, is_made: bool, expected: Any
) -> None:
    made = [made_by_deep_agents(3, 30)] * is_made
    run = run_of(graph_of_deep_agents(PAY, thread=thread), official(PAY, number=2, at=5), *made)
    assert (called(run), doubts(run)) == expected


def test_a_graph_waits_also_where_the_request_that_asked_for_the_call_was_lost() -> None:
    run = run_of(graph_of_deep_agents(PAY, thread="t1"), official(number=2, at=5))
    assert "other_traces" in doubts(run)


def test_a_graph_that_begins_with_an_asked_call_goes_on() -> None:
    done = {"type": "text", "content": "done"}
    told = official(number=3, at=30)
    run = run_of(graph_of_deep_agents(done, thread="t1"), made_by_deep_agents(2, 5), told)
    assert (called(run), doubts(run)) == (["pay"], ["other_traces"])
