"""OpenInference for Go: spans of requests alone, whose input is what the user said last."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.span import Span
from tests.builders import called, doubts, run_of, span_of_kind

OPENAI, ANTHROPIC = "openai.chat.completions.create", "anthropic.messages.create"
USER = {"role": "user", "content": "Pay order 7."}
PAY = {"id": "c1", "name": "pay", "arguments": {"order": 7}}
ASKED = {"role": "assistant", "calls": [PAY]}
TOLD = {"role": "tool", "tool_call_id": "c1", "content": "paid 7"}
DONE = {"output.value": "Done.", "llm.finish_reason": "stop", "llm.output_messages.0.message.content": "Done."}


def flattened(name: str, *messages: dict[str, Any]) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    for number, message in enumerate(messages):
        for key, value in message.items():
            if key != "calls":
                attributes[f"llm.{name}_messages.{number}.message.{key}"] = value
        for position, call in enumerate(message.get("calls", ())):
            at = f"llm.{name}_messages.{number}.message.tool_calls.{position}.tool_call"
            attributes |= {f"{at}.id": call["id"], f"{at}.function.name": call["name"]}
            attributes[f"{at}.function.arguments"] = json.dumps(call["arguments"])
    return attributes


def request(number: int, at: float, *told: dict[str, Any], parent: int = 1, name: str = OPENAI, **answer: Any) -> Span:
    attributes = {"input.value": "Pay order 7.", **flattened("input", *told), **answer.pop("attributes", {})}
    return span_of_kind(
        "openinference.span.kind", "LLM", name, number, parent, at, attributes=attributes, scope="my-app"
    )


def agent() -> Span:
    return span_of_kind("openinference.span.kind", "AGENT", "till", 1, lasting=100, scope="my-app")


ASKING = {**flattened("output", ASKED), "llm.finish_reason": "tool_calls"}


@pytest.mark.parametrize(
    ("told", "expected", "status"),
    [("paid 7", ["pay"], "ok"), ("error: card declined", ["pay"], "error"), ("unknown tool: pay", ["(pay)"], "unset")],
)
def test_the_messages_of_the_next_request_tell_what_became_of_a_call(
    told: str, expected: list[str], status: str
) -> None:
    run = run_of(
        agent(),
        request(2, 1, USER, attributes=ASKING),
        request(3, 30, USER, ASKED, TOLD | {"content": told}, attributes=DONE),
    )
    assert (called(run), doubts(run), run.trajectory.calls[0].status) == (expected, [], status)


def test_a_streamed_answer_may_have_asked_for_calls_of_which_no_request_tells() -> None:
    run = run_of(agent(), request(2, 1, USER), request(3, 30, USER, ASKED, TOLD))
    assert (called(run), doubts(run)) == (["pay"], ["unrecorded_calls"])
    ended = run_of(agent(), request(2, 1, USER), request(3, 30, USER, ASKED, TOLD, attributes=DONE))
    assert (called(ended), doubts(ended)) == (["pay"], [])


@pytest.mark.parametrize(
    ("name", "messages"),
    [
        (OPENAI, (USER, ASKED, TOLD)),
        (
            ANTHROPIC,
            (USER, {"role": "assistant", "content": "I will."}, {"role": "user"}),
        ),  # calls and results are left out
    ],
)
def test_a_trace_of_one_request_that_tells_of_calls_is_part_of_a_run(
    name: str, messages: tuple[dict[str, Any], ...]
) -> None:
    run = run_of(request(2, 1, *messages, parent=0, name=name, attributes=DONE))
    assert (called(run), doubts(run)) == ([], ["other_traces"])


def test_it_is_read_with_all_its_attributes() -> None:
    """Keys of input messages are many, and read of no other span."""
    part = request(2, 1, USER, attributes=DONE)
    part.is_whole = False
    assert dialects.read_span(part) is None
