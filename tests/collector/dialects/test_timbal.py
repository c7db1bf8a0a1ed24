"""Timbal's own traces."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import called, doubts, run_of, span


def timbal(kind: str, path: str, number: int, parent: int = 1, given: Any = None, **more: Any) -> Span:
    metadata = {"type": kind, **more.pop("metadata", {})}
    attributes = {"timbal.metadata": json.dumps(metadata), "timbal.input": json.dumps(given)}
    if (output := more.pop("output", None)) is not None:
        attributes |= {"timbal.output": json.dumps(output), "timbal.status.code": "success"}
    return span(path, number, parent, attributes=attributes, scope="timbal", **{"status": 1, **more})


QUESTION = {"role": "user", "content": [{"type": "text", "text": "pay it"}]}
ASKED = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "pay", "input": {"order": 7}}]}
ANSWER = {"role": "assistant", "content": [{"type": "text", "text": "Done."}], "stop_reason": "completed"}


def run_with(told: str, **tool: Any) -> Any:
    result = {
        "role": "tool",
        "content": [{"type": "tool_result", "id": "c1", "content": [{"type": "text", "text": told}]}],
    }
    return run_of(
        timbal("Agent", "clerk", 1, 0, {"prompt": "pay it"}, lasting=100),
        timbal("LLM", "clerk.llm", 2, at=1, given={"messages": [QUESTION]}, output=ASKED),
        timbal("Tool", "clerk.pay", 3, at=20, given={"order": 7}, metadata={"tool_call_id": "c1"}, **tool),
        timbal("LLM", "clerk.llm", 4, at=40, given={"messages": [QUESTION, ASKED, result]}, output=ANSWER),
    )


@pytest.mark.parametrize(
    ("told", "tool", "status"),
    [
        ("paid", {"output": "paid"}, "ok"),
        ("paid", {}, "ok"),  # it was exported before it ended
        ("{'type': 'ValueError', 'message': 'declined', 'traceback': 'Traceback ...'}", {}, "error"),
        ("{'type': 'ValueError', 'message': 'declined', 'traceback': 'Traceback ...'}", {"status": 2}, "error"),
    ],
)
def test_a_run(told: str, tool: dict[str, Any], status: str) -> None:
    run = run_with(told, **tool)
    assert (run.agent, called(run), doubts(run), run.dialect) == ("clerk", ["pay"], [], "timbal")
    (call,) = run.trajectory.calls
    assert (call.id, call.arguments, call.status) == ("c1", {"order": 7}, status)


def test_a_tool_that_goes_on_may_have_failed() -> None:
    agent = timbal("Agent", "clerk", 1, 0, {"prompt": "pay it"}, lasting=100)
    assert doubts(run_of(agent, timbal("Tool", "clerk.pay", 3, at=20))) == ["unobserved_results"]


def test_a_step_is_ignored() -> None:
    assert dialects.read_span(timbal("Workflow", "clerk.check", 3)) is IGNORED
