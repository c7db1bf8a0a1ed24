"""Gemini CLI (0.2 to 0.61): one trace for each request to the model, and one for each group of calls it asked for.

Only ``gen_ai.conversation.id`` joins them, so what the agent did is known of a whole conversation; each trace alone is a
part of a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, genai_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import LogRecord, Span
from collector.payloads.tool_arguments import tool_arguments
from collector.payloads.tool_results import tool_result
from collector.payloads.user_input import newest_user_input
from collector.payloads.values import name_of, parse_any

NAME: Final = "gemini_cli"

_SCOPE: Final = "gemini-cli"
_CALL_ID: Final = "gen_ai.tool.call_id"


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its ``gen_ai.operation.name``, whose values are the CLI's own."""
    operation = span.attributes.get(semconv.OPERATION_NAME)
    if operation == "tool_call":
        return _read_tool(span)
    if operation in ("llm_call", "schedule_tool_calls", "agent_call", "user_prompt"):
        return _read_part(span)
    return IGNORED if type(operation) is str else None


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(semconv.TOOL_NAME))
    genai_span.call_id = name_of(get(_CALL_ID)) or name_of(get(semconv.TOOL_CALL_ID))
    genai_span.arguments = tool_arguments(get(semconv.INPUT_MESSAGES))
    genai_span.conversation_id = name_of(get(semconv.CONVERSATION_ID))
    result = get(semconv.OUTPUT_MESSAGES)
    if tool_result(None, result, is_message=True).failed:
        genai_span.status = "error"
    elif genai_span.status != "error" and not isinstance(parse_any(result), Mapping):
        genai_span.status = "unset"
        genai_span.note(outcome="told")  # the span of a tool that told of a failure ends well
    return genai_span


def _read_part(span: Span) -> GenAISpan:
    """Reads the span around one request or one group of calls: a part of the agent's run, if it is a trace of its own.

    What a request asked for is not taken from it: the calls are in the next trace.
    """
    get = span.attributes.get
    if span.parent_span_id:
        return IGNORED
    is_request = get(semconv.OPERATION_NAME) != "schedule_tool_calls"
    user_input = newest_user_input(get(semconv.INPUT_MESSAGES)) if is_request else None
    genai_span = context_span_of(span, Role.AGENT, NAME, user_input, name_of(get(semconv.CONVERSATION_ID)))
    genai_span.name = name_of(get(semconv.AGENT_NAME))
    genai_span.note(extent="apart")
    return genai_span


def read_log(record: LogRecord) -> GenAISpan | None:
    """Ignores the CLI's events, which repeat its spans; None for the events of others."""
    return IGNORED if record.scope.name == _SCOPE else None


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(_SCOPE,),
    read_span=read_span,
    read_log=read_log,
    attributes=frozenset({
        semconv.OPERATION_NAME, semconv.AGENT_NAME, semconv.CONVERSATION_ID, semconv.INPUT_MESSAGES, semconv.OUTPUT_MESSAGES,
        semconv.TOOL_NAME, semconv.TOOL_CALL_ID, _CALL_ID,
    }),
)  # fmt: skip
