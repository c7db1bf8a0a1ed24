"""tRPC-Agent-Go, where it departs from the GenAI conventions: the span of a failed call may hold nothing but its name."""

from __future__ import annotations

import re
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, doubt_failure, genai_span_of, set_error
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.refusals import Refusal, may_be_blocked
from collector.payloads.values import name_of

NAME: Final = "trpc_agent"

_TOOL_SPAN: Final = "execute_tool "
_AGENT_SPAN: Final = "invoke_agent"
_MERGED: Final = "(merged"  # a turn with parallel calls adds a span for all of their results
_UNKNOWN_TOOL: Final = "<not found>"
_LIMIT: Final = re.compile(r"max tool iterations \(\d{1,9}\) exceeded$")
"""With this a run ends in place of the calls of its last answer."""


def read_span(span: Span) -> GenAISpan | None:
    """Reads what its attributes do not tell; None leaves it to the GenAI conventions."""
    if span.name.startswith(_TOOL_SPAN):
        return IGNORED if span.name.startswith(_MERGED, len(_TOOL_SPAN)) else _read_tool(span)
    if span.name.startswith(_AGENT_SPAN) and _LIMIT.match(span.status_message) is not None:
        return _read_limited(span)
    return None


def _read_tool(span: Span) -> GenAISpan | None:
    is_unknown = span.attributes.get(semconv.TOOL_NAME) == _UNKNOWN_TOOL
    # Of a call that panicked, and of those made at once, a span tells no more if it did not succeed.
    is_bare = semconv.OPERATION_NAME not in span.attributes
    is_blocked = span.status == 0 and may_be_blocked(span.attributes.get(semconv.TOOL_CALL_RESULT))
    if not (is_unknown or is_bare or is_blocked):
        return None
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(span.name.removeprefix(_TOOL_SPAN))
    if is_bare:
        set_error(genai_span, span)
        if not span.events:  # no panic
            doubt_failure(genai_span)
    else:
        genai_span.refusal = Refusal(is_sure=is_unknown)
    return genai_span


def _read_limited(span: Span) -> GenAISpan:
    get = span.attributes.get
    conversation_id = name_of(get(semconv.CONVERSATION_ID))
    genai_span = context_span_of(span, Role.AGENT, NAME, get(semconv.INPUT_MESSAGES), conversation_id)
    genai_span.name = name_of(get(semconv.AGENT_NAME))
    genai_span.refusal = Refusal(is_of_rest=True)
    return genai_span


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=("trpc.agent.go",),
    read_span=read_span,
    attributes=frozenset({
        semconv.OPERATION_NAME, semconv.TOOL_NAME, semconv.TOOL_CALL_RESULT, semconv.AGENT_NAME, semconv.CONVERSATION_ID,
        semconv.INPUT_MESSAGES, semconv.ERROR_TYPE,
    }),
)  # fmt: skip
