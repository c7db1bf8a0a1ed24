"""Firebase Genkit's own spans: flows, models and tools as actions, inputs and outputs as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from collector.model import semconv
from collector.model.dialect import Dialect
from collector.model.from_span import context_span_of, genai_span_of, model_span_of
from collector.model.genai_span import IGNORED, GenAISpan, Role
from collector.model.span import Span
from collector.payloads.gemini_parts import with_code
from collector.payloads.refusals import Refusal
from collector.payloads.told_failures import is_flagged
from collector.payloads.values import name_of, parse_any

NAME: Final = "genkit"

_TYPE: Final = "genkit:type"
_SUBTYPE: Final = "genkit:metadata:subtype"
_NAME: Final = "genkit:name"
_INPUT: Final = "genkit:input"
_OUTPUT: Final = "genkit:output"
_STATE: Final = "genkit:state"
_INTERRUPT: Final = "genkit:metadata:interrupt"
_RESUMED: Final = "genkit:metadata:resumed"
_INTERRUPT_ERRORS: Final = ("ToolInterruptError", "*ai.toolInterruptError")
"""The type of error of an interrupt: in JavaScript of one that tells nothing, such as that of `defineInterrupt`, and in Go."""
_ZOD: Final = "ZodError"
"""The type of error of a tool that did not understand what it fetched: Genkit checks arguments in other words."""
_RESTARTED: Final = '"metadata":{"resumed":true}'
_AFTER_RESTART: Final = ('"role":"model"', '"role":"user"')
_SESSION: Final = "genkit:sessionId"
_ASKED: Final = '"toolRequest"'
_CUSTOM: Final = '"custom":{'
_CODE: Final = '"custom":{"executableCode":'
"""A part of an answer of Google's models: code that the provider ran."""

_LIMIT: Final = re.compile(r"(?:ABORTED: )?[Ee]xceeded maximum tool call iterations \(\d{1,9}\)$")
"""With this a run ends in place of the calls of its last answer. A tool that is a run of its own fails in these words, too."""

_AGENTS: Final = ("flow", "agent", "executablePrompt")


def read_span(span: Span) -> GenAISpan | None:
    """Classifies the action by its subtype; `generate` and other helpers are steps."""
    subtype = span.attributes.get(_SUBTYPE)
    if subtype == "tool" or subtype == "tool.v2":
        return _read_tool(span)
    if subtype == "model":
        return _read_model(span)
    if subtype in _AGENTS:
        return _read_flow(span)
    return _read_generation(span)


def _read_model(span: Span) -> GenAISpan:
    genai_span = model_span_of(span, NAME, _answer(span.attributes.get(_OUTPUT)), span.attributes.get(_INPUT))
    # A call that the application was to make itself leaves no span, nor does one that middleware answered.
    genai_span.note(
        traced_calls="all",
        outcome="hooked",
        extent="resumed" if _is_told_of_restart(span.attributes.get(_INPUT)) else "",
    )
    return genai_span


def _is_told_of_restart(given: object) -> bool:
    """Whether a model is told last what came of calls that waited for a human, of which in Go no other span tells."""
    if type(given) is not str:
        return False
    at = given.rfind(_RESTARTED)
    return at >= 0 and all(given.find(role, at) < 0 for role in _AFTER_RESTART)


def _answer(output: object) -> object:
    """Returns a model's answer without what its provider sent, which holds the same calls in words of its own."""
    if type(output) is not str or _CUSTOM not in output:
        return output
    answer = parse_any(output)
    if not isinstance(answer, Mapping):
        return output
    message = answer.get("message")
    if isinstance(message, Mapping) and _CODE in output:
        return with_code(message)
    # Candidates are those of Google's models, each with a message.
    return message or answer.get("candidates") or output


def _read_tool(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = genai_span_of(span, Role.TOOL, NAME)
    genai_span.name = name_of(get(_NAME)) or name_of(span.name)
    genai_span.arguments = get(_INPUT)
    if get(_STATE) == "error" or _is_flagged(get(_OUTPUT)):
        genai_span.status = "error"
    if genai_span.error_type == _ZOD:
        genai_span.refusal = None
    # It waits for an answer, and is restarted in a span of its own or answered for.
    if _INTERRUPT in span.attributes or genai_span.error_type in _INTERRUPT_ERRORS:
        genai_span.refusal, genai_span.is_pending = Refusal(), True
    elif _RESUMED in span.attributes:
        genai_span.note(extent="resumed")
    return genai_span


def _is_flagged(output: object) -> bool:
    """Whether a tool returned an object with an ``error``; the second version of tools wraps what they return."""
    if type(output) is not str or "rror" not in output:
        return False
    returned = parse_any(output)
    is_wrapped = isinstance(returned, Mapping) and "output" in returned
    return is_flagged(returned["output"] if is_wrapped else returned)


def _read_generation(span: Span) -> GenAISpan:
    """Reads a step: one that begins the trace, and ended at its limit or with requests, tells what came of the last calls."""
    is_limited = _LIMIT.match(span.status_message) is not None
    if span.parent_span_id or not (is_limited or _ends_with_request(span.attributes.get(_OUTPUT))):
        return IGNORED
    genai_span = context_span_of(span, Role.OTHER, NAME)
    genai_span.refusal = Refusal(is_of_rest=True) if is_limited else None
    genai_span.is_pending = not is_limited
    return genai_span


def _ends_with_request(output: object) -> bool:
    """Whether `generate` returned what the model asked for: a human has to answer, or the application makes the call."""
    if type(output) is not str or _ASKED not in output:
        return False
    answer = parse_any(output)  # it also holds the conversation
    message = answer.get("message") if isinstance(answer, Mapping) else None
    content = message.get("content") if isinstance(message, Mapping) else None
    return isinstance(content, list) and any(isinstance(part, Mapping) and "toolRequest" in part for part in content)


def _read_flow(span: Span) -> GenAISpan:
    get = span.attributes.get
    genai_span = context_span_of(span, Role.AGENT, NAME, get(_INPUT), name_of(get(_SESSION)))
    genai_span.note(traced_calls="all")
    genai_span.name = name_of(get(_NAME)) or name_of(span.name)
    if _LIMIT.match(span.status_message):
        genai_span.refusal = Refusal(is_of_rest=True)
    return genai_span


DIALECT: Final[Dialect] = Dialect(
    name=NAME,
    keys=(_TYPE,),
    read_span=read_span,
    markers=(b"genkit:metadata:subtype",),
    attributes=frozenset(
        {_SUBTYPE, _NAME, _INPUT, _OUTPUT, _STATE, _INTERRUPT, _RESUMED, _SESSION, semconv.ERROR_TYPE}
    ),
    output_attributes=(_OUTPUT,),
    request_attributes=(_INPUT,),
)
