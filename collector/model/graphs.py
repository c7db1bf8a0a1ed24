"""Runs of LangGraph: which of them tell of all their tools."""

from __future__ import annotations

from typing import Final

from collector.model.genai_span import GenAISpan
from collector.model.span import Span

_LANGCHAIN_AGENTS: Final = ("langchain_create_agent", "deepagents")


def note_graph(genai_span: GenAISpan, span: Span, integration: str | None) -> None:
    """Note of a run of LangGraph whether all its tools leave spans. ``integration`` is what its metadata says: the graphs of
    LangChain's own agents call tools in one way, which tracers of its callbacks see; middleware may answer in place of a tool
    (`wrap_tool_call`), of which they see nothing.
    """
    if integration in _LANGCHAIN_AGENTS:
        genai_span.note(outcome="hooked", traced_calls="all")
    elif not genai_span.tracing.identity and (integration == "langgraph" or span.name == "LangGraph"):
        genai_span.note(identity="graph")
