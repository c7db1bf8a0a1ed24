"""Firebase Genkit."""

from __future__ import annotations

import json
from typing import Any

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import called, doubts, read_tool, run_of, span


def genkit(
    subtype: str, name: str, number: int, parent: int = 0, at: float = 0, lasting: float = 10, **more: Any
) -> Span:
    attributes = {
        "genkit:type": "action",
        "genkit:metadata:subtype": subtype,
        "genkit:name": name,
        **more.pop("attributes", {}),
    }
    return span(name, number, parent, at, lasting, attributes=attributes, **more)


def test_a_tool_span() -> None:
    attributes = {"genkit:input": '{"city": "Oslo"}', "genkit:state": "error"}
    assert read_tool(genkit("tool", "get", 2, 1, attributes=attributes)) == ("get", None, {"city": "Oslo"}, "error")


def test_a_flow_is_a_run() -> None:
    answer = {
        "message": {
            "role": "model",
            "content": [{"toolRequest": {"name": "get", "ref": "c1", "input": {"city": "Oslo"}}}],
        },
        "request": {"messages": [{"content": [{"toolRequest": {"name": "old", "ref": "c0"}}]}]},
    }
    run = run_of(
        genkit("flow", "travelFlow", 1, attributes={"genkit:input": '"hi"', "genkit:sessionId": "s"}, lasting=100),
        span("generate", 2, 1, attributes={"genkit:type": "util", "genkit:output": json.dumps(answer)}),
        genkit(
            "model",
            "gpt",
            3,
            2,
            at=1,
            lasting=5,
            attributes={
                "genkit:output": json.dumps(answer),
                "genkit:input": '{"messages": [{"role": "user", "content": [{"text": "hi"}]}]}',
            },
        ),
        genkit("tool", "get", 4, 2, at=10, attributes={"genkit:input": '{"city": "Oslo"}'}),
    )
    assert (run.agent, run.user_input, run.conversation_id, called(run)) == ("travelFlow", "hi", "s", ["get"])
    assert run.trajectory.calls[0].id == "c1"


def test_helpers_are_ignored() -> None:
    assert dialects.read_span(span("generate", 2, 1, attributes={"genkit:type": "util"})) is IGNORED


def test_a_tool_that_interrupts_waits_for_an_answer() -> None:
    """Its span has failed; approved, it is restarted in a span of its own."""
    waits = {"genkit:input": '{"city": "Oslo"}', "genkit:state": "error", "genkit:metadata:interrupt": '{"ask": "get"}'}
    run = run_of(
        genkit("flow", "travelFlow", 1, lasting=100),
        genkit("tool", "get", 2, 1, 10, attributes=waits, status=2),
        genkit("tool", "get", 3, 1, 50, attributes={"genkit:input": '{"city": "Oslo"}', "genkit:state": "success"}),
    )
    assert (called(run), doubts(run)) == (["(get)", "get"], [])
