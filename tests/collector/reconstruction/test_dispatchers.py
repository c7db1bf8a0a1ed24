"""The function through which a loop of one's own calls its tools, traced as a tool (OpenInference's and Langfuse's decorators,
OpenAI's SDK): the calls are those that the model asked for.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import agent_span, asked, called, doubts, model_span, result, run_of, span_of_kind, tool_span
from tests.operations import calls

PAY = {"amount": 500}
ASKED = model_span([("c1", "pay", PAY)], number=2, at=1)
NAMED = {"name": "pay", "arguments": PAY}


def answered(words: str) -> Span:
    told = [asked(("c1", "pay", PAY)), result("c1", words)]
    return model_span(number=9, at=90, input_messages=told, attributes={
        "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}]'
    })  # fmt: skip


def dispatcher(arguments: Any, *, status: int = 1, call_id: str = "") -> Span:
    """The span of OpenInference's decorator, which ends well if the function does."""
    attributes = {"tool.name": "run_tool", "input.value": json.dumps(arguments), "output.value": "done"}
    if call_id:
        attributes["tool_call.id"] = call_id
    return span_of_kind(
        "openinference.span.kind", "TOOL", "run_tool", 3, 1, 20, 40, attributes=attributes, status=status
    )


@pytest.mark.parametrize(
    "arguments",
    [
        NAMED,
        {"tool": "pay", "args": json.dumps(PAY), "user": "u1"},
        {"tool_call": {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": json.dumps(PAY)}}},
    ],
    ids=["parameters", "text", "as the provider wrote it"],
)
def test_a_function_that_calls_tools_is_none_where_its_span_has_what_the_model_asked_for(arguments: Any) -> None:
    inner = tool_span("pay", {**PAY, "currency": "EUR"}, 4, 3, at=25, lasting=20)
    run = run_of(agent_span(), ASKED, dispatcher(arguments), inner, answered("paid"))
    assert (called(run), doubts(run)) == (["pay"], [])
    assert run.trajectory.calls[0].arguments == {**PAY, "currency": "EUR"}
    run = run_of(agent_span(), ASKED, dispatcher(arguments), answered("paid"))
    (call,) = run.trajectory.calls
    assert (call.name, call.id, call.arguments, call.status, doubts(run)) == ("pay", "c1", PAY, "ok", [])


def test_the_parameters_of_such_a_function_need_no_names() -> None:
    """Langfuse's decorator records arguments by position."""
    outer = tool_span("run_tool", {"args": ["pay", PAY], "kwargs": {}}, 3, at=20, lasting=40)
    inner = tool_span("pay", PAY, 4, 3, at=25, lasting=20)
    assert called(run_of(agent_span(), ASKED, outer, inner, answered("paid"))) == ["pay"]
    assert called(run_of(agent_span(), ASKED, outer, answered("paid"))) == ["pay"]


def test_what_the_function_tells_the_model_says_whether_the_tool_failed() -> None:
    run = run_of(agent_span(), ASKED, dispatcher(NAMED), answered("Error: card declined"))
    assert [(call.name, call.status) for call in run.trajectory.calls] == [("pay", "error")]
    inner = tool_span("pay", PAY, 4, 3, at=25, lasting=20)
    run = run_of(agent_span(), ASKED, dispatcher(NAMED, status=2), inner, answered("Error: card declined"))
    assert [(call.name, call.status) for call in run.trajectory.calls] == [("pay", "error")]


def test_a_tool_that_the_model_asked_for_and_that_calls_another_is_a_call() -> None:
    asked = model_span([("c1", "run_tool", NAMED)], number=2, at=1)
    inner = tool_span("pay", PAY, 4, 3, at=25, lasting=20)
    assert called(run_of(agent_span(), asked, dispatcher(NAMED), inner)) == ["run_tool", "pay"]


@pytest.mark.parametrize("arguments", [{"amount": 7}, {}, "500"])
def test_a_function_with_other_arguments_than_the_call_inside_it_is_a_call(arguments: Any) -> None:
    inner = tool_span("pay", PAY, 4, 3, at=25, lasting=20)
    other = dispatcher({"name": "pay", "arguments": arguments})
    assert called(run_of(agent_span(), ASKED, other, inner, answered("paid"))) == ["run_tool", "pay"]


@pytest.mark.parametrize("given", ["values", "parts"])
def test_the_cost_of_the_calls_inside_a_function_does_not_grow_with_what_it_was_given(given: str) -> None:
    def work(count: int) -> int:
        many = [{"step": at} for at in range(count)]
        arguments = (
            {f"p{at}": one for at, one in enumerate(many)} if given == "values" else {"plan": many, "name": "pay"}
        )
        spans = [agent_span(lasting=1e6), ASKED, tool_span("run_tool", arguments, 3, at=20, lasting=1e5)]
        spans += [tool_span("pay", {"amount": at}, 10 + at, 3, at=30 + at, lasting=0.5) for at in range(count)]
        return calls(lambda: run_of(*spans))

    assert work(400) < 2.5 * work(200)
