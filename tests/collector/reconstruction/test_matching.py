"""Which of equal requests a span is the call of, where not all of them have one."""

from __future__ import annotations

import pytest

from tests.builders import agent_span, called, doubts, model_span, result, run_of, steps, tool_span


@pytest.mark.parametrize(("at", "matched"), [(10, "c1"), (50, "c2")])
def test_of_equal_requests_the_call_is_the_last_that_was_made_before_it(at: float, matched: str) -> None:
    run = run_of(
        agent_span(),
        model_span([("c1", "pay", {"n": 1})], 2, at=1, lasting=5),
        model_span([("c2", "pay", {"n": 1})], 3, at=40, lasting=5, input_messages=[result("c1", "Error: declined")]),
        tool_span("pay", {"n": 1}, 4, at=at),
        model_span((), 5, at=90, input_messages=[result("c1", "Error: declined"), result("c2", "paid")]),
    )
    assert [call.id for call in run.trajectory.calls if call.span_id is not None] == [matched]


def test_spans_of_all_requests_are_matched_in_their_order_whatever_the_clocks_say() -> None:
    run = run_of(
        agent_span(),
        model_span([("c1", "pay", {"n": 1}), ("c0", "find", {})], 2, at=1, lasting=5),
        model_span([("c2", "pay", {"n": 1})], 3, at=40, lasting=5),
        tool_span("pay", {"n": 1}, 4, at=41),
        tool_span("pay", {"n": 1}, 5, at=91),
    )
    ids = {call.id: call.start_ns for call in run.trajectory.calls if call.span_id is not None}
    assert ids["c1"] < ids["c2"]


def test_a_call_without_arguments_is_not_that_of_a_request_that_was_made_after_it() -> None:
    """A run that goes on with what an earlier trace asked for; arguments are not recorded."""
    run = run_of(
        agent_span(),
        tool_span("pay", None, 2, at=1, lasting=5),
        model_span([("c1", "pay", {"n": 1}), ("c2", "look", {})], 3, at=10, lasting=5),
        tool_span("pay", None, 4, at=20, lasting=5),
        tool_span("look", None, 5, at=20, lasting=5),
        model_span([("c3", "find", {})], 6, at=40, lasting=5),
        tool_span("find", None, 7, at=50, lasting=5),
    )
    first, second = [call for call in run.trajectory.calls if call.name == "pay"]
    assert (first.id, second.id) == (None, "c1")
    assert first.start_ns < second.start_ns


def test_a_call_without_arguments_is_the_one_that_the_others_leave() -> None:
    """A tracer that writes arguments when the tool has returned (Braintrust) leaves out those of a call that failed."""
    run = run_of(
        agent_span(),
        model_span([("c1", "pay", {"n": 1})], 2, at=1, lasting=5),
        tool_span("pay", None, 4, at=10, status=2),
        model_span([("c2", "pay", {"n": 1})], 3, at=40, lasting=5),
        tool_span("pay", {"n": 1}, 5, at=50),
    )
    assert [(call.id, call.status) for call in run.trajectory.calls] == [("c1", "error"), ("c2", "unset")]


def test_a_value_without_a_name_is_the_argument_of_an_equal_request_of_the_tool() -> None:
    """LangChain's middleware calls a tool that failed again, and its tracers write the value of an only argument."""
    value = {"gen_ai.tool.call.arguments": "red shoes"}
    values = [tool_span("find", None, 10 + n, at=10 + 20 * n, lasting=5, attributes=value) for n in range(3)]
    asked = model_span([("c1", "find", {"what": "red shoes"})], 2, at=1, lasting=5)
    run = run_of(agent_span(), asked, *values)
    assert [call.arguments for call in run.trajectory.calls] == [{"what": "red shoes"}] * 3
    other = model_span([("c2", "find", {"where": "red shoes"})], 3, at=100, lasting=5)
    run = run_of(agent_span(), asked, *values, other, tool_span("find", None, 20, at=110, lasting=5, attributes=value))
    assert sum(call.arguments is None for call in run.trajectory.calls) == 2  # which of the two it is, nothing tells


@pytest.mark.parametrize(
    ("requests", "is_ordered"),
    [
        ([(10, 80)], False),
        ([(10, 100)], False),  # tools run while the answer streams
        ([(10, 80), (20, 94.5)], False),  # it was asked before either call began
        ([(10, 80), (93, 300)], False),  # or while one ran, and had not answered before the other did
        ([(10, 80), (94.2, 94.8)], True),
        ([(10, 80), (93, 94.8)], True),
        ([(10, 80), (94.5, 300)], True),  # when the first had ended, and its answer streams
    ],
)
def test_without_content_two_calls_are_of_two_turns_where_a_model_was_asked_in_between(
    requests: list[tuple[float, float]], is_ordered: bool
) -> None:
    models = [model_span((), 10 + n, at=at, lasting=end - at) for n, (at, end) in enumerate(requests)]
    shown = [tool_span("pay", None, 2, at=90, lasting=4), tool_span("mail", None, 3, at=95, lasting=4)]
    run = run_of(agent_span(), *models, *shown, model_span((), 20, at=400))
    assert called(run) == ["pay", "mail"]
    assert ("uncertain_order" in doubts(run)) is not is_ordered


def test_without_content_a_request_that_runs_the_tools_itself_says_nothing_of_their_turns() -> None:
    around = [model_span((), 10, at=10, lasting=200), model_span((), 11, 10, at=20, lasting=5)]
    shown = [tool_span("pay", None, 2, 10, at=90, lasting=4), tool_span("mail", None, 3, 10, at=95, lasting=4)]
    assert "uncertain_order" in doubts(run_of(agent_span(), *around, *shown))


@pytest.mark.parametrize(("pay", "find"), [("", ""), ("call_0", "call_1")], ids=["no ids", "ids used again"])
def test_a_call_takes_no_request_that_was_made_after_it_began(pay: str, find: str) -> None:
    """The second answer, which asked for a payment as well, was lost."""
    later = [(pay or None, "pay", {"n": 1}), (find or None, "find", {})]
    run = run_of(
        agent_span(),
        model_span([(pay or None, "pay", {"n": 1})], 2, at=1, lasting=5),
        tool_span("pay", {"n": 1}, 3, at=10, lasting=5, call_id=pay),
        tool_span("pay", {"n": 1}, 4, at=30, lasting=5, call_id=pay),
        model_span(later, 5, at=40, lasting=5, input_messages=[result(pay, "paid"), result(pay, "paid")]),
        tool_span("find", {}, 6, at=50, lasting=5, call_id=find),
        tool_span("pay", {"n": 1}, 7, at=60, lasting=5, call_id=pay),
    )
    assert called(run) == ["pay", "pay", "find", "pay"]
    assert steps(run) == [0, 1, 2, 2]
