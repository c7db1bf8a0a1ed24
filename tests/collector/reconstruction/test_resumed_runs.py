"""A run that goes on with the conversation of an earlier trace: which of the calls that its models are told of are its own."""

from __future__ import annotations

from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import agent_span, called, doubts, model_span, result, run_of, tool_span, user


def turn(call_id: str, name: str) -> list[dict[str, Any]]:
    part = {"type": "tool_call", "id": call_id, "name": name, "arguments": {}}
    return [{"role": "assistant", "parts": [part]}, result(call_id, "done")]


FIND, PAY, MAIL = turn("call_7Hq0Zk3A", "find"), turn("call_8Jk1Yv4C", "pay"), turn("call_9Lm2Xw5B", "mail")
AGENT = agent_span(attributes={"gen_ai.input.messages": [user("go")]})


def answer(number: int, at: float, told: list[dict[str, Any]], **more: Any) -> Span:
    """The last answer, which asks for nothing."""
    done = {"gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}]'}
    finish = {"gen_ai.response.finish_reasons": ["stop"]}
    return model_span(
        number=number, at=at, lasting=5, input_messages=[user("go"), *told], attributes=done | finish, **more
    )


@pytest.mark.parametrize("fails", [True, False])
def test_a_call_told_at_first_without_a_span_was_made_before_where_others_have_theirs(fails: bool) -> None:
    """A request that failed, and was sent again, asked for nothing."""
    failed = model_span(number=2, at=1, lasting=5, status=2, message="429", attributes={"error.type": "RateLimitError"})
    run = run_of(
        AGENT,
        *([failed] if fails else []),
        model_span([("call_8Jk1Yv4C", "pay", {})], 3, at=10, lasting=5, input_messages=[user("go"), *FIND]),
        tool_span("pay", {}, 4, at=20, lasting=5, call_id="call_8Jk1Yv4C"),
        answer(5, 30, [*FIND, *PAY]),
    )
    assert (called(run), doubts(run)) == (["pay"], ["other_traces"])


@pytest.mark.parametrize(
    ("told", "expected"),
    [([*FIND, *PAY], (["mail"], ["other_traces"])), (FIND, (["find", "mail"], []))],
    ids=["several answers", "one answer"],
)
def test_calls_of_several_answers_told_at_first_were_made_before(
    told: list[dict[str, Any]], expected: tuple[list[str], list[str]]
) -> None:
    """No tool leaves a span, so that one request that was lost would explain the calls of one answer, and no more."""
    run = run_of(
        AGENT,
        model_span([("call_9Lm2Xw5B", "mail", {})], 3, at=10, lasting=5, input_messages=[user("go"), *told]),
        answer(5, 30, [*told, *MAIL]),
    )
    assert (called(run), doubts(run)) == expected


def test_a_call_told_after_the_first_of_the_run_is_its_own() -> None:
    """The request that asked for it was lost, and `mail` leaves no span."""
    run = run_of(
        AGENT,
        model_span([("call_7Hq0Zk3A", "find", {})], 2, at=1, lasting=5, input_messages=[user("go")]),
        tool_span("find", {}, 3, at=10, lasting=5, call_id="call_7Hq0Zk3A"),
        model_span([("call_9Lm2Xw5B", "mail", {})], 4, at=20, lasting=5, input_messages=[user("go"), *FIND]),
        answer(5, 30, [*FIND, *MAIL, *PAY]),
    )
    assert called(run) == ["find", "mail", "pay"]
    assert "other_traces" not in doubts(run)


@pytest.mark.parametrize("kept", [-1, 140])
def test_a_request_in_a_trace_of_its_own_that_was_told_of_calls_is_a_part_though_the_end_was_cut_off(kept: int) -> None:
    request = model_span(number=1, parent=0, input_messages=[user("go"), *PAY])
    request.attributes["gen_ai.input.messages"] = request.attributes["gen_ai.input.messages"][:kept]
    request.attributes["gen_ai.output.messages"] = (
        '[{"role": "assistant", "parts": [{"type": "text", "content": "done"}]}]'
    )
    run = run_of(request)
    assert (called(run), doubts(run)) == ([], ["other_traces"])
