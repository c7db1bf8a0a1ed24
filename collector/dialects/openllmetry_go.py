"""OpenLLMetry for Go: requests to models as an application logs them, with messages in indexed attributes, and no tools.

A workflow's span is as in the other languages. Results have no ids of their calls: they are in the order of these.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from collector.model.dialect import Dialect
from collector.model.from_span import model_span_of
from collector.model.genai_span import GenAISpan
from collector.model.span import Span
from collector.payloads.values import first_name

NAME: Final = "openllmetry_go"

_PROMPTS: Final = "llm.prompts."
_COMPLETIONS: Final = "llm.completions."
_FIRSTS: Final = (_COMPLETIONS + "0.role", _PROMPTS + "0.role")
_FUNCTIONS: Final = "llm.request.functions."
_ASSOCIATION: Final = "traceloop.association.properties."
_CONVERSATION_IDS: Final = tuple(_ASSOCIATION + name for name in ("thread_id", "session_id", "conversation_id"))
_KEY: Final = re.compile(r"(\d{1,4})\.(?:(role|content)|tool_calls\.(\d{1,4})\.(id|name|arguments))$")


def read_span(span: Span) -> GenAISpan:
    """Reads a request: of those that failed before an answer the span is never ended."""
    answers = _messages(span.attributes, _COMPLETIONS)
    calls = [call for answer in answers for call in answer.get("tool_calls", ())]
    text = next((answer.get("content") for answer in answers), None)
    genai_span = model_span_of(span, NAME, calls or text, _messages(span.attributes, _PROMPTS))
    genai_span.conversation_id = first_name(span.attributes, _CONVERSATION_IDS)
    return genai_span


def _messages(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    messages: dict[int, dict[str, Any]] = {}
    calls: dict[tuple[int, int], dict[str, Any]] = {}
    for key, value in attributes.items():
        match = _KEY.match(key, len(prefix)) if key.startswith(prefix) else None
        if match is None:
            continue
        message = messages.setdefault(int(match[1]), {})
        if match[2] is not None:
            message[match[2]] = value
        else:
            calls.setdefault((int(match[1]), int(match[3])), {"type": "tool_call"})[match[4]] = value
    for (index, _), call in sorted(calls.items()):
        messages[index].setdefault("tool_calls", []).append(call)
    return [messages[index] for index in sorted(messages)]


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    keys=_FIRSTS,
    read_span=read_span,
    markers=(b"llm.prompts.0.",),
    prefixes=(_PROMPTS, _COMPLETIONS, _ASSOCIATION),
    output_attributes=(_COMPLETIONS,),
    tool_definition_attributes=(_FUNCTIONS,),
)
