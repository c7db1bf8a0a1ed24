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
from collector.model.from_span import genai_span_of, model_span_of
from collector.model.genai_span import GenAISpan, Role
from collector.model.span import Span
from collector.payloads.history import is_of_user
from collector.payloads.tool_results import contains_results, result_in
from collector.payloads.values import parse_any

NAME: Final = "pipecat"

_SCOPE: Final = "pipecat"
_INPUT: Final = "input"
_OUTPUT: Final = "output"
_REALTIME_REQUEST: Final = "llm_request"
_REALTIME_RESPONSE: Final = "llm_response"
_STATUS: Final = "response.status"  # not of Gemini's Live API, whose calls have spans of their own
_COUNT: Final = "function_calls.count"
"""Of the calls in an answer of OpenAI's Realtime API. Of several, only the names are told."""


def read_span(span: Span) -> GenAISpan | None:
    """Reads a request to a model, or the answer of one that speaks itself; None for any other span (speech, a turn)."""
    operation = span.attributes.get(semconv.OPERATION_NAME)
    if operation == _REALTIME_RESPONSE and _STATUS in span.attributes:
        return _read_response(span)
    if operation == _REALTIME_REQUEST and _INPUT in span.attributes:
        genai_span = _read_request(span)
        genai_span.finish, genai_span.has_output = "other", True  # its answer has a span of its own
        return genai_span
    if operation != "chat" or _INPUT not in span.attributes:
        return None
    genai_span = _read_request(span)
    if not genai_span.has_output and not genai_span.finish:
        genai_span.finish = "tool_calls"  # or it was interrupted: either leaves open what was called
    return genai_span


def _read_response(span: Span) -> GenAISpan:
    genai_span = genai_span_of(span, Role.MODEL, NAME)
    genai_span.note(extent="unsaid")
    genai_span.finish = "tool_calls" if span.attributes.get(_COUNT) else "other"
    return genai_span


def _read_request(span: Span) -> GenAISpan:
    told = _since_user(span.attributes[_INPUT])
    genai_span = model_span_of(span, NAME, span.attributes.get(_OUTPUT), told)
    if isinstance(told, list):
        genai_span.note(extent="unsaid")
        if genai_span.history is not None:
            # Not as text, of which a trace keeps the longest alone: each tells what the answer before it asked for.
            genai_span.history = [message for message in told if not _is_of_user(message)]
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


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    scopes=(_SCOPE,),
    read_span=read_span,
    attributes=frozenset({semconv.OPERATION_NAME, _STATUS, _COUNT, _INPUT, _OUTPUT, semconv.ERROR_TYPE}),
    output_attributes=(_OUTPUT,),
)
