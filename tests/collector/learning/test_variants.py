"""Runs as variants: what is kept of their calls, and when many calls of a tool are told apart by number."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.learning.variants import (
    Activity,
    Variant,
    activities_of,
    counts_of,
    least_support,
    number_repeated,
    project,
    variant_of,
)
from scorers.trajectory import Status, ToolCall


def variant(calls: str) -> Variant:
    """``a b+c`` is a, then b and c at once; ``a2`` is the second a."""
    named = [[Activity(name[0], int(name[1:] or 0)) for name in step.split("+")] for step in calls.split()]
    return tuple(tuple(sorted(step)) for step in named)


def run(calls: str) -> list[ToolCall]:
    """``a! b+c`` is an a that failed, then b and c at once."""
    found = []
    for at, step in enumerate(calls.split()):
        for name in step.split("+"):
            status: Status = "error" if name.endswith("!") else "ok"
            found.append(ToolCall(name.rstrip("!"), status=status, step=2 * at))
    return found


@pytest.mark.parametrize(
    ("runs", "noise", "least"),
    [(0, 0.1, 2), (11, 0.1, 2), (12, 0.1, 3), (30, 0.1, 3), (31, 0.1, 4), (1_000, 0.1, 100), (1_000, 0.0, 3)],
)
def test_what_more_than_mistakes_explain(runs: int, noise: float, least: int) -> None:
    assert least_support(runs, noise) == least


@pytest.mark.parametrize(
    ("calls", "collapsed"),
    [
        ("a b", "a b"),
        ("a! a b", "a b"),
        ("a! b a", "a b a"),  # not in the next step
        ("a! a! a", "a"),
        ("a! a!", "a"),  # the last one stays, failed as it is
        ("a a", "a a"),
        ("a!+b a", "b a"),
        ("a!+a! a", "a a"),  # one retry is of one call
        ("a!+a! a+a", "a+a"),
        ("a!", "a"),
    ],
)
def test_a_failed_call_and_its_retry_are_one(calls: str, collapsed: str) -> None:
    assert variant_of(run(calls), collapse=True) == variant(collapsed)
    assert variant_of(run(calls), collapse=False) == variant(calls.replace("!", ""))


def test_calls_of_one_step_have_no_order() -> None:
    assert variant_of(run("b+a c"), collapse=False) == variant_of(run("a+b c"), collapse=False)
    assert variant_of([], collapse=True) == ()


def test_runs_of_some_activities_alone() -> None:
    log = Counter({variant("a b c"): 3, variant("a c"): 2, variant("b"): 1, variant("a+b c"): 4})
    assert project(log, [Activity("a"), Activity("c")]) == {variant("a c"): 9, (): 1}
    assert project(log, []) == {(): 10}


def test_calls_are_numbered_where_nearly_all_runs_make_as_many() -> None:
    log = Counter({variant("a b a"): 19, variant("a b"): 1})
    assert number_repeated(log, 0.1) == {variant("a1 b a2"): 19, variant("a1 b"): 1}
    assert number_repeated(Counter({variant("a+a"): 12}), 0.1) == {variant("a1+a2"): 12}


@pytest.mark.parametrize(
    "runs",
    [
        {"a b a": 10, "a b": 10},  # no usual number
        {"a b": 20},  # one call needs no number
        {"a a a a a a": 20},  # rather a loop
        {"": 20},
    ],
)
def test_calls_are_not_numbered_otherwise(runs: dict[str, int]) -> None:
    log = Counter({variant(calls): count for calls, count in runs.items()})
    assert number_repeated(log, 0.1) == log


def test_up_to_five_calls_are_numbered() -> None:
    assert number_repeated(Counter({variant("a a a a a"): 20}), 0.1) == {variant("a1 a2 a3 a4 a5"): 20}


variants = st.lists(st.lists(st.sampled_from("abc").map(Activity), min_size=1, max_size=3), max_size=4)
logs = st.dictionaries(variants.map(lambda steps: tuple(tuple(sorted(step)) for step in steps)), st.integers(1, 30))


@given(logs, st.floats(0, 0.5))
def test_numbering_loses_no_run_and_no_call(log: dict[Variant, int], noise: float) -> None:
    def calls(runs: dict[Variant, int]) -> Counter[str]:
        found: Counter[str] = Counter()
        for one, times in runs.items():
            for activity, count in counts_of(one).items():
                found[activity.tool] += count * times
        return found

    numbered = number_repeated(log, noise)
    assert numbered.total() == sum(log.values())
    assert calls(numbered) == calls(log)
    assert project(log, activities_of(log)) == log
    assert len(activities_of(numbered)) >= len(activities_of(log))
