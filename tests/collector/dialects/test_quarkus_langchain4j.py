"""Quarkus LangChain4j: the names of spans tell of AI services and of requests; calls follow the conventions."""

from __future__ import annotations

from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import called, doubts, run_of, runs_of, span

SCOPE = "io.quarkus.opentelemetry"


def service(name: str, number: int, parent: int = 0, **more: Any) -> Span:
    return span(f"langchain4j.aiservices.{name}", number, parent, scope=SCOPE, **{"lasting": 100, **more})


def request(number: int, parent: int, at: float, finish: str, **more: Any) -> Span:
    attributes = {
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.response.model": "gpt-4o-mini",
        "gen_ai.response.finish_reasons": finish,
        "gen_ai.usage.prompt_tokens": 20,
        "gen_ai.usage.completion_tokens": 10,
    }
    return span("completion gpt-4o-mini", number, parent, at, scope=SCOPE, attributes=attributes, **more)


def tool(name: str, number: int, parent: int, at: float, result: str | None = '"done"', **more: Any) -> Span:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": f"call_{number}",
        "gen_ai.tool.call.arguments": "{}",
    }
    if result is not None:
        attributes["gen_ai.tool.call.result"] = result
    return span(f"langchain4j.tools.{name}", number, parent, at, scope=SCOPE, attributes=attributes, **more)


def test_a_service_inside_a_call_is_a_run_of_its_own() -> None:
    outer, inner = runs_of(
        service("Assistant.chat", 1),
        request(2, 1, 0, "TOOL_EXECUTION"),
        tool("ask_policy_agent", 3, 1, 15, lasting=60),
        service("Policy.ask", 4, 3, at=16, lasting=50),
        request(5, 4, 17, "TOOL_EXECUTION"),
        tool("lookup_policy", 6, 4, 30),
        request(7, 4, 45, "STOP"),
        request(8, 1, 80, "STOP"),
    )
    assert [(run.agent, called(run), doubts(run)) for run in (outer, inner)] == [
        ("Assistant", ["ask_policy_agent"], []),
        ("Policy", ["lookup_policy"], []),
    ]


def test_a_run_without_calls_is_known_to_have_none() -> None:
    run = run_of(service("Assistant.chat", 1), request(2, 1, 0, "STOP"))
    assert (run.agent, called(run), doubts(run)) == ("Assistant", [], [])


def test_a_request_that_asked_for_a_tool_that_nothing_shows_is_in_doubt() -> None:
    run = run_of(service("Assistant.chat", 1), request(2, 1, 0, "TOOL_EXECUTION"))
    assert (called(run), doubts(run)) == ([], ["unrecorded_calls"])


@pytest.mark.parametrize(
    ("results", "statuses", "expected"),
    [
        (["no seat left", '"booked"'], ["error", "unset"], []),
        (["no seat left", "7"], ["error", "unset"], ["unobserved_results"]),  # a tool may have made it as it is
        (["Error: gone", "7"], ["error", "unset"], []),
        (["Success", "null", '{"seat": 1}'], ["unset"] * 3, []),
        ([None, None], ["unset"] * 2, ["unobserved_results"]),  # without content
    ],
)
def test_what_a_tool_threw_is_words_where_results_are_json(
    results: list[str | None], statuses: list[str], expected: list[str]
) -> None:
    tools = [tool("book", number, 1, 20 * number, result, lasting=4) for number, result in enumerate(results, 3)]
    asking = [request(20 + at, 1, 20 * at - 15, "TOOL_EXECUTION") for at in range(3, 3 + len(results))]
    run = run_of(service("Assistant.chat", 1, lasting=200), *tools, *asking, request(40, 1, 180, "STOP"))
    assert ([call.status for call in run.trajectory.calls], doubts(run)) == (statuses, expected)
