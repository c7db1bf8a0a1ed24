"""Order and steps of the calls of one run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product, repeat
from math import factorial
from typing import Any, NamedTuple

import pytest

from collector.model.genai_span import GenAISpan, Role
from collector.model.span import Resource
from collector.reconstruction.context import ContextSettings
from collector.reconstruction.drafts import DraftCall
from collector.reconstruction.ordering import MAX_COMPARED, MAX_ORDERS, assign_steps, contradicting_clocks
from tests.builders import agent_span, called, model_span, run_of, runs_of, span, steps, tool_span

JS = 1_700_000_000_000 * 1_000_000
"""A start on a whole millisecond, as JavaScript clocks give them."""


def call(name: str, start: int, end: int, turn: int = -1, position: int = 0, **more: Any) -> DraftCall:
    return DraftCall(name, None, None, None, "unset", None, start, end, name.encode(), True, turn, position, **more)


class Arranged(NamedTuple):
    names: list[str]
    steps: list[int]
    doubts: list[list[str]]
    """The orders that each step in doubt may have had: "a<b" one after the other, "a|b" at the same time."""


def order(*calls: DraftCall, skew: int = 0, **more: Any) -> Arranged:
    arranged = list(calls)
    unordered = assign_steps(arranged, skew, **more)
    doubts = [
        ["<".join("|".join(one.name for one in unit) for unit in each) for each in step.orders] for step in unordered
    ]
    return Arranged([one.name for one in arranged], [one.step for one in arranged], doubts)


def test_calls_are_in_order_of_start_not_of_end_or_arrival() -> None:
    run = run_of(
        agent_span(),
        tool_span("b", number=4, at=30),
        tool_span("a", number=5, at=10, lasting=5),
        tool_span("c", number=6, at=60),
    )
    assert (called(run), steps(run)) == (["a", "b", "c"], [0, 1, 2])


def test_overlapping_calls_share_a_step() -> None:
    assert order(call("a", 1, 50), call("b", 10, 20), call("c", 40, 60), call("d", 60, 70))[1] == [0, 0, 0, 1]


def test_calls_of_one_response_share_a_step_even_if_they_ran_in_sequence() -> None:
    run = run_of(
        agent_span(),
        model_span([("c1", "a", {}), ("c2", "b", {})], 3, at=1, lasting=5),
        tool_span("a", {}, 4, at=10, lasting=5, call_id="c1"),
        tool_span("b", {}, 5, at=20, lasting=5, call_id="c2"),
        model_span([("c3", "c", {})], 6, at=40, lasting=5),
        tool_span("c", {}, 7, at=50, call_id="c3"),
    )
    assert (called(run), steps(run)) == (["a", "b", "c"], [0, 0, 1])


def test_ties_are_broken_by_the_position_in_the_response() -> None:
    found = order(call("b", JS, JS + 9, 0, 1), call("a", JS, JS + 9, 0, 0))
    assert found == (["a", "b"], [0, 0], [])


def test_equal_starts_order_nothing() -> None:
    tie = order(call("a", JS + 1, JS + 2), call("b", JS + 1, JS + 2), call("c", JS + 9, JS + 10))
    assert (tie.steps, tie.doubts) == ([0, 0, 1], [["a<b", "b<a"]])


@pytest.mark.parametrize("missing", [{"start": 0, "end": 0}, {"start": 0, "end": 5}], ids=str)
def test_missing_times_order_nothing(missing: dict[str, int]) -> None:
    found = order(call("a", 10, 20), call("b", **missing))
    assert (found.steps, sorted(found.doubts[0])) == ([0, 0], ["a<b", "b<a"])
    assert order(call("a", 10, 20, 0), call("b", **missing, turn=1))[1:] == ([0, 1], [])


def test_a_clock_set_back_during_a_call_leaves_the_time_between_its_end_and_its_start() -> None:
    assert order(call("a", 50, 5), call("b", 10, 20), call("c", 60, 70)) == (["a", "b", "c"], [0, 0, 1], [])


def test_turns_order_what_the_clocks_contradict() -> None:
    assert order(call("b", 1, 2, 1), call("a", 5, 6, 0)) == (["a", "b"], [0, 1], [])


def test_turns_of_one_run_order_nothing_in_another() -> None:
    assert order(call("b", 1, 2, 1), call("a", 5, 6, 0, run=1)) == (["b", "a"], [0, 1], [])


def test_where_nothing_tells_which_turn_came_first_the_clocks_order() -> None:
    assert order(call("b", 1, 2, 1), call("a", 5, 6, 0), turns_are_ordered=False) == (["b", "a"], [0, 1], [])


def test_calls_of_one_answer_stay_together_whatever_else_is_in_doubt() -> None:
    found = order(call("a", 9, 10, 0), call("b", 20, 21, 0), call("c", 0, 0))
    assert (found.steps, sorted(found.doubts[0])) == ([0, 0, 0], ["a|b<c", "c<a|b"])


def test_what_contradicts_itself_has_no_order() -> None:
    circle = order(call("a", 1, 2, 1), call("b", 5, 6), call("c", 9, 10, 0))
    assert (circle.steps, circle.doubts) == ([0, 0, 0], [[]])


def test_turns_order_a_tie() -> None:
    assert order(call("b", JS, JS + 400_000, 1), call("a", JS, JS + 300_000, 0))[:2] == (["a", "b"], [0, 1])


def test_whole_milliseconds_do_not_make_calls_overlap() -> None:
    before = call("a", JS, JS + 40_702_000)
    assert order(before, call("b", JS + 40_000_000, JS + 50_000_000))[1] == [0, 1]
    assert order(before, call("b", JS + 40_000_001, JS + 50_000_000))[1] == [0, 0]
    assert order(before, call("b", JS + 30_000_000, JS + 50_000_000))[1] == [0, 0]


def test_a_call_inside_another_comes_after_it() -> None:
    outer, inner, sibling = (
        call("outer", 1, 100),
        call("inner", 10, 20, enclosing_id=b"outer"),
        call("next", 30, 40, enclosing_id=b"outer"),
    )
    assert order(inner, sibling, outer)[:2] == (["outer", "inner", "next"], [0, 1, 2])
    assert order(outer, call("beside", 5, 90), inner)[1] == [0, 0, 0]


def test_turns_of_a_model_that_is_asked_inside_a_call_order_nothing_outside() -> None:
    ask, look = call("ask", 1, 50, turn=0), call("look", 10, 20, turn=2, enclosing_id=b"ask")
    assert order(ask, call("mail", 60, 70, turn=1), look) == (["ask", "look", "mail"], [0, 1, 2], [])
    other_clock = Resource({"host.name": "other"})
    assert order(ask, call("mail", 60, 70, turn=1, resource=other_clock), look)[:2] == (
        ["ask", "look", "mail"],
        [0, 1, 2],
    )


@pytest.mark.parametrize(("skew", "expected"), [(0, ([0, 1], [])), (5_000_000, ([0, 0], [["a<b", "b<a"]]))])
def test_starts_on_two_hosts_closer_than_the_skew_have_no_order(skew: int, expected: Any) -> None:
    here, there = Resource({"host.name": "a"}), Resource({"host.name": "b"})
    calls = call("a", 1, 1_000_000, resource=here), call("b", 2_000_001, 3_000_000, resource=there)
    assert order(*calls, skew=skew)[1:] == expected


def test_turns_and_nesting_order_calls_of_two_hosts() -> None:
    here, there = Resource({"host.name": "a"}), Resource({"host.name": "b"})
    by_turn = call("a", 1, 1_000_000, 0, resource=here), call("b", 2_000_001, 3_000_000, 1, resource=there)
    nested = call("a", 1, 9_000_000, resource=here), call("b", 2_000_001, 3_000_000, resource=there, enclosing_id=b"a")
    assert order(*by_turn, skew=5_000_000)[1:] == ([0, 1], [])
    assert order(*nested, skew=5_000_000)[1:] == ([0, 1], [])


def test_two_resources_of_one_host_have_one_clock() -> None:
    here, too = Resource({"host.name": "a", "service.name": "x"}), Resource({"host.name": "a", "service.name": "y"})
    assert order(call("a", 1, 2, resource=here), call("b", 3, 4, resource=too), skew=5_000_000)[1:] == (
        [0, 1],
        [],
    )


def test_a_clock_that_contradicts_the_span_around_its_calls_orders_nothing_between_hosts() -> None:
    here, there = Resource({"host.name": "a"}), Resource({"host.name": "b"})
    around = GenAISpan(b"anchor", b"", 1, 1_000, Role.AGENT, "test", here, False)
    own, inside = call("a", 10, 20, resource=here), call("b", 500, 600, resource=there)
    ahead = call("b", 5_000, 6_000, resource=there), call("c", 7_000, 8_000, resource=there)
    assert contradicting_clocks(inside, around, 0) is None
    assert contradicting_clocks(ahead[0], around, 5_000) is None
    clocks = contradicting_clocks(ahead[0], around, 0)
    assert clocks is not None
    found = order(own, *ahead, wrong_clocks=[clocks])
    assert (found.steps, sorted(found.doubts[0])) == ([0, 0, 0], ["a<b<c", "b<a<c", "b<c<a"])


def test_calls_compared_in_pairs_are_bounded() -> None:
    few = [call(f"c{at:02}", at + 1, at + 2) for at in range(MAX_COMPARED - 1)]
    tie = call("x", 1, 2)
    assert order(*few, tie).doubts == [["c00<x", "x<c00"]]
    assert order(*few, tie, call("y", 900, 901)).doubts == [[]]


def test_orders_that_are_handed_on_are_bounded() -> None:
    ties = [call(name, 5, 6) for name in "abcdef"]
    assert len(order(*ties[:5]).doubts[0]) == factorial(5) <= MAX_ORDERS < factorial(6)
    assert order(*ties) == ([*"abcdef"], [0] * 6, [[]])


def test_what_is_in_doubt_reaches_the_trajectory() -> None:
    run = run_of(
        agent_span(),
        tool_span("a", number=2, at=1, lasting=1, resource=Resource({"host.name": "a"})),
        tool_span("b", number=3, at=4, lasting=1, resource=Resource({"host.name": "b"})),
        settings=ContextSettings(skew_ns=10_000_000),
    )
    (doubt,) = run.trajectory.doubts
    assert (doubt.name, doubt.calls) == ("uncertain_order", (0, 1))
    assert doubt.orders == (((0,), (1,)), ((1,), (0,)))


def test_responses_without_content_still_make_turns() -> None:
    run = run_of(
        agent_span(),
        model_span(number=3, at=1, lasting=5),
        tool_span("a", number=4, at=10, lasting=5),
        tool_span("b", number=5, at=20, lasting=5),
        model_span(number=6, at=30, lasting=5),
        tool_span("c", number=7, at=40, lasting=5),
    )
    assert steps(run) == [0, 0, 1]
    (doubt,) = run.trajectory.doubts  # the response asked for both, or it was called once more in between
    assert doubt.orders == (((0,), (1,)),)


def test_calls_inside_the_request_that_runs_them_itself_are_in_no_turn() -> None:
    run = run_of(
        span("POST", 1, lasting=200),
        model_span(number=3, at=1, lasting=100),
        tool_span("a", number=4, parent=3, at=10, lasting=5),
        tool_span("b", number=5, parent=3, at=20, lasting=5),
    )
    assert steps(run) == [0, 1]


def test_steps_of_one_agent_do_not_depend_on_another() -> None:
    first, second = runs_of(
        span("workflow", 1, lasting=500),
        agent_span("a", 2, 1, at=1, lasting=100),
        tool_span("one", number=3, parent=2, at=5, lasting=50),
        agent_span("b", 4, 1, at=2, lasting=100),
        tool_span("two", number=5, parent=4, at=6, lasting=50),
        tool_span("three", number=6, parent=4, at=70),
    )
    assert (steps(first), steps(second)) == ([0], [0, 1])


def test_calls_in_order_by_one_clock_are_ordered_as_by_comparing_them() -> None:
    def ordered(made: Sequence[tuple[int, ...]], resources: Iterator[Resource]) -> object:
        calls = [
            call(str(at), start, start + lasting, turn, at, run=run, resource=next(resources))
            for at, (start, lasting, turn, _, run) in enumerate(made)
        ]
        for one, (_, _, _, response, _) in zip(calls, made, strict=True):
            one.response = response
        unordered = assign_steps(calls, 0)
        orders = [[[[one.name for one in unit] for unit in way] for way in doubt.orders] for doubt in unordered]
        return [(one.name, one.step) for one in calls], orders

    first = list(product((0, 1, 2, 3), (0, 2), (-1, 0, 1), (-1, 0), (0,)))
    second = list(product((0, 1, 2, 3), (0, 2), (-1, 0, 1), (-1, 0), (0, 1)))
    for made in product(first, second):
        # Equal resources are one clock, but only one and the same is taken for it before anything is compared.
        assert ordered(made, repeat(Resource({}))) == ordered(made, (Resource({}) for _ in made)), made
