"""A run whose requests are on one agent's span and whose calls on that of another inside it; results that name no call."""

from __future__ import annotations

from typing import Any

import pytest

from collector.model.span import Resource
from tests.builders import agent_span, called, doubts, model_span, run_of, runs_of, span, tool_span, user

ASKS = {"gen_ai.response.finish_reasons": ["tool_calls"]}
ANSWERS = {
    "gen_ai.response.finish_reasons": ["stop"],
    "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}]',
}
CLASS = agent_span("FunctionAgent", 1)


def told(*texts: str) -> list[dict[str, Any]]:
    """The input of a request as LlamaIndex's under Splunk's instrumentation: no calls, and results without ids."""
    asked = {"role": "assistant", "parts": [{"type": "text", "content": "None"}]}
    results = [{"role": "tool", "parts": [{"type": "text", "content": text}]} for text in texts]
    return [user("go"), asked, *results]


def halves(*texts: str) -> list[Any]:
    return [
        CLASS,
        model_span((), 2, 1, at=5, lasting=5, attributes=ASKS),
        agent_span("travel", 3, 1, at=12, lasting=80),
        *[tool_span("get", {"n": at}, 4 + at, 3, at=20 + 15 * at, lasting=10) for at in range(len(texts))],
        model_span((), 8, 1, at=60, lasting=5, input_messages=told(*texts), attributes=ANSWERS),
    ]


@pytest.mark.parametrize(
    ("texts", "expected", "doubted"),
    [
        (("18 degrees",), ["get"], []),
        (("Tool with name get not found",), ["(get)"], []),
        (("18 degrees", "Tool with name get not found"), ["get", "(get)"], ["uncertain_order"]),  # of one answer
        (("missing a required argument: 'city'",), ["get"], ["uncertain_execution"]),
    ],
)
def test_the_two_are_one_run(texts: tuple[str, ...], expected: list[str], doubted: list[str]) -> None:
    run = run_of(*halves(*texts))
    assert (run.agent, called(run), doubts(run)) == ("travel", expected, doubted)


def test_an_agent_that_waits_for_the_one_inside_has_a_run_of_its_own() -> None:
    spans = [
        CLASS,
        model_span((), 2, 1, at=5, lasting=5, attributes=ASKS),
        agent_span("travel", 3, 1, at=12, lasting=20),
        tool_span("get", {"n": 1}, 4, 3, at=20, lasting=3),
        model_span((), 8, 1, at=60, lasting=5, attributes=ANSWERS),
    ]
    assert [run.agent for run in runs_of(*spans)] == ["FunctionAgent", "travel"]


@pytest.mark.parametrize(("service", "parent"), [("worker", 9), ("shop", 8)], ids=["by its resource", "by its flags"])
def test_an_agent_that_another_process_called_has_a_run_of_its_own(service: str, parent: int) -> None:
    """By the clocks of the two the caller asked its model while the other ran."""
    there = Resource({"service.name": service})
    spans = [
        agent_span("planner", 1),
        model_span((), 2, 1, at=15, lasting=5, attributes=ANSWERS),
        span("POST", 8, 1, at=10, lasting=85, kind=3),
        span("POST /a2a", 9, 8, at=11, lasting=82, kind=2, remote=True, resource=there),
        agent_span("worker", 3, parent, at=12, lasting=80, remote=parent == 8, resource=there),
        tool_span("refund", {}, 4, 3, at=20, resource=there),
    ]
    assert [(run.agent, called(run)) for run in runs_of(*spans)] == [("planner", []), ("worker", ["refund"])]


def test_results_of_which_it_is_not_known_which_call_they_are_of_decide_nothing() -> None:
    (*spans, last) = halves("Tool with name get not found", "18 degrees")
    assert called(run_of(*spans, last)) == ["(get)", "get"]
    assert called(run_of(*spans, tool_span("get", {"n": 9}, 7, 3, at=50), last)) == ["get", "get", "get"]
