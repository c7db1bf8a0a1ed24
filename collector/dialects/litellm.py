"""LiteLLM's `otel` callback (litellm 1.7x+): it writes each request onto its caller's span, over the one before.

What is left of every request is a child span with the provider's raw messages as Python reprs, and that is read.
"""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.genai_span import Dialect, GenAISpan, Role, genai_span_of
from collector.model.span import Span
from collector.payloads.messages import may_contain_tool_calls, newest_tool_results, newest_user_input
from collector.payloads.values import name_of, parse_any

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
    """A raw request; the caller's span, overwritten by it, is left to the GenAI conventions."""
    if span.name != _RAW_SPAN:
        return None
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.MODEL, NAME)
    genai_span.response_id = next((text for key in _RESPONSE_IDS if (text := name_of(get(key)))), None)
    output = next((value for key in _OUTPUTS if (value := get(key))), None)
    if may_contain_tool_calls(output):
        genai_span.output = output
    messages = parse_any(next((value for key in _INPUTS if (value := get(key))), None))
    if messages:
        genai_span.user_input = newest_user_input(messages)
        genai_span.results = newest_tool_results(messages)
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
