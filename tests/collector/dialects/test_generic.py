"""The fallback for unknown dialects."""

from __future__ import annotations

from typing import Any

import pytest

from collector import dialects
from tests.builders import called, read_tool, run_of, span


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        (
            "execute_tool pay",
            {"gen_ai.tool.name": "pay", "gen_ai.tool.call.arguments": '{"n": 1}'},
            ("pay", None, {"n": 1}),
        ),
        (
            "pay",
            {"gen_ai.span.kind": "TOOL", "gen_ai.tool.name": "pay", "input.value": '{"n": 1}'},
            ("pay", None, {"n": 1}),
        ),
        ("pay", {"lmnr.span.type": "TOOL", "lmnr.span.input": '{"n": 1}', "tool.name": "pay"}, ("pay", None, {"n": 1})),
        ("step", {"tool_name": "pay", "tool_call_id": "c1", "arguments": '{"n": 1}'}, ("pay", "c1", {"n": 1})),
        ("pay", {"span.type": "tool", "input": '{"n": 1}'}, ("pay", None, {"n": 1})),
    ],
)
def test_a_tool_span(name: str, attributes: dict[str, Any], expected: Any) -> None:
    assert read_tool(span(name, 2, 1, attributes=attributes))[:3] == expected


def test_a_run() -> None:
    output = '{"tool_calls": [{"id": "c1", "function": {"name": "pay", "arguments": "{}"}}]}'
    run = run_of(
        span("travel", 1, attributes={"span_type": "agent", "input": "hi", "session.id": "s"}, lasting=100),
        span("llm", 2, 1, 1, 5, attributes={"span_type": "llm", "output": output}),
        span("pay", 3, 1, 10, attributes={"span_type": "tool"}),
    )
    assert (run.agent, run.user_input, run.conversation_id, run.dialect, called(run)) == (
        "travel",
        "hi",
        "s",
        "generic",
        ["pay"],
    )
    assert run.trajectory.calls[0].id == "c1"


@pytest.mark.parametrize(
    "attributes",
    [{"gen_ai.system": "openai"}, {"gen_ai.tool.name": "a, b"}, {"span.kind": "client"}, {"span.type": ["tool"]}],
)
def test_an_unknown_span_is_none(attributes: dict[str, Any]) -> None:
    assert dialects.read_span(span("x", 2, 1, attributes=attributes)) is None
