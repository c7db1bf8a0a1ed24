"""LangSmith's OpenTelemetry mode (langsmith 0.4+): LangChain runs and ``@traceable`` functions.

Spans name the GenAI operations, but hold inputs and outputs in the attributes 1.28 deprecated, as LangChain wrote them.
"""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.genai_span import IGNORED, Dialect, GenAISpan, Role, context_attributes, reading_of
from collector.model.span import Span
from collector.payloads.messages import may_hold_calls, newest_results, newest_user_input
from collector.payloads.values import name_of

NAME: Final = "langsmith"

_KIND: Final = "langsmith.span.kind"
_INPUT: Final = "gen_ai.prompt"
_OUTPUT: Final = "gen_ai.completion"
_METADATA: Final = "langsmith.metadata."
_LANGCHAIN_AGENT: Final = _METADATA + "lc_agent_name"
_CONVERSATION_IDS: Final = tuple(_METADATA + name for name in ("thread_id", "session_id", "conversation_id"))


def read(span: Span) -> GenAISpan | None:
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
    reading = reading_of(span, Role.TOOL, NAME)
    reading.name = name_of(get(semconv.TOOL_NAME)) or name_of(span.name)
    reading.call_id = name_of(get(semconv.TOOL_CALL_ID))
    reading.arguments = get(_INPUT)
    reading.agent = name_of(get(_LANGCHAIN_AGENT))
    reading.conversation_id = _conversation(span)
    return reading


def _read_model(span: Span) -> GenAISpan:
    get = span.attributes.get
    reading = reading_of(span, Role.MODEL, NAME)
    if may_hold_calls(get(_OUTPUT)):
        reading.output = get(_OUTPUT)
    reading.agent = name_of(get(_LANGCHAIN_AGENT))
    reading.conversation_id = _conversation(span)
    messages = get(_INPUT)
    if messages:
        reading.user_input = newest_user_input(messages)
        reading.results = newest_results(messages)
    return reading


def _read_context(span: Span, role: Role) -> GenAISpan:
    reading = reading_of(span, role, NAME)
    reading.name = reading.agent = name_of(span.name)
    reading.conversation_id = _conversation(span)
    reading.user_input = span.attributes.get(_INPUT)
    reading.attributes = context_attributes(span)
    return reading


def _conversation(span: Span) -> str | None:
    return next((text for key in _CONVERSATION_IDS if (text := name_of(span.attributes.get(key)))), None)


DIALECT: Final = Dialect(
    name=NAME,
    keys=(_KIND,),
    read=read,
    attributes=frozenset({
        _INPUT, _OUTPUT, _LANGCHAIN_AGENT, *_CONVERSATION_IDS, semconv.TOOL_NAME, semconv.TOOL_CALL_ID, semconv.ERROR_TYPE,
    }),
    answers=(_OUTPUT,),
)  # fmt: skip
