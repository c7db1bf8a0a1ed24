"""Which runs of LangGraph tell of all their tools."""

from __future__ import annotations

import pytest

from collector.model.from_span import genai_span_of
from collector.model.genai_span import AGENT
from collector.model.graphs import note_graph
from tests.builders import span


@pytest.mark.parametrize(
    ("name", "integration", "expected"),
    [
        ("support", "langchain_create_agent", ("all", "")),
        ("LangGraph", "deepagents", ("all", "")),
        ("support", "langgraph", ("", "graph")),
        ("LangGraph", None, ("", "graph")),
        ("support", None, ("", "")),
    ],
)
def test_tools_of_langchains_own_agents_all_leave_spans_and_those_of_a_graph_may_not(
    name: str, integration: str | None, expected: tuple[str, str]
) -> None:
    read = span(name, 1)
    agent = genai_span_of(read, AGENT, "langsmith")
    note_graph(agent, read, integration, None)
    assert (agent.tracing.traced_calls, agent.tracing.identity) == expected
