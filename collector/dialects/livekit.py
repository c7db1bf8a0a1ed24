"""LiveKit Agents before 1.8 (1.2 to 1.7), which follows the conventions since then: a span for a session, one for each answer
of its model with what the model was told, and one for each tool that ran.

Since 1.7 what may be private is under other keys, which an application may leave out.
"""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, doubt_start, genai_span_of, model_span_of
from collector.model.genai_span import AGENT, IGNORED, TOOL, GenAISpan
from collector.model.span import Span
from collector.payloads.flattened_attributes import first_attribute
from collector.payloads.tool_results import tool_result
from collector.payloads.values import is_true, name_of

NAME: Final = "livekit"

_SCOPE: Final = "livekit-agents"
_SESSION: Final = "agent_session"
_ANSWER: Final = "llm_node"
_TURN: Final = "agent_turn"
"""Of a model that hears and speaks itself (1.4 to 1.7) it is the answer, in the words of a request."""
_TOOL: Final = "function_tool"
_AGENT: Final = "lk.agent_label"
_TOOL_NAME: Final = "lk.function_tool.name"
_CALL_ID: Final = "lk.function_tool.id"
_ARGUMENTS: Final = ("lk.function_tool.arguments", "lk.pii.function_tool.arguments")
_RESULT: Final = ("lk.function_tool.output", "lk.pii.function_tool.output")
_HAS_FAILED: Final = "lk.function_tool.is_error"
_CALLS: Final = ("lk.response.function_calls", "lk.pii.response.function_calls")
_CONTEXT: Final = ("lk.chat_ctx", "lk.pii.chat_ctx")


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its name, which is constant; None for one in the conventions."""
    operation = span.attributes.get(semconv.OPERATION_NAME)
    if operation is not None and (operation != "chat" or span.name != _TURN):
        return None
    if span.name == _TOOL:
        return _read_tool(span)
    if span.name in (_ANSWER, _TURN):
        return _read_answer(span)
    return _read_session(span) if span.name == _SESSION else IGNORED


def _read_session(span: Span) -> GenAISpan:
    genai_span = context_span_of(span, AGENT, NAME)
    genai_span.name = name_of(span.attributes.get(_AGENT))
    genai_span.note(traced_calls="all")
    return genai_span


def _read_answer(span: Span) -> GenAISpan:
    calls = first_attribute(span.attributes, _CALLS)
    if type(calls) is not str:  # not captured, or interrupted: what began by then has a span
        return IGNORED
    genai_span = model_span_of(span, NAME, f'{{"tool_calls": {calls}}}', first_attribute(span.attributes, _CONTEXT))
    genai_span.finish = "other" if calls == "[]" else "tool_calls"
    return genai_span


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, TOOL, NAME)
    genai_span.name, genai_span.call_id = name_of(get(_TOOL_NAME)), name_of(get(_CALL_ID))
    genai_span.arguments = first_attribute(span.attributes, _ARGUMENTS)
    if is_true(get(_HAS_FAILED)):
        genai_span.status = "error"
        genai_span.refusal = tool_result(None, first_attribute(span.attributes, _RESULT)).refusal
        if genai_span.arguments in (None, ""):
            doubt_start(genai_span)  # nor are the words captured
    elif get(_HAS_FAILED) is False:
        genai_span.status = "ok"
    return genai_span


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(_SCOPE,),
    read_span=read_span,
    markers=(b"lk.function_tool", b"lk.agent_label"),
    attributes=frozenset({
        semconv.OPERATION_NAME, semconv.ERROR_TYPE, _AGENT, _TOOL_NAME, _CALL_ID, *_ARGUMENTS, *_RESULT, _HAS_FAILED, *_CALLS,
        *_CONTEXT,
    }),
    output_attributes=("lk.response.text", "lk.pii.response.text"),
    tool_definition_attributes=("lk.function_tools",),
)  # fmt: skip
