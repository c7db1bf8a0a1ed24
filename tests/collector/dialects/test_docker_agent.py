"""Docker's agent (cagent)."""

from __future__ import annotations

from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import called, doubts, run_of, runs_of, span, steps


def docker(name: str, number: int, parent: int, at: float = 0, *, agent: str = "root", **more: Any) -> Span:
    attributes = {"agent": agent, "session.id": f"s-{agent}", **more.pop("attributes", {})}
    return span(f"runtime.{name}", number, parent, at, attributes=attributes, scope="cagent", **more)


def session(number: int = 1, parent: int = 0, **more: Any) -> Span:
    return docker("session", number, parent, lasting=100, **more)


def stream(number: int, at: float, calls: int) -> Span:
    attributes = {"tool.calls": calls, "content.length": 0 if calls else 5, "stopped": not calls}
    return docker("stream", number, 1, at, attributes=attributes)


def asked(tool: str, number: int, at: float = 20, parent: int = 1, status: int = 1, **more: Any) -> Span:
    attributes = {"tool.name": tool, "tool.type": "function", "tool.call_id": f"call_{at}"}
    return docker("tool.call", number, parent, at, status=status, attributes=attributes, lasting=9, **more)


def ran(tool: str, number: int, parent: int, at: float = 20, *, handler: str = "handler", **more: Any) -> Span:
    attributes = {"tool.name": tool, "tool.call_id": f"call_{at}"}
    return docker(f"tool.{handler}", number, parent, at, attributes=attributes, lasting=8, **{"status": 1, **more})


def failed(tool: str, number: int, parent: int, kind: str, message: str) -> Span:
    raised = ("exception", {"exception.type": kind, "exception.message": message})
    return ran(tool, number, parent, status=2, message="tool handler error", events=[raised])


def test_a_call_is_that_of_its_handler_and_of_what_came_of_it_nothing_is_told() -> None:
    run = run_of(
        session(), stream(2, 10, 2), asked("look", 3), ran("look", 4, 3), asked("pay", 5, 30), ran("pay", 6, 5, 30),
        stream(7, 40, 0),
    )  # fmt: skip
    assert (run.agent, run.conversation_id, run.dialect) == ("root", "s-root", "docker_agent")
    assert (called(run), steps(run), doubts(run)) == (["look", "pay"], [0, 1], ["unobserved_results"])
    assert [(call.id, call.status) for call in run.trajectory.calls] == [("call_20", "unset"), ("call_30", "unset")]


def test_a_call_without_a_handler_was_denied_unless_its_span_is_lost() -> None:
    """Whoever denied it (a human, a hook, a rule): its span ends well, and without words."""
    run = run_of(session(), stream(2, 10, 1), asked("pay", 3), stream(4, 30, 0))
    assert (called(run), doubts(run)) == (["(pay)"], ["uncertain_execution", "unobserved_results"])


def test_a_tool_that_the_agent_does_not_have() -> None:
    run = run_of(session(), stream(2, 10, 1), asked("teleport", 3, status=2, message="tool not available"))
    assert (called(run), doubts(run)) == (["(teleport)"], [])


@pytest.mark.parametrize(
    ("kind", "message", "expected"),
    [
        ("*errors.errorString", "the database is down", []),
        ("*json.SyntaxError", "unexpected end of JSON input", ["uncertain_execution"]),
        (
            "*json.UnmarshalTypeError",
            "json: cannot unmarshal string into Go struct field Pay.order of type int",
            ["uncertain_execution"],
        ),
    ],
)
def test_a_call_that_failed_may_have_done_so_on_its_arguments(kind: str, message: str, expected: list[str]) -> None:
    run = run_of(session(), stream(2, 10, 1), asked("pay", 3), failed("pay", 4, 3, kind, message), stream(5, 40, 0))
    [call] = run.trajectory.calls
    assert (call.name, call.status, doubts(run)) == ("pay", "error", expected)


def test_an_agent_that_does_a_task_for_another() -> None:
    outer, inner = runs_of(
        session(), stream(2, 10, 1), asked("transfer_task", 3), ran("transfer_task", 4, 3, handler="handler.runtime"),
        docker("task_transfer", 5, 4, 20, attributes={"from.agent": "root", "to.agent": "clerk"}),
        session(6, 5, at=21, agent="clerk"), asked("pay", 7, 23, 6, agent="clerk"), ran("pay", 8, 7, 23, agent="clerk"),
        asked("mail", 9, 50), ran("mail", 10, 9, 50),
    )  # fmt: skip
    assert (outer.agent, called(outer)) == ("root", ["transfer_task", "mail"])
    assert (inner.agent, called(inner)) == ("clerk", ["pay"])


def test_a_run_without_calls() -> None:
    run = run_of(session(), stream(2, 10, 0))
    assert (called(run), doubts(run)) == ([], [])
    assert dialects.read_span(stream(2, 10, 0)) is IGNORED


def test_what_is_written_in_the_words_of_the_conventions_is_left_to_them() -> None:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay"}
    read = dialects.read_span(docker("tool.call", 3, 1, attributes=attributes))
    assert read is not None
    assert (read.dialect, read.name) == ("otel_genai", "pay")
