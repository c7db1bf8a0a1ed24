"""A model asked several times at once (a vote, a second attempt beside a slow first one), of whose answers one is used."""

from __future__ import annotations

import pytest

from collector.model.span import Span
from tests.builders import agent_span, asked, called, doubts, model_span, result, run_of, tool_span, user

FIRST, SECOND = "call_7Hq0Zk3A", "call_8Jk1Yv4C"


def answers(used: str, other: str) -> list[Span]:
    """Two answers to one request, and the request that tells of the first."""
    told = [user("go"), asked((FIRST, used, {})), result(FIRST, "paid")]
    done = {"gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}]'}
    return [
        agent_span(),
        model_span([(FIRST, used, {"n": 1})], 2, at=10, lasting=20),
        model_span([(SECOND, other, {"n": 1})], 3, at=11, lasting=20),
        model_span(number=9, at=60, lasting=5, input_messages=told, attributes=done),
    ]


def test_of_equal_calls_the_span_is_that_of_the_answer_which_was_used() -> None:
    run = run_of(*answers("pay", "pay"), tool_span("pay", {"n": 1}, 4, at=40, lasting=5))
    (made,) = [call for call in run.trajectory.calls if call.executed]
    assert (made.id, made.known_by) == (FIRST, "span")


def test_a_call_of_an_answer_beside_the_one_that_was_used_may_not_have_run() -> None:
    """No tool leaves a span, so that an answer which the model was asked after would do. If it ran, nothing tells when."""
    run = run_of(*answers("pay", "find"))
    assert called(run) == ["pay", "(find)"]
    assert doubts(run) == ["uncertain_execution", "uncertain_order"]


def test_a_call_with_a_span_of_its_own_ran_whichever_answer_was_used() -> None:
    spans = answers("pay", "find")
    run = run_of(
        *spans,
        tool_span("find", {"n": 1}, 4, at=40, lasting=5, call_id=SECOND),
        tool_span("pay", {"n": 1}, 5, at=40, lasting=5, call_id=FIRST),
    )
    assert sorted(called(run)) == ["find", "pay"]
    assert "uncertain_execution" not in doubts(run)


@pytest.mark.parametrize(("at", "is_doubted"), [(11, True), (40, False)])
def test_a_request_that_was_made_before_another_was_answered_does_not_tell_that_the_agent_went_on(
    at: float, is_doubted: bool
) -> None:
    """The run ends there: it waits for a human."""
    run = run_of(
        agent_span(),
        model_span([(FIRST, "pay", {"n": 1})], 2, at=10, lasting=20),
        model_span([(SECOND, "pay", {"n": 1})], 3, at=at, lasting=20),
    )
    first = run.trajectory.doubts[0]
    assert (first.name, 0 in first.calls) == ("uncertain_execution", is_doubted)
