"""What the state that a graph ended with says of whether it waits for a human."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.payloads.langchain import ends_with_calls

ASKED = {"name": "pay", "args": {"amount": 7}, "id": "c1", "type": "tool_call"}
ALSO_ASKED = {**ASKED, "id": "c2"}
AS_PROVIDED = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
OF_LLAMA_INDEX = {"tool_name": "pay", "tool_kwargs": {"amount": 7}, "tool_id": "c1"}
"""Of a workflow that ended: the calls that it made."""


def answer(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"content": "", "type": "ai", "tool_calls": list(calls), "invalid_tool_calls": []}


def result(call_id: str) -> dict[str, Any]:
    return {"content": "paid", "type": "tool", "tool_call_id": call_id}


@pytest.mark.parametrize(
    ("messages", "waits"),
    [
        ([answer(ASKED)], True),
        ([answer(AS_PROVIDED)], True),
        ([answer(ASKED, ALSO_ASKED), result("c1")], True),
        ([answer(ASKED, ALSO_ASKED), result("c1"), result("c2")], False),
        ([answer(ASKED), result("c1"), answer()], False),
        ([answer()], False),
        ([answer(OF_LLAMA_INDEX)], False),
        ([], False),
    ],
)
def test_a_state_that_lacks_results_of_calls_waits(messages: list[dict[str, Any]], *, waits: bool) -> None:
    assert ends_with_calls(json.dumps({"messages": messages})) == waits
    assert ends_with_calls(json.dumps({"messages": messages}, separators=(",", ":"))) == waits


@pytest.mark.parametrize(("told", "waits"), [(0, True), (1, True), (2, False)])
def test_results_without_ids_are_counted(told: int, *, waits: bool) -> None:
    results = [{"content": "ok", "additional_kwargs": {}, "role": "tool", "name": "pay"}] * told
    state = json.dumps({"messages": [answer(AS_PROVIDED, ALSO_ASKED), *results]}, separators=(",", ":"))
    assert ends_with_calls(state) == waits


def test_a_state_that_is_cut_off_among_its_calls_waits_for_what_is_known() -> None:
    state = json.dumps({"messages": [answer(ASKED, ALSO_ASKED)]})
    assert ends_with_calls(state[: state.index('"c2"')])


@pytest.mark.parametrize("state", [None, 7, ["tool_calls"], '"tool_calls": [{' + "[" * 100_000])
def test_what_is_no_state(state: object) -> None:
    assert ends_with_calls(state) == (type(state) is str)
