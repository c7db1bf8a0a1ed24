"""CrewAI's own tracer (1.15): spans by the conventions, and beside that of a call that failed a second one that tells so.

`crewai.event_name` on each span names the event that ended it.
"""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.genai_span import AGENT, IGNORED, TOOL, GenAISpan
from collector.model.span import Span
from collector.payloads.refusals import BEGAN, Refusal, is_refusal
from collector.payloads.values import name_of

EVENT: Final = "crewai.event_name"
_FAILURE: Final = "tool_failure_detected"
_ROLE: Final = "crewai.agent.role"
"""The name by which an application knows an agent. `gen_ai.agent.name` is a hash of all that the agent is made of."""
_REASON: Final = "crewai.tool.failure.reason"
_UNREADABLE: Final = "invalid_input"
"""Of a call whose arguments could not be parsed: the span of the failure is its only one."""
_NOT_RUN: Final = (_UNREADABLE, "repeated_call", "unknown_tool", "usage_limit")
_RAN: Final = ("mcp_error", "tool_reported")
ATTRIBUTES: Final = (EVENT, _ROLE, _REASON, semconv.TOOL_CALL_RESULT)


def read_beyond(genai_span: GenAISpan, span: Span) -> GenAISpan:
    """Reads what the conventions do not tell of a span; IGNORED for one that only says that a call failed
    which has a span of its own.
    """
    if genai_span.role is AGENT:
        genai_span.name = name_of(span.attributes.get(_ROLE)) or genai_span.name
    elif genai_span.role is TOOL:
        if span.attributes.get(EVENT) == _FAILURE and span.attributes.get(_REASON) != _UNREADABLE:
            return IGNORED
        _read_refusal(genai_span, span)
    return genai_span


def _read_refusal(call: GenAISpan, span: Span) -> None:
    """Read whether the tool ran: the span of a call that a hook blocked ends well, with CrewAI's words as its result."""
    reason = span.attributes.get(_REASON)
    if reason in _NOT_RUN or reason in _RAN:
        call.refusal = BEGAN if reason in _RAN else Refusal()
        return
    result = span.attributes.get(semconv.TOOL_CALL_RESULT)
    if type(result) is str and is_refusal(result.strip('"'), call.name):
        call.status, call.refusal = "error", Refusal()
