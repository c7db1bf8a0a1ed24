"""LangSmith's OpenTelemetry mode (langsmith 0.4+): LangChain runs and ``@traceable`` functions.

Spans name the GenAI operations, but hold inputs and outputs in the attributes 1.28 deprecated, as LangChain wrote them.
"""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.genai_span import IGNORED, Dialect, GenAISpan, Role, context_attributes, genai_span_of
from collector.model.span import Span
from collector.payloads.messages import may_contain_tool_calls, newest_tool_results, newest_user_input
from collector.payloads.values import name_of

NAME: Final = "langsmith"

_KIND: Final = "langsmith.span.kind"
_INPUT: Final = "gen_ai.prompt"
_OUTPUT: Final = "gen_ai.completion"
_METADATA: Final = "langsmith.metadata."
_LANGCHAIN_AGENT: Final = _METADATA + "lc_agent_name"
_CONVERSATION_IDS: Final = tuple(_METADATA + name for name in ("thread_id", "session_id", "conversation_id"))


def read_span(span: Span) -> GenAISpan | None:
    """What the span is by its ``langsmith.span.kind``; a chain named as LangChain's agent is that agent's run."""
    get = span.attributes.get
    kind = get(_KIND)
    if kind == "tool":
        return _read_tool(span)
    if kind == "llm":
        return _read_model(span)
    is_agent = kind == "agent" or (kind == "chain" and get(_LANGCHAIN_AGENT) == span.name)
    if is_agent or not span.parent_span_id:
        return _read_context(span, Role.AGENT if is_agent else Role.OTHER)
    return IGNORED


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(semconv.TOOL_NAME)) or name_of(span.name)
    genai_span.call_id = name_of(get(semconv.TOOL_CALL_ID))
    genai_span.arguments = get(_INPUT)
    genai_span.agent = name_of(get(_LANGCHAIN_AGENT))
    genai_span.conversation_id = _conversation(span)
    return genai_span


def _read_model(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.MODEL, NAME)
    if may_contain_tool_calls(get(_OUTPUT)):
        genai_span.output = get(_OUTPUT)
    genai_span.agent = name_of(get(_LANGCHAIN_AGENT))
    genai_span.conversation_id = _conversation(span)
    messages = get(_INPUT)
    if messages:
        genai_span.user_input = newest_user_input(messages)
        genai_span.results = newest_tool_results(messages)
    return genai_span


def _read_context(span: Span, role: Role) -> GenAISpan:
    genai_span = genai_span_of(span, role, NAME)
    genai_span.name = genai_span.agent = name_of(span.name)
    genai_span.conversation_id = _conversation(span)
    genai_span.user_input = span.attributes.get(_INPUT)
    genai_span.attributes = context_attributes(span)
    return genai_span


def _conversation(span: Span) -> str | None:
    return next((text for key in _CONVERSATION_IDS if (text := name_of(span.attributes.get(key)))), None)


DIALECT: Final = Dialect(
    name=NAME,
    keys=(_KIND,),
    read_span=read_span,
    attributes=frozenset({
        _INPUT, _OUTPUT, _LANGCHAIN_AGENT, *_CONVERSATION_IDS, semconv.TOOL_NAME, semconv.TOOL_CALL_ID, semconv.ERROR_TYPE,
    }),
    output_attributes=(_OUTPUT,),
)  # fmt: skip
