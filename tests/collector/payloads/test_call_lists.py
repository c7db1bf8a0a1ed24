"""Calls that a span lists when they have been made."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.builders import calls_of, span

PAY = {"to": "Ada", "sum": 5}
GIVEN = json.dumps(PAY)


MADE = [{"tool": "pay", "args": PAY, "result": "paid"}, {"tool": "note", "parameters": {}, "ok": False}]


@pytest.mark.parametrize(
    "attributes",
    [
        {"step.tool_calls": json.dumps(MADE)},
        {"tools_used": ["pay", "note"], "tools_input": [GIVEN, "{}"], "tools_ok": [True, False]},
        {"sd.tools": ["pay", "note"], "sd.tool_args": [GIVEN, "{}"], "sd.tool_results": ["paid", "Error: no room"]},
    ],
)
def test_a_list_of_the_calls_that_were_made(attributes: dict[str, Any]) -> None:
    expected = [("pay", PAY, "ok"), ("note", {}, "error")]
    assert calls_of(span("step-0", 2, 1, attributes=attributes)) == expected
    # A step that lists the same call again has made it again.
    assert calls_of(*(span("step", n, 1, 20 * n, attributes=attributes) for n in (2, 3))) == expected * 2


@pytest.mark.parametrize("given", [["{}"], ["{}", "{}", "{}"]])
def test_lists_of_other_lengths_are_no_parts_of_the_calls(given: list[str]) -> None:
    lists = {"tools_used": ["pay", "note"], "tools_input": given, "tools_output": ["1", "2"], "tools_ok": [True, True]}
    assert calls_of(span("step-0", 2, 1, attributes=lists)) == []


def test_a_list_of_what_a_model_decided_says_nothing_of_what_came_of_it() -> None:
    decided = span("decide", 2, 1, attributes={"tool_calls": json.dumps([{"tool": "pay", "args": PAY}])})
    assert calls_of(decided) == []
