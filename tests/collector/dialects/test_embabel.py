"""Embabel's spans of calls, which it writes when they have ended."""

from __future__ import annotations

from collector.model.span import Span
from tests.builders import agent_span, called, read_tool, run_of, span


def ended(name: str, number: int, at: float, lasted: str) -> Span:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.arguments": '{"order": 7}',
        "embabel.event.type": "tool_call",
        "embabel.tool.name": name,
        "embabel.tool.duration_ms": lasted,
        "embabel.tool.status": "success",
    }
    return span(f"execute_tool {name}", number, 1, at, 0, attributes=attributes, scope="org.springframework.boot")


def test_a_call() -> None:
    assert read_tool(ended("pay", 2, 50, "20")) == ("pay", None, {"order": 7}, "unset")


def test_calls_are_in_the_order_in_which_they_began() -> None:
    run = run_of(agent_span(), ended("mail", 2, 40, "10"), ended("pay", 3, 50, "45"))
    assert called(run) == ["pay", "mail"]
    assert [call.step for call in run.trajectory.calls] == [0, 0]  # one ran while the other did


def test_a_duration_that_is_none() -> None:
    run = run_of(agent_span(), ended("mail", 2, 40, "10"), ended("pay", 3, 50, "²"))
    assert called(run) == ["mail", "pay"]
