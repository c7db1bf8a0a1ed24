"""Agno under releases of OpenInference's instrumentation that leave out which calls failed."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from collector.model.span import Scope, Span
from tests.builders import called, doubts, run_of, runs_of, span_of_kind

kind = partial(span_of_kind, "openinference.span.kind", scope="openinference.instrumentation.agno", status=1)
CALLS = [
    {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": '{"n": 1}'}}
    for number, name in enumerate(("get", "pay"))
]


def of(release: str, *spans: Span) -> list[Span]:
    for span in spans:
        span.scope = Scope(span.scope.name, release)
    return list(spans)


def request(number: int, at: float, messages: Any, answer: Any) -> Span:
    attributes = {"input.value": json.dumps({"messages": messages}), "output.value": json.dumps(answer)}
    return kind("LLM", "OpenAIChat.invoke", number, 1, at, attributes=attributes)


def tool(name: str, number: int, at: float, output: str) -> Span:
    attributes = {"tool.name": name, "input.value": '{"n": 1}', "tool.parameters": '{"n": 1}', "output.value": output}
    return kind("TOOL", name, number, 1, at, attributes=attributes)


def told(*results: dict[str, Any]) -> list[dict[str, Any]]:
    asked = {"role": "assistant", "tool_calls": CALLS}
    results = tuple({"role": "tool", "tool_call_id": f"c{number}", **result} for number, result in enumerate(results))
    return [{"role": "user", "content": "Go"}, asked, *results]


AGENT = kind("AGENT", "shop.run", 1, lasting=100, attributes={"agno.agent": "shop"})
ASKING = {"role": "assistant", "tool_calls": CALLS}
DONE = [{"role": "assistant", "content": "Done."}]


@pytest.mark.parametrize(
    ("release", "expected"), [("0.1.8", ["uncertain_execution", "unobserved_results"]), ("0.1.9", []), ("1.0", [])]
)
def test_a_tool_without_a_result_may_have_failed_before_0_1_9(release: str, expected: list[str]) -> None:
    """Also one that Agno refused. What the model is told of either is a text, and nothing says that it is no result."""
    results = told({"content": "fine"}, {"content": "no money on card"})
    run = run_of(
        *of(
            release,
            AGENT,
            request(2, 1, [], ASKING),
            tool("get", 3, 20, "fine"),
            tool("pay", 4, 40, "None"),
            request(5, 60, results, DONE),
        )
    )
    assert (called(run), doubts(run)) == (["get", "pay"], expected)


@pytest.mark.parametrize(
    ("pay", "status", "expected"),
    [
        ({"content": "no money on card", "tool_call_error": True}, "error", []),
        ({"content": "no money on card"}, "unset", ["unobserved_results"]),
    ],
)
def test_a_call_that_failed_has_no_span_before_0_1_28(pay: Any, status: str, expected: list[str]) -> None:
    results = told({"content": "fine", **({"tool_call_error": False} if not expected else {})}, pay)
    # Streamed: the first piece of an answer has no arguments.
    empty = [{**call, "function": {"name": call["function"]["name"], "arguments": ""}} for call in CALLS]  # type: ignore[index]
    answer = {"messages": [{"role": "assistant", "tool_calls": empty}]}
    run = run_of(
        *of("0.1.25", AGENT, request(2, 1, [], answer), tool("get", 3, 20, "fine"), request(5, 60, results, DONE)),
    )
    assert sorted((call.name, call.status, call.arguments) for call in run.trajectory.calls if call.name == "pay") == [
        ("pay", status, {"n": 1})
    ]
    assert doubts(run) == expected


def test_a_call_of_which_nothing_was_told_may_have_been_refused() -> None:
    """Agno's limit of calls is reached, and the span of the next request lacks its input: the SDK dropped it."""
    again = {"role": "assistant", "tool_calls": [{**CALLS[1], "id": "c2"}]}
    last = kind("LLM", "OpenAIChat.invoke", 7, 1, 80, attributes={"output.value": json.dumps(DONE)})
    run = run_of(
        *of(
            "0.1.25",
            AGENT,
            request(2, 1, [], ASKING),
            tool("get", 3, 20, "fine"),
            tool("pay", 4, 40, "paid"),
            request(5, 60, told({"content": "fine"}, {"content": "paid"}), again),
            last,
        )
    )
    assert (called(run)[:2], doubts(run)) == (["get", "pay"], ["uncertain_execution", "unobserved_results"])


def paused(returned: str, parent: int = 0) -> list[Span]:
    """Agno 3: a human has to confirm a call, or the application runs it, and the run goes on with ``continue_run``."""
    agent = {"agno.agent": "shop", "agent.name": "shop", "output.value": returned}
    answer = {"output.value": json.dumps([{"role": "assistant", "tool_calls": CALLS[1:]}])}
    asked = kind("LLM", "OpenAIChat.invoke", 12, 11, 5, attributes=answer)
    return of("", kind("AGENT", "shop.run", 11, parent, lasting=50, attributes=agent), asked)


def resumed(parent: int = 0) -> list[Span]:
    agent = {"agno.agent": "shop", "agent.name": "shop", "output.value": "Done."}
    made = kind("TOOL", "pay", 22, 21, 101, attributes={"tool.name": "pay", "input.value": '{"n": 1}'})
    last = request(23, 120, [{"role": "user"}, {"role": "assistant", "tool_calls": CALLS[1:]}], DONE)
    last.parent_span_id = made.parent_span_id
    return of("", kind("AGENT", "shop.continue_run", 21, parent, 100, 50, attributes=agent), made, last)


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ("I have tools to execute, but I need confirmation.", ["other_traces"]),
        ("Team run paused. The following require input:\n- shop: pay requires confirmation", ["other_traces"]),
        (
            "I have tools to execute, but it needs external execution.",
            ["other_traces", "uncertain_execution", "unobserved_results"],
        ),
        ("I have tools to execute.", []),
    ],
)
def test_a_run_that_is_paused_goes_on_in_another_trace(returned: str, expected: list[str]) -> None:
    run = run_of(*paused(returned))
    assert (called(run), doubts(run)) == (["(pay)"], expected)


def test_a_run_that_goes_on_began_in_another_trace() -> None:
    run = run_of(*resumed())
    assert (called(run), doubts(run)) == (["pay"], ["other_traces"])


def test_a_run_may_be_paused_and_go_on_in_one_trace() -> None:
    around = kind("CHAIN", "chat", 1, lasting=200)
    runs = runs_of(around, *paused("I have tools to execute, but I need confirmation.", 1), *resumed(1))
    assert [(called(run), doubts(run)) for run in runs] == [(["(pay)"], []), (["pay"], [])]
