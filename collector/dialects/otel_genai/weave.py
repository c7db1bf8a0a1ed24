"""Weave (0.54) for OpenAI Agents: by the conventions, and of an answer without what the provider ran meanwhile."""

from __future__ import annotations

from typing import Final

from collector.model.genai_span import GenAISpan
from collector.model.span import Span

SCOPE: Final = "weave.openai_agents"
_TOOLS: Final = "weave.openai_agents.agent.tools"
_RUN_BY_PROVIDER: Final = frozenset({
    "code_interpreter", "file_search", "hosted_mcp", "image_generation", "web_search", "web_search_preview",
})  # fmt: skip
"""Names that the SDK gives tools of OpenAI's. An application's function may have one of them as well."""
ATTRIBUTES: Final = (_TOOLS,)
"""What is read beside what the conventions have."""


def read_agent(agent: GenAISpan, span: Span) -> None:
    """Note of an agent that the provider may have run calls for it."""
    tools = span.attributes.get(_TOOLS)
    if isinstance(tools, (list, tuple)) and any(type(name) is str and name in _RUN_BY_PROVIDER for name in tools):
        agent.note(extent="some")
