"""Qwen Code (0.24), the command-line agent: the conventions, with spans of its own inside each call.

A call that ran has the span of its execution inside. What stopped one that did not is told in a word beside its status, and a
call of a tool that it does not have, or whose arguments do not fit, leaves no span.
"""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import genai_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.refusals import BEGAN, Refusal
from collector.payloads.values import is_true, name_of

NAME: Final = "qwen_code"

_SCOPE: Final = "qwen-code"
_CALL: Final = "qwen-code.tool"
_EXECUTION: Final = "qwen-code.tool.execution"
_REQUEST: Final = "qwen-code.llm_request"
_CONTEXT: Final = "llm_request.context"
_ASIDE: Final = "standalone"
"""Of a request that is none of the agent's: for a title, or whether a call may run."""
_FAILURE: Final = "tool.failure_kind"
_DENIALS: Final = (
    "background_agent_denied", "invocation_guard_denied", "non_interactive_denied", "permission_denied",
    "permission_hook_denied", "plan_mode_blocked", "pre_hook_blocked",
)  # fmt: skip
_SUCCESS: Final = "success"


def read_span(span: Span) -> GenAISpan | None:
    """Reads calls, and what of them is inside; None leaves agents and requests to the GenAI conventions."""
    if span.name == _CALL:
        return _read_call(span)
    if span.name == _EXECUTION:
        return _read_execution(span)
    if semconv.OPERATION_NAME not in span.attributes:
        return IGNORED
    is_aside = span.name == _REQUEST and span.attributes.get(_CONTEXT) == _ASIDE
    return IGNORED if is_aside else None


def _read_call(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name, genai_span.call_id = name_of(get(semconv.TOOL_NAME)), name_of(get(semconv.TOOL_CALL_ID))
    genai_span.arguments = get(semconv.TOOL_CALL_ARGUMENTS)
    genai_span.agent = name_of(get(semconv.AGENT_NAME))
    genai_span.conversation_id = name_of(get(semconv.SESSION_ID))
    kind = get(_FAILURE)
    if kind is not None or genai_span.status == "error":
        # One that failed, or was cancelled, may have done so before it began: unless its execution is inside.
        genai_span.status, genai_span.refusal = "error", Refusal(is_sure=kind in _DENIALS)
    return genai_span


def _read_execution(span: Span) -> GenAISpan:
    """Reads the part of a call that says how it ended: without a name, it belongs to the span that encloses it."""
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    if genai_span.status == "unset" and is_true(span.attributes.get(_SUCCESS)):
        genai_span.status = "ok"
    genai_span.refusal = BEGAN
    return genai_span


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(_SCOPE,),
    read_span=read_span,
    whole_scopes=(_SCOPE,),
    attributes=frozenset({
        semconv.TOOL_NAME, semconv.TOOL_CALL_ID, semconv.TOOL_CALL_ARGUMENTS, semconv.AGENT_NAME, semconv.SESSION_ID,
        _FAILURE, _SUCCESS, _CONTEXT, semconv.OPERATION_NAME,
    }),
)  # fmt: skip
