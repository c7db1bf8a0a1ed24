"""ADK-TS (`@iqai/adk` 0.5), which writes like Google's ADK of old, in words of its own.

What its models answer is in events of the agent's span, and the spans of requests hold no answer.
"""

from __future__ import annotations

import re
from typing import Any, Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import MAX_EVENTS, context_span_of, doubt_outcome, genai_span_of, set_output
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.refusals import Refusal, may_be_blocked
from collector.payloads.tool_results import tool_result
from collector.payloads.values import known_name_of, name_of, parse_any

NAME: Final = "iqai_adk"

_SCOPE: Final = "iqai-adk"
_ARGUMENTS: Final = "adk.tool_call_args"
_RESULT: Final = "adk.tool_response"
_TEXT: Final = "result"
"""What a tool returned that is no object: what it raised is elsewhere."""
_EMPTY: Final = ("{}", "")
_SESSION: Final = "adk.session_id"
_REQUEST: Final = "adk.llm_request"
_TOOL_SPAN: Final = "execute_tool "
_MODEL_SPAN: Final = "llm_generate ["
_AGENT_SPAN: Final = re.compile(r"agent_run(?:_live)? \[(.+)\]$")
_CALLED: Final = "callToolAsync ("
_MAX_TRACE: Final = 16_384
_ANSWERED: Final = "gen_ai.content.completion"
_ANSWER: Final = "gen_ai.completion"


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its name; None leaves it to the GenAI conventions."""
    if span.name.startswith(_TOOL_SPAN):
        return _read_tool(span)
    if span.name.startswith(_MODEL_SPAN):
        return IGNORED
    agent = _AGENT_SPAN.match(span.name)
    return None if agent is None else _read_agent(span, agent[1])


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(semconv.TOOL_NAME)) or name_of(span.name.removeprefix(_TOOL_SPAN))
    genai_span.call_id = known_name_of(get(semconv.TOOL_CALL_ID))
    arguments, result = get(_ARGUMENTS), get(_RESULT)
    if not (arguments in _EMPTY and result in _EMPTY):  # both empty: not recorded
        genai_span.arguments = arguments
    if genai_span.status == "error":
        if genai_span.refusal is None and not _began(span):  # a callback may have raised in place of the tool
            genai_span.refusal = Refusal(is_sure=False)
        return genai_span
    answer = parse_any(parse_any(result))  # JSON in JSON
    if isinstance(answer, dict) and len(answer) == 1 and _TEXT in answer:
        return genai_span
    told = tool_result(None, answer)
    outcome = told.status(genai_span.name)
    if outcome == "open":
        doubt_outcome(genai_span)
    elif outcome != "ok":
        genai_span.status, genai_span.refusal = "error", told.refusal
    if genai_span.refusal is None and may_be_blocked(result):
        genai_span.refusal = Refusal(is_sure=False)  # a callback that answers in place of the tool leaves the same span
    return genai_span


def _began(span: Span) -> bool:
    """Whether the stack trace of what ended a call shows the tool."""
    traces = [event.attributes.get(semconv.EXCEPTION_STACK_TRACE) for event in span.events[:MAX_EVENTS]]
    return any(type(trace) is str and trace.find(_CALLED, 0, _MAX_TRACE) >= 0 for trace in traces)


def _read_agent(span: Span, name: str) -> GenAISpan:
    get = span.attributes.get
    genai_span = context_span_of(span, Role.AGENT, NAME, get(_REQUEST), name_of(get(_SESSION)))
    genai_span.note(traced_calls="all")
    genai_span.name = name_of(name)
    answers: list[Any] = [event.attributes.get(_ANSWER) for event in span.events if event.name == _ANSWERED]
    set_output(genai_span, [answer for answer in map(parse_any, answers) if isinstance(answer, dict)])
    return genai_span


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(_SCOPE,),
    read_span=read_span,
    whole_scopes=(_SCOPE,),
    attributes=frozenset({_ARGUMENTS, _RESULT, _SESSION, _REQUEST, semconv.TOOL_NAME, semconv.TOOL_CALL_ID}),
)
