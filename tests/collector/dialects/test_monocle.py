"""Monocle: spans as its instrumentations of LangGraph, the OpenAI Agents SDK, CrewAI and Strands write them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import called, doubts, read_tool, run_of, span


def mo(kind: str, *place: Any, told: Any = None, answer: Any = None, finish: str = "", **more: Any) -> Span:
    """A span of this type; ``told`` and ``answer`` are in its events, ``more`` as for ``span``."""
    events = []
    if told is not None:
        events.append(("data.input", {"input": told}))
    if answer is not None:
        events.append(("data.output", {"response": answer}))
    if finish:
        events.append(("metadata", {"finish_type": finish}))
    attributes = {"monocle_apptrace.version": "0.8.15", "span.type": kind, **more.pop("attributes", {})}
    return span(*place, attributes=attributes, events=tuple(events), scope="monocle_apptrace", **more)


def tool(name: str, number: int, parent: int, at: int = 0, agent: str = "travel", **more: Any) -> Span:
    about = {"entity.1.name": name, "entity.1.type": "tool.x", "entity.2.name": agent, "entity.2.type": "agent.x"}
    return mo("agentic.tool.invocation", name, number, parent, at, attributes=about, **more)


@pytest.mark.parametrize(
    ("told", "arguments"),
    [
        ('{"city": "Oslo"}', {"city": "Oslo"}),
        ("{'city': 'Oslo'}", {"city": "Oslo"}),
        (["Oslo"], None),
        (["input: {'city': 'Oslo'}"], None),
        (None, None),
    ],
)
def test_a_tool(told: Any, arguments: Any) -> None:
    assert read_tool(tool("get", 2, 1, told=told))[:3] == ("get", None, arguments)


def test_a_status_in_the_answer_may_be_of_something_else() -> None:
    call = tool("get", 2, 1, told="{}", answer='{"status": "failed", "build": 7}')
    assert doubts(run_of(mo("agentic.turn", "Runner.run", 1), call)) == ["unobserved_results"]


def test_a_failure_without_a_word_may_be_a_refusal() -> None:
    run = run_of(mo("agentic.turn", "Runner.run", 1), tool("get", 2, 1, told='{"city": 1}', status=2))
    assert doubts(run) == ["uncertain_execution"]
    told = run_of(mo("agentic.turn", "Runner.run", 1), tool("get", 2, 1, told="{}", status=2, message="declined"))
    assert doubts(told) == []


def test_a_run_of_langgraph() -> None:
    asked = {"ai": {"name": "get", "args": {"city": "Oslo"}, "id": "c1", "type": "tool_call"}}  # the first of two
    question = '{"messages": [["user", "hi"]]}'
    run = run_of(
        mo("workflow", "workflow", 1, attributes={"entity.1.name": "shop"}, lasting=100),
        mo("agentic.turn", "CompiledStateGraph.invoke", 2, 1, told=question, lasting=90),
        mo("agentic.invocation", "CompiledStateGraph.invoke", 3, 2, told=question, lasting=80,
           attributes={"entity.1.name": "travel", "entity.1.type": "agent.langgraph"}),
        mo("inference.framework", "BaseChatModel.invoke", 4, 3, 1, 5, answer=json.dumps(asked), finish="tool_call"),
        mo("inference.modelapi", "Completions.create", 5, 4, 2, 2),
        tool("get", 6, 3, 10, lasting=5, told="{'city': 'Oslo'}"),
        tool("get", 7, 3, 11, lasting=5, told="{'city': 'Rome'}"),
        mo("inference.framework", "BaseChatModel.invoke", 8, 3, 20, 5, answer='{"ai": "Rain."}', finish="success"),
    )  # fmt: skip
    assert (run.agent, run.dialect, called(run), doubts(run)) == ("travel", "monocle", ["get", "get"], [])


def test_an_answer_that_asked_for_tools_which_nothing_shows_leaves_the_run_open() -> None:
    asked = json.dumps({"ai": {"name": "get", "args": {}, "id": "c1", "type": "tool_call"}})
    run = run_of(
        mo("agentic.turn", "CompiledStateGraph.invoke", 1, lasting=90),
        mo("inference.framework", "BaseChatModel.invoke", 2, 1, 1, 5, answer=asked, finish="tool_call"),
        mo("inference.framework", "BaseChatModel.invoke", 3, 1, 20, 5, answer='{"ai": "Rain."}', finish="success"),
    )
    assert (called(run), doubts(run)) == ([], ["unrecorded_calls"])


def test_messages_tell_of_a_call_that_was_refused() -> None:
    asked = {"ai": json.dumps([{"name": "gets", "args": {}, "id": "c1", "type": "tool_call"}])}
    messages = [{"human": "hi"}, asked, {"tool": "Error: gets is not a valid tool, try one of [get]."}]
    run = run_of(
        mo("agentic.turn", "CompiledStateGraph.invoke", 1, lasting=90),
        mo("inference.framework", "BaseChatModel.invoke", 2, 1, 1, 5, answer='{"ai": "I look."}', finish="tool_call"),
        mo("inference.framework", "BaseChatModel.invoke", 3, 1, 20, 5, told=list(map(json.dumps, messages)),
           answer='{"ai": "Rain."}', finish="success"),
    )  # fmt: skip
    assert [(call.name, call.executed) for call in run.trajectory.calls] == [("gets", False)]


@pytest.mark.parametrize("key", ["tools", "assistant"])
def test_an_answer_that_lists_its_calls(key: str) -> None:
    calls = [{"tool_id": f"c{n}", "tool_name": "get", "tool_arguments": f'{{"n": {n}}}'} for n in (1, 2)]
    run = run_of(
        mo("agentic.turn", "Runner.run", 1, lasting=90),
        mo("inference", "Responses.create", 2, 1, 1, 5, answer=json.dumps({key: calls}), finish="tool_call"),
        tool("get", 3, 1, 10, told='{"n": 1}'),
        tool("get", 4, 1, 10, told='{"n": 2}'),
    )
    assert [(call.id, call.arguments, call.step) for call in run.trajectory.calls] == [
        ("c1", {"n": 1}, 0),
        ("c2", {"n": 2}, 0),
    ]


def test_calls_of_an_agent_that_only_they_name_may_be_another_runs() -> None:
    run = run_of(
        mo("agentic.turn", "Runner.run", 1, lasting=90),
        mo("agentic.invocation", "agents.run.run_single_turn", 2, 1, 1, 50, attributes={"entity.1.name": "travel"}),
        tool("ask", 3, 2, 2, lasting=40, told="{}"),
        tool("look_up", 4, 3, 5, agent="policies", told="{}"),
        tool("send", 5, 1, 60, told="{}"),
    )
    (doubt,) = run.trajectory.doubts
    assert (called(run), doubt.name) == (["ask", "look_up", "send"], "uncertain_owner")


def test_steps_are_ignored() -> None:
    for kind in ("agentic.delegation", "inference.modelapi", "retrieval", "generic"):
        assert dialects.read_span(mo(kind, "step", 2, 1)) is IGNORED
