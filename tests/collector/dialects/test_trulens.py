"""Functions that TruLens instruments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import called, doubts, read_tool, run_of, span

PARAMETERS = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
TOOLS = json.dumps([{"type": "function", "function": {"name": "pay", "parameters": PARAMETERS}}])


def trulens(path: str, number: int, parent: int, at: float, kind: str, **more: Any) -> Span:
    attributes = {"ai.observability.span_type": kind, "ai.observability.app_name": "travel_agent"}
    attributes |= {"ai.observability.call.function": path}
    attributes |= {f"ai.observability.call.{key}": value for key, value in more.pop("call", {}).items()}
    return span(path, number, parent, at, attributes=attributes, scope="trulens", **more)


def answer(number: int, at: float, calls: str = "None") -> Span:
    text = (
        "ChatCompletion(id='chatcmpl-1', choices=[Choice(finish_reason='stop', index=0, logprobs=None, "
        f"message=ChatCompletionMessage(content=None, role='assistant', tool_calls={calls}))], created=17, model='gpt-4o')"
    )
    call = {"return": text, "kwargs.messages": '[{"role": "user", "content": "pay"}]', "kwargs.tools": TOOLS}
    return trulens("__main__.App.generate", number, 1, at, "generation", call=call)


def asked(id_: str, arguments: str) -> str:
    function = f"Function(arguments='{arguments}', name='pay')"
    return f"[ChatCompletionMessageFunctionToolCall(id='{id_}', function={function}, type='function')]"


ROOT = trulens("__main__.App.query", 1, 0, 0, "record_root", lasting=200)


def test_a_run() -> None:
    run = run_of(
        ROOT,
        answer(2, 1, asked("c1", '{"n": 1}')),
        trulens("tools.pay", 3, 1, 20, "tool", call={"kwargs.n": 1, "error": "declined"}, status=2),
        answer(4, 40, asked("c2", '{"n": 1}')),
        trulens("tools.pay", 5, 1, 60, "tool", call={"kwargs.n": 1, "kwargs.to": "EUR", "return": "paid"}),
        answer(6, 80),
    )
    assert (run.agent, run.dialect, called(run), doubts(run)) == ("travel_agent", "trulens", ["pay", "pay"], [])
    assert [(call.id, call.status, call.arguments) for call in run.trajectory.calls] == [
        ("c1", "error", {"n": 1}),
        ("c2", "unset", {"n": 1, "to": "EUR"}),
    ]


def test_arguments_that_the_tool_does_not_take() -> None:
    missing = "missing a required argument: 'n'"
    run = run_of(
        ROOT,
        answer(2, 1, asked("c1", "{}")),
        trulens("tools.pay", 3, 1, 20, "tool", call={"error": missing}, status=2, message=f"TypeError: {missing}"),
        answer(4, 40),
    )
    assert (called(run), doubts(run)) == (["(pay)"], [])


@pytest.mark.parametrize(("path", "name"), [("shop.tools.Desk.pay", "pay"), ("pay", "pay"), ("pay.", "pay.")])
def test_a_tool_has_the_last_name_of_its_path(path: str, name: str) -> None:
    given = {"kwargs.items": '["a"]', "kwargs.n": 2}
    assert read_tool(trulens(path, 2, 1, 0, "MCP", call=given)) == (name, None, {"items": ["a"], "n": 2}, "unset")


def test_an_agents_function_and_other_types() -> None:
    agent = dialects.read_span(trulens("app.Planner.run", 2, 1, 0, "agent"))
    assert agent is not None
    assert agent.name == "run"
    assert dialects.read_span(trulens("app.find", 2, 1, 0, "retrieval")) is IGNORED
