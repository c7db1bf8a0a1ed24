"""What an answer of a model tells of the calls that its provider ran."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from collector.payloads.messages import ToolCallPart, tool_call_parts
from collector.payloads.provider_results import provider_result
from collector.payloads.tool_results import ResultStatus
from tests.strategies import json_values

ERROR = {"type": "web_search_tool_result_error"}


def status_of(part: dict[str, Any]) -> ResultStatus | None:
    result = provider_result(part)
    assert result is None or result.call_id == "s1"
    return None if result is None else result.status("search")


@pytest.mark.parametrize(
    ("kind", "told", "expected"),
    [
        ("web_search_tool_result", {"content": [{"type": "web_search_result", "url": "https://example.org"}]}, "ok"),
        ("web_search_tool_result", {"content": {**ERROR, "error_code": "unavailable"}}, "error"),
        ("web_search_tool_result", {"content": {**ERROR, "error_code": ["unavailable"]}}, "error"),
        ("web_search_tool_result", {"content": {**ERROR, "error_code": "max_uses_exceeded"}}, "refused"),
        ("web_search_tool_result", {"content": {**ERROR, "error_code": "query_too_long"}}, "unclear"),
        ("bash_code_execution_tool_result", {"content": {"type": "bash_code_execution_result", "return_code": 0}}, "ok"),
        ("bash_code_execution_tool_result", {"content": {"type": "bash_code_execution_result", "return_code": 1}}, "open"),
        ("mcp_tool_result", {"is_error": False, "content": [{"type": "text", "text": "Error: of a page"}]}, "open"),
        ("mcp_tool_result", {"is_error": True, "content": [{"type": "text", "text": "declined"}]}, "error"),
        ("mcp_tool_result", {"is_error": True, "content": [{"type": "text", "text": "Unknown tool: search"}]}, "refused"),
        ("server_tool_result", {"status": "success", "output": "no such tool: search"}, "ok"),
        ("server_tool_result", {"status": "error", "output": "it is down"}, "error"),
        ("tool_call_response", {"result": {"error": "of the answer"}, "builtin": True}, "open"),
    ],
)  # fmt: skip
def test_a_part_beside_the_call(kind: str, told: dict[str, Any], expected: ResultStatus) -> None:
    assert status_of({"type": kind, "tool_use_id": "s1", **told}) == expected


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"type": "web_search", "results": []}, "ok"),
        ({"type": "code_execution", "outcome": "ok"}, "ok"),
        ({"type": "code_execution", "outcome": "OUTCOME_FAILED"}, "error"),
        ({"type": "code_execution", "outcome": "deadline_exceeded"}, "error"),
        ({"type": "web_search_tool_result", "content": {**ERROR, "error_code": "unavailable"}}, "error"),
        ({"type": "web_search_tool_result", "content": {**ERROR, "error_code": "max_uses_exceeded"}}, "refused"),
    ],
)
def test_the_part_of_the_conventions(told: dict[str, Any], expected: ResultStatus) -> None:
    part = {"type": "server_tool_call_response", "id": "s1", "server_tool_call_response": told}
    assert status_of(part) == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({"type": "web_search_call", "status": "completed"}, "ok"),
        ({"type": "web_search_call", "status": "failed"}, "error"),
        ({"type": "web_search_call", "status": "searching"}, None),
        ({"type": "mcp_call", "output": "4", "error": None}, "ok"),
        ({"type": "mcp_call", "output": None, "error": "it is down"}, "error"),
        ({"type": "mcp_call", "output": None, "error": "Unknown tool: search", "status": "failed"}, "refused"),
        ({"type": "mcp_call", "output": None, "error": None}, None),
        ({"type": "function_call", "status": "completed"}, None),  # the request is, and nothing ran yet
    ],
)
def test_openai_tells_it_with_the_call(call: dict[str, Any], expected: ResultStatus | None) -> None:
    assert status_of({"id": "s1", **call}) == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            {"type": "web_search_call", "id": "s1", "action": {"type": "search", "query": "news"}},
            ToolCallPart("s1", "web_search", {"type": "search", "query": "news"}, by_provider=True),
        ),
        (
            {"type": "code_interpreter_call", "id": "s1", "code": "1", "container_id": "k", "outputs": None},
            ToolCallPart("s1", "code_interpreter", {"code": "1"}, by_provider=True),
        ),
        (
            {"type": "mcp_call", "id": "s1", "name": "roll", "arguments": "{}", "server_label": "dice"},
            ToolCallPart("s1", "roll", "{}", by_provider=True),
        ),
        ({"type": "image_generation_call", "id": "s1"}, ToolCallPart("s1", "image_generation", None, by_provider=True)),
    ],
)
def test_calls_of_the_tools_of_openai(call: dict[str, Any], expected: ToolCallPart) -> None:
    assert tool_call_parts([call]) == [expected]


@given(json_values)
def test_no_part_raises(value: Any) -> None:
    for kind in ("web_search_tool_result", "server_tool_call_response", "mcp_call"):
        provider_result({"type": kind, "content": value, "status": value, "error_code": value, "return_code": value})
        provider_result({"type": kind, "server_tool_call_response": {"outcome": value, "content": {"type": value}}})
