"""What a rule observes of a call: tokens, bits, and bounds on cached names."""

from __future__ import annotations

import pytest

from scorers import ToolCall
from scorers.conformance.observation import (
    IRRELEVANT,
    MAX_CACHED,
    MAX_NAME,
    NOT_CAPTURED,
    NOT_EXECUTED,
    ObservedCall,
    Observer,
    Token,
)
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


@pytest.mark.parametrize(
    ("call", "token", "observed"),
    [
        (ToolCall("search", {"q": 1}), ("search", 8), ObservedCall("search", 9, 9, 9, 1, "extra", 1)),
        (ToolCall("search", {"q": 2}), ("search", 0), ObservedCall("search", 9, 1, 1, 1, "extra", 1)),
        (ToolCall("search"), ("search", NOT_CAPTURED), ObservedCall("search", 9, 1, 9, 1, "extra", 1)),
        (
            ToolCall("get_weather", {"city": "Paris"}),
            ("get_weather", 2),
            ObservedCall("get_weather", 6, 6, 6, 6, "extra", 1),
        ),
        (ToolCall("get_weather", {}), ("get_weather", 0), ObservedCall("get_weather", 6, 4, 4, 4, "extra", 1)),
        (ToolCall("get_weather"), ("get_weather", NOT_CAPTURED), ObservedCall("get_weather", 6, 4, 6, 6, "extra", 1)),
        (ToolCall("get_time", {"x": 1}), "get_time", ObservedCall("get_time", 4, 4, 4, 4, "extra", 1)),
        (ToolCall("log_it"), IRRELEVANT, ObservedCall("", 0, 0, 0, 0, "unscored", 0)),
        (ToolCall("delete_it"), "delete_it", ObservedCall("delete_it", 0, 0, 0, 0, "forbidden", 1)),
        (ToolCall("other"), "other", ObservedCall("other", 0, 0, 0, 0, "extra", 1)),
        (
            ToolCall("search", executed=False),
            NOT_EXECUTED,
            ObservedCall("", 0, 0, 0, 0, "unscored", 0, executed=False),
        ),
    ],
)
def test_tokens_and_observed_calls(call: ToolCall, token: Token, observed: ObservedCall) -> None:
    rule_observer = observer()

    assert rule_observer.tokens([call], Work()) == (token,)
    assert rule_observer.observed([token]) == [observed]
    assert rule_observer.observed([token]) == [observed]  # cached


def test_without_a_pattern_only_forbidden_calls_cost() -> None:
    rule_observer = observer(expected=None)
    seen = rule_observer.observed(
        rule_observer.tokens([ToolCall("search", {}), ToolCall("other"), ToolCall("delete_it")], Work())
    )

    assert [(one.if_unmatched, one.cost, one.fits) for one in seen] == [
        ("unscored", 0, 0),
        ("unscored", 0, 0),
        ("forbidden", 1, 0),
    ]


def test_runs_that_differ_only_in_irrelevant_calls_have_equal_tokens() -> None:
    rule_observer = observer()

    assert rule_observer.tokens([ToolCall("log_a"), ToolCall("get_time")], Work()) == rule_observer.tokens(
        [ToolCall("log_b"), ToolCall("get_time")], Work()
    )
    # Extra: to be named.
    made_up, another = ToolCall("made_up"), ToolCall("made_up_too")
    assert rule_observer.tokens([made_up], Work()) != rule_observer.tokens([another], Work())


def observe(rule_observer: Observer, *names: str) -> None:
    rule_observer.observed(rule_observer.tokens([ToolCall(name) for name in names], Work()))


def test_the_number_of_cached_names_is_bounded() -> None:
    rule_observer = observer()

    observe(rule_observer, *[f"made_up_{number}" for number in range(MAX_CACHED)])
    assert (len(rule_observer._matches), len(rule_observer._observed)) == (MAX_CACHED, MAX_CACHED)

    observe(rule_observer, "one_more")
    assert (len(rule_observer._matches), len(rule_observer._observed)) == (1, 1)


@pytest.mark.parametrize(("length", "cached"), [(MAX_NAME, 1), (MAX_NAME + 1, 0)])
def test_only_short_names_are_cached(length: int, cached: int) -> None:
    rule_observer = observer()

    observe(rule_observer, "x" * length)

    assert (len(rule_observer._matches), len(rule_observer._observed)) == (cached, cached)
