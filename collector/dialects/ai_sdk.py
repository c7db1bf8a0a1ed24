"""Vercel AI SDK's own telemetry: `ai` 4 to 6, and 7 with LegacyOpenTelemetry. (7's default is OpenTelemetry GenAI.)"""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, doubt_outcome, genai_span_of, model_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.tool_results import is_mcp_failure, tool_result
from collector.payloads.values import first_name, first_value, name_of

NAME: Final = "ai_sdk"

_OPERATION: Final = "ai.operationId"
_OPERATION_NAME: Final = "operation.name"  # the same, perhaps with the function's id; until version 3.2 the only one
_FUNCTION: Final = "ai.telemetry.functionId"
_METADATA_PREFIX: Final = "ai.telemetry.metadata."
_CONVERSATION_IDS: Final = tuple(
    _METADATA_PREFIX + name for name in ("sessionId", "threadId", "conversationId", "chatId")
)
_TOOL_NAME: Final = "ai.toolCall.name"
_TOOL_ID: Final = "ai.toolCall.id"
_TOOL_ARGUMENTS: Final = "ai.toolCall.args"
_TOOL_RESULT: Final = "ai.toolCall.result"
_PROMPT: Final = "ai.prompt"
_PROMPT_MESSAGES: Final = "ai.prompt.messages"
_RESPONSE_ID: Final = "ai.response.id"
# The second until version 3.4. OpenLLMetry moves what the SDK wrote to the conventions' names.
_RESPONSE_CALLS: Final = ("ai.response.toolCalls", "ai.result.toolCalls", semconv.OUTPUT_MESSAGES)

_MODEL_IDS: Final = ("ai.model.id", "gen_ai.request.model")
"""On the span of a run, but for that of Workflow's ``DurableAgent`` (@workflow/ai 5.0): there the span of a call that failed
ends well, and lacks a result."""
_DURABLE: Final = ('{"type":"text",', '{"type":"json",')
"""How what a tool returned begins there: of one that failed nothing is recorded."""
_STREAM: Final = "ai.streamText"
_AGENTS: Final = frozenset({"ai.generateText", _STREAM})
_MODELS: Final = (".doGenerate", ".doStream")


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its ``ai.operationId``, else its ``operation.name``. Objects, embeddings and so on call none."""
    operation = span.attributes.get(_OPERATION)
    if operation is None:
        operation = name_of(span.attributes.get(_OPERATION_NAME))
        operation = operation.partition(" ")[0] if operation is not None and operation.startswith("ai.") else None
    if operation == "ai.toolCall":
        return _read_tool(span)
    if type(operation) is not str:
        return None
    if operation in _AGENTS:
        return _read_agent(span, operation)
    return _read_model(span) if operation.endswith(_MODELS) else IGNORED


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(_TOOL_NAME))
    genai_span.call_id = name_of(get(_TOOL_ID))
    genai_span.arguments = get(_TOOL_ARGUMENTS)
    genai_span.agent = name_of(get(_FUNCTION))
    result = get(_TOOL_RESULT)
    if result is None and genai_span.arguments is not None:
        doubt_outcome(genai_span)  # a stream that was aborted ends the spans of its calls well
    if type(result) is str and genai_span.status == "unset" and result.startswith(_DURABLE):
        genai_span.status = "ok"
    if is_mcp_failure(result):  # to the SDK its client's call of the server went well
        genai_span.status, genai_span.refusal = "error", tool_result(None, result).refusal
    return genai_span


def _read_agent(span: Span, operation: str) -> GenAISpan:
    get = span.attributes.get
    conversation_id = first_name(span.attributes, _CONVERSATION_IDS)
    genai_span = context_span_of(span, Role.AGENT, NAME, get(_PROMPT, get(semconv.INPUT_MESSAGES)), conversation_id)
    genai_span.note(traced_calls="all")
    if operation == _STREAM and all(key not in span.attributes for key in _MODEL_IDS):
        genai_span.note(outcome="lossy")
    genai_span.name = name_of(get(_FUNCTION))
    return genai_span


def _read_model(span: Span) -> GenAISpan:
    get = span.attributes.get
    output = first_value(span.attributes, _RESPONSE_CALLS)
    genai_span = model_span_of(span, NAME, output, get(_PROMPT_MESSAGES, get(semconv.INPUT_MESSAGES)))
    genai_span.response_id = name_of(get(_RESPONSE_ID))
    genai_span.agent = name_of(get(_FUNCTION))
    return genai_span


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    keys=(_OPERATION, _OPERATION_NAME),
    read_span=read_span,
    markers=(b"ai.operationId", b"ai.result."),
    attributes=frozenset({
        _FUNCTION, _TOOL_NAME, _TOOL_ID, _TOOL_ARGUMENTS, _TOOL_RESULT, _PROMPT, _PROMPT_MESSAGES, _RESPONSE_ID,
        *_RESPONSE_CALLS, *_MODEL_IDS, semconv.INPUT_MESSAGES, semconv.ERROR_TYPE,
    }),
    prefixes=(_METADATA_PREFIX,),
    output_attributes=("ai.response.text", "ai.result.text"),
    tool_definition_attributes=("ai.prompt.tools",),
)  # fmt: skip
