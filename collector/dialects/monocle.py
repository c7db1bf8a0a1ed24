"""Monocle (monocle_apptrace 0.6 to 0.8): spans typed by ``span.type``, what they are about in numbered entities, inputs and
outputs in events.

Of an answer that asks for several tools some of its instrumentations record the first call only, and of one with a text
only the text. So an answer counts as a list of calls where it is a list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, doubt_outcome, doubt_start, genai_span_of, model_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.span_names import is_turn_of_agent
from collector.payloads.tool_results import tool_result
from collector.payloads.values import UNREADABLE, name_of, parse_any, parse_repr

NAME: Final = "monocle"

_VERSION: Final = "monocle_apptrace.version"
_TYPE: Final = "span.type"
_FIRST, _SECOND = "entity.1.name", "entity.2.name"
_SECOND_TYPE: Final = "entity.2.type"
_INPUTS, _OUTPUTS, _METADATA = "data.input", "data.output", "metadata"
_INPUT: Final = "input"
_RESPONSE: Final = "response"
_FINISH_TYPE: Final = "finish_type"
_TURNS: Final = ("agentic.turn", "agentic.request")


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its ``span.type``. What a client sends inside a recorded request is left out."""
    kind = span.attributes.get(_TYPE)
    if kind in ("agentic.tool.invocation", "agentic.mcp.invocation"):
        return _read_tool(span)
    if kind in ("inference", "inference.framework"):
        return _read_model(span)
    if kind in _TURNS:
        return context_span_of(span, Role.AGENT, NAME, _user_input(span))
    if kind == "agentic.invocation" and not is_turn_of_agent(span.name):
        genai_span = context_span_of(span, Role.AGENT, NAME, _user_input(span))
        genai_span.name = name_of(span.attributes.get(_FIRST))
        return genai_span
    return IGNORED


def _value(span: Span, event_name: str, key: str) -> Any:
    return next((event.attributes.get(key) for event in span.events if event.name == event_name), None)


def _user_input(span: Span) -> object:
    """Returns the input; one text is in a list of its own."""
    value = _value(span, _INPUTS, _INPUT)
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(_FIRST))
    if str(get(_SECOND_TYPE)).startswith("agent"):
        genai_span.agent = name_of(get(_SECOND))
    recorded = _value(span, _INPUTS, _INPUT)
    if recorded is not None:
        arguments = parse_any(recorded)
        if isinstance(arguments, str):
            arguments = parse_repr(arguments)
        # A list holds what was passed by position, or words around it.
        genai_span.arguments = arguments if isinstance(arguments, Mapping) else UNREADABLE
    response = _value(span, _OUTPUTS, _RESPONSE)
    result = tool_result(None, response)
    genai_span.refusal = genai_span.refusal or result.refusal
    if result.failed:
        genai_span.status = "error"
    elif result.is_open:
        doubt_outcome(genai_span)
    elif genai_span.status == "error" and response is None and not span.status_message:
        doubt_start(genai_span)  # no word of why: OpenAI Agents check the arguments inside
    return genai_span


def _read_model(span: Span) -> GenAISpan:
    answer = parse_any(_value(span, _OUTPUTS, _RESPONSE))
    genai_span = model_span_of(span, NAME, _calls_in(answer) or None, _messages(_value(span, _INPUTS, _INPUT)))
    genai_span.has_output = bool(answer)
    if _value(span, _METADATA, _FINISH_TYPE) == "tool_call":
        genai_span.finish = "tool_calls"
    return genai_span


def _calls_in(answer: object) -> list[dict[str, Any]]:
    """Returns the calls of an answer that lists them, ``{"tools": [{"tool_id": ..., "tool_name": ...}]}``."""
    listed = next(iter(answer.values()), None) if isinstance(answer, Mapping) and len(answer) == 1 else None
    calls = listed if isinstance(listed, list) else []
    return [
        {
            "type": "tool_call",
            "id": call.get("tool_id"),
            "name": call["tool_name"],
            "arguments": call.get("tool_arguments") or None,
        }
        for call in calls
        if isinstance(call, Mapping) and name_of(call.get("tool_name"))
    ]


def _messages(recorded: object) -> list[dict[str, Any]] | None:
    """Returns messages that are recorded as ``{"<role>": <content>}``, each a text."""
    if not isinstance(recorded, list):
        return None
    parsed = (parse_any(message) for message in recorded)
    return [
        {"role": role, "content": content}
        for message in parsed
        if isinstance(message, Mapping)
        for role, content in message.items()
    ]


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    keys=(_VERSION,),
    read_span=read_span,
    markers=(b"monocle_apptrace.version",),
    attributes=frozenset({
        _TYPE, _FIRST, _SECOND, _SECOND_TYPE, _INPUT, _RESPONSE, _FINISH_TYPE, semconv.ERROR_TYPE,
    }),
    output_attributes=(_RESPONSE,),
)  # fmt: skip
