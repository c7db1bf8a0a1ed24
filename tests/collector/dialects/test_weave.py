"""Weave's spans of OpenAI Agents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import called, doubts, run_of, span


def weave(name: str, number: int, parent: int = 0, at: float = 0, lasting: float = 10, **more: Any) -> Span:
    return span(name, number, parent, at, lasting, scope="weave.openai_agents", **more)


def chat(number: int, at: float, part: dict[str, Any]) -> Span:
    said = json.dumps([{"role": "assistant", "parts": [part]}])
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.output.messages": said}
    return weave("chat gpt-4o", number, 3, at, 5, attributes=attributes)


@pytest.mark.parametrize(
    ("tool", "expected"),
    [("web_search", ["unrecorded_calls"]), ("hosted_mcp", ["unrecorded_calls"]), ("book", [])],
)
def test_answers_lack_what_the_provider_ran(tool: str, expected: list[str]) -> None:
    of_agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "till"}
    call = {"type": "tool_call", "id": "call_1", "name": "get_weather", "arguments": '{"city": "Oslo"}'}
    made = {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_weather",
        "gen_ai.tool.call.arguments": '{"city": "Oslo"}', "gen_ai.tool.call.result": "sunny",
    }  # fmt: skip
    run = run_of(
        weave("workflow Agent workflow", 1, lasting=100),
        weave(
            "invoke_agent till", 2, 1, 1, 98,
            attributes=of_agent | {"weave.openai_agents.agent.tools": ["get_weather", tool]},
        ),
        weave("till turn 1", 3, 2, 2, 90),
        chat(4, 3, call),
        weave("execute_tool get_weather", 5, 3, 20, attributes=made),
        chat(6, 40, {"type": "text", "content": "ok"}),
    )  # fmt: skip
    assert (run.agent, called(run), doubts(run)) == ("till", ["get_weather"], expected)
