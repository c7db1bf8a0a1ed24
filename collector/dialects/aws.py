"""AWS Distro for OpenTelemetry (aws-opentelemetry-distro 0.21): its own instrumentations of agent frameworks.

They follow the GenAI conventions, and each tells what its framework does in ways that others do not.
"""

from __future__ import annotations

from typing import Final

from collector.dialects.otel_genai import read_span as read_conventions
from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.genai_span import AGENT, IGNORED, MODEL, TOOL, GenAISpan
from collector.model.span import Span
from collector.model.tracing import TracedCalls
from collector.payloads.refusals import Refusal, is_refusal
from collector.payloads.user_input import newest_user_input

NAME: Final = "aws"

_INSTRUMENTATION: Final = "amazon.opentelemetry.distro.instrumentation."
_CREWAI: Final = f"{_INSTRUMENTATION}crewai"
_LANGCHAIN: Final = f"{_INSTRUMENTATION}langchain"
_LLAMA_INDEX: Final = f"{_INSTRUMENTATION}llama_index"
_OPENAI_AGENTS: Final = f"{_INSTRUMENTATION}openai_agents"
_TRACED_CALLS: Final[dict[str, TracedCalls]] = {_OPENAI_AGENTS: "tools", _LANGCHAIN: "all", _LLAMA_INDEX: "all"}
_STEP: Final = "run_agent_step "
"""Begins the name of the span of each request of an agent of LlamaIndex, which has the operation of an agent."""
_REQUEST: Final = "llama_index.operation"
"""The name of the span around each request of LlamaIndex, and one that is streamed has none: it is never ended."""
_STREAM: Final = "gen_ai.request.stream"
_HANDOFF: Final = '{"from_agent":'
_TAKES_OVER: Final = r'"response": "{\"assistant\": \"%s\"}"}]}]'
_CALL: Final = '"type": "tool_call",'
"""In the last message of an agent of LangChain that asked for calls: a human is asked whether these may run."""
_NOT_FOUND: Final = "Tool not found"  # CrewAI 1.15; the span of a tool that it has tells its description


def read_span(span: Span) -> GenAISpan | None:
    """Reads a span by the conventions, and what its framework's own says beyond them."""
    if span.name.startswith(_STEP) or span.name == _REQUEST:
        return IGNORED
    genai_span = read_conventions(span)
    if genai_span is None or genai_span is IGNORED:
        return genai_span
    if genai_span.role is AGENT:
        _read_agent(genai_span, span)
    elif genai_span.role is MODEL:
        if genai_span.scope == _LLAMA_INDEX and span.attributes.get(_STREAM) is True:
            genai_span.note(extent="inner")
    elif genai_span.role is TOOL:
        return _read_tool(genai_span, span)
    return genai_span


def _read_agent(agent: GenAISpan, span: Span) -> None:
    """Note of an agent which of its calls leave spans, and whether it waits for a human, or goes on when one has answered."""
    # What OpenAI Agents hands over with is no tool; in CrewAI, what was cached leaves no span.
    agent.note(traced_calls=_TRACED_CALLS.get(agent.scope, ""))
    if agent.scope == _LANGCHAIN:
        told = span.attributes.get(semconv.OUTPUT_MESSAGES)
        agent.is_pending = agent.status != "error" and type(told) is str and _CALL in told
    if agent.scope in (_LANGCHAIN, _OPENAI_AGENTS) and not _was_handed_over(agent):
        agent.user_input = newest_user_input(agent.user_input)


def _was_handed_over(agent: GenAISpan) -> bool:
    """Whether the newest that an agent of OpenAI Agents was told is that it takes over."""
    told = agent.user_input
    return type(told) is str and told.endswith(_TAKES_OVER % (agent.name,))


def _read_tool(call: GenAISpan, span: Span) -> GenAISpan:
    result = span.attributes.get(semconv.TOOL_CALL_RESULT)
    if call.scope == _OPENAI_AGENTS and result is None and _is_handoff(call.arguments):
        return IGNORED
    if call.scope == _CREWAI and type(result) is str:
        if result == _NOT_FOUND:
            call.refusal = Refusal(is_sure=semconv.TOOL_DESCRIPTION not in span.attributes)
        elif is_refusal(result, call.name):
            call.refusal = Refusal()
        if call.refusal is not None:
            call.status = "error"
    return call


def _is_handoff(arguments: object) -> bool:
    return type(arguments) is str and arguments.startswith(_HANDOFF)


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(_CREWAI, _LANGCHAIN, _LLAMA_INDEX, _OPENAI_AGENTS),
    read_span=read_span,
    attributes=frozenset({_STREAM}),
)
