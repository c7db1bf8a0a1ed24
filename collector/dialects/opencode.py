"""OpenCode (1.3 to 1.18): the spans of its own loop, around those of Vercel's AI SDK where `experimental.openTelemetry` is on.

The SDK has a run for each request, since OpenCode calls it once a step; its own span around all steps is the run. Each call
that it makes has its own span, which knows neither arguments nor results, and that of the SDK.
"""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import AI_SDK, context_span_of, genai_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.refusals import BEGAN, Refusal
from collector.payloads.values import name_of

NAME: Final = "opencode"

_SCOPE: Final = "opencode"
_RUN: Final = "SessionPrompt.run"
_CALL: Final = "Tool.execute"
_TOOL_NAME: Final = "tool.name"
_CALL_ID: Final = "tool.call_id"
_STAND_IN: Final = "invalid"
"""Its tool that answers calls which cannot be made: the SDK's span tells of which tool."""
_REFUSALS: Final = (
    "PermissionRejectedError", "PermissionDeniedError", "PermissionCorrectedError",  # by a human, a rule, a human's advice
    "ToolInvalidArgumentsError",
)  # fmt: skip
"""Classes of what it throws in place of what the tool does."""
_OPERATION: Final = "ai.operationId"
_SDK_CALL: Final = "ai.toolCall"
_SDK_RUNS: Final = ("ai.streamText", "ai.generateText")
_SDK_REQUESTS: Final = (".doStream", ".doGenerate")


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its name, or by the SDK's operation, whose spans the SDK's dialect reads further."""
    if span.name == _RUN:
        return _read_run(span)
    if span.name == _CALL:
        return _read_call(span)
    operation = span.attributes.get(_OPERATION)
    if operation == _SDK_CALL:
        call = _of_sdk(span, Role.TOOL)
        if call.status == "error" and call.refusal is None:
            # A plugin's hook may have thrown before it began, and it has no span of its own then.
            call.refusal = Refusal(is_sure=False)
        return call
    if type(operation) is str and operation.endswith(_SDK_REQUESTS):
        return _of_sdk(span, Role.MODEL)
    is_of_others = semconv.OPERATION_NAME in span.attributes or (operation is not None and operation not in _SDK_RUNS)
    return None if is_of_others else IGNORED


def _read_run(span: Span) -> GenAISpan:
    genai_span = context_span_of(span, Role.AGENT, NAME)
    genai_span.name = NAME
    genai_span.note(traced_calls="all")
    return genai_span


def _read_call(span: Span) -> GenAISpan:
    get = span.attributes.get
    if get(_TOOL_NAME) == _STAND_IN:
        return IGNORED
    genai_span = _of_run(span, Role.TOOL)
    genai_span.name = name_of(get(_TOOL_NAME))
    genai_span.call_id = name_of(get(_CALL_ID))
    genai_span.refusal = genai_span.refusal or BEGAN
    return genai_span


def _of_sdk(span: Span, role: Role) -> GenAISpan:
    """Reads what the SDK's dialect does not. The tracer is OpenCode's, and the record another than that of OpenCode."""
    genai_span = _of_run(span, role)
    genai_span.scope = AI_SDK[0]
    return genai_span


def _of_run(span: Span, role: Role) -> GenAISpan:
    genai_span = genai_span_of(span, role, NAME)
    genai_span.agent = NAME
    genai_span.conversation_id = name_of(span.attributes.get(semconv.SESSION_ID))
    if genai_span.error_type in _REFUSALS:
        genai_span.refusal = Refusal()
    return genai_span


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(_SCOPE,),
    read_span=read_span,
    whole_scopes=(_SCOPE,),
    attributes=frozenset({_TOOL_NAME, _CALL_ID, _OPERATION, semconv.SESSION_ID, semconv.OPERATION_NAME}),
)
