"""Vercel AI SDK's own telemetry: `ai` 4 to 6, and 7 with LegacyOpenTelemetry. (7's default is OpenTelemetry GenAI.)"""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.genai_span import IGNORED, Dialect, GenAISpan, Role, context_attributes, genai_span_of
from collector.model.span import Span
from collector.payloads.messages import may_contain_tool_calls, newest_tool_results, newest_user_input
from collector.payloads.values import name_of

NAME: Final = "ai_sdk"

_OPERATION: Final = "ai.operationId"
_FUNCTION: Final = "ai.telemetry.functionId"
_METADATA_PREFIX: Final = "ai.telemetry.metadata."
_CONVERSATION_IDS: Final = tuple(
    _METADATA_PREFIX + name for name in ("sessionId", "threadId", "conversationId", "chatId")
)
_TOOL_NAME: Final = "ai.toolCall.name"
_TOOL_ID: Final = "ai.toolCall.id"
_TOOL_ARGUMENTS: Final = "ai.toolCall.args"
_PROMPT: Final = "ai.prompt"
_PROMPT_MESSAGES: Final = "ai.prompt.messages"
_RESPONSE_ID: Final = "ai.response.id"
_RESPONSE_CALLS: Final = ("ai.response.toolCalls", "ai.result.toolCalls")  # the second until version 3.4

_AGENTS: Final = frozenset({"ai.generateText", "ai.streamText"})
_MODELS: Final = (".doGenerate", ".doStream")


def read_span(span: Span) -> GenAISpan | None:
    """What the span is by its ``ai.operationId``. Objects, embeddings and the like call no tools."""
    operation = span.attributes.get(_OPERATION)
    if operation == "ai.toolCall":
        return _read_tool(span)
    if type(operation) is not str:
        return None
    if operation in _AGENTS:
        return _read_agent(span)
    return _read_model(span) if operation.endswith(_MODELS) else IGNORED


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(_TOOL_NAME))
    genai_span.call_id = name_of(get(_TOOL_ID))
    genai_span.arguments = get(_TOOL_ARGUMENTS)
    genai_span.agent = name_of(get(_FUNCTION))
    return genai_span


def _read_agent(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.AGENT, NAME)
    genai_span.tracing = "complete"
    genai_span.name = name_of(get(_FUNCTION))
    genai_span.conversation_id = next((text for key in _CONVERSATION_IDS if (text := name_of(get(key)))), None)
    genai_span.user_input = get(_PROMPT)
    genai_span.attributes = context_attributes(span)
    return genai_span


def _read_model(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.MODEL, NAME)
    genai_span.response_id = name_of(get(_RESPONSE_ID))
    genai_span.agent = name_of(get(_FUNCTION))
    output = next((value for key in _RESPONSE_CALLS if (value := get(key))), None)
    if may_contain_tool_calls(output):
        genai_span.output = output
    messages = get(_PROMPT_MESSAGES)
    if messages:
        genai_span.user_input = newest_user_input(messages)
        genai_span.results = newest_tool_results(messages)
    return genai_span


DIALECT: Final = Dialect(
    name=NAME,
    keys=(_OPERATION,),
    read_span=read_span,
    markers=(b"ai.operationId",),
    attributes=frozenset({
        _FUNCTION, _TOOL_NAME, _TOOL_ID, _TOOL_ARGUMENTS, _PROMPT, _PROMPT_MESSAGES, _RESPONSE_ID, *_RESPONSE_CALLS,
        semconv.ERROR_TYPE,
    }),
    prefixes=(_METADATA_PREFIX,),
    output_attributes=("ai.response.text", "ai.result.text"),
    tool_definition_attributes=("ai.prompt.tools",),
)  # fmt: skip
