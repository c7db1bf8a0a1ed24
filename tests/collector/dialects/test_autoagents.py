"""AutoAgents (0.4): a task, its turns and its calls, as its telemetry makes them of events."""

from __future__ import annotations

from typing import Any

import pytest

from collector.model.span import Scope, Span
from tests.builders import called, doubts, run_of, runs_of, span


def task(more: dict[str, Any] | None = None) -> Span:
    attributes = {"submission_id": "s1", "actor_id": "a1", "actor_name": "travel", "task.description": "Weather please"}
    return made("autoagents.task", 1, 0, 0, 100, attributes | (more or {}))


def turn(number: int, at: float, parent: int = 1) -> Span:
    attributes = {"submission_id": "s1", "actor_id": "a1", "turn_number": number, "turn_max": 10, "turn.final": False}
    return made("autoagents.turn", number, parent, at, 9, attributes)


def call(number: int, at: float, tool: str = "get_weather", parent: int = 1, **more: Any) -> Span:
    attributes = {
        "tool_call_id": f"call_{number}", "tool_name": tool, "tool.arguments": '{"city": "Paris"}', "tool.name": tool,
    }  # fmt: skip
    if more.get("status", 1) == 1:
        attributes["tool.result"] = '"sunny"'
    attributes |= more.pop("attributes", {})
    return made("autoagents.tool_call", number, parent, at, 5, attributes, **more)


def made(name: str, number: int, parent: int, at: float, lasting: float, attributes: Any, **more: Any) -> Span:
    more = {"status": 1, "scope": "autoagents.telemetry", **more}
    return span(name, number, parent, at, lasting, attributes=attributes, **more)


def test_a_run() -> None:
    run = run_of(task(), turn(2, 1), call(3, 2), turn(4, 20), call(5, 21, "book_flight"), turn(6, 40))
    assert (run.agent, run.user_input, run.dialect) == ("travel", "Weather please", "autoagents")
    assert (called(run), run.trajectory.calls[0].arguments) == (["get_weather", "book_flight"], {"city": "Paris"})
    assert ([one.status for one in run.trajectory.calls], doubts(run)) == (["ok", "ok"], [])


def test_the_scope_may_be_that_of_the_application() -> None:
    spans = [task(), turn(2, 1), call(3, 2), turn(4, 20)]
    for one in spans:
        one.scope = Scope("travel", "")
    run = run_of(*spans)
    assert (run.agent, run.dialect, called(run), doubts(run)) == ("travel", "autoagents", ["get_weather"], [])


def test_a_run_without_calls_is_one() -> None:
    assert [(run.agent, called(run), doubts(run)) for run in runs_of(task(), turn(2, 1))] == [("travel", [], [])]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Tool 'get_weather' not found", (["(get_weather)"], "error", [])),
        ("Failed to parse arguments: EOF while parsing a string at line 1 column 12", (["(get_weather)"], "error", [])),
        ("Tool execution failed: Runtime Error card declined", (["get_weather"], "error", [])),
    ],
)
def test_a_call_that_failed(words: str, expected: tuple[list[str], str, list[str]]) -> None:
    told = f'{{"error":"{words}"}}'
    failed = call(3, 2, status=2, message=told, attributes={"error.message": told})
    run = run_of(task(), turn(2, 1), failed, turn(4, 20))
    assert (called(run), run.trajectory.calls[0].status, doubts(run)) == expected


def test_what_a_tool_returned_may_be_an_error() -> None:
    run = run_of(task(), call(3, 2, attributes={"tool.result": '{"error":"no such city"}'}))
    assert (called(run), run.trajectory.calls[0].status, doubts(run)) == (["get_weather"], "error", [])


def test_what_came_of_a_call_that_had_not_ended_is_open() -> None:
    run = run_of(task(), call(3, 2, status=0))
    assert (called(run), run.trajectory.calls[0].status, doubts(run)) == (
        ["get_weather"],
        "unset",
        ["unobserved_results"],
    )


def test_redacted_content_is_none() -> None:
    hidden = call(3, 2, attributes={"tool.arguments": "[REDACTED]", "tool.result": "[REDACTED]"})
    run = run_of(task({"task.description": "[REDACTED]"}), hidden)
    assert (run.user_input, called(run), run.trajectory.calls[0].arguments) == (None, ["get_weather"], None)


def test_in_the_words_of_langfuse_it_is_the_same() -> None:
    told = {"langfuse.observation.type": "tool", "langfuse.observation.name": "get_weather"}
    whole = {"langfuse.trace.name": "travel", "langfuse.observation.type": "span"}
    run = run_of(task(whole), turn(2, 1), call(3, 2, attributes=told | {"langfuse.observation.input": "{}"}))
    assert (run.agent, run.dialect, called(run), doubts(run)) == ("travel", "autoagents", ["get_weather"], [])
    assert run.trajectory.calls[0].arguments == {"city": "Paris"}
