"""Swiftide's spans, of which messages tell what was asked for and what came of it."""

from __future__ import annotations

from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import called, doubts, run_of, runs_of, span

ASKED = 'Assistant: "None", tools: '


def _span(name: str, number: int, parent: int = 0, at: float = 0, lasting: float = 1, **attributes: Any) -> Span:
    about = {"target": "swiftide_agents::agent", **attributes}
    return span(name, number, parent, at, lasting, attributes=about, scope="shop")


def _added(message: str, number: int, parent: int, at: float) -> Span:
    return _span("add_message", number, parent, at, message=message)


def _answered(parent: int = 1) -> list[Span]:
    """The last step of a run, and its request."""
    clients = {"target": "swiftide_integrations::openai::chat_completion"}
    return [
        _span("step", 90, parent, 80, 10, step_count=1),
        _span("complete", 91, 90, 81, 8, **clients),
        _added('Assistant: "done", tools: None", tools: None', 92, 90, 89),
    ]


def test_calls_of_one_answer() -> None:
    weather = [f'call_{number}#weather {{"city": "{city}"}}' for number, city in enumerate(("Paris", "Rome"))]
    run = run_of(
        _span("agent.query", 1, lasting=100),
        _span("step", 2, 1, lasting=70, step_count=0),
        _added(f"{ASKED}{', '.join(weather)}", 3, 2, 10),
        _span("tool.weather", 4, 2, 11, 30),
        _span("tool.weather", 5, 2, 11.5, 30),
        _added(f'ToolOutput: "{weather[0]}": "sunny"', 6, 2, 45),
        _added(f'ToolOutput: "{weather[1]}": "Tool call failed: no such city"', 7, 2, 46),
        *_answered(),
    )
    calls = [(call.id, call.arguments, call.status) for call in run.trajectory.calls]
    assert calls == [("call_0", {"city": "Paris"}, "ok"), ("call_1", {"city": "Rome"}, "error")]
    assert (run.dialect, doubts(run)) == ("swiftide", [])


@pytest.mark.parametrize(
    ("arguments", "told", "executed", "in_doubt"),
    [
        ('{"ord":7}', "missing field `order` at line 1 column 9", True, ["uncertain_execution"]),  # or of what it read
        ("{broken", "key must be a string at line 1 column 2", False, ["unreadable_arguments"]),
        ("", "EOF while parsing a value at line 1 column 0", False, []),
    ],
)
def test_arguments_that_could_not_be_parsed(arguments: str, told: str, executed: bool, in_doubt: list[str]) -> None:
    failed = f"Tool call failed: arguments for tool failed to parse: {told}"
    run = run_of(
        _span("agent.query", 1, lasting=100),
        _span("step", 2, 1, lasting=70, step_count=0),
        _added(f"{ASKED}call_0#pay {arguments}", 3, 2, 10),
        _span("tool.pay", 4, 2, 11, 30),
        _added(f'ToolOutput: "call_0#pay {arguments}": "{failed}"', 6, 2, 45),
        *_answered(),
    )
    call = run.trajectory.calls[0]
    assert (call.executed, call.status, doubts(run)) == (executed, "error", in_doubt)


def test_an_agent_inside_a_call_has_a_run() -> None:
    outer, inner = runs_of(
        _span("agent.query", 1, lasting=100),
        _span("step", 2, 1, lasting=70, step_count=0),
        _added(f"{ASKED}call_0#ask {{}}", 3, 2, 10),
        _span("tool.ask", 4, 2, 11, 50),
        _span("agent.query", 5, 4, 12, 40),
        _added(f"{ASKED}call_1#look {{}}", 6, 5, 15),
        _span("tool.look", 7, 5, 16, 5),
        _added('ToolOutput: "call_1#look {}": "nothing"', 8, 5, 22),
        _added('Assistant: "14 days", tools: None', 9, 5, 40),
        _added('ToolOutput: "call_0#ask {}": "14 days"', 10, 2, 65),
        *_answered(),
    )
    assert [(called(run), doubts(run)) for run in (outer, inner)] == [(["ask"], []), (["look"], [])]


def test_a_call_of_which_no_message_tells_waits_for_a_human_and_runs_in_another_trace() -> None:
    asked = [
        _span("agent.query", 1, lasting=30),
        _added(f"{ASKED}call_0#cancel {{}}", 2, 1, 10),
        _span("tool.cancel", 3, 1, 11, 1),
    ]
    approved = [
        _span("agent.run", 1, lasting=100),
        _span("tool.cancel", 2, 1, 1, 1),
        _added('ToolOutput: "call_0#cancel {}": "cancelled"', 3, 1, 3),
        *_answered(),
    ]
    waits, goes_on = run_of(*asked), run_of(*approved)
    assert (called(waits), doubts(waits)) == (["(cancel)"], ["other_traces", "uncertain_execution"])
    assert (called(goes_on), doubts(goes_on)) == (["cancel"], ["other_traces"])


def test_an_answer_whose_calls_cannot_be_read_leaves_the_run_open() -> None:
    run = run_of(
        _span("agent.query", 1, lasting=100), _added(f"{ASKED}call_0#pay {{broken, call_1#", 3, 1, 10), *_answered()
    )
    assert (called(run), doubts(run)) == ([], ["unrecorded_calls"])
