"""LlamaIndex's own exporter (llama-index-observability-otel): a span for each method that its dispatcher watches.

A tool's execution is the method ``acall`` or ``call`` of the tool, inside a workflow's step that says what was called, as the
repr of an event: cut where it is long, and of more than a few arguments only their number. What models were asked and
answered are events of the span, which a streamed answer loses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from collector.model.dialect import Dialect
from collector.model.from_span import compare_with_offered, context_span_of, genai_span_of, model_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.values import name_of, parse_any, parse_repr

NAME: Final = "llama_index"

_SCOPE: Final = "llamaindex.opentelemetry.tracer"
_STEP: Final = "llamaindex.step.input_event"
_SUMMARY: Final = "llamaindex.step.input_summary"
_ASKED: Final = "LLMChatStartEvent"
_ANSWERED: Final = "LLMChatEndEvent"
_MESSAGES: Final = "messages"
_OFFERED: Final = "additional_kwargs.tools"
_ROLE: Final = "response.message.role"
_BLOCKS: Final = "response.message.blocks"
_CALLS: Final = "response.message.additional_kwargs.tool_calls"
_AGENT: Final = re.compile(r"(?=\w*Agent)\w+\.run")
_TOOL: Final = re.compile(r"\w+\.a?call")
_CALL: Final = re.compile(
    r"ToolCall\(tool_name='(?P<name>[^']{1,256})', tool_kwargs=(?P<arguments>\{.*\}), tool_id='(?P<id>[^']{1,256})'\)",
    re.DOTALL,
)
_NAME: Final = re.compile(r"ToolCall\(tool_name='([^']{1,256})'")
_NUMBER: Final = re.compile(r"\{\d{1,9} keys\}")  # in place of the arguments


def read_span(span: Span) -> GenAISpan | None:
    """Reads agents, tools, and the requests to models whose messages are there."""
    if _TOOL.fullmatch(span.name) is not None:
        return _read_tool(span)
    if _AGENT.fullmatch(span.name) is not None:
        genai_span = context_span_of(span, Role.AGENT, NAME)
        genai_span.note(traced_calls="all")
        return genai_span
    return _read_model(span)


def _read_tool(span: Span) -> GenAISpan:
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    summary = span.attributes.get(_SUMMARY)
    if span.attributes.get(_STEP) != "ToolCall" or type(summary) is not str:
        return genai_span
    call = _CALL.fullmatch(summary)
    if call is None:
        cut = _NAME.match(summary)
        genai_span.name = None if cut is None else cut[1]
        return genai_span
    genai_span.name, genai_span.call_id = call["name"], call["id"]
    if _NUMBER.fullmatch(call["arguments"]) is None:
        genai_span.arguments = parse_repr(call["arguments"])
    return genai_span


def _read_model(span: Span) -> GenAISpan:
    asked = answered = None
    for event in span.events:
        if event.name == _ASKED:
            asked = event.attributes
        elif event.name == _ANSWERED:
            answered = event.attributes
    if asked is None and answered is None:
        return IGNORED
    messages = [_message_of(message) for message in _list_of((asked or answered or {}).get(_MESSAGES))]
    output = None if answered is None else _answer_of(answered)
    genai_span = model_span_of(span, NAME, output, messages)
    compare_with_offered(genai_span, None if asked is None else asked.get(_OFFERED))
    return genai_span


def _answer_of(attributes: Mapping[str, Any]) -> Any:
    answer = {"role": attributes.get(_ROLE), "blocks": parse_any(attributes.get(_BLOCKS))}
    return _message_of(answer | {"tool_calls": parse_any(attributes.get(_CALLS))})


def _message_of(message: Any) -> Any:
    """Returns a message in the usual words; its calls, which some models' clients put into blocks alone, too."""
    if not isinstance(message, Mapping):
        return message
    rest = {key: value for key, value in message.items() if key != "blocks"}
    return {**rest, "content": [_part_of(block) for block in _list_of(message.get("blocks"))]}


def _part_of(block: Any) -> Any:
    if not isinstance(block, Mapping):
        return block
    if block.get("block_type") != "tool_call":
        return {"type": block.get("block_type"), **block}
    call_id, name = name_of(block.get("tool_call_id")), name_of(block.get("tool_name"))
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": block.get("tool_kwargs")}


def _list_of(value: object) -> list[Any]:
    parsed = parse_any(value)
    return parsed if isinstance(parsed, list) else []


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(_SCOPE,),
    read_span=read_span,
    whole_scopes=(_SCOPE,),
)
