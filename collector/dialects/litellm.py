"""LiteLLM's `otel` callback (litellm 1.7x+): it writes each request to its caller's span, overwriting the previous one.

Only a child span with the provider's raw messages, as Python reprs, survives of every request; that one is read.
"""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import model_span_of
from collector.model.genai_span import GenAISpan
from collector.model.span import Span
from collector.payloads.values import first_name, first_value, parse_any

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
)
_OUTPUTS: Final = tuple(
    f"llm.{provider}.{field}" for provider in _PROVIDERS for field in ("choices", "content", "candidates")
)
_INPUTS: Final = tuple(f"llm.{provider}.messages" for provider in _PROVIDERS)
_RESPONSE_IDS: Final = tuple(f"llm.{provider}.id" for provider in _PROVIDERS)


def read_span(span: Span) -> GenAISpan | None:
    """Reads a raw request; the caller's span, which it overwrites, is left to the GenAI conventions."""
    if span.name != _RAW_SPAN:
        return None
    messages = parse_any(first_value(span.attributes, _INPUTS))
    genai_span = model_span_of(span, NAME, first_value(span.attributes, _OUTPUTS), messages)
    genai_span.response_id = first_name(span.attributes, _RESPONSE_IDS)
    return genai_span


DIALECT: Final = Dialect(
    name=NAME,
    keys=(),
    scopes=(_SCOPE,),
    whole_scopes=(_SCOPE,),
    read_span=read_span,
    attributes=frozenset({*_OUTPUTS, *_INPUTS, *_RESPONSE_IDS, semconv.ERROR_TYPE}),
    output_attributes=_OUTPUTS,
    tool_definition_attributes=tuple(f"llm.{provider}.tools" for provider in _PROVIDERS),
)
