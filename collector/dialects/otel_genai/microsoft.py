"""Where Microsoft's distro for Node.js (1.4) departs from the conventions, in its spans of OpenAI Agents and of LangChain."""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.genai_span import GenAISpan
from collector.model.span import Span
from collector.payloads.values import parse_json

_AGENTS: Final = "microsoft-otel-openai-agents"
_LANGCHAIN: Final = "microsoft-otel-langchain"
SCOPES: Final = (_AGENTS, _LANGCHAIN)
_HANDOFF: Final = 3
"""The kind of the span of a handoff, which is named as that of an agent: a client's."""
_TEXT: Final = '{"result":'
"""Begins the object in which it puts a result that is a text."""
_NONE_GIVEN: Final = '{"arguments":""}'
"""The arguments of a call of OpenAI Agents that did not fit, or that a human denied."""
_LOST: Final = '{"role":"user","parts":[{"type":"text"}]}]'
"""Ends what a model of OpenAI Agents was given, if that is a result: of calls and results it has the role of a user alone."""
_ASKED: Final = '"parts":['
_CALL: Final = '"type":"tool_call"'


def is_handoff(span: Span) -> bool:
    """Whether a span that is named as an agent's is that of a handoff to it."""
    return span.scope.name == _AGENTS and span.kind == _HANDOFF


def read_agent(agent: GenAISpan, span: Span) -> None:
    """Note of an agent which of its calls leave spans, and whether it ends to wait for a human."""
    if agent.scope == _AGENTS:
        agent.note(traced_calls="tools")
        return
    # Middleware may answer in place of a tool, which leaves no span then.
    agent.note(outcome="hooked")
    told = span.attributes.get(semconv.OUTPUT_MESSAGES)
    agent.is_pending = (
        agent.status != "error" and type(told) is str and told.find(_CALL, max(0, told.rfind(_ASKED))) >= 0
    )


def read_request(model: GenAISpan, messages: object) -> None:
    """Take nothing from what a model of OpenAI Agents was given but the user's words: calls and results are left out of it."""
    if model.scope == _AGENTS and type(messages) is str and messages.endswith(_LOST):
        model.user_input = model.history = model.tool_results = None


def returned(span: Span) -> object:
    """Returns the result of a call, a text without the object around it."""
    result = span.attributes.get(semconv.TOOL_CALL_RESULT)
    if type(result) is not str or span.scope.name not in SCOPES or not result.startswith(_TEXT):
        return result
    value = parse_json(result)
    text = value.get("result") if isinstance(value, dict) and len(value) == 1 else None
    return text if type(text) is str else result


def read_arguments(call: GenAISpan) -> None:
    """Note of a call of OpenAI Agents whether its tool took the arguments: else it has none."""
    if call.scope != _AGENTS:
        return
    if call.arguments == _NONE_GIVEN:
        call.arguments = None
    elif call.arguments is not None and call.refusal is not None:
        call.refusal = call.refusal._replace(is_ruled_out=call.refusal.is_of_arguments)
