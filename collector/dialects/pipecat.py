"""Pipecat 1.x: a span for each request to a model, by the GenAI conventions but for the messages, and none for tools.

What a request was told is in ``input``, of an answer only the text in ``output``: one that asks for tools alone has none. So
calls, and what came of them, are known from the next request, where each call is followed by its result, also where one answer
asked for several: those that one input tells of and none before it were asked for at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import model_span_of
from collector.model.genai_span import GenAISpan
from collector.model.span import Span
from collector.payloads.history import is_of_user
from collector.payloads.tool_results import contains_results, result_in
from collector.payloads.values import parse_any

NAME: Final = "pipecat"

_SCOPE: Final = "pipecat"
_INPUT: Final = "input"
_OUTPUT: Final = "output"


def read_span(span: Span) -> GenAISpan | None:
    """Reads a request to a model; None for any other span (speech, a turn)."""
    if span.attributes.get(semconv.OPERATION_NAME) != "chat" or _INPUT not in span.attributes:
        return None
    text, told = span.attributes.get(_OUTPUT), _since_user(span.attributes[_INPUT])
    genai_span = model_span_of(span, NAME, text, told)
    if isinstance(told, list):
        genai_span.note(extent="unsaid")
        if genai_span.history is not None:
            # Not as text, of which a trace keeps the longest alone: each tells what the answer before it asked for.
            genai_span.history = [message for message in told if not _is_of_user(message)]
    if not text and not genai_span.finish:
        genai_span.finish = "tool_calls"  # or it was interrupted: either leaves open what was called
    return genai_span


def _since_user(messages: object) -> object:
    """Returns messages from the last of the user on: those before are told by the requests that followed them.

    Not so where the user spoke before the model was told what came of its calls.
    """
    told = parse_any(messages)
    if not isinstance(told, list):
        return messages
    own = [at for at, message in enumerate(told) if _is_of_user(message)]
    while own and _brings_results(told[own[-1] - 1 : own[-1]]):
        own.pop()
    return told[own[-1] if own else 0 :]


def _is_of_user(message: object) -> bool:
    return isinstance(message, Mapping) and is_of_user(message)


def _brings_results(messages: Sequence[object]) -> bool:
    return any(isinstance(one, Mapping) and (result_in(one) is not None or contains_results(one)) for one in messages)


DIALECT: Final = Dialect(
    name=NAME,
    scopes=(_SCOPE,),
    read_span=read_span,
    attributes=frozenset({semconv.OPERATION_NAME, _INPUT, _OUTPUT, semconv.ERROR_TYPE}),
    output_attributes=(_OUTPUT,),
)
