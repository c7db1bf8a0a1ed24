"""LangSmith's OpenTelemetry mode (langsmith 0.4+): LangChain runs and ``@traceable`` functions.

Spans name the GenAI operations, but hold inputs and outputs in attributes that 1.28 deprecated, in LangChain's format.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import (
    compare_with_offered,
    context_span_of,
    genai_span_of,
    model_span_of,
    set_answer_of_openai_agents,
    set_raised,
)
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.graphs import inner_graph, is_graph, note_graph, note_node
from collector.model.span import Span
from collector.payloads.offered_tools import tools_in_request
from collector.payloads.refusals import Refusal
from collector.payloads.told_failures import failure_in_message
from collector.payloads.tool_arguments import tool_arguments
from collector.payloads.values import first_name, name_of, parse_any

NAME: Final = "langsmith"

_KIND: Final = "langsmith.span.kind"
_INPUT: Final = "gen_ai.prompt"
_OUTPUT: Final = "gen_ai.completion"
_METADATA: Final = "langsmith.metadata."
_LANGCHAIN_AGENT: Final = _METADATA + "lc_agent_name"
_NODE: Final = _METADATA + "langgraph_node"
_INTEGRATION: Final = _METADATA + "ls_integration"
_OPENAI_AGENTS: Final = "openai-agents-sdk"
_TRIGGERED: Final = _METADATA + "triggered"
"""Of a guardrail of OpenAI's agents, whose span is a tool's in all else."""
_CLAUDE: Final = "claude-agent-sdk"
_CALLED_BY: Final = _METADATA + "tool_call_id"
"""The call by which an agent of Claude's SDK started the one inside it, and on spans of tools their own."""
_AGENT_TOOLS: Final = "gen_ai.tool.definitions"
_NOTHING: Final = {"input": None}
"""Of a tool without parameters, or of one whose input is not recorded."""
_TOLD: Final = "output"
_RUN: Final = "langsmith.trace.name"
_TRACEABLE: Final = "langsmith.traceable"
_CONVERSATION_IDS: Final = tuple(_METADATA + name for name in ("thread_id", "session_id", "conversation_id"))


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its ``langsmith.span.kind``; a chain may be an agent's run."""
    get = span.attributes.get
    kind = get(_KIND)
    if kind == "tool":
        is_guardrail = _TRIGGERED in span.attributes and get(_INTEGRATION) == _OPENAI_AGENTS
        # Not IGNORED: then the conventions, whose words for a call it has, would be asked.
        return genai_span_of(span, Role.OTHER, NAME) if is_guardrail else _read_tool(span)
    if kind == "llm":
        return _read_model(span)
    is_agent = kind == "agent" or (kind == "chain" and _is_agent(span))
    if is_agent or not span.parent_span_id:
        return _read_context(span, Role.AGENT if is_agent else Role.OTHER)
    is_inner = is_graph(name_of(get(_INTEGRATION)), name_of(get(_NODE)))
    return inner_graph(_read_context(span, Role.OTHER)) if is_inner else IGNORED


def _is_agent(span: Span) -> bool:
    """Whether a chain is an agent: of OpenAI's SDK it has tools, and the workflow around it has none; of Claude's it is inside
    another, and begins with the call by which that started it.
    """
    get = span.attributes.get
    if get(_LANGCHAIN_AGENT) == span.name:
        return True
    integration = get(_INTEGRATION)
    needed = _AGENT_TOOLS if integration == _OPENAI_AGENTS else _CALLED_BY if integration == _CLAUDE else None
    return needed is not None and needed in span.attributes


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    named = first_name(span.attributes, semconv.TOOL_NAMES)
    genai_span.name = named or name_of(span.name)
    genai_span.call_id = name_of(get(semconv.TOOL_CALL_ID))
    genai_span.arguments = tool_arguments(get(_INPUT), tool=named)
    if genai_span.arguments == _NOTHING:
        genai_span.arguments = None
    if genai_span.status != "error":
        _read_failure(genai_span, span)
    if get(_INTEGRATION) == _OPENAI_AGENTS:
        _read_result_of_openai_agents(genai_span, span)
    elif get(_INTEGRATION) == _CLAUDE:
        _read_failure_of_claude(genai_span, span)
    genai_span.agent = name_of(get(_LANGCHAIN_AGENT))
    genai_span.conversation_id = first_name(span.attributes, _CONVERSATION_IDS)
    return genai_span


def _read_failure(genai_span: GenAISpan, span: Span) -> None:
    """Reads a failure that the status lacks: it is that of a success for JS, and in Python where the exporter saw the call
    before it had ended (0.15).
    """
    if _has_nothing_returned(span):
        set_raised(genai_span, span)
    elif (told := failure_in_message(span.attributes.get(_OUTPUT))) is not None:
        genai_span.status, genai_span.refusal = "error", told.refusal


def _has_nothing_returned(span: Span) -> bool:
    output = span.attributes.get(_OUTPUT)
    returned = parse_any(output)
    return output is None or (isinstance(returned, Mapping) and all(value is None for value in returned.values()))


def _read_result_of_openai_agents(genai_span: GenAISpan, span: Span) -> None:
    """Reads what the span of a call of OpenAI's agents does not say, which ends well: that it waits for an approval or was
    cancelled (as one does whose tool returns nothing), that it timed out, or that a guardrail may have answered in its place.
    """
    if genai_span.status == "error" or _OUTPUT not in span.attributes:
        return
    genai_span.is_pending = _has_nothing_returned(span)
    returned = parse_any(span.attributes.get(_OUTPUT))
    told = returned.get(_TOLD) if isinstance(returned, Mapping) else None
    if type(told) is str:
        set_answer_of_openai_agents(genai_span, told, _OPENAI_AGENTS)


def _read_failure_of_claude(genai_span: GenAISpan, span: Span) -> None:
    """Reads why a call of Claude's Agent SDK failed: a hook tells the error of one that ran, and only the messages what was
    said of one that was denied, in whatever words.
    """
    set_raised(genai_span, span)
    told = parse_any(span.attributes.get(_OUTPUT))
    if genai_span.status == "error" and isinstance(told, Mapping) and _TOLD in told:
        genai_span.refusal = Refusal()


def _read_model(span: Span) -> GenAISpan:
    given = span.attributes.get(_INPUT)
    genai_span = model_span_of(span, NAME, span.attributes.get(_OUTPUT), given)
    # Its wrapper of OpenAI's client records the request as it was.
    if genai_span.output is not None:
        compare_with_offered(genai_span, tools_in_request(given))
    genai_span.agent = name_of(span.attributes.get(_LANGCHAIN_AGENT))
    genai_span.conversation_id = first_name(span.attributes, _CONVERSATION_IDS)
    note_node(genai_span, name_of(span.attributes.get(_NODE)), name_of(span.attributes.get(_INTEGRATION)))
    if _is_written_over(span):
        genai_span.agent = genai_span.agent or (None if span.parent_span_id else name_of(span.name))
        # It holds what any of the requests inside was told, with what the application added to its messages later.
        genai_span.history = genai_span.tool_results = None
        genai_span.note(extent="turns")
    return genai_span


def _is_written_over(span: Span) -> bool:
    """Whether a request that was streamed wrote itself on the span of the function around it, and ended that: such requests
    have no spans of their own (0.12 for JavaScript), and of those inside one function all but the first are lost.
    """
    get = span.attributes.get
    return get(_TRACEABLE) == "true" and get(_RUN) != span.name and _RUN in span.attributes


def _read_context(span: Span, role: Role) -> GenAISpan:
    conversation_id = first_name(span.attributes, _CONVERSATION_IDS)
    genai_span = context_span_of(span, role, NAME, span.attributes.get(_INPUT), conversation_id)
    genai_span.name = genai_span.agent = name_of(span.name)
    note_graph(genai_span, span, name_of(span.attributes.get(_INTEGRATION)), span.attributes.get(_OUTPUT))
    if genai_span.status != "error" and _has_nothing_returned(span):
        set_raised(genai_span, span)  # one that was cancelled has the status of a success (0.8)
    return genai_span


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    keys=(_KIND,),
    read_span=read_span,
    attributes=frozenset({
        _INPUT, _OUTPUT, _LANGCHAIN_AGENT, _NODE, _INTEGRATION, _AGENT_TOOLS, _CALLED_BY, _TRIGGERED, _RUN, _TRACEABLE,
        *_CONVERSATION_IDS,
        *semconv.TOOL_NAMES, semconv.TOOL_CALL_ID, semconv.ERROR_TYPE,
    }),
    output_attributes=(_OUTPUT,),
)  # fmt: skip
