"""MCP's request for a call among the attributes of a span."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.payloads.json_rpc import call_by_rpc

CALL = {"name": "pay", "arguments": {"sum": 5}}
REQUEST = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL}


@pytest.mark.parametrize(
    ("attributes", "tool"),
    [
        ({"m": "tools/call", "p": json.dumps(CALL)}, "pay"),
        ({"request": json.dumps(REQUEST)}, "pay"),
        ({"request": json.dumps({**REQUEST, "params": {"name": "pay"}})}, "pay"),
        ({"request": json.dumps({**REQUEST, "method": "prompts/get"}), "x": "not tools/call"}, None),
        ({"request": json.dumps({**REQUEST, "params": [1]})}, None),
        ({"request": json.dumps({**REQUEST, "params": {"name": 3}})}, None),
        ({"m": "tools/call", "p": json.dumps({**CALL, "of": "a user"})}, None),
        ({"m": "tools/call", "p": json.dumps(CALL), "q": json.dumps({**CALL, "name": "refund"})}, None),
        ({"m": "tools/call", "p": "{", "n": 3}, None),
        ({"m": "tools/list", "p": json.dumps(CALL)}, None),
    ],
)
def test_the_tool_of_a_request(attributes: dict[str, Any], tool: str | None) -> None:
    assert call_by_rpc(attributes).get("tool_name") == (None if tool is None else [tool])


def test_the_answer_beside_the_request() -> None:
    answer = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "Unknown tool: pay"}}
    assert call_by_rpc({"request": json.dumps(REQUEST), "answer": json.dumps(answer)})["output"] == [answer]
