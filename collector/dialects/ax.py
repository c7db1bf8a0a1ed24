"""Ax (@ax-llm/ax 24): a program that was given functions, its requests to models, and its calls, under any tracer's scope.

No message and no argument is recorded: events of a request name the functions that its answer asked for.
"""

from __future__ import annotations

import re
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import MAX_EVENTS, context_span_of, genai_span_of, model_span_of, set_raised
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.refusals import Refusal
from collector.payloads.values import known_name_of, name_of

NAME: Final = "ax"

_FIELDS: Final = "output_field_count"
_STREAMS: Final = "gen_ai.request.llm_is_streaming"
_MODE: Final = "tool.mode"
_CALL_ID: Final = "function.id"
_TOOL_NAME: Final = "tool.name"
_SESSION: Final = "session.id"
_FUNCTIONS: Final = "provided_functions"
_LABEL: Final = "AxGen > "
_FINISH, _TOOL_NAMES = "finish_reason", "tool_names"
_OF_ARGUMENTS: Final = "Invalid function arguments: "
_THROWN_BY_AX: Final = re.compile(r"^\s+at [^\n]*@ax-llm/ax/", re.MULTILINE)
_FRAME: Final = "\n    at "


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the span by attributes that none of the others has."""
    attributes = span.attributes
    if _MODE in attributes and _CALL_ID in attributes:
        return _read_tool(span)
    if _STREAMS in attributes:
        return _read_request(span) if attributes.get(semconv.OPERATION_NAME) == "chat" else IGNORED
    if _FIELDS in attributes:
        return _read_program(span)
    return None


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(_TOOL_NAME))
    genai_span.call_id = known_name_of(get(_CALL_ID))
    genai_span.conversation_id = name_of(get(_SESSION))
    set_raised(genai_span, span)
    if genai_span.status != "error":
        # What a function returned has an event of its own.
        genai_span.status = "ok" if any(event.name == semconv.EVENT_TOOL_MESSAGE for event in span.events) else "unset"
    else:
        genai_span.refusal = _refused_arguments(span) or genai_span.refusal
    return genai_span


def _refused_arguments(span: Span) -> Refusal | None:
    """Returns that a call did not run whose arguments are no JSON, if Ax itself says so: a function may say it, too."""
    for event in span.events[:MAX_EVENTS]:
        message, stack = (
            event.attributes.get(semconv.EXCEPTION_MESSAGE),
            event.attributes.get(semconv.EXCEPTION_STACK_TRACE),
        )
        if type(message) is str and message.startswith(_OF_ARGUMENTS):
            frames = stack[stack.find(_FRAME) + 1 :] if type(stack) is str and _FRAME in stack else ""
            return Refusal(is_sure=_THROWN_BY_AX.match(frames) is not None)
    return None


def _read_request(span: Span) -> GenAISpan:
    choices = [event.attributes for event in span.events[:MAX_EVENTS] if event.name == semconv.EVENT_CHOICE]
    # A stream has an event for each piece of the answer, of which one names a function.
    named = [names for choice in choices if type(names := choice.get(_TOOL_NAMES)) is str]
    asked = [name for names in named for name in names.split(",") if name]
    reasons = {choice.get(_FINISH) for choice in choices} - {None}
    calls = [{"type": "tool_call", "name": name, "arguments": None} for name in asked]
    genai_span = model_span_of(span, NAME, calls or None, None)
    genai_span.has_output = bool(choices)
    genai_span.finish = "tool_calls" if calls or "function_call" in reasons else "other" if reasons else ""
    genai_span.response_id = name_of(span.attributes.get(semconv.RESPONSE_ID))
    genai_span.conversation_id = name_of(span.attributes.get(semconv.CONVERSATION_ID))
    return genai_span


def _read_program(span: Span) -> GenAISpan:
    """Reads a program that a model runs: without functions it is a step."""
    if _FUNCTIONS not in span.attributes:
        return IGNORED
    genai_span = context_span_of(span, Role.AGENT, NAME, None, name_of(span.attributes.get(_SESSION)))
    genai_span.name = name_of(span.name.removeprefix(_LABEL)) if span.name.startswith(_LABEL) else None
    genai_span.note(traced_calls="all")
    return genai_span


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    keys=(_FIELDS, _STREAMS, _MODE),
    read_span=read_span,
    markers=(_FIELDS.encode(), _MODE.encode()),
    attributes=frozenset({
        _CALL_ID, _TOOL_NAME, _SESSION, _FUNCTIONS, _FINISH, _TOOL_NAMES, semconv.EXCEPTION_STACK_TRACE, semconv.OPERATION_NAME,
        semconv.RESPONSE_ID, semconv.CONVERSATION_ID, semconv.EXCEPTION_MESSAGE, semconv.ERROR_TYPE,
    }),
)  # fmt: skip
