"""Ax (@ax-llm/ax 24), whose spans have the scope of whatever tracer it was given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import called, doubts, run_of, runs_of, span, steps

SCOPE = "app"


def program(number: int, parent: int = 0, at: float = 0, lasting: float = 100, label: str = "", **more: Any) -> Span:
    attributes = {
        "signature_name": "till does things", "input_field_count": 1, "output_field_count": 1,
        "provided_functions": "find,mail", "max_steps": 8,
    }  # fmt: skip
    name = f"AxGen > {label}" if label else "AxGen"
    return span(name, number, parent, at, lasting, attributes=attributes, scope=SCOPE, kind=2, **more)


def choice(finish: str | None, *names: str) -> tuple[str, Mapping[str, Any]]:
    told: dict[str, Any] = {"index": 0, "has_content": not names, "has_thought": False, "tool_count": len(names)}
    told |= {"finish_reason": finish} if finish else {}
    return "gen_ai.choice", {**told, "tool_names": ",".join(names)} if names else told


def request(number: int, parent: int, at: float, *choices: tuple[str, Mapping[str, Any]]) -> Span:
    attributes = {"gen_ai.system": "OpenAI", "gen_ai.operation.name": "chat", "gen_ai.request.llm_is_streaming": False}
    attributes["gen_ai.response.id"] = f"chatcmpl-{number}"
    events = [("gen_ai.user.message", {"part_count": 1}), *choices]
    return span("AI Chat Request", number, parent, at, 8, attributes=attributes, events=events, scope=SCOPE, kind=2)


def raised(message: str, *frames: str) -> tuple[str, Mapping[str, Any]]:
    stack = "\n    at ".join([f"Error: {message}", *frames])
    return "exception", {"exception.type": "Error", "exception.message": message, "exception.stacktrace": stack}


def tool(name: str, number: int, parent: int, at: float, event: tuple[str, Mapping[str, Any]] | None = None) -> Span:
    attributes = {"tool.name": name, "tool.mode": "native", "function.id": f"call_{number}", "session.id": ""}
    events = [event or ("gen_ai.tool.message", {"name": name})]
    return span(f"Tool: {name}", number, parent, at, 3, attributes=attributes, events=events, scope=SCOPE)


OF_AX = "pa.executeFunction (file:///app/node_modules/@ax-llm/ax/index.js:398:12)"
OF_TOOL = "Object.func (file:///app/tools.mjs:29:77)"


def test_a_run() -> None:
    run = run_of(
        program(1, label="till"),
        request(2, 1, 5, choice("function_call", "find", "mail")),
        tool("find", 3, 1, 15),
        tool("mail", 4, 1, 16),
        request(5, 1, 20, choice("function_call", "find")),
        tool("find", 6, 1, 30),
        request(7, 1, 40, choice("stop")),
    )
    assert (run.agent, run.dialect, called(run), steps(run)) == ("till", "ax", ["find", "mail", "find"], [0, 0, 1])
    assert [(call.status, call.arguments) for call in run.trajectory.calls] == [("ok", None)] * 3
    assert doubts(run) == []


def test_a_streams_answer_is_in_pieces() -> None:
    run = run_of(
        program(1),
        request(2, 1, 5, choice(None, "find"), choice("function_call")),
        tool("find", 3, 1, 15),
        request(4, 1, 20, choice(None), choice("stop")),
    )
    assert (called(run), doubts(run)) == (["find"], [])


@pytest.mark.parametrize(
    ("event", "expected", "in_doubt"),
    [
        (raised("disk full", OF_TOOL, OF_AX), "find", []),
        (raised("Function not found: find. Available functions: mail.", OF_AX), "(find)", []),
        (raised('Invalid function arguments: {"q": ', OF_AX), "(find)", []),
        (raised("Invalid function arguments: q", OF_TOOL, OF_AX), "find", ["uncertain_execution"]),
    ],
)
def test_what_a_call_raised(event: tuple[str, Mapping[str, Any]], expected: str, in_doubt: list[str]) -> None:
    """Its span has no status."""
    run = run_of(program(1), request(2, 1, 5, choice("function_call", "find")), tool("find", 3, 1, 15, event))
    assert (called(run), run.trajectory.calls[0].status, doubts(run)) == ([expected], "error", in_doubt)


def test_a_program_inside_a_call_is_a_run_of_its_own() -> None:
    outer, inner = runs_of(
        program(1),
        request(2, 1, 5, choice("function_call", "clerk")),
        span("Tool: clerk", 3, 1, 15, 40, attributes=tool("clerk", 3, 1, 15).attributes, scope=SCOPE),
        program(4, 3, 16, 30),
        request(5, 4, 17, choice("function_call", "find")),
        tool("find", 6, 4, 30),
        request(7, 4, 35, choice("stop")),
        request(8, 1, 60, choice("stop")),
    )
    assert (called(outer), called(inner)) == (["clerk"], ["find"])


def test_a_call_whose_span_was_lost_is_missing() -> None:
    run = run_of(program(1), request(2, 1, 5, choice("function_call", "find")), request(3, 1, 20, choice("stop")))
    assert "uncertain_execution" in doubts(run)
