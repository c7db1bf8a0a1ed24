"""Gemini CLI: a run in many traces."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import doubts, read_tool, run_of, span


def gemini(operation: str, attributes: Mapping[str, Any], number: int = 1, parent: int = 0) -> Span:
    common = {"gen_ai.operation.name": operation, "gen_ai.agent.name": "gemini-cli", "gen_ai.conversation.id": "c"}
    return span(operation, number, parent, attributes={**common, **attributes}, scope="gemini-cli")


REQUEST = {"callId": "shell__1", "name": "shell", "args": {"command": "ls"}, "isClientInitiated": False}


@pytest.mark.parametrize(("status", "expected"), [("success", "unset"), ("error", "error")])
def test_a_call(status: str, expected: str) -> None:
    call = {
        "gen_ai.tool.name": "shell",
        "gen_ai.tool.call_id": "shell__1",
        "gen_ai.input.messages": json.dumps(REQUEST),
        "gen_ai.output.messages": json.dumps({"status": status, "request": REQUEST}),
    }
    tool = gemini("tool_call", call, 2, 1)
    assert read_tool(tool) == ("shell", "shell__1", {"command": "ls"}, expected)


@pytest.mark.parametrize("result", [None, '{"status":"error","request":{"callId":"shel'])
def test_a_call_whose_result_was_left_out_or_cut_may_have_failed(result: str | None) -> None:
    call = {"gen_ai.tool.name": "shell", "gen_ai.input.messages": json.dumps(REQUEST)}
    call |= {"gen_ai.output.messages": result} if result else {}
    tool = gemini("tool_call", call, 2, 1)
    tool.status = 1
    run = run_of(gemini("schedule_tool_calls", {}), tool)
    assert [(one.name, one.status) for one in run.trajectory.calls] == [("shell", "unset")]
    assert "unobserved_results" in doubts(run)


def test_each_trace_is_a_part_of_a_run() -> None:
    calls = [{"functionCall": {"id": "shell__1", "name": "shell", "args": {"command": "ls"}}}]
    asked = {
        "role": "user",
        "parts": [{"text": "<session_context>today</session_context>"}, {"text": "list the files"}],
    }
    run = run_of(
        gemini(
            "llm_call",
            {
                "gen_ai.input.messages": json.dumps([asked]),
                "gen_ai.output.messages": json.dumps([{"role": "model", "parts": calls}]),
            },
        )
    )
    assert (run.agent, run.conversation_id, run.user_input) == ("gemini-cli", "c", "list the files")
    assert (run.trajectory.calls, [doubt.name for doubt in run.trajectory.doubts]) == ([], ["other_traces"])


def test_spans_inside_a_part_are_ignored() -> None:
    assert dialects.read_span(gemini("schedule_tool_calls", {}, 2, 1)) is IGNORED
