"""tRPC-Agent-Go, where it departs from the GenAI conventions: the span of a failed call may hold nothing but its name, and that
of a call that was denied ends well. Each node of a graph has a span, that of its tools one more around theirs.
"""

from __future__ import annotations

import re
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, doubt_failure, genai_span_of, set_error
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.refusals import Refusal, may_be_blocked
from collector.payloads.user_input import ends_with_answers
from collector.payloads.values import name_of

NAME: Final = "trpc_agent"

_TOOL_SPAN: Final = "execute_tool "
_AGENT_SPAN: Final = "invoke_agent"
_MERGED: Final = "(merged"  # a turn with parallel calls adds a span for all of their results
_MAX_ANSWER: Final = 2_000
"""How much of an answer of a tool is searched."""
_UNKNOWN_TOOL: Final = "<not found>"
_LIMIT: Final = re.compile(r"max tool iterations \(\d{1,9}\) exceeded$")
"""With this a run ends in place of the calls of its last answer."""
_NODE_SPAN: Final = "workflow "
_INTERRUPTED: Final = "graph interrupted at node "
"""So a node of a graph says that it waits for a human, whose answer begins another run."""
_NOT_PERMITTED: Final = re.compile(
    r'\{\\"status\\":\\"(?:denied|approval_required)\\",\\"tool\\":\\"([^"\\]{1,256})\\"'
)
"""What a policy of permissions has the model told in place of a result, inside the message with it."""
_OF_CALLBACK: Final = "tool callback error: "
"""Begins what a callback or plugin raised: before the tool, which then does not run, or after it."""


def read_span(span: Span) -> GenAISpan | None:
    """Reads what its attributes do not tell; None leaves it to the GenAI conventions."""
    if span.name.startswith(_TOOL_SPAN):
        return IGNORED if span.name.startswith(_MERGED, len(_TOOL_SPAN)) else _read_tool(span)
    if span.name.startswith(_NODE_SPAN) and span.attributes.get(semconv.OPERATION_NAME) == _NODE_SPAN[:-1]:
        return _read_node(span)
    return _read_agent(span) if span.name.startswith(_AGENT_SPAN) else None


def _read_tool(span: Span) -> GenAISpan | None:
    is_unknown = span.attributes.get(semconv.TOOL_NAME) == _UNKNOWN_TOOL
    # Of a call that panicked, and of those made at once, a span tells no more if it did not succeed.
    is_bare = semconv.OPERATION_NAME not in span.attributes
    result = span.attributes.get(semconv.TOOL_CALL_RESULT) if span.status == 0 else None
    is_denied = _is_denied(span, result)
    is_of_callback = span.status_message.startswith(_OF_CALLBACK)
    if not (is_unknown or is_bare or is_denied or is_of_callback or may_be_blocked(result)):
        return None
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(span.name.removeprefix(_TOOL_SPAN))
    if is_bare:
        set_error(genai_span, span)
        if not span.events:  # no panic
            doubt_failure(genai_span)
    else:
        genai_span.refusal = Refusal(is_sure=is_unknown or is_denied)
    return genai_span


def _is_denied(span: Span, result: object) -> bool:
    """Whether the model was told that the tool may not run, in the form in which only the framework tells it."""
    told = _NOT_PERMITTED.search(result, 0, _MAX_ANSWER) if type(result) is str else None
    return told is not None and told[1] == span.attributes.get(semconv.TOOL_NAME)


def _read_node(span: Span) -> GenAISpan:
    """Reads a node, or a graph: nothing but one that waits, which is a part of its agent."""
    if not span.status_message.startswith(_INTERRUPTED):
        return IGNORED
    genai_span = context_span_of(span, Role.AGENT, NAME)
    genai_span.is_pending = True
    return genai_span


def _read_agent(span: Span) -> GenAISpan | None:
    """Reads a run that ended at its limit, or that was given what the application answered to a call of an earlier one."""
    get = span.attributes.get
    given = get(semconv.INPUT_MESSAGES)
    is_limited = _LIMIT.match(span.status_message) is not None
    is_resumed = ends_with_answers(given)
    if not (is_limited or is_resumed):
        return None
    genai_span = context_span_of(span, Role.AGENT, NAME, given, name_of(get(semconv.CONVERSATION_ID)))
    genai_span.name = name_of(get(semconv.AGENT_NAME))
    if is_resumed:
        genai_span.note(extent="resumed")
    if is_limited:
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
