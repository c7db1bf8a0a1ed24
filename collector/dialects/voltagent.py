"""VoltAgent (@voltagent/core 1.x, 2.x): spans typed by ``span.type``, all with the name of the agent that they serve.

One model span covers all requests of a run and holds no tool calls. What the run's memory is given after each step does: the
answer so far, with every call and its result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import MAX_EVENTS, context_span_of, genai_span_of, set_input
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.refusals import Refusal, may_be_blocked
from collector.payloads.told_failures import is_flagged
from collector.payloads.tool_results import is_of_start_hook
from collector.payloads.user_input import goes_on_with_answer
from collector.payloads.values import MAX_NAME, first_name, name_of, parse_any

NAME: Final = "voltagent"

_SCOPE: Final = "@voltagent/core"
_TYPE: Final = "span.type"
_ENTITY: Final = "entity.type"
_AGENT_NAMES: Final = ("subagent.name", "entity.name")
"""Inside an agent that works for another, the second is still the other's."""
_TOOL_NAME: Final = "tool.name"
_CALL_ID: Final = "tool.call.id"
_MEMORY_OPERATION: Final = "memory.operation"
_INPUT: Final = "input"
_OUTPUT: Final = "output"
_CONVERSATION: Final = "conversation.id"
_FINISH: Final = "ai.response.finish_reason"
_WAITS: Final = ('"state":"approval-requested"', '"state":"input-available"')
"""In a message that the run's memory is given when a call waits for a human, or for the application's client to make it, which
ends the run (2.10)."""
_ISSUES: Final = re.compile(r"(?:Output validation failed: )?\[")
"""Begins what Zod says of a result, or a tool of what it read: arguments are checked before a span begins (2.x)."""

_DELEGATION: Final = "delegate_task"
_FAILED: Final = "Error in delegating task to "
"""Begins what an agent that failed is said to have answered to whoever gave it a task: the span of the call ends well."""


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its ``span.type``; that of an agent has none."""
    kind = span.attributes.get(_TYPE)
    if kind == "tool":
        return _read_tool(span)
    if kind == "memory" and span.attributes.get(_MEMORY_OPERATION) == "write":
        return _read_message(span)
    if kind in (None, "agent") and span.attributes.get(_ENTITY) == "agent":
        return _read_agent(span)
    return IGNORED


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(_TOOL_NAME)) or name_of(span.name.rpartition(":")[2])
    genai_span.call_id = name_of(get(_CALL_ID))
    genai_span.arguments = get(_INPUT)
    genai_span.agent = first_name(span.attributes, _AGENT_NAMES)
    genai_span.conversation_id = name_of(get(_CONVERSATION))
    if _ISSUES.match(span.status_message):
        genai_span.refusal = None
    elif genai_span.refusal is None and may_be_blocked(span.status_message):
        genai_span.refusal = Refusal(is_sure=False)  # a hook ends the span of a call that it stops as a tool that fails
    if genai_span.name == _DELEGATION and genai_span.status != "error":
        _read_delegation(genai_span, get(_OUTPUT))
    return genai_span


def _read_delegation(call: GenAISpan, output: object) -> None:
    """Read from the result of a delegation whether it failed, or one of several agents did."""
    answers = parse_any(output) if type(output) is str and "rror" in output else None
    if any(map(_has_failed, answers)) if isinstance(answers, list) else is_flagged(answers):
        call.status = "error"


def _has_failed(answer: object) -> bool:
    """Whether an agent that was given a task failed, as the result of the delegation tells."""
    told = answer.get("response") if isinstance(answer, Mapping) else None
    return type(told) is str and told.startswith(_FAILED)


def _read_message(span: Span) -> GenAISpan:
    genai_span = genai_span_of(span, Role.MODEL, NAME)
    genai_span.note(extent="memory")
    told = span.attributes.get(_INPUT)
    set_input(genai_span, told)
    genai_span.is_pending = type(told) is str and any(state in told for state in _WAITS)
    return genai_span if genai_span.history is not None or genai_span.is_pending else IGNORED


def _read_agent(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = context_span_of(span, Role.AGENT, NAME, get(_INPUT), name_of(get(_CONVERSATION)))
    genai_span.name = first_name(span.attributes, _AGENT_NAMES)
    genai_span.finish = "tool_calls" if get(_FINISH) == "tool-calls" else ""
    genai_span.note(traced_calls="all", extent="resumed" if goes_on_with_answer(genai_span.user_input) else "")
    if genai_span.status == "error":
        genai_span.refusal = _denial(span) or genai_span.refusal
    return genai_span


def _denial(span: Span) -> Refusal | None:
    """Returns that a hook denied a call (``ToolDeniedError``), which ended the run: the call's own span does not tell."""
    for event in span.events[:MAX_EVENTS]:
        stack = event.attributes.get(semconv.EXCEPTION_STACK_TRACE)
        tool = stack[:MAX_NAME].partition(":")[0] if type(stack) is str else None
        if tool and is_of_start_hook(stack, tool):
            return Refusal(tool)
    return None


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(_SCOPE,),
    read_span=read_span,
    markers=(b"entity.type",),
    attributes=frozenset({
        _TYPE, _ENTITY, *_AGENT_NAMES, _TOOL_NAME, _CALL_ID, _MEMORY_OPERATION, _INPUT, _OUTPUT, _CONVERSATION,
        _FINISH, semconv.ERROR_TYPE,
        semconv.EXCEPTION_STACK_TRACE,
    }),
    output_attributes=(_OUTPUT,),
)  # fmt: skip
