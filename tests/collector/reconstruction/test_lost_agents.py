"""What a run may lack whose agent's span is lost, where the root of the trace is there."""

from __future__ import annotations

from tests.builders import asked, called, doubts, model_span, result, run_of, span, tool_span, user

LOST = 9
ROOT = span("POST /chat", 1, lasting=100, attributes={"http.route": "/chat"})


def test_what_a_model_was_asked_for_below_a_lost_span_may_not_have_run() -> None:
    """The span may be an agent's, which waits for a human, or was interrupted."""
    run = run_of(ROOT, model_span([("c1", "pay", {})], 2, LOST, at=10))
    assert called(run) == ["pay"]
    assert set(doubts(run)) == {"missing_span", "uncertain_execution", "unobserved_results"}


def test_a_call_asked_for_last_below_a_lost_span_may_have_run_without_the_span_that_was_lost_as_well() -> None:
    told = [user("go"), asked(("c1", "find", {})), result("c1", "42")]
    run = run_of(
        ROOT,
        model_span([("c1", "find", {})], 2, LOST, at=10, lasting=5),
        tool_span("find", {}, 3, LOST, at=20, lasting=5, call_id="c1"),
        model_span([("c2", "pay", {})], 4, LOST, at=30, lasting=5, input_messages=told),
    )
    assert called(run) == ["find", "(pay)"]
    assert set(doubts(run)) == {"missing_span", "uncertain_execution", "unobserved_results"}


def test_a_run_below_a_lost_span_whose_last_answer_asked_for_nothing_is_whole() -> None:
    told = [user("go"), asked(("c1", "find", {})), result("c1", "42")]
    done = {"gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}]'}
    run = run_of(
        ROOT,
        model_span([("c1", "find", {})], 2, LOST, at=10, lasting=5),
        tool_span("find", {}, 3, LOST, at=20, lasting=5, call_id="c1"),
        model_span(number=4, parent=LOST, at=30, lasting=5, input_messages=told, attributes=done),
    )
    assert (called(run), doubts(run)) == (["find"], [])
