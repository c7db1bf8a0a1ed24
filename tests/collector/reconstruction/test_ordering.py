"""Order and steps of the calls of one run."""

from __future__ import annotations

from typing import Any

import pytest

from collector.model.span import Resource
from collector.reconstruction.drafts import DraftCall
from collector.reconstruction.ordering import assign_steps
from collector.reconstruction.reconstruct import ContextSettings
from tests.builders import agent_span, called, model_span, run_of, runs_of, span, steps, tool_span

JS = 1_700_000_000_000 * 1_000_000
"""A start on a whole millisecond, as JavaScript clocks give them."""


def call(name: str, start: int, end: int, turn: int = -1, position: int = 0, **more: Any) -> DraftCall:
    return DraftCall(name, None, None, None, "unset", None, start, end, name.encode(), True, turn, position, **more)


def order(*calls: DraftCall, skew: int = 0) -> tuple[list[str], list[int], frozenset[int]]:
    arranged = list(calls)
    unsure = assign_steps(arranged, skew)
    return [one.name for one in arranged], [one.step for one in arranged], unsure


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
    names, found, _ = order(call("b", JS, JS + 9, 0, 1), call("a", JS, JS + 9, 0, 0))
    assert (names, found) == (["a", "b"], [0, 0])


def test_an_unbroken_tie_is_concurrent() -> None:
    assert order(call("a", JS + 1, JS + 2), call("b", JS + 1, JS + 2))[1] == [0, 0]


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


@pytest.mark.parametrize(("skew", "expected"), [(0, ([0, 1], frozenset())), (5_000_000, ([0, 0], frozenset({0})))])
def test_starts_on_two_hosts_closer_than_the_skew_have_no_order(skew: int, expected: Any) -> None:
    here, there = Resource({"host.name": "a"}), Resource({"host.name": "b"})
    calls = call("a", 1, 1_000_000, resource=here), call("b", 2_000_001, 3_000_000, resource=there)
    assert order(*calls, skew=skew)[1:] == expected


def test_turns_and_nesting_order_calls_of_two_hosts() -> None:
    here, there = Resource({"host.name": "a"}), Resource({"host.name": "b"})
    by_turn = call("a", 1, 1_000_000, 0, resource=here), call("b", 2_000_001, 3_000_000, 1, resource=there)
    nested = call("a", 1, 9_000_000, resource=here), call("b", 2_000_001, 3_000_000, resource=there, enclosing_id=b"a")
    assert order(*by_turn, skew=5_000_000)[1:] == ([0, 1], frozenset())
    assert order(*nested, skew=5_000_000)[1:] == ([0, 1], frozenset())


def test_two_resources_of_one_host_have_one_clock() -> None:
    here, too = Resource({"host.name": "a", "service.name": "x"}), Resource({"host.name": "a", "service.name": "y"})
    assert order(call("a", 1, 2, resource=here), call("b", 3, 4, resource=too), skew=5_000_000)[1:] == (
        [0, 1],
        frozenset(),
    )


def test_unsure_steps_reach_the_trajectory() -> None:
    run = run_of(
        agent_span(),
        tool_span("a", number=2, at=1, lasting=1, resource=Resource({"host.name": "a"})),
        tool_span("b", number=3, at=4, lasting=1, resource=Resource({"host.name": "b"})),
        settings=ContextSettings(skew_ns=10_000_000),
    )
    assert run.trajectory.unsure_steps == frozenset({0})


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
