"""LazyLLM's agents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import called, doubts, run_of, span

PARAMETERS = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
TOOLS = [{"type": "function", "function": {"name": "pay", "parameters": PARAMETERS}}]


def lazyllm(name: str, number: int, parent: int, at: float, kind: str = "", **more: Any) -> Span:
    attributes = {"lazyllm.span.kind": "module", "lazyllm.entity.name": name, "lazyllm.status": "ok"}
    attributes |= {"lazyllm.semantic_type": kind} if kind else {}
    attributes |= {f"lazyllm.io.{key}": value for key, value in more.pop("io", {}).items()}
    return span(name, number, parent, at, attributes=attributes, scope="lazyllm.tracing", **more)


def asked(id_: str, name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id_, "type": "function", "function": function}]}


def told(id_: str, name: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "content": f"{content}\n\n[Internal runtime notice]", "tool_call_id": id_, "name": name}


def model(number: int, at: float, answer: dict[str, Any], *before: dict[str, Any]) -> Span:
    prompt = {"messages": [{"role": "user", "content": "pay"}, *before], "tools": TOOLS, "model": "gpt-4o"}
    io = {"input": json.dumps({"resolved_prompt": prompt}), "output": json.dumps(answer)}
    return lazyllm("llm", number, 1, at, "llm", io=io)


def tool(number: int, at: float, value: str = "{'n': 1}", **more: Any) -> list[Span]:
    """The manager of tools and the tool below it."""
    given = json.dumps({"args": [f"_ValidatedToolInput(value={value})"], "kwargs": {}})
    return [
        lazyllm("ToolManager", number, 1, at, "tool", io={"input": '{"args": [[{"id": "c1"}]]}'}),
        lazyllm("pay", number + 1, number, at + 1, io={"input": given, "output": "paid"}, lasting=5, **more),
    ]


DONE = {"role": "assistant", "content": "Done."}
AGENT = lazyllm("ReactAgent", 1, 0, 0, "agent", lasting=200)


def test_a_run() -> None:
    run = run_of(
        AGENT,
        model(2, 1, asked("c1", "pay", '{"n": 1}')),
        *tool(3, 20, status=2),
        model(
            5, 40, asked("c2", "pay", '{"n": 2}'), asked("c1", "pay", '{"n": 1}'), told("c1", "pay", "pay failed: no")
        ),
        *tool(6, 60, "{'n': 2}"),
        model(8, 80, DONE),
    )
    assert (run.agent, run.dialect, called(run), doubts(run)) == ("ReactAgent", "lazyllm", ["pay", "pay"], [])
    assert [(call.id, call.status, call.arguments) for call in run.trajectory.calls] == [
        ("c1", "error", {"n": 1}),
        ("c2", "unset", {"n": 2}),
    ]


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("pay", "{}", "Invalid arguments: n: Field required"),
        ("send", '{"n": 1}', "Tool [send] was not exposed in this turn."),
    ],
)
def test_what_the_manager_refuses_did_not_run(name: str, arguments: str, words: str) -> None:
    call = asked("c1", name, arguments)
    run = run_of(
        AGENT,
        model(2, 1, call),
        lazyllm("ToolManager", 3, 1, 20, "tool"),
        model(5, 40, asked("c2", "pay", '{"n": 1}'), call, told("c1", name, words)),
        *tool(6, 60),
        model(8, 80, DONE),
    )
    assert (called(run), doubts(run)) == ([f"({name})", "pay"], [])


def test_modules_and_flows_are_left_out() -> None:
    assert dialects.read_span(lazyllm("Loop", 2, 1, 0, "workflow_control")) is IGNORED
    assert dialects.read_span(lazyllm("_stop", 2, 1, 0, io={"input": '{"args": []}'})) is IGNORED


def test_an_input_that_was_cut_off_tells_no_arguments() -> None:
    cut = lazyllm("pay", 2, 1, 0, io={"input": '{"args": ["_ValidatedToolInput(value={'})
    read = dialects.read_span(cut)
    assert read is not None
    assert (read.name, read.arguments) == ("pay", None)
