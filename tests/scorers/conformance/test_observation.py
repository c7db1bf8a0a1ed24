"""What a rule observes of a call: the tools it may be, and bounds on what is cached."""

from __future__ import annotations

from typing import Any

import pytest

from scorers import ToolCall
from scorers.conformance.observation import MAX_CACHED, MAX_NAME, ObservedCall, Observer
from scorers.rules.model import Tool
from scorers.work import Work

PLAIN, PARIS, ANY_GET, CONDITION = (
    Tool(tool="search"),
    Tool(tool="get_weather", arguments={"city": "Paris"}),
    Tool(tool="get_*"),
    Tool(tool="search", arguments={"q": 1}),
)


def observer(*, expected: int | None = 3) -> Observer:
    """Three tools of a pattern, and a condition of a constraint behind them."""
    return Observer([PLAIN, PARIS, ANY_GET, CONDITION], expected, ["log_*"], ["delete_*"], None)


def observe(rule_observer: Observer, *calls: ToolCall) -> tuple[ObservedCall, ...]:
    return rule_observer.observe(calls, Work())


def fields(call: ObservedCall) -> tuple[Any, ...]:
    return call.name, call.named, call.definitely, call.possibly, call.fits, call.if_unmatched, call.cost


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (ToolCall("search", {"q": 1}), ("search", 9, 9, 9, 1, "extra", 1)),
        (ToolCall("search", {"q": 2}), ("search", 9, 1, 1, 1, "extra", 1)),
        (ToolCall("search"), ("search", 9, 1, 9, 1, "extra", 1)),
        (ToolCall("get_weather", {"city": "Paris"}), ("get_weather", 6, 6, 6, 6, "extra", 1)),
        (ToolCall("get_weather", {}), ("get_weather", 6, 4, 4, 4, "extra", 1)),
        (ToolCall("get_weather"), ("get_weather", 6, 4, 6, 6, "extra", 1)),
        (ToolCall("get_time", {"x": 1}), ("get_time", 4, 4, 4, 4, "extra", 1)),
        (ToolCall("log_it"), ("", 0, 0, 0, 0, "unscored", 0)),
        (ToolCall("delete_it"), ("delete_it", 0, 0, 0, 0, "forbidden", 1)),
        (ToolCall("other"), ("other", 0, 0, 0, 0, "extra", 1)),
        (ToolCall("search", executed=False), ("", 0, 0, 0, 0, "unscored", 0)),
    ],
)
def test_a_call_is_observed_as_the_tools_it_may_be(call: ToolCall, expected: tuple[Any, ...]) -> None:
    first, again = observe(observer(), call, call)

    assert fields(first) == expected
    assert first.executed == call.executed
    assert again is first


def test_without_a_pattern_only_forbidden_calls_cost() -> None:
    seen = observe(observer(expected=None), ToolCall("search", {}), ToolCall("other"), ToolCall("delete_it"))

    assert [(one.if_unmatched, one.cost, one.fits) for one in seen] == [
        ("unscored", 0, 0),
        ("unscored", 0, 0),
        ("forbidden", 1, 0),
    ]


def test_calls_are_one_object_exactly_where_the_rule_does_not_tell_them_apart() -> None:
    rule_observer = observer()
    paris, other_paris = ToolCall("get_weather", {"city": "Paris"}), ToolCall("get_weather", {"city": "Paris", "x": 1})
    rome, oslo, unseen = ToolCall("get_weather", {"city": "Rome"}), ToolCall("get_weather", {}), ToolCall("get_weather")

    assert observe(rule_observer, ToolCall("log_a")) == observe(rule_observer, ToolCall("log_b"))
    assert observe(rule_observer, paris, rome) == observe(rule_observer, other_paris, oslo)
    assert len(set(observe(rule_observer, paris, rome, unseen, ToolCall("get_weather", executed=False)))) == 4
    # Extra: to be named.
    assert observe(rule_observer, ToolCall("made_up")) != observe(rule_observer, ToolCall("made_up_too"))


def cached(rule_observer: Observer) -> int:
    return len(rule_observer._matches) + sum(len(match.by_bits) for match in rule_observer._matches.values())


def test_the_number_of_cached_names_is_bounded() -> None:
    rule_observer = observer()

    observe(rule_observer, *[ToolCall(f"made_up_{number}") for number in range(MAX_CACHED)])
    assert cached(rule_observer) == MAX_CACHED

    observe(rule_observer, ToolCall("one_more"))
    assert cached(rule_observer) == 1


def test_the_number_of_cached_calls_of_one_name_is_bounded() -> None:
    tools = [Tool(tool="search", arguments={f"key_{bit}": {"present": True}}) for bit in range(11)]
    rule_observer = Observer(tools, len(tools), [], [], None)
    # Each has other keys, so each fits other tools.
    calls = [
        ToolCall("search", {f"key_{bit}": 1 for bit in range(11) if number >> bit & 1})
        for number in range(2 * MAX_CACHED)
    ]

    for call in calls:
        (seen,) = observe(rule_observer, call)
        assert cached(rule_observer) <= MAX_CACHED
        assert seen.definitely.bit_count() == len(call.arguments or ())


@pytest.mark.parametrize(("length", "count"), [(MAX_NAME, 1), (MAX_NAME + 1, 0)])
def test_only_short_names_are_cached(length: int, count: int) -> None:
    rule_observer = observer()

    observe(rule_observer, ToolCall("x" * length))

    assert cached(rule_observer) == count
