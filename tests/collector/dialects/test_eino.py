"""Eino's spans, as its APMPlus callbacks write them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import called, doubts, read_tool, run_of, runs_of, span

SCOPE = "github.com/cloudwego/eino-ext/callbacks/apmplus"
PAY = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"order": 7}'}}


def eino(component: str, name: str, number: int, parent: int, at: float = 0, **more: Any) -> Span:
    kind = component.lower() if parent else "workflow"
    attributes = {
        "gen_ai.span.kind": kind,
        "gen_ai.system": "eino",
        "runinfo.name": name,
        "runinfo.type": "",
        "runinfo.component": component,
        **{f"gen_ai.{key}": value for key, value in more.pop("gen_ai", {}).items()},
    }
    return span(name, number, parent, at, attributes=attributes, scope=SCOPE, **more)


def graph(**more: Any) -> Span:
    return eino("Graph", "ReActAgent", 1, 0, lasting=100, gen_ai={"input": "pay order 7"}, **more)


def asking(number: int, at: float, *calls: Any, parent: int = 1) -> Span:
    message = {"role": "assistant", "content": "", "tool_calls": calls}
    return eino("ChatModel", "ChatModel", number, parent, at, gen_ai={"completion.0.content": json.dumps([message])})


def answering(number: int, at: float, parent: int = 1) -> Span:
    answer = {
        "prompt.0.role": "user",
        "prompt.0.content": "pay order 7",
        "prompt.2.role": "tool",
        "prompt.2.content": "paid",
        "completion.0.role": "assistant",
        "completion.0.content": "Done.",
    }
    return eino("ChatModel", "ChatModel", number, parent, at, gen_ai=answer)


def agent(given: str, **more: Any) -> Span:
    """An agent of Eino's ADK; streamed, its input is a list."""
    return eino("Chain", "helper", 1, 0, lasting=100, gen_ai={"input": given}, **more)


def tool(number: int = 4, at: float = 20, **more: Any) -> Span:
    return eino("Tool", "pay", number, 3, at, gen_ai={"prompt.0.content": json.dumps('{"order": 7}')}, **more)


def test_a_tool() -> None:
    assert read_tool(tool())[::2] == ("pay", {"order": 7})


def test_a_run() -> None:
    tools = eino("ToolsNode", "Tools", 3, 1, 20)
    run = run_of(graph(), asking(2, 5, PAY), tools, tool(), answering(5, 40))
    assert (run.agent, run.dialect, run.user_input) == ("ReActAgent", "eino", "pay order 7")
    assert (called(run), run.trajectory.calls[0].id, doubts(run)) == (["pay"], "c1", [])


def test_steps_of_a_graph_are_none_of_its_runs() -> None:
    assert dialects.read_span(eino("Lambda", "Lambda", 2, 1)) is IGNORED
    assert dialects.read_span(eino("Graph", "ReAct", 2, 1)) is IGNORED


@pytest.mark.parametrize("kind", ["LocalFunc", "LocalStreamFunc", "EnhancedLocalFunc", "EnhancedLocalStreamFunc"])
def test_arguments_that_its_function_cannot_take(kind: str) -> None:
    why = f"[{kind}] failed to unmarshal arguments in json, toolName=pay, err=mismatch type float64 with value string"
    tools = eino("ToolsNode", "Tools", 3, 1, 20, status=2, message=why)
    run = run_of(graph(status=2, message=why), asking(2, 5, PAY), tools, tool(status=2, message=why))
    assert called(run) == ["(pay)"]


@pytest.mark.parametrize(
    "words",
    [
        "[NodeRunError] tool drop not found in toolsNode indexes\n------------------------\nnode path: [tools]",
        "[GraphRunError] exceeds max steps",
    ],
)
def test_a_run_that_ended_in_place_of_its_last_calls(words: str) -> None:
    again = PAY | {"id": "c2"}
    drop = {"id": "c3", "type": "function", "function": {"name": "drop", "arguments": "{}"}}
    ended = graph(status=2, message=words)
    run = run_of(ended, asking(2, 5, PAY), eino("ToolsNode", "Tools", 3, 1, 20), tool(), asking(5, 40, again, drop))
    assert (called(run), doubts(run)) == (["pay", "(pay)", "(drop)"], [])


@pytest.mark.parametrize(
    "words",
    [
        "[LocalFunc] failed to invoke tool, toolName=pay, err=interrupt signal: ID=268d17aa, Addr=agent:helper, Info=interrupt",
        "[LocalFunc] failed to invoke tool, toolName=pay, err=interrupt and rerun: approve?",  # 0.6
        "interrupt signal: ID=268d17aa, Addr=agent:helper;tool:pay:c1, Info=interrupt info: Info=agent tool interrupt",
    ],
)
def test_a_tool_that_interrupts_waits_for_a_human(words: str) -> None:
    given = agent('{"Messages":[{"role":"user","content":"pay order 7"}],"EnableStreaming":false}', status=2)
    run = run_of(
        given, asking(2, 5, PAY), eino("ToolsNode", "ToolNode", 3, 1, 20, status=2), tool(status=2, message=words)
    )
    assert (called(run), doubts(run)) == (["(pay)"], ["other_traces", "uncertain_execution"])


@pytest.mark.parametrize(
    "goes_on",
    [
        agent('{"Messages":null,"EnableStreaming":false}'),
        agent('[{"Messages":null,"EnableStreaming":true}]'),
        eino("ToolsNode", "ToolNode", 1, 0, lasting=100, gen_ai={"input": json.dumps({"tool_calls": [PAY]})}),  # 0.6
        eino("Graph", "ReAct", 1, 0, lasting=100, gen_ai={"input": "null"}),
    ],
)
def test_what_goes_on_after_a_humans_answer_is_part_of_a_run(goes_on: Span) -> None:
    run = run_of(goes_on, eino("Tool", "pay", 4, 1, 20, gen_ai={"prompt.0.content": json.dumps('{"order": 7}')}))
    assert (called(run), doubts(run)) == (["pay"], ["other_traces"])


def test_an_agent_inside_a_tool_has_a_run() -> None:
    """Eino's ADK: a chain of its name, around a graph that is none."""
    given = '{"Messages":[{"role":"user","content":"the price of order 7"}],"EnableStreaming":false}'
    price = {"id": "c0", "type": "function", "function": {"name": "researcher", "arguments": "{}"}}
    pay = eino("Tool", "pay", 8, 6, 30, gen_ai={"prompt.0.content": json.dumps('{"order": 7}')})
    outer, inner = runs_of(
        agent('{"Messages":[{"role":"user","content":"pay order 7"}],"EnableStreaming":false}'),
        asking(2, 5, price),
        eino("Tool", "researcher", 4, 1, 20, lasting=50, gen_ai={"prompt.0.content": json.dumps("{}")}),
        eino("Chain", "researcher", 5, 4, 21, lasting=48, gen_ai={"prompt.0.content": given}),
        eino("Graph", "ReAct", 6, 5, 22, lasting=46, gen_ai={"prompt.0.content": "the price of order 7"}),
        asking(7, 23, PAY, parent=6),
        pay,
        answering(9, 60, parent=6),
        answering(10, 80),
    )
    assert [(run.agent, called(run), doubts(run)) for run in (outer, inner)] == [
        ("helper", ["researcher"], []),
        ("researcher", ["pay"], []),
    ]
    assert inner.user_input == "the price of order 7"


def resuming(name: str, number: int = 1, parent: int = 0, at: float = 0, lasting: float = 100, **more: Any) -> Span:
    """An agent since 0.9, which goes on once a human has answered."""
    given = '{"Input":null,"ResumeInfo":{"EnableStreaming":false,"Data":{"Messages":[{"role":"user"}]}}}'
    return eino(
        "Agent", name, number, parent, at, lasting=lasting, gen_ai={"input": given, "prompt.0.content": given}, **more
    )


def test_an_agent_has_a_span_of_its_own_since_0_9() -> None:
    """Its chain is inside, and is given nothing; around several is that of what runs them one after the other, no run."""
    given = '{"Input":{"Messages":[{"role":"user","content":"pay order 7"}],"EnableStreaming":false},"ResumeInfo":null}'
    run = run_of(
        eino("Agent", "flow", 1, 0, lasting=100, gen_ai={"input": given}),
        eino("Agent", "shop", 5, 1, 1, lasting=60, gen_ai={"prompt.0.content": given}),
        eino("Chain", "shop", 6, 5, 2, lasting=58, gen_ai={"prompt.0.content": "{}"}),
        asking(2, 5, PAY, parent=6),
        eino("Tool", "pay", 4, 6, 20, gen_ai={"prompt.0.content": json.dumps('{"order": 7}')}),
        answering(7, 40, parent=6),
    )
    assert (run.agent, run.user_input, called(run), doubts(run)) == ("shop", "pay order 7", ["pay"], [])


def test_an_agent_that_a_human_has_answered_goes_on_in_another_trace() -> None:
    tools = eino("ToolsNode", "ToolNode", 3, 2, 10)
    chain = eino("Chain", "shop", 2, 1, 1, lasting=90, gen_ai={"prompt.0.content": "{}"})
    run = run_of(resuming("shop"), chain, tools, tool(), answering(5, 40, parent=2))
    assert (run.agent, run.user_input, called(run), doubts(run)) == ("shop", None, ["pay"], ["other_traces"])


def test_so_does_one_inside_a_tool() -> None:
    outer, inner = runs_of(
        resuming("shop"),
        eino("Tool", "helper", 4, 1, 10, lasting=50, gen_ai={"prompt.0.content": json.dumps("{}")}),
        resuming("helper", 5, 4, 11, 48),
        eino("Tool", "pay", 6, 5, 20, gen_ai={"prompt.0.content": json.dumps('{"order": 7}')}),
        answering(7, 40, parent=5),
        answering(8, 80),
    )
    assert [(run.agent, called(run), doubts(run)) for run in (outer, inner)] == [
        ("shop", ["helper"], ["other_traces"]),
        ("helper", ["pay"], ["other_traces"]),
    ]


STOPPED = (
    "interrupt happened, info: &{State:0x1b4f BeforeNodes:[] AfterNodes:[tools] RerunNodes:[] RerunNodesExtra:map[]}"
)


def told(number: int, at: float) -> Span:
    """A request whose last message is what a tool answered."""
    messages = {
        "prompt.0.role": "user",
        "prompt.0.content": "pay order 7",
        "prompt.2.role": "tool",
        "prompt.2.content": "paid",
    }
    return eino("ChatModel", "ChatModel", number, 1, at, gen_ai={**messages, "completion.0.content": "Done."})


def asked_to_start(number: int, at: float) -> Span:
    message = {"role": "assistant", "content": "", "tool_calls": [PAY]}
    given = {"prompt.0.role": "user", "prompt.0.content": "pay order 7", "completion.0.content": json.dumps([message])}
    return eino("ChatModel", "ChatModel", number, 1, at, gen_ai=given)


def test_a_graph_that_stops_after_its_tools_goes_on_in_another_trace() -> None:
    tools = eino("ToolsNode", "Tools", 3, 1, 20)
    run = run_of(graph(status=2, message=STOPPED), asked_to_start(2, 5), tools, tool())
    assert (called(run), doubts(run)) == (["pay"], ["other_traces"])


def test_what_goes_on_is_given_what_the_graph_was_given_first() -> None:
    """It begins with the tools before which it stopped, or with the model, which is told what they answered."""
    tools = eino("ToolsNode", "Tools", 3, 1, 2)
    went_on = run_of(graph(), tools, tool(at=3), told(5, 40))
    assert (went_on.user_input, called(went_on), doubts(went_on)) == ("pay order 7", ["pay"], ["other_traces"])
    whole = run_of(graph(), asked_to_start(2, 5), eino("ToolsNode", "Tools", 3, 1, 20), tool(), told(5, 40))
    assert (called(whole), doubts(whole)) == (["pay"], [])


def test_a_tool_that_waits_before_any_request_has_not_failed() -> None:
    words = "[LocalFunc] failed to invoke tool, toolName=pay, err=interrupt signal: ID=268d17aa, Addr=runnable:shop, Info=ok?"
    stopped = STOPPED.replace("RerunNodes:[]", "RerunNodes:[tools]")
    tools = eino("ToolsNode", "Tools", 3, 1, 2, status=2, message=words)
    run = run_of(graph(status=2, message=stopped), tools, tool(at=3, status=2, message=words))
    assert (called(run), doubts(run)) == (["(pay)"], ["other_traces", "uncertain_execution"])
