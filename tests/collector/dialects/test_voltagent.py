"""VoltAgent's own traces."""

from __future__ import annotations

from typing import Any

from collector import dialects
from collector.model.genai_span import IGNORED
from collector.model.span import Span
from tests.builders import read_tool, run_of, span


def volt(name: str, number: int, parent: int, **attributes: Any) -> Span:
    common = {"entity.type": "agent", "entity.name": "Travel", "conversation.id": "c"}
    return span(name, number, parent, attributes={**common, **attributes}, scope="@voltagent/core", lasting=100)


TOOL = {
    "span.type": "tool",
    "tool.name": "pay",
    "tool.call.id": "c1",
    "tool.parameters": '{"def":{"type":"object","shape":{}},"type":"object"}',
    "input": '{"order":7}',
}


def test_a_tools_parameters_are_its_schema() -> None:
    assert read_tool(volt("tool.execution:pay", 2, 1, **TOOL))[:3] == ("pay", "c1", {"order": 7})


def test_a_run() -> None:
    run = run_of(volt("Travel", 1, 0, input="pay order 7"), volt("tool.execution:pay", 2, 1, **TOOL))
    assert (run.agent, run.user_input, run.conversation_id, run.dialect) == ("Travel", "pay order 7", "c", "voltagent")


def test_memory_and_model_spans_carry_the_agents_name_too() -> None:
    assert dialects.read_span(volt("memory.read", 2, 1, **{"span.type": "memory"})) is IGNORED
    assert dialects.read_span(volt("llm:generateText", 2, 1, **{"span.type": "llm"})) is IGNORED
