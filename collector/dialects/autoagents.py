"""AutoAgents (the crates autoagents-* 0.4, Rust): a span for each task of an agent, for each of its turns, and for each call.

They are made of the events of an agent, and described in Langfuse's words as well where they are sent there: no span tells
what a model was asked, and a call that a hook refused has none.
"""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, genai_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.refusals import Refusal
from collector.payloads.told_failures import is_flagged
from collector.payloads.values import name_of

NAME: Final = "autoagents"

_SCOPE: Final = "autoagents.telemetry"
_TASK, _TURN, _CALL = "autoagents.task", "autoagents.turn", "autoagents.tool_call"
_AGENT: Final = "actor_name"
_DESCRIPTION: Final = "task.description"
_RESULT: Final = "task.result"
_TOOL: Final = "tool_name"
_CALL_ID: Final = "tool_call_id"
_ARGUMENTS: Final = "tool.arguments"
_RETURNED: Final = "tool.result"
_REDACTED: Final = "[REDACTED]"
_UNPARSED: Final = '{"error":"Failed to parse arguments: '
"""Begins the status of a call whose arguments are no JSON; before what a tool raised are other words."""


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its name."""
    if span.name == _CALL:
        return _read_call(span)
    if span.name == _TASK:
        return _read_task(span)
    return IGNORED if span.name == _TURN else None


def _read_call(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name, genai_span.call_id = name_of(get(_TOOL)), name_of(get(_CALL_ID))
    genai_span.arguments = _told(get(_ARGUMENTS))
    if span.status_message.startswith(_UNPARSED):
        genai_span.refusal = Refusal()
    elif is_flagged(get(_RETURNED)):
        genai_span.status = "error"
    elif genai_span.status == "unset":  # it had not ended when its agent did
        genai_span.note(outcome="told")
    return genai_span


def _read_task(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = context_span_of(span, Role.AGENT, NAME, _told(get(_DESCRIPTION)))
    genai_span.name = name_of(get(_AGENT))
    genai_span.note(traced_calls="all")
    return genai_span


def _told(value: object) -> object:
    return None if value == _REDACTED else value


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(_SCOPE,),
    span_names=(_TASK, _TURN, _CALL),  # an application's own subscriber has a scope of its own
    read_span=read_span,
    markers=(b"autoagents.t",),
    attributes=frozenset({_AGENT, _DESCRIPTION, _RESULT, _TOOL, _CALL_ID, _ARGUMENTS, _RETURNED, semconv.ERROR_TYPE}),
    output_attributes=(_RESULT,),
)
