"""Runs in words that nobody has seen: what one record tells of is no verdict, what two tell of is."""

from __future__ import annotations

import json
from typing import Any

from collector.model.span import Span
from tests.builders import agent_span, called, doubts, model_span, run_of, span, tool_span

ROOT = agent_span("travel")
UNCONFIRMED = ["unconfirmed_reading"]


def asks(*calls: tuple[str, str], number: int = 2, at: float = 1, told: Any = None) -> Span:
    """A model's answer that asks for calls: id, name."""
    parts = [{"id": call_id, "function": {"name": name, "arguments": '{"n": 1}'}} for call_id, name in calls]
    return says(json.dumps({"tool_calls": parts}), number, at, told)


def says(output: str, number: int = 9, at: float = 90, told: Any = None) -> Span:
    """A model's answer in words."""
    attributes = {"acme.span_type": "llm", "acme.output": output, **({"acme.input": json.dumps(told)} if told else {})}
    return span("ask", number, 1, at, 5, attributes=attributes)


def acts(name: str, number: int, at: float) -> Span:
    """A call, recognized by its kind."""
    attributes = {"acme.span_type": "tool", "acme.tool_name": name, "acme.input": '{"n": 1}'}
    return span(name, number, 1, at, 5, attributes=attributes)


def test_calls_that_requests_and_spans_agree_on_are_confirmed() -> None:
    run = run_of(ROOT, asks(("c1", "pay")), acts("pay", 3, 10), says("Paid."))
    assert (called(run), doubts(run)) == (["pay"], [])


def test_calls_that_only_their_spans_tell_of_may_be_others_or_not_all() -> None:
    run = run_of(ROOT, acts("pay", 3, 10))
    assert (called(run), doubts(run)) == (["pay"], UNCONFIRMED)
    assert run.trajectory.doubts[0].calls == (0,)


def test_the_events_of_one_span_are_one_record() -> None:
    events = (
        ("tool.call", {"tool.name": "pay", "call_id": "c1", "arguments": '{"n": 1}'}),
        ("tool.result", {"call_id": "c1", "result": "paid"}),
    )
    run = run_of(ROOT, span("turn", 2, 1, 5, events=events))
    assert (called(run), doubts(run)) == (["pay"], UNCONFIRMED)
    assert run.trajectory.doubts[0].calls == (0,), "what it tells of a call may be of another, or of none"


def test_an_answer_in_which_no_request_was_found_may_hold_one_in_other_words() -> None:
    run = run_of(ROOT, says("Paid."))
    assert (called(run), doubts(run)) == ([], UNCONFIRMED)


def test_a_run_that_ends_with_a_request_goes_on_elsewhere() -> None:
    run = run_of(ROOT, asks(("c1", "pay")), acts("pay", 3, 10))
    assert UNCONFIRMED[0] in doubts(run)


def test_a_call_that_no_answer_asked_for_leaves_the_run_open() -> None:
    run = run_of(ROOT, asks(("c1", "pay")), acts("pay", 3, 10), acts("ship", 4, 20), says("Paid."))
    assert UNCONFIRMED[0] in doubts(run)


def test_an_answer_that_was_not_captured_leaves_the_run_open() -> None:
    silent = span("ask", 5, 1, 30, 5, attributes={"acme.span_type": "llm"})
    run = run_of(ROOT, asks(("c1", "pay")), acts("pay", 3, 10), silent, says("Paid."))
    assert UNCONFIRMED[0] in doubts(run)


def test_a_request_to_a_model_is_known_by_its_answer_too() -> None:
    def answers(message: dict[str, Any], number: int, at: float) -> Span:
        attributes = {"llm.model": "small", "llm.response": json.dumps({"role": "assistant", **message})}
        return span("complete", number, 1, at, 5, attributes=attributes)

    call = {"id": "c1", "function": {"name": "pay", "arguments": '{"n": 1}'}}
    run = run_of(ROOT, answers({"tool_calls": [call]}, 2, 1), acts("pay", 3, 10), answers({"content": "Paid."}, 9, 90))
    assert (called(run), doubts(run)) == (["pay"], [])


def test_an_answer_may_say_that_it_asks_for_no_call() -> None:
    none = says('{"choices": [{"message": {"content": "Paid.", "tool_calls": null, "function_call": null}}]}')
    assert doubts(run_of(ROOT, asks(("c1", "pay")), acts("pay", 3, 10), none)) == []
    other = says('{"choices": [{"message": {"content": "Paid.", "tool_uses": [{"do": "ship"}]}}]}')
    assert UNCONFIRMED[0] in doubts(run_of(ROOT, asks(("c1", "pay")), acts("pay", 3, 10), other))


def test_a_finish_reason_tells_that_an_answer_that_was_not_captured_asks_for_no_call() -> None:
    stopped = model_span(number=9, at=90, attributes={"gen_ai.response.finish_reasons": ["stop"]})
    known = model_span([("c1", "pay", {"n": 1})], number=2, at=1)
    assert doubts(run_of(ROOT, known, acts("pay", 3, 10), stopped)) == []


def test_beside_requests_in_a_known_convention_a_span_that_says_nothing_takes_nothing_away() -> None:
    usage = span("record_usage", 5, 1, 30, 5, attributes={"acme.span_type": "llm", "acme.tokens": 30})
    known = model_span([("c1", "pay", {"n": 1})], number=2, at=1)
    stopped = model_span(number=9, at=90, attributes={"gen_ai.response.finish_reasons": ["stop"]})
    assert doubts(run_of(ROOT, known, acts("pay", 3, 10), usage, stopped)) == []


def test_spans_of_a_known_convention_bear_themselves_out() -> None:
    run = run_of(ROOT, tool_span("pay", {"n": 1}))
    assert (called(run), doubts(run)) == (["pay"], [])


def test_a_span_around_a_request_need_not_tell_its_answer() -> None:
    """OpenHands under Laminar writes one for its client, and one for LiteLLM's inside."""
    outer = [span("llm", number, 1, at, 10, attributes={"acme.span_type": "llm"}) for number, at in ((20, 0), (21, 88))]
    first, last = asks(("c1", "pay")), says("Paid.")
    first.parent_span_id, last.parent_span_id = outer[0].span_id, outer[1].span_id
    run = run_of(ROOT, *outer, first, acts("pay", 3, 10), last)
    assert (called(run), doubts(run)) == (["pay"], [])
    assert doubts(run_of(ROOT, *outer, first, acts("pay", 3, 10))) == UNCONFIRMED
