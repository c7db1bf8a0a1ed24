"""LiteLLM's `otel` callback (litellm 1.7x+): it writes each request to its caller's span, overwriting the previous one.

A child span with the provider's raw messages, as Python reprs, survives of every request. The proxy also has a span of its own
around that (1.10x), which is all there is where the newest conventions are asked for, and of routes whose provider it forgets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import model_span_of
from collector.model.genai_span import GenAISpan
from collector.model.span import Span
from collector.payloads.values import first_name, first_value, name_of, parse_any

NAME: Final = "litellm"

_SCOPE: Final = "litellm"
_RAW_SPAN: Final = "raw_gen_ai_request"
_PROVIDERS: Final = (
    "openai",
    "azure",
    "anthropic",
    "bedrock",
    "gemini",
    "vertex_ai",
    "mistral",
    "groq",
    "ollama",
    "openrouter",
    "None",  # of the routes /v1/responses and /v1/messages, whatever the provider is
)
_OUTPUTS: Final = tuple(
    f"llm.{provider}.{field}" for provider in _PROVIDERS for field in ("choices", "content", "candidates", "output")
)
_INPUTS: Final = tuple(f"llm.{provider}.messages" for provider in _PROVIDERS)
_RESPONSE_IDS: Final = tuple(f"llm.{provider}.id" for provider in _PROVIDERS)
_REQUEST_TYPE: Final = "llm.request.type"
_REQUESTS: Final = ("completion", "responses", "anthropic_messages")
"""With which the type of a request to a model ends; an asynchronous one begins with an `a`, and may be all that is recorded."""
_CALL_KEY: Final = re.compile(r"gen_ai\.completion\.(\d{1,4})\.function_call\.(name|arguments)$")
_IN_MESSAGES: Final = '"tool_call"'


def read_span(span: Span) -> GenAISpan | None:
    """Reads a raw request, or the span around it; the caller's span, which it overwrites, is left to the GenAI conventions."""
    if span.name != _RAW_SPAN:
        return _read_request(span)
    messages = parse_any(first_value(span.attributes, _INPUTS))
    genai_span = model_span_of(span, NAME, first_value(span.attributes, _OUTPUTS), messages)
    genai_span.response_id = first_name(span.attributes, _RESPONSE_IDS)
    return genai_span


def _read_request(span: Span) -> GenAISpan | None:
    """Reads the span of a request, if messages are in it as the conventions have them: but for the calls of an answer, which
    are in attributes of their own, without ids, unless the request was to /v1/responses.
    """
    get = span.attributes.get
    kind, output = get(_REQUEST_TYPE), get(semconv.OUTPUT_MESSAGES)
    if type(kind) is not str or not kind.endswith(_REQUESTS) or semconv.OPERATION_NAME not in span.attributes:
        return None
    if type(output) is not str or _IN_MESSAGES not in output:
        output = _calls_of(span.attributes) or output
    genai_span = model_span_of(span, NAME, output, get(semconv.INPUT_MESSAGES))
    genai_span.response_id = name_of(get(semconv.RESPONSE_ID))
    return genai_span


def _calls_of(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    calls: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        match = _CALL_KEY.match(key)
        if match is not None:
            calls.setdefault(int(match[1]), {"type": "tool_call", "arguments": ""})[match[2]] = value
    return [calls[index] for index in sorted(calls)]


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(_SCOPE,),
    whole_scopes=(_SCOPE,),
    read_span=read_span,
    attributes=frozenset(
        {
            *_OUTPUTS,
            *_INPUTS,
            *_RESPONSE_IDS,
            semconv.ERROR_TYPE,
            _REQUEST_TYPE,
            semconv.OPERATION_NAME,
            semconv.RESPONSE_ID,
            semconv.INPUT_MESSAGES,
            semconv.OUTPUT_MESSAGES,
        }
    ),
    output_attributes=_OUTPUTS,
    tool_definition_attributes=tuple(f"llm.{provider}.tools" for provider in _PROVIDERS),
)
