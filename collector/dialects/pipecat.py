"""Pipecat 1.x: a span for each request to a model, by the GenAI conventions but for the messages, and none for tools.

What a request was told is in ``input``, of an answer only the text in ``output``: one that asks for tools alone has none. So
calls, and what came of them, are known from the next request.
"""

from __future__ import annotations

from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import model_span_of
from collector.model.genai_span import GenAISpan
from collector.model.span import Span

NAME: Final = "pipecat"

_SCOPE: Final = "pipecat"
_INPUT: Final = "input"
_OUTPUT: Final = "output"


def read_span(span: Span) -> GenAISpan | None:
    """Reads a request to a model; None for any other span (speech, a turn)."""
    if span.attributes.get(semconv.OPERATION_NAME) != "chat" or _INPUT not in span.attributes:
        return None
    text = span.attributes.get(_OUTPUT)
    genai_span = model_span_of(span, NAME, text, span.attributes[_INPUT])
    if not text and not genai_span.finish:
        genai_span.finish = "tool_calls"  # or it was interrupted: either leaves open what was called
    return genai_span


DIALECT: Final = Dialect(
    name=NAME,
    scopes=(_SCOPE,),
    read_span=read_span,
    attributes=frozenset({semconv.OPERATION_NAME, _INPUT, _OUTPUT, semconv.ERROR_TYPE}),
    output_attributes=(_OUTPUT,),
)
