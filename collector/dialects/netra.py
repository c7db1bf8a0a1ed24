"""Netra (netra-sdk 1.2 for Python): functions under its decorators, and requests to models as its instrumentations record them.

A message that asks for a call has it as its text. The arguments of a function are written as texts, whatever they were.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, genai_span_of, model_span_of, set_raised
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.values import UNREADABLE, name_of, parse_any

NAME: Final = "netra"

_TYPE: Final = "netra.span.type"
_ENTITY: Final = "netra.entity.type"
_AGENT_NAME: Final = "netra.agent.name"
_CLIENT: Final = "netra.instrumentation.name"
_INPUT: Final = "input"
_MESSAGES: Final = ("gen_ai.prompt.", "gen_ai.completion.")
_FIRST_PROMPT: Final = "gen_ai.prompt.0.role"

_MESSAGE_KEY: Final = re.compile(r"gen_ai\.(prompt|completion)\.(\d{1,4})\.(role|content|tool_call_id|finish_reason)$")
_OF_ANOTHER_TYPE: Final = re.compile(r"-?[\d.]|-?inf$|nan$|None$|True$|False$|[\[{]")
"""Texts that may have been numbers, constants, lists or objects."""


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by its type, where it is a function's, or as a request that has messages."""
    if _ENTITY not in span.attributes:
        is_request = _CLIENT in span.attributes and _FIRST_PROMPT in span.attributes
        return _read_model(span) if is_request else None
    kind = span.attributes.get(_TYPE)
    if kind == "TOOL":
        return _read_tool(span)
    if kind == "AGENT":
        genai_span = context_span_of(span, Role.AGENT, NAME, span.attributes.get(_INPUT))
        genai_span.name = name_of(span.attributes.get(_AGENT_NAME)) or name_of(span.name)
        return genai_span
    return IGNORED if span.parent_span_id else context_span_of(span, Role.OTHER, NAME, span.attributes.get(_INPUT))


def _read_tool(span: Span) -> GenAISpan:
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name, genai_span.agent = name_of(span.name), name_of(span.attributes.get(_AGENT_NAME))
    arguments = parse_any(span.attributes.get(_INPUT))
    if isinstance(arguments, Mapping):
        is_typed = all(type(value) is not str or _OF_ANOTHER_TYPE.match(value) is None for value in arguments.values())
        genai_span.arguments = arguments if is_typed else UNREADABLE  # the model's request has the types
    set_raised(genai_span, span)
    return genai_span


def _read_model(span: Span) -> GenAISpan:
    messages: dict[str, dict[int, dict[str, Any]]] = {"prompt": {}, "completion": {}}
    for key, value in span.attributes.items():
        if (match := _MESSAGE_KEY.match(key)) is not None:
            messages[match[1]].setdefault(int(match[2]), {})[match[3]] = value
    given = [_message(message) for _, message in sorted(messages["prompt"].items())]
    answers = [_message(message) for _, message in sorted(messages["completion"].items())]
    genai_span = model_span_of(span, NAME, [one for one in answers if "tool_calls" in one] or None, given)
    genai_span.has_output = any("content" in one for one in messages["completion"].values())
    reasons = [one["finish_reason"] for one in answers if "finish_reason" in one]
    if reasons:
        genai_span.finish = "tool_calls" if "tool_calls" in reasons else "other"
    return genai_span


def _message(message: dict[str, Any]) -> dict[str, Any]:
    """Returns the message; one whose text is a call, which only the id of that tells, as a model's request."""
    called = parse_any(message.get("content")) if "tool_call_id" in message and message.get("role") != "tool" else None
    if not isinstance(called, Mapping) or "name" not in called:
        return message
    function = {"name": called["name"], "arguments": called.get("arguments")}
    return {"role": "assistant", "tool_calls": [{"id": message["tool_call_id"], "function": function}]}


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    keys=(_TYPE, _CLIENT),
    read_span=read_span,
    markers=(b"netra.span.type", b"netra.instrumentation.name"),
    attributes=frozenset({_TYPE, _ENTITY, _AGENT_NAME, _CLIENT, _INPUT, semconv.ERROR_TYPE}),
    prefixes=_MESSAGES,
)  # fmt: skip
