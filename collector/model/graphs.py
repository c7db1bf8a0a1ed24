"""Runs of LangGraph: which of them tell of all their tools, and which calls may wait for a human or be answered by others."""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.from_span import MAX_EVENTS
from collector.model.genai_span import GenAISpan
from collector.model.span import Span
from collector.payloads.cut_values import is_cut
from collector.payloads.history import calls_in_history
from collector.payloads.langchain import ends_with_calls
from collector.payloads.refusals import Refusal, is_interrupt
from collector.payloads.tool_results import ToolResult
from collector.payloads.user_input import GO_ON, is_nothing
from collector.payloads.values import MAX_TEXT

_LANGCHAIN_AGENTS: Final = ("langchain_create_agent", "deepagents")
GRAPH: Final = "langgraph"
_GRAPHS: Final = (*_LANGCHAIN_AGENTS, GRAPH)
_UNNAMED: Final = ("LangGraph", "LangGraph.workflow")
"""Spans of graphs that have no name of their own; OpenLLMetry says of what sort they are."""
MODEL_NODES: Final = ("model", "model_request")
"""Where LangChain's agents ask their models, in Python and in JavaScript. Before 1.3 nothing else tells these graphs."""
_LIMIT: Final = "Tool call limit exceeded. Do not "
"""How the words begin with which middleware of LangChain's agents answers calls beyond a limit."""


def is_graph(integration: str | None, node: str | None) -> bool:
    """Whether metadata is that of a whole graph, not of one of its nodes or of what is inside a node."""
    return node is None and integration in _GRAPHS


def inner_graph(graph: GenAISpan) -> GenAISpan:
    """Returns the span of a graph below others as the context that it is there: without a name, which is that of no agent."""
    graph.name = graph.agent = None
    return graph


def note_graph(genai_span: GenAISpan, span: Span, integration: str | None, state: object) -> None:
    """Note of a run of LangGraph whether all its tools leave spans. ``integration`` is what its metadata says: the graphs of
    LangChain's own agents call tools in one way, which tracers of its callbacks see; middleware may answer in place of a tool
    (`wrap_tool_call`), of which they see nothing. ``state`` is that with which the run ended: with calls, if it waits for a
    human. One that is given nothing goes on from where an earlier one was stopped, as with an answer.
    """
    lacks_end = is_cut(state)
    is_pending = not lacks_end and genai_span.status != "error" and ends_with_calls(state)
    genai_span.is_pending = is_pending or _is_interrupted(span)
    if integration in _GRAPHS and is_nothing(genai_span.user_input):
        genai_span.user_input = GO_ON
    if integration in _LANGCHAIN_AGENTS:
        genai_span.note(outcome="hooked", traced_calls="all")
        genai_span.tool_results = _beyond_limit(state)
        if lacks_end and genai_span.status != "error":
            genai_span.note(extent="unsaid")
    elif not genai_span.tracing.identity and (integration == GRAPH or span.name in _UNNAMED):
        genai_span.note(identity="graph")


def _is_interrupted(span: Span) -> bool:
    """Whether a graph inside another ended with the exception by which the one around it waits for a human, too."""
    raised = [event.attributes for event in span.events[:MAX_EVENTS] if event.name == semconv.EVENT_EXCEPTION]
    return any(type(words := one.get(semconv.EXCEPTION_MESSAGE)) is str and is_interrupt(words) for one in raised)


def _beyond_limit(state: object) -> tuple[ToolResult, ...] | None:
    """Returns what became of the calls beyond a limit that were asked for last: no model may have been asked again."""
    if type(state) is not str or _LIMIT not in state or len(state) > MAX_TEXT:
        return None
    calls = calls_in_history(state)
    last = [call for call in calls if call.turn == calls[-1].turn]
    made = {call.name for call in last if call.status != "refused"}
    # Where requests were recorded without ids, the name has to tell: not that of a tool of which other calls were made.
    return tuple(
        ToolResult(call.id, True, Refusal(), None if call.name in made else call.name)
        for call in last
        if call.status == "refused"
    )


def note_node(genai_span: GenAISpan, node: str | None, integration: str | None) -> None:
    """Note of a request to a model that a node of a graph made it: what it asked for last may wait for a human, and in
    LangChain's own agents middleware may answer in place of any tool. Where metadata names an ``integration``, as the graph's
    own do since 1.3, the span of the graph tells which these are.
    """
    if node is None:
        return
    is_of_langchain = node in MODEL_NODES and (integration is None or integration in _LANGCHAIN_AGENTS)
    genai_span.note(outcome="hooked" if is_of_langchain else "", identity="node")
