"""A call and its result as a provider writes them, in an attribute each."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.payloads.exchanges import exchange_among

BLOCK = {"type": "tool_use", "id": "toolu_01A", "name": "pay", "input": {"sum": 5}}
TOLD = {"type": "tool_result", "tool_use_id": "toolu_01A", "content": "no money", "is_error": True}
CALL = {"id": "call_7Q", "type": "function", "function": {"name": "pay", "arguments": '{"sum": 5}'}}
MESSAGE = {"role": "tool", "tool_call_id": "call_7Q", "content": "paid"}


@pytest.mark.parametrize(("asked", "told"), [(BLOCK, TOLD), (CALL, MESSAGE)])
def test_a_call_and_its_result(asked: dict[str, Any], told: dict[str, Any]) -> None:
    found = exchange_among({"a": json.dumps(told), "b": json.dumps(asked), "c": "x"})
    assert (found["tool_name"], found["call_id"], found["output"]) == (["pay"], [asked["id"]], [told])


@pytest.mark.parametrize(
    "values",
    [
        [BLOCK],
        [TOLD],
        [BLOCK, MESSAGE],
        [BLOCK, TOLD, TOLD | {"content": "again"}],
        [BLOCK, BLOCK | {"id": "toolu_01B"}, TOLD],
        [BLOCK, [TOLD]],
    ],
)
def test_anything_else_is_none(values: list[Any]) -> None:
    assert exchange_among({str(at): json.dumps(value) for at, value in enumerate(values)}) == {}
