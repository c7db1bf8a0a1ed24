"""LangGraph under OpenLIT 1.45, which has a span of a graph, of its nodes, requests and tools, and none of an agent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import agent_span, called, doubts, model_span, run_of, runs_of, span, tool_span, user

GRAPHS, LANGCHAIN = "openlit.instrumentation.langgraph", "openlit.instrumentation.langchain"
ANSWER = {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "done"}]}])}
TOLD = [
    user("go"),
    {"role": "assistant", "parts": [{"type": "text", "content": ""}]},  # OpenLIT leaves out the calls, and their ids
    {"role": "tool", "parts": [{"type": "text", "content": "sunny in Paris"}]},
]


def graph(finish: str, number: int = 1, parent: int = 0, at: float = 0, **more: Any) -> Span:
    attributes = {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "travel",
        "gen_ai.provider.name": "langgraph",
        "gen_ai.conversation.id": "t1",
        "gen_ai.response.finish_reasons": [finish],
        "gen_ai.graph.status": "success",
    }
    more = {"lasting": 200, "status": 1, **more}
    return span("invoke_workflow travel", number, parent, at, scope=GRAPHS, attributes=attributes, **more)


def node(name: str, number: int, parent: int, at: float, **more: Any) -> Span:
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": name,
        "gen_ai.provider.name": "langgraph",
    }
    return span(f"invoke_agent {name}", number, parent, at, scope=GRAPHS, attributes=attributes, **more)


def asking(number: int, parent: int, at: float, *calls: tuple[str, str, Any]) -> Span:
    finish = {"gen_ai.response.finish_reasons": ["tool_calls"]}
    return model_span(calls, number, parent, at=at, scope=LANGCHAIN, status=1, attributes=finish)


def answering(number: int, parent: int, at: float, **more: Any) -> Span:
    attributes = {"gen_ai.response.finish_reasons": ["stop"], **more.pop("attributes", ANSWER)}
    return model_span((), number, parent, at=at, scope=LANGCHAIN, status=1, attributes=attributes, **more)


def weather(city: str, call_id: str, number: int, parent: int, at: float, **more: Any) -> Span:
    return tool_span(
        "weather", {"city": city}, number, parent, call_id=call_id, at=at, scope=LANGCHAIN, status=1, **more
    )


def test_a_graph_is_an_agent_also_below_the_span_of_a_server() -> None:
    run = run_of(
        span("POST /chat", 9, lasting=300, kind=2),
        graph("stop", 1, 9),
        node("model", 2, 1, 5),
        asking(3, 2, 6, ("c1", "weather", '{"city": "Paris"}')),
        weather("Paris", "c1", 4, 1, 30),
        node("model", 5, 1, 50),
        answering(6, 5, 51, input_messages=TOLD),
    )
    assert (run.agent, called(run), doubts(run), run.conversation_id) == ("travel", ["weather"], [], "t1")


def test_a_graph_around_the_span_of_its_agent_is_none() -> None:
    # OpenLIT before 1.45, whose instrumentation of LangChain has a span of the agent.
    runs = runs_of(
        graph("stop"),
        agent_span("travel", 2, 1, at=5, lasting=190, scope=LANGCHAIN, status=1),
        asking(3, 2, 6, ("c1", "weather", '{"city": "Paris"}')),
        weather("Paris", "c1", 4, 2, 30),
        answering(6, 2, 51),
    )
    assert [(run.span_id[-1], run.agent, called(run)) for run in runs] == [(2, "travel", ["weather"])]


@pytest.mark.parametrize("answer", [ANSWER, {}])
def test_a_graph_that_ends_with_calls_waits_for_a_human(answer: dict[str, str]) -> None:
    waiting = run_of(
        graph("tool_calls"),
        node("model", 2, 1, 5),
        asking(3, 2, 6, ("c1", "weather", '{"city": "Paris"}')),
        node("HumanInTheLoopMiddleware.after_model", 4, 1, 30, status=2),
    )
    assert (called(waiting), set(doubts(waiting))) == (
        ["weather"], {"other_traces", "uncertain_execution", "unobserved_results"},
    )  # fmt: skip
    resumed = run_of(
        graph("stop"),
        node("HumanInTheLoopMiddleware.after_model", 2, 1, 5, lasting=1),
        weather("Paris", "c1", 3, 1, 20),
        node("model", 4, 1, 40),
        answering(5, 4, 41, attributes=answer, input_messages=TOLD if answer else []),
    )
    assert (called(resumed), doubts(resumed)) == (["weather"], ["other_traces"])


def test_a_graph_may_begin_with_a_call_for_which_no_model_asked() -> None:
    run = run_of(
        graph("stop"),
        tool_span("weather", {"city": "Paris"}, 3, 1, at=20, scope=LANGCHAIN, status=1),
        node("model", 4, 1, 40),
        answering(5, 4, 41),
    )
    assert (called(run), doubts(run)) == (["weather"], [])


def test_middleware_may_answer_in_place_of_a_tool() -> None:
    run = run_of(
        graph("stop"),
        asking(3, 1, 6, ("c1", "weather", '{"city": "Paris"}')),
        answering(5, 1, 41, input_messages=TOLD),
    )
    assert "uncertain_execution" in doubts(run)


JS_GRAPHS, JS_LANGCHAIN = "@openlit/instrumentation-langgraph", "@openlit/instrumentation-langchain"


def in_javascript(
    name: str, operation: str, number: int, parent: int, at: float, lasting: float, scope: str, **attributes: Any
) -> Span:
    told = {
        "gen_ai.operation.name": operation,
        **{key.replace("__", "."): value for key, value in attributes.items()},
    }
    return span(f"{operation} {name}", number, parent, at, lasting, scope=scope, status=1, attributes=told)


def graph_in_javascript() -> Span:
    return in_javascript("clerk", "invoke_workflow", 2, 1, 1, 190, JS_GRAPHS, gen_ai__workflow__name="clerk")


def request_in_javascript(number: int, parent: int, at: float, *calls: tuple[str, str, Any]) -> Span:
    attributes = {"gen_ai.response.finish_reasons": ["tool_calls" if calls else "stop"], **({} if calls else ANSWER)}
    return model_span(calls, number, parent, at=at, scope=JS_LANGCHAIN, status=1, attributes=attributes)


def called_in_javascript(call_id: str, number: int, at: float) -> Span:
    return in_javascript(
        "DynamicStructuredTool", "execute_tool", number, 2, at, 5, JS_LANGCHAIN,
        gen_ai__tool__name="DynamicStructuredTool", gen_ai__tool__call__id=call_id,
        gen_ai__tool__call__arguments='{"city":"Paris"}', gen_ai__tool__call__result="[object ToolMessage]",
    )  # fmt: skip


SERVER = span("POST /chat", 1, lasting=200)
ASKED = ("c1", "weather", '{"city": "Paris"}')


def test_nodes_of_a_graph_for_javascript_are_no_agents() -> None:
    """OpenLIT 1.15 for JavaScript, which has two spans of a node that is called an agent."""
    run = run_of(
        SERVER,
        graph_in_javascript(),
        in_javascript("agent", "invoke_agent", 3, 2, 5, 20, JS_LANGCHAIN, gen_ai__agent__name="agent"),
        request_in_javascript(4, 3, 6, ASKED),
        in_javascript("agent", "invoke_agent", 5, 2, 5, 20, JS_GRAPHS, gen_ai__agent__name="agent"),
        called_in_javascript("c1", 6, 40),
        in_javascript("agent", "invoke_agent", 7, 2, 60, 20, JS_LANGCHAIN, gen_ai__agent__name="agent"),
        request_in_javascript(8, 7, 61),
    )
    assert (run.agent, called(run), doubts(run)) == ("clerk", ["weather"], [])


def test_a_graph_for_javascript_waits_for_a_human_and_goes_on() -> None:
    waiting = run_of(SERVER, graph_in_javascript(), request_in_javascript(3, 2, 5, ASKED))
    assert set(doubts(waiting)) == {"other_traces", "uncertain_execution", "unobserved_results"}
    resumed = run_of(SERVER, graph_in_javascript(), called_in_javascript("c1", 3, 5), request_in_javascript(4, 2, 20))
    assert "other_traces" in doubts(resumed)


def seen_by(scope: str, agent: int, call_id: str) -> list[Span]:
    """A card is declined once, under one of two instrumentations; a model asks for each charge."""
    first, again = ("call_c1", "charge", {"order": 42}), ("call_c2", "charge", {"order": 42})
    inside: dict[str, Any] = {"parent": agent, "scope": scope}
    return [
        agent_span("travel", agent, 1, at=1, lasting=190, scope=scope),
        model_span([first], agent + 1, at=10, **inside),
        tool_span("charge", None, agent + 2, call_id=call_id, at=30, status=2, message="declined", **inside),
        model_span([again], agent + 3, at=50, **inside),
        tool_span("charge", None, agent + 4, call_id="call_c2", at=70, status=1, **inside),
        model_span([], agent + 5, at=90, attributes=ANSWER, **inside),
    ]


@pytest.mark.parametrize("scope", [LANGCHAIN, "@openlit/instrumentation-langchain"])
def test_a_call_that_failed_has_an_id_of_langchains_own_and_is_one_beside_another_instrumentation(scope: str) -> None:
    own, official = "01a22f90-ae27-7105-b600-fe291cd59f3c", "opentelemetry.instrumentation.genai.langchain"
    run = run_of(graph("['stop']"), *seen_by(scope, 2, own), *seen_by(official, 12, "call_c1"))
    assert [(call.name, call.status) for call in run.trajectory.calls] == [("charge", "error"), ("charge", "ok")]
    assert doubts(run) == []


def test_hooks_of_middleware_are_no_agents() -> None:
    hook = agent_span("ToolRetryMiddleware.before_agent", 20, 1, at=2, lasting=1, scope=LANGCHAIN)
    run = run_of(graph("['stop']"), hook, *seen_by(LANGCHAIN, 2, "call_c1"))
    assert run.agent == "travel"
