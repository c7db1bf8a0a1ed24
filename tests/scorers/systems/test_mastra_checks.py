"""Mastra's checks: counts, order, budget and errors of calls."""

from __future__ import annotations

from typing import Any

import pytest

from scorers.systems import mastra_checks
from tests.scorers.systems.cases import Call, calls, run


@pytest.mark.parametrize(
    ("options", "actual", "passed"),
    [
        ({"check": "calledTool", "arg": "a"}, calls(*"ba"), True),
        ({"check": "calledTool", "arg": "a", "times": 2}, calls(*"ba"), False),
        ({"check": "calledTool", "arg": "a", "times": 2}, calls(*"aba"), True),
        ({"check": "calledTool", "arg": "a", "times": 0}, [], True),
        ({"check": "calledTool", "arg": "a"}, [{"tool": "a", "state": "partial-call"}], False),
        ({"check": "didNotCall", "arg": "a"}, calls("b"), True),
        ({"check": "didNotCall", "arg": "a"}, [{"tool": "a", "state": "output-error"}], False),
        ({"check": "toolOrder", "arg": ["a", "b"]}, calls(*"bab"), True),  # every subsequence is found
        ({"check": "toolOrder", "arg": ["a", "a"]}, calls(*"aa"), True),
        ({"check": "toolOrder", "arg": ["a", "b"]}, calls(*"ba"), False),
        ({"check": "maxToolCalls", "arg": 2}, calls(*"ab"), True),
        ({"check": "maxToolCalls", "arg": 1}, calls(*"ab"), False),
        ({"check": "usedNoTools"}, [], True),
        ({"check": "usedNoTools"}, calls("a"), False),
    ],
)
def test_scores(options: dict[str, Any], actual: list[Call], passed: bool) -> None:
    score = run(mastra_checks, calls("expected is ignored"), actual, **options)
    assert (score.value, score.details["passed"], score.label) == (float(passed), passed, "pass" if passed else "fail")


@pytest.mark.parametrize(
    ("layout", "fields", "failed"),
    [
        (None, {}, False),
        (None, {"state": "output-error"}, True),
        (None, {"state": "call"}, True),
        (None, {"state": "partial-call"}, False),
        (None, {"isError": True}, False),  # the older layout does not carry it
        ("per_message", {"isError": True}, False),
        ("parts", {"isError": True}, True),
        ("parts", {"isError": 1}, False),
        (None, {"result": {"error": "boom"}}, True),
        (None, {"result": {"error": []}}, True),  # true in JavaScript
        (None, {"result": {"error": ""}}, False),
        (None, {"result": ["error"]}, False),
    ],
)
def test_errors(layout: str | None, fields: dict[str, Any], failed: bool) -> None:
    options = {"layout": layout} if layout else {}
    score = run(mastra_checks, [], [{"tool": "a", **fields}], check="noToolErrors", **options)
    assert score.details == {"errorCount": int(failed), "totalCalls": 1, "passed": not failed}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"check": "calledTool"}, "'arg': calledTool needs the name of a tool"),
        ({"check": "didNotCall", "arg": ["a"]}, "'arg': didNotCall needs the name of a tool"),
        ({"check": "toolOrder", "arg": "a"}, "'arg': toolOrder needs a list of names of tools"),
        ({"check": "maxToolCalls"}, "'arg': maxToolCalls needs a number of calls"),
        ({"check": "usedNoTools", "arg": 1}, "'arg': usedNoTools takes none"),
        ({"check": "didNotCall", "arg": "a", "times": 1}, "'times': only calledTool takes it"),
        ({"check": "called"}, "option 'check' must be 'calledTool', 'didNotCall',.*; did you mean calledTool?"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mastra_checks.create(**options)
