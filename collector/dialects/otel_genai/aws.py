"""Where the AWS Distro for OpenTelemetry (0.21) departs from the conventions, in its spans of CrewAI, LangChain, LlamaIndex and
OpenAI Agents.
"""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.genai_span import AGENT, IGNORED, MODEL, TOOL, GenAISpan
from collector.model.span import Span
from collector.model.tracing import TracedCalls
from collector.payloads.refusals import Refusal, is_refusal
from collector.payloads.user_input import newest_user_input
from collector.payloads.values import is_true

_INSTRUMENTATION: Final = "amazon.opentelemetry.distro.instrumentation."
_CREWAI: Final = f"{_INSTRUMENTATION}crewai"
_LANGCHAIN: Final = f"{_INSTRUMENTATION}langchain"
_LLAMA_INDEX: Final = f"{_INSTRUMENTATION}llama_index"
_OPENAI_AGENTS: Final = f"{_INSTRUMENTATION}openai_agents"
SCOPES: Final = (_CREWAI, _LANGCHAIN, _LLAMA_INDEX, _OPENAI_AGENTS)
_TRACED_CALLS: Final[dict[str, TracedCalls]] = {_OPENAI_AGENTS: "tools", _LANGCHAIN: "all", _LLAMA_INDEX: "all"}
_STEP: Final = "run_agent_step "
"""Begins the name of the span of each request of an agent of LlamaIndex, which has the operation of an agent."""
_REQUEST: Final = "llama_index.operation"
"""The name of the span around each request of LlamaIndex, and one that is streamed has none: it is never ended."""
STREAM: Final = "gen_ai.request.stream"
HANDOFF: Final = '{"from_agent":'
"""Begins the arguments of what hands over from one agent of OpenAI Agents to another, and is no tool."""
_TAKES_OVER: Final = r'"response": "{\"assistant\": \"%s\"}"}]}]'
_CALL: Final = '"type": "tool_call",'
"""In the last message of an agent of LangChain that asked for calls: a human is asked whether these may run."""
_NOT_FOUND: Final = "Tool not found"  # CrewAI 1.15; the span of a tool that it has tells its description


def read_beyond(genai_span: GenAISpan, span: Span) -> GenAISpan:
    """Returns what was read of one of its spans by the conventions, with what it says beyond them; IGNORED for a step."""
    if genai_span.role is TOOL:
        return IGNORED if _is_handoff(genai_span, span) else _read_tool(genai_span, span)
    if genai_span.role is AGENT:
        if span.name.startswith(_STEP):
            return IGNORED
        _read_agent(genai_span, span)
    elif genai_span.role is MODEL and genai_span.scope == _LLAMA_INDEX and is_true(span.attributes.get(STREAM)):
        genai_span.note(extent="inner")
    return genai_span


def is_around_request(span: Span) -> bool:
    """Whether it is the span around a request of LlamaIndex, which has no operation."""
    return span.name == _REQUEST and span.scope.name == _LLAMA_INDEX


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
    if call.scope == _CREWAI and type(result) is str:
        if result == _NOT_FOUND:
            call.refusal = Refusal(is_sure=semconv.TOOL_DESCRIPTION not in span.attributes)
        elif is_refusal(result, call.name):
            call.refusal = Refusal()
        if call.refusal is not None:
            call.status = "error"
    return call


def _is_handoff(call: GenAISpan, span: Span) -> bool:
    if call.scope != _OPENAI_AGENTS or semconv.TOOL_CALL_RESULT in span.attributes:
        return False
    return type(call.arguments) is str and call.arguments.startswith(HANDOFF)
