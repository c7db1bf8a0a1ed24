"""AgentOps (agentops 0.4): its decorators, its instrumentation of Agno, and its wrapper of OpenAI's client.

The wrapper writes what a model asks for as spans of the kind of a tool's, below that of the request, which has none of it.
All else of AgentOps is read by other dialects.
"""

from __future__ import annotations

from typing import Final

from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, doubt_outcome, genai_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.refusals import find_refusal
from collector.payloads.tool_arguments import keyword_arguments
from collector.payloads.values import name_of

NAME: Final = "agentops"

_WRAPPER: Final = "agentops.instrumentation.providers.openai.wrappers.chat"
_DECORATORS: Final = "agentops"
_KIND: Final = "agentops.span.kind"
_NAME: Final = "operation.name"
_TOOL_INPUT: Final = "agentops.tool.input"
_TOOL_OUTPUT: Final = "agentops.tool.output"
_INPUT: Final = "agentops.entity.input"
_AGNO: Final = "agentops.instrumentation.agno"
_TOOL: Final = "tool.name"
_ARGUMENTS: Final = "tool.parameters"
_AGNO_STATUS: Final = "tool.execution_result_status"
_AGNO_ERROR: Final = "tool.error"
_AGNO_AGENT: Final = "agent.name"
_AGNO_SESSION: Final = "agent.session_id"
_ASKED_ID: Final = "tool.call.id"
_STEPS: Final = ("session", "workflow", "operation", "task", "chain")


def read_span(span: Span) -> GenAISpan | None:
    """Reads what a model asks for by the scope of the wrapper, all else by the kind of the span."""
    if span.scope.name == _WRAPPER:
        return _read_part_of_answer(span) if span.name.startswith("tool_call.") else None
    kind = span.attributes.get(_KIND)
    is_agno = span.scope.name == _AGNO
    if kind == "tool":
        return _read_tool_of_agno(span) if is_agno else _read_tool(span)
    if kind == "agent":
        return _read_agent_of_agno(span) if is_agno else _read_context(span, Role.AGENT)
    if kind in _STEPS:
        return IGNORED if span.parent_span_id else _read_context(span, Role.OTHER)
    return None


def _read_part_of_answer(span: Span) -> GenAISpan:
    """Reads a call that a model asked for: whether it ran is told elsewhere."""
    get = span.attributes.get
    name = name_of(get(_TOOL))
    if name is None:
        return IGNORED
    genai_span = genai_span_of(span, Role.MODEL, NAME)
    genai_span.output = {
        "type": "tool_call", "id": name_of(get(_ASKED_ID)), "name": name, "arguments": get(_ARGUMENTS)
    }  # fmt: skip
    genai_span.has_output, genai_span.finish = True, "tool_calls"
    genai_span.note(extent="part")
    return genai_span


def _read_tool(span: Span) -> GenAISpan:
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(span.attributes.get(_NAME))
    genai_span.arguments = keyword_arguments(span.attributes.get(_TOOL_INPUT))
    if _TOOL_INPUT in span.attributes and _TOOL_OUTPUT not in span.attributes:
        doubt_outcome(genai_span)  # the span of a function that was cancelled ends well
    return genai_span


def _read_tool_of_agno(span: Span) -> GenAISpan:
    """Reads a call of Agno's. The span's own status is that of what made the call, which does not fail with the tool."""
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name, genai_span.arguments = name_of(get(_TOOL)), get(_ARGUMENTS)
    if genai_span.arguments is None and _AGNO_STATUS in span.attributes:
        genai_span.arguments = {}  # written where there are some
    error = get(_AGNO_ERROR)
    if error is not None or get(_AGNO_STATUS) == "failure":
        genai_span.status = "error"
        genai_span.refusal = find_refusal(error) if type(error) is str else None
    return genai_span


def _read_agent_of_agno(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = context_span_of(span, Role.AGENT, NAME, get(_INPUT), name_of(get(_AGNO_SESSION)))
    genai_span.name = name_of(get(_AGNO_AGENT))
    return genai_span


def _read_context(span: Span, role: Role) -> GenAISpan:
    genai_span = context_span_of(span, role, NAME, span.attributes.get(_INPUT))
    genai_span.name = name_of(span.attributes.get(_NAME))
    return genai_span


_SCOPES: Final = (_WRAPPER, _DECORATORS, _AGNO)

DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=_SCOPES,
    read_span=read_span,
    attributes=frozenset(
        {
            _KIND,
            _NAME,
            _TOOL_INPUT,
            _TOOL_OUTPUT,
            _INPUT,
            _TOOL,
            _ARGUMENTS,
            _AGNO_STATUS,
            _AGNO_ERROR,
            _AGNO_AGENT,
            _AGNO_SESSION,
            _ASKED_ID,
        }
    ),
    whole_scopes=_SCOPES,
)
