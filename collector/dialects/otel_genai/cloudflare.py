"""Cloudflare's Agents (`agents/observability/ai` 0.32): Vercel's AI SDK, wrapped, in spans of the platform that runs it.

Spans that follow the conventions but for approvals: what was asked of a human, and what was answered, has the operation of a
call, and is inside a span that looks like that of one which ran.
"""

from __future__ import annotations

from typing import Final

from collector.model.from_span import doubt_answer, doubt_outcome
from collector.model.genai_span import AGENT, IGNORED, TOOL, GenAISpan
from collector.model.span import Span
from collector.payloads.refusals import BEGAN, Refusal

OPERATION: Final = "cloudflare.agents.operation.name"
"""On all its spans: the function of the SDK. It alone tells whose they are, for the scope is the platform's."""
SCOPE: Final = "agents/observability/ai"
"""What their scope is taken for: the module that wraps the SDK."""
_APPROVAL: Final = "tool.approval"
_STATE: Final = "cloudflare.agents.tool.approval.state"
_REQUESTED, _DENIED = "requested", "denied"
_TRUNCATED: Final = "cloudflare.agents.span.truncated"
"""Of what went on when the request ended that began it, and its span with it."""
_CANCELED: Final = "cloudflare.agents.canceled"
ATTRIBUTES: Final = (OPERATION, _STATE, _TRUNCATED, _CANCELED)


def read_beyond(genai_span: GenAISpan, span: Span) -> GenAISpan:
    """Reads what the conventions do not tell of a span; IGNORED for one of an approval that tells of no call."""
    if genai_span is IGNORED:
        return IGNORED
    genai_span.scope = SCOPE
    if genai_span.role is TOOL:
        return _read_call(genai_span, span)
    is_truncated = _TRUNCATED in span.attributes
    if genai_span.role is AGENT:
        genai_span.note(traced_calls="all")
        genai_span.is_pending = is_truncated
    elif is_truncated or _CANCELED in span.attributes:
        doubt_answer(genai_span)
    return genai_span


def _read_call(call: GenAISpan, span: Span) -> GenAISpan:
    attributes = span.attributes
    if attributes.get(OPERATION) == _APPROVAL:
        return _read_approval(call, attributes.get(_STATE))
    if call.status == "error":
        call.refusal = BEGAN  # the SDK checks arguments before it runs the tool
    elif _TRUNCATED in attributes or _CANCELED in attributes:
        doubt_outcome(call)
    return call


def _read_approval(call: GenAISpan, state: object) -> GenAISpan:
    """Reads a call in place of the tool: the span around it has no state, and what was approved has the span of its call."""
    if state not in (_REQUESTED, _DENIED):
        return IGNORED
    call.refusal, call.is_pending = Refusal(), state == _REQUESTED
    return call
