"""Spans of LangWatch's SDK."""

from __future__ import annotations

import json
from typing import Any

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import called, doubts, run_of, span


def watched(kind: str, name: str, number: int, parent: int = 0, given: Any = None, **more: Any) -> Span:
    attributes = {"langwatch.span.type": kind, "langwatch.timestamps": "{}"}
    if given is not None:
        attributes["langwatch.input"] = json.dumps({"type": "json", "value": given})
    return span(name, number, parent, attributes=attributes, scope="langwatch", **more)


def test_a_run() -> None:
    run = run_of(
        watched("span", "serve", 1, given={"q": "pay it"}, lasting=100),
        watched("tool", "pay", 2, 1, {"order": 7}, at=5, status=2, message="ValueError: declined"),
        watched("tool", "balance", 3, 1, at=20),
    )
    assert (called(run), doubts(run), run.dialect) == (["pay", "balance"], [], "langwatch")
    assert [(call.arguments, call.status) for call in run.trajectory.calls] == [
        ({"order": 7}, "error"),
        (None, "unset"),
    ]


def test_an_agent_and_the_steps_around_its_calls() -> None:
    agent, step = watched("agent", "clerk", 1, lasting=100), watched("chain", "plan", 2, 1, at=1, lasting=50)
    run = run_of(agent, step, watched("tool", "pay", 3, 2, ["7"], at=5))
    assert (run.agent, called(run), doubts(run)) == ("clerk", ["pay"], ["unreadable_arguments"])
    assert dialects.read_span(step) is IGNORED
