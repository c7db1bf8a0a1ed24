"""What a rule sees of a call: tokens, bits, and that little is remembered of hostile names."""

from __future__ import annotations

import pytest

from scorers import ToolCall
from scorers.conformance.observation import (
    IRRELEVANT,
    MAX_CACHED,
    NOT_CAPTURED,
    NOT_EXECUTED,
    ObservedCall,
    Observer,
    Token,
)
from scorers.rules.model import Tool

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
def test_calls_as_a_rule_sees_them(call: ToolCall, token: Token, observed: ObservedCall) -> None:
    reader = observer()

    assert reader.tokens([call]) == (token,)
    assert reader.observed([token]) == [observed]
    assert reader.observed([token]) == [observed]  # remembered


def test_without_a_pattern_only_the_forbidden_counts() -> None:
    reader = observer(expected=None)
    seen = reader.observed(reader.tokens([ToolCall("search", {}), ToolCall("other"), ToolCall("delete_it")]))

    assert [(one.if_unmatched, one.cost, one.fits) for one in seen] == [
        ("unscored", 0, 0),
        ("unscored", 0, 0),
        ("forbidden", 1, 0),
    ]


def test_runs_that_differ_in_calls_of_no_concern_look_alike() -> None:
    reader = observer()

    assert reader.tokens([ToolCall("log_a"), ToolCall("get_time")]) == reader.tokens(
        [ToolCall("log_b"), ToolCall("get_time")]
    )
    assert reader.tokens([ToolCall("made_up")]) != reader.tokens([ToolCall("made_up_too")])  # extra: to be named


def test_little_is_remembered_of_names_agents_make_up() -> None:
    reader = observer()
    for at in range(MAX_CACHED + 10):
        reader.observed(reader.tokens([ToolCall(f"made_up_{at}"), ToolCall("x" * 10_000 + str(at))]))

    assert len(reader._matches) <= MAX_CACHED
    assert len(reader._observed) <= MAX_CACHED
    assert max(map(len, reader._matches)) < 10_000
