"""Upsonic's own instrumentation: agents, calls and steps in words of its own, requests to models in those of the conventions.

The span of a call ends well, with ``upsonic.tool.success``, whatever became of it: only its result tells a failure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, genai_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import STATUS_ERROR, Span
from collector.payloads.refusals import Refusal, find_refusal, may_be_blocked
from collector.payloads.values import is_true, name_of, parse_any

NAME: Final = "upsonic"

_SCOPE: Final = "upsonic"
_RUN: Final = "agent.run"
_CALL: Final = "tool.execute"
_STEPS: Final = "pipeline."
_AGENT: Final = "upsonic.agent.name"
_INPUT: Final = "upsonic.input"
_OUTPUT: Final = "upsonic.output"
_STATUS: Final = "upsonic.status"
_LIMIT_REACHED: Final = "upsonic.tool_limit_reached"
_STEPS_MADE: Final = "upsonic.pipeline.executed_steps"
_STEP_STATUSES: Final = "upsonic.pipeline.step_statuses"
_TOOL_NAME: Final = "upsonic.tool.name"
_CALL_ID: Final = "upsonic.tool.call_id"
_ARGUMENTS: Final = "langfuse.observation.input"
_RESULT: Final = "langfuse.observation.output"
_RETURNED: Final = "{'func"
"""Begins the result of a tool that returned: it is wrapped in a dictionary. Of one that did not, there are the words alone."""
_PAUSES: Final = "upsonic.tools.hitl."
_RUN_BY_APPLICATION: Final = "upsonic.tools.hitl.ExternalExecutionPause"


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its name; None leaves to the conventions what is in their words."""
    if semconv.OPERATION_NAME in span.attributes:
        return None
    if span.name == _RUN:
        return _read_agent(span)
    if span.name == _CALL:
        return _read_call(span)
    return IGNORED if span.name.startswith(_STEPS) else None


def _read_call(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(_TOOL_NAME))
    genai_span.call_id = name_of(get(_CALL_ID))
    genai_span.arguments = get(_ARGUMENTS)
    if span.status == STATUS_ERROR:
        _set_pause(genai_span)
        return genai_span
    result = parse_any(get(_RESULT))
    if type(result) is not str:
        genai_span.status = "unset"
        genai_span.note(outcome="told")
    elif not result.startswith(_RETURNED):
        genai_span.status, genai_span.refusal = "error", find_refusal(result)
        if genai_span.refusal is None and may_be_blocked(result):
            genai_span.refusal = Refusal(is_sure=False)  # a hook that raises before the tool begins
    return genai_span


def _set_pause(genai_span: GenAISpan) -> None:
    """Mark a call at which the run was paused: for a human, or for the application, which may run it itself."""
    error = genai_span.error_type or ""
    if error == _RUN_BY_APPLICATION:
        genai_span.status, genai_span.refusal = "unset", Refusal(is_sure=False)
    elif error.startswith(_PAUSES):
        genai_span.is_pending = True


def _read_agent(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = context_span_of(span, Role.AGENT, NAME, get(_INPUT), name_of(get(semconv.SESSION_ID)))
    genai_span.name = name_of(get(_AGENT))
    if _is_resumed(span):
        genai_span.note(extent="resumed")
    else:
        genai_span.note(traced_calls="all")
    if get(_STATUS) == "PAUSED":
        genai_span.note(outcome="open")
    elif is_true(get(_LIMIT_REACHED)):
        genai_span.refusal = Refusal(is_of_rest=True)
    return genai_span


def _is_resumed(span: Span) -> bool:
    """Whether the run began in an earlier trace: a step that was paused there was made twice. A call for which it had been
    paused leaves no further span."""
    made, statuses = span.attributes.get(_STEPS_MADE), parse_any(span.attributes.get(_STEP_STATUSES))
    return isinstance(statuses, Mapping) and type(made) is int and made > len(statuses)


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(_SCOPE,),
    read_span=read_span,
    whole_scopes=(_SCOPE,),
    attributes=frozenset({
        _AGENT, _INPUT, _STATUS, _LIMIT_REACHED, _STEPS_MADE, _STEP_STATUSES, _TOOL_NAME, _CALL_ID, _ARGUMENTS, _RESULT,
        semconv.SESSION_ID, semconv.OPERATION_NAME, semconv.ERROR_TYPE,
    }),
    output_attributes=(_OUTPUT,),
)  # fmt: skip
