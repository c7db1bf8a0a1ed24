"""Docker's agent (cagent, docker-agent; Go): spans of its runtime, without arguments, results or messages.

Each call that a model asks for has a span, which ends well also where a human, a hook or a rule denied it. One that ran has
another inside, which ends well whatever the tool says, unless it could not be called.
"""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, genai_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import STATUS_ERROR, Span
from collector.payloads.refusals import BEGAN, Refusal
from collector.payloads.values import name_of

NAME: Final = "docker_agent"

_SCOPE: Final = "cagent"
_RUN: Final = "runtime.session"
_ASKED: Final = "runtime.tool.call"
_RAN: Final = "runtime.tool.handler"
_RAN_BY_RUNTIME: Final = "runtime.tool.handler.runtime"
"""Of a tool of the runtime itself, such as that which has another agent do a task."""
_OTHERS: Final = ("runtime.stream", "runtime.task_transfer")
_AGENT: Final = "agent"
_SESSION: Final = "session.id"
_TOOL_NAME: Final = "tool.name"
_CALL_ID: Final = "tool.call_id"


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its name; None leaves to the conventions what a version to come may write in their words."""
    if semconv.OPERATION_NAME in span.attributes:
        return None
    if span.name == _RUN:
        return _read_agent(span)
    if span.name in (_RAN, _RAN_BY_RUNTIME):
        ran = _read_call(span)
        ran.refusal = ran.refusal or BEGAN
        return ran
    if span.name == _ASKED:
        asked = _read_call(span)
        # With an error the agent has no such tool. Else it was denied, if no span of its handler is inside: one may be lost.
        asked.refusal = Refusal() if span.status == STATUS_ERROR else Refusal(is_sure=False, is_likely=True)
        return asked
    return IGNORED if span.name in _OTHERS else None


def _read_call(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(_TOOL_NAME))
    genai_span.call_id = name_of(get(_CALL_ID))
    genai_span.conversation_id = name_of(get(_SESSION))
    if genai_span.status == "ok":  # also of one that was cancelled, or returned an error
        genai_span.status = "unset"
        genai_span.note(outcome="told")
    return genai_span


def _read_agent(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = context_span_of(span, Role.AGENT, NAME, conversation_id=name_of(get(_SESSION)))
    genai_span.name = name_of(get(_AGENT))
    genai_span.note(traced_calls="all")
    return genai_span


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(_SCOPE,),
    read_span=read_span,
    whole_scopes=(_SCOPE,),
    attributes=frozenset({_AGENT, _SESSION, _TOOL_NAME, _CALL_ID, semconv.OPERATION_NAME, semconv.ERROR_TYPE}),
)
