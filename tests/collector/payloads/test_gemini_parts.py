"""What a Gemini model had its provider run, and the calls that a stream leaves to others."""

from __future__ import annotations

import json

import pytest

from collector.payloads.gemini_parts import left_calls, with_provided_calls

ASKS = {"content": {"parts": [{"function_call": {"id": "c1", "name": "pay", "args": {"sum": 4}}}]}}
ANSWER = json.dumps({"candidates": [ASKS]})


@pytest.mark.parametrize(
    "history", ["", "[]", '{"a": true}', '{"a": {"b": 1}}', '{"a": [], "a": 7}', '{"a": ["x", null]}']
)
def test_a_history_that_tells_of_no_calls_leaves_all_of_the_answer(history: str) -> None:
    assert left_calls(ANSWER, history) == [{"type": "tool_call", "id": "c1", "name": "pay", "arguments": {"sum": 4}}]


@pytest.mark.parametrize("parts", ["b'x'", "{1, 2}", "[...]", "[1j, 0x" + "f" * 4_000 + "]"])
def test_a_history_may_hold_what_json_does_not(parts: str) -> None:
    told = json.loads(with_provided_calls('{"a": [{"parts": [{"tool_type": ' + parts + "}]}]}"))
    assert told.keys() == {"a"}
