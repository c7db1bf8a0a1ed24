"""TanStack AI's middleware, which follows the conventions but for the operations of its loop and of tools."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import called, doubts, run_of, runs_of, span, steps

ABORTED = {"tanstack.ai.completion.reason": "cancelled"}


def loop(number: int = 1, parent: int = 0, **more: Any) -> Span:
    attributes = {
        "gen_ai.system": "openai-chat",
        "tanstack.ai.iterations": 3,
        "gen_ai.response.finish_reasons": ["stop"],
    }
    return span("chat gpt", number, parent, **{"lasting": 100, "attributes": attributes, **more})


def request(number: int, at: float, lasting: float, finish: str = "tool_calls", parent: int = 1, **more: Any) -> Span:
    attributes: dict[str, Any] = {
        **more,
        "gen_ai.operation.name": "chat",
        "tanstack.ai.iteration": number - 2,
        "gen_ai.response.finish_reasons": [finish],
    }
    return span(f"chat gpt #{number - 2}", number, parent, at, lasting, attributes=attributes, kind=3)


def tool(name: str, number: int, parent: int, at: float, **more: Any) -> Span:
    attributes = {"gen_ai.tool.name": name, "gen_ai.tool.call.id": f"call_{number}", "gen_ai.tool.type": "function"}
    attributes |= more.pop("attributes", {"tanstack.ai.tool.outcome": "success"})
    return span(f"execute_tool {name}", number, parent, at, 5, attributes=attributes, **more)


def test_calls_are_of_the_turn_of_the_request_around_them() -> None:
    run = run_of(
        loop(),
        request(2, 0, 30),
        tool("weather", 10, 2, 10),
        tool("pay", 11, 2, 20),
        request(3, 31, 20),
        tool("mail", 12, 3, 40),
        request(4, 52, 20, "stop"),
    )
    assert (called(run), steps(run), doubts(run)) == (["weather", "pay", "mail"], [0, 0, 1], [])


def test_a_loop_inside_a_call_is_a_run_of_its_own() -> None:
    outer, inner = runs_of(
        loop(),
        request(2, 0, 60),
        tool("research", 10, 2, 10),
        loop(20, 10, at=11, lasting=40),
        request(3, 12, 20, parent=20),
        tool("search", 12, 3, 20),
        request(4, 35, 10, "stop", parent=20),
        request(5, 61, 10, "stop"),
    )
    assert (called(outer), called(inner)) == (["research"], ["search"])
    assert doubts(outer) == doubts(inner) == []


def test_an_aborted_call_may_not_have_begun() -> None:
    """A hook that aborts the run in place of the call leaves what one leaves that was interrupted."""
    run = run_of(
        span("chat gpt", 1, lasting=50, attributes={"gen_ai.system": "openai-chat", **ABORTED}, status=2),
        request(2, 0, 50),
        tool("pay", 10, 2, 10, attributes=ABORTED, status=2, message="cancelled"),
    )
    assert (called(run), doubts(run)) == (["pay"], ["uncertain_execution"])


UNKNOWN = '{"error":"Unknown tool: nope"}'
UNREAD = '{"error":"Failed to parse tool arguments as JSON: {\\"city\\": "}'
UNFIT = '{"error":"Input validation failed for tool pay: Validation failed: Invalid input: expected number"}'


def told(*results: str) -> dict[str, Any]:
    """What a request tells: an answer that asked for calls and has no text is no message."""
    messages = [{"role": "user", "content": "go"}, *({"role": "tool", "content": result} for result in results)]
    answer = [{"role": "assistant", "content": "done"}]
    return {"gen_ai.input.messages": json.dumps(messages), "gen_ai.output.messages": json.dumps(answer)}


@pytest.mark.parametrize(
    ("first", "second", "is_open"),
    [
        ([UNKNOWN], [UNKNOWN, UNFIT, UNREAD], False),
        ([UNKNOWN], [UNKNOWN], True),
        ([UNKNOWN], [UNKNOWN, '{"error":"card declined"}'], True),
        ([UNKNOWN], [UNKNOWN, UNFIT, "paid"], True),
        (["paid"], ["paid", UNKNOWN], True),
    ],
)
def test_calls_that_the_next_request_tells_were_refused_did_not_run(
    first: list[str], second: list[str], is_open: bool
) -> None:
    """They leave no span, and no answer tells what it asked for."""
    run = run_of(
        loop(),
        request(2, 0, 30.1),
        request(3, 30, 21, **told(*first)),  # by the clock, which tells milliseconds, before the end of the one before
        request(4, 52, 20, "stop", **told(*second)),
    )
    assert (called(run), doubts(run)) == ([], ["unrecorded_calls"] if is_open else [])


def test_calls_are_open_where_no_request_follows_or_it_tells_nothing() -> None:
    assert doubts(run_of(loop(), request(2, 0, 30), request(3, 31, 20, **told(UNKNOWN)))) == ["unrecorded_calls"]
    assert doubts(run_of(loop(), request(2, 0, 30), request(3, 31, 20, "stop"))) == ["unrecorded_calls"]


@pytest.mark.parametrize(
    ("results", "is_open"),
    [(["found"], False), (["found", UNKNOWN], False), (["found", "paid"], True), (["found", "paid", UNKNOWN], True)],
)
def test_results_of_more_calls_than_have_spans_leave_the_run_open(results: list[str], *, is_open: bool) -> None:
    """Middleware before the tracer's answered in place of a tool, or gave it other arguments."""
    run = run_of(
        loop(),
        request(2, 0, 30),
        tool("find", 10, 2, 10),
        request(3, 31, 20, **told(*results)),
        tool("mail", 11, 3, 40),
        request(4, 52, 20, "stop", **told(*results, "sent")),
    )
    assert (called(run), doubts(run)) == (["find", "mail"], ["unrecorded_calls"] if is_open else [])


ANSWERED = '[{"role":"user","content":"please do it"},{"role":"tool","content":"from client"}]'


@pytest.mark.parametrize(
    ("given", "made", "expected"),
    [
        ({"gen_ai.input.messages": ANSWERED}, [], (["find"], ["other_traces"])),
        ({}, [tool("pay", 11, 1, 1)], (["pay", "find"], ["other_traces"])),  # that a human approved
        ({}, [], (["find"], [])),
    ],
    ids=["client", "approved", "neither"],
)
def test_a_run_that_begins_with_what_came_of_a_call_began_in_another_trace(
    given: dict[str, Any], made: list[Span], expected: tuple[list[str], list[str]]
) -> None:
    """0.58, which sends no span of the loop that waits."""
    run = run_of(loop(), *made, request(2, 8, 30, **given), tool("find", 10, 2, 20), request(3, 41, 20, "stop"))
    assert (called(run), doubts(run)) == expected
