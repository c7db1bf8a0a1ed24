"""Spring AI (1.0 to 2.0) through Micrometer: observations named ``framework`` around requests in the GenAI conventions.

The span of a tool that threw is a success. Its result is the exception's text, while the results of tools that returned are
JSON, which is all that tells them apart; without content, nothing does but what the model was told. An application may
convert results itself, and leave texts as they are: where no text of a run was made JSON, one that does not read like a
failure may be a result. Since 2.0 a text that begins with JSON counts as such.
A run that asked for a tool which nobody has ends with an exception, after the calls before it in the same answer.
A span that failed without a result is of a call that Java's reflection may have refused, unless the exception is of a tool.
"""

from __future__ import annotations

import re
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, genai_span_of, set_words_of_failure
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.refusals import MAX_CHARS, Refusal, find_refusal, settled_by_parameters
from collector.payloads.values import name_of, parse_json

NAME: Final = "spring_ai"

_KIND: Final = "spring.ai.kind"
_TOOL_NAME: Final = "spring.ai.tool.definition.name"
_ARGUMENTS: Final = "spring.ai.tool.call.arguments"
_CALL_ID: Final = "spring.ai.tool.call.id"  # since 2.0
_PARAMETERS: Final = "spring.ai.tool.definition.schema"
_RESULT: Final = "spring.ai.tool.call.result"
_CONVERSATION: Final = "spring.ai.chat.client.conversation.id"
_IS_STREAM: Final = "spring.ai.chat.client.stream"  # of one that streams, calls may be in traces of their own
_OFFERED: Final = "spring.ai.chat.client.tool.names"
_UNKNOWN_TOOL: Final = "No ToolCallback found for tool name: "
_OF_TOOL: Final = ".ToolExecutionException"
_OF_SERVER: Final = re.compile(
    r"Error calling tool: \[TextContent\[(?:\w{1,20}=null, ){0,3}text=(.*?)(?:, meta=null)?\]\]", re.DOTALL
)
"""Holds the words of an MCP server about a call that failed."""
_BEGINS_WITH_JSON: Final = re.compile(r"\s*(?:[{\[\"]|(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)\s)")


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its ``spring.ai.kind``; model requests have none, and follow the conventions."""
    kind = span.attributes.get(_KIND)
    if kind == "tool_call":
        return _read_tool(span)
    if kind == "chat_client":
        conversation_id = name_of(span.attributes.get(_CONVERSATION))
        client = context_span_of(span, Role.AGENT, NAME, conversation_id=conversation_id)
        if client.status == "error" and span.attributes.get(_IS_STREAM) == "false" and _asked_for_unknown_tool(span):
            client.refusal = Refusal(is_of_rest=True)
        return client
    return IGNORED if type(kind) is str else None


def _asked_for_unknown_tool(span: Span) -> bool:
    words: list[object] = [span.status_message]
    words += [event.attributes.get(semconv.EXCEPTION_MESSAGE) for event in span.events]
    return any(type(text) is str and _UNKNOWN_TOOL in text for text in words)


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(_TOOL_NAME)) or name_of(span.name.removeprefix("tool_call "))
    genai_span.call_id = name_of(get(semconv.TOOL_CALL_ID)) or name_of(get(_CALL_ID))
    genai_span.arguments = get(_ARGUMENTS)
    result = get(_RESULT)
    of_server = _OF_SERVER.fullmatch(result, 0, MAX_CHARS) if type(result) is str else None
    if of_server is not None:
        genai_span.status, genai_span.refusal = "error", find_refusal(of_server[1])
    elif type(result) is str and result and not _is_json(result, _CALL_ID in span.attributes):
        set_words_of_failure(genai_span, result)
    elif type(result) is str and result.startswith('"'):
        genai_span.note(outcome="converted")
    elif genai_span.status == "error" and result is None and not (genai_span.error_type or "").endswith(_OF_TOOL):
        genai_span.refusal = genai_span.refusal or Refusal(is_sure=False, is_of_arguments=True)
    elif result is None and genai_span.arguments is None:  # where arguments are recorded, an empty result is left out
        genai_span.note(outcome="told")
        genai_span.status = "unset" if genai_span.status == "ok" else genai_span.status
    genai_span.refusal = settled_by_parameters(genai_span.refusal, genai_span.arguments, get(_PARAMETERS))
    is_told = type(result) is str and genai_span.status == "error" and genai_span.refusal is None
    if is_told and _is_misfit(genai_span.arguments, get(_PARAMETERS)):
        genai_span.refusal = Refusal(is_sure=False)
    return genai_span


def _is_misfit(arguments: object, parameters: object) -> bool:
    """Whether arguments do not fit the tool: Java may have refused to convert them, and may have made a number of a text."""
    return settled_by_parameters(Refusal(is_sure=False, is_of_arguments=True), arguments, parameters) == Refusal()


def _is_json(result: str, may_go_on: bool) -> bool:
    """Whether a result is JSON or, if it ``may_go_on``, a text that begins so."""
    # `parse_json` returns None for JSON's null as well.
    is_whole = parse_json(result) is not None or result == "null"
    return is_whole or (may_go_on and _BEGINS_WITH_JSON.match(result) is not None)


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    keys=(_KIND,),
    read_span=read_span,
    markers=(b"spring.ai.kind",),
    attributes=frozenset(
        {
            _TOOL_NAME,
            _ARGUMENTS,
            _CALL_ID,
            _PARAMETERS,
            _RESULT,
            _CONVERSATION,
            _IS_STREAM,
            _OFFERED,
            semconv.TOOL_CALL_ID,
            semconv.ERROR_TYPE,
        }
    ),
)
