"""Calls in the words of messages: DSPy's fields and trajectory, what smolagents tells its model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.payloads.history import calls_in_history
from collector.payloads.messages import tool_call_parts
from collector.payloads.text_calls import parse_action, tells_failure
from collector.payloads.values import MAX_TEXT
from tests.operations import within

ASKED = (
    '[[ ## next_thought ## ]]\npay it\n\n[[ ## next_tool_name ## ]]\npay\n\n[[ ## next_tool_args ## ]]\n{"sum": 5}\n'
)
TRAJECTORY = """[[ ## question ## ]]
Pay!

[[ ## trajectory ## ]]
[[ ## thought_0 ## ]]
pay

[[ ## tool_name_0 ## ]]
pay

[[ ## tool_args_0 ## ]]
{"sum": 5}

[[ ## observation_0 ## ]]
Execution error in pay:
declined

[[ ## tool_name_1 ## ]]
pay

[[ ## tool_args_1 ## ]]
{"sum": 5}

[[ ## observation_1 ## ]]
paid

[[ ## tool_name_2 ## ]]
finish

[[ ## tool_args_2 ## ]]
{}

[[ ## observation_2 ## ]]
Completed.

Respond with the corresponding output fields."""


def told(*messages: tuple[str, str]) -> list[tuple[str, Any, str | None]]:
    written = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in messages]
    return [(call.name, call.arguments, call.status) for call in calls_in_history(json.dumps(written))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ASKED, [("pay", {"sum": 5})]),
        (ASKED + "\n[[ ## completed ## ]]", [("pay", {"sum": 5})]),
        (ASKED.replace("\npay\n", "\nfinish\n"), []),
        ("[[ ## answer ## ]]\nthe tool says: paid", []),
        ('{"next_thought": "pay it", "next_tool_name": "pay", "next_tool_args": {"sum": 5}}', [("pay", {"sum": 5})]),
        ('{"next_thought": "paid", "next_tool_name": "finish", "next_tool_args": {}}', []),
        ('[[ ## outputs ## ]]\n{"tool_calls": [{"name": "pay", "args": {"sum": 5}}]}\n', [("pay", {"sum": 5})]),
        ("I would use the tool pay.\n" + ASKED, []),
        (ASKED + "x" * MAX_TEXT, []),
    ],
)
def test_dspys_answer_is_a_request(text: str, expected: list[Any]) -> None:
    for output in ([{"role": "assistant", "parts": [{"type": "text", "content": text}]}], [text]):
        assert [(part.name, part.arguments) for part in tool_call_parts(json.dumps(output))] == expected


def test_dspys_trajectory_tells_of_the_calls_so_far() -> None:
    assert told(("user", TRAJECTORY)) == [("pay", {"sum": 5}, "error"), ("pay", {"sum": 5}, "ok")]
    assert told(("user", TRAJECTORY + "x" * MAX_TEXT)) == []


def test_what_smolagents_tells_its_model() -> None:
    failure = "New task:\nPay!\nError:\nError executing tool 'pay' with arguments {'sum': 5}: Declined\nTry again"
    calling = "Calling tools:\n[{'id': 'c2', 'type': 'function', 'function': {'name': 'pay', 'arguments': {'sum': 5}}}]"
    exchange = [
        ("MessageRole.USER", failure),
        ("MessageRole.ASSISTANT", calling),
        ("MessageRole.USER", "Observation:\npaid"),
    ]
    assert told(*exchange) == [("pay", {"sum": 5}, "error"), ("pay", {"sum": 5}, "ok")]
    assert told(*exchange, ("MessageRole.USER", "Thanks")) == []  # the next question of the user


def test_a_failure_is_that_of_the_call_that_was_told_before_it() -> None:
    calling = "Calling tools:\n[{'id': 'c1', 'type': 'function', 'function': {'name': 'pay', 'arguments': {'sum': 5}}}]"
    failure = "Error:\nError executing tool 'pay' with arguments {'sum': 5}: Declined"
    assert told(("assistant", calling), ("assistant", failure)) == [("pay", {"sum": 5}, "error")]


def test_smolagents_tells_of_a_tool_that_it_does_not_have_without_the_call() -> None:
    unknown = "Error:\nUnknown tool reserve_flight, should be one of: book_flight, final_answer.\nNow let's retry"
    assert told(("MessageRole.TOOL_RESPONSE", unknown)) == [("reserve_flight", None, "refused")]
    assert told(("MessageRole.USER", f"What does this mean? {unknown}")) == []


ANALYZE = "Analyze the tool result. If requirements are met, provide the Final Answer. Otherwise, call the next tool."
"""What CrewAI 1.15 tells its model after each result."""


@pytest.mark.parametrize(
    ("observed", "status"),
    [
        ("\nObservation: paid", "ok"),
        ("\nObservation: {'error': 'declined'}", "error"),
        ("\nObservation: I encountered an error while trying to use the tool. This was the error: declined.", "error"),
        ("\nObservation: I tried reusing the same input, I must stop using this action input. ", "refused"),
        (
            "\nObservation: I encountered an error: Action 'pay' don't exist, these are the only available Actions:",
            "refused",
        ),
        ("", None),
    ],
)
def test_an_action_of_react_and_what_was_observed(observed: str, status: str | None) -> None:
    """CrewAI 0.203, whose model is told its own words with the observation behind them."""
    words = f'Thought: pay\nAction: pay\nAction Input: {{"sum": 5}}{observed}'
    assert told(("user", "Pay!"), ("assistant", words)) == [("pay", {"sum": 5}, status)]
    assert told(("user", "Pay!"), ("assistant", words), ("user", ANALYZE)) == [("pay", {"sum": 5}, status)]
    assert told(("system", words), ("user", "Pay!")) == []  # an example
    assert [part.arguments for part in tool_call_parts([{"role": "assistant", "content": words}])] == [{"sum": 5}]
    assert tool_call_parts([{"role": "assistant", "content": f"{words}\nFinal Answer: paid"}]) == []


@pytest.mark.parametrize("begin", ["Action:", "Action: pay", "Action: pay\n", "Action: pay\nAction Input:"])
def test_blanks_of_any_number_in_an_action_take_no_time(begin: str) -> None:
    with within(1.0):
        assert parse_action(begin + " " * 8_000 + "Action Input:") == []


def test_any_number_of_failures_that_never_end_take_no_time() -> None:
    failure = "Error executing tool 'pay' with arguments {"
    text = failure * (MAX_TEXT // len(failure))
    with within(1.0):
        assert not any(tells_failure(text) for _ in range(20))
    assert tells_failure(f"{text}'sum': 5}}: Declined")
