"""Quarkus LangChain4j (1.4 to 1.10): the names of its spans tell of AI services and of calls, whose status never says anything.

A call that failed has an exception in place of its result since 1.10; before, its result is the words of what was thrown, while
those of tools that returned are JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from collector.model import semconv
from collector.model.from_span import MAX_EVENTS, set_words_of_failure
from collector.model.genai_span import GenAISpan
from collector.model.span import Span
from collector.payloads.refusals import BEGAN, Refusal
from collector.payloads.values import parse_json

AI_SERVICE: Final = "langchain4j.aiservices."
"""Begins the name of an AI service's span, before its class and method; it has no attributes."""
CALL: Final = "langchain4j.tools."
_VOID: Final = "Success"
"""What it tells the model of a method that returns nothing."""
_REJECTED: Final = "Input validation failed: "
"""Begins the result, which is no JSON, of a call that a guardrail of its input did not let run."""
_MISFIT: Final = re.compile(
    r"params '(.*)' from request do not map onto the parameters needed by '[^'#]{1,1000}#(\w{1,256})'", re.DOTALL
)
"""Says of which arguments, and which method, nothing was called."""
_MAX_MISFIT: Final = 100_000
_NOT_BEGUN: Final = "io.quarkiverse.langchain4j.runtime.BlockingToolNotAllowedException"
_GUARDRAIL: Final = "io.quarkiverse.langchain4j.guardrails.ToolGuardrailException"
_OF_INPUT: Final = ".ToolGuardrailService.executeInputGuardrails("
_OF_CALL: Final = ".ToolSpanWrapper.wrap("
"""In a stack trace once for each span of a call around what was thrown."""
_MAX_TRACE: Final = 100_000
_ENDS_RUN: Final = re.compile(
    r"The LLM is trying to execute the '[^'\n]{1,256}' tool, but no such tool exists\."
    r"|Something is wrong, exceeded \d{1,9} sequential tool executions$"
)
"""Begins the words with which an AI service ends in place of a call."""


def read_service(agent: GenAISpan, span: Span) -> None:
    """Note of an AI service whether it ended in place of calls, and that one that streams leaves what it does beside it."""
    agent.note(extent="beside")
    if any(_is_match(_ENDS_RUN, one.get(semconv.EXCEPTION_MESSAGE)) for one in _raised(span)):
        agent.refusal = Refusal(is_of_rest=True)


def read_call(call: GenAISpan, span: Span) -> None:
    """Read what came of a call: a result in JSON, the words of a failure, or an exception."""
    result = span.attributes.get(semconv.TOOL_CALL_RESULT)
    if type(result) is str and result.startswith(_REJECTED):
        call.status, call.refusal = "error", Refusal()
    elif type(result) is not str and (raised := _raised(span)):
        call.refusal = _refusal(call, raised[0])
    elif call.status == "unset":
        _read_converted(call, result)


def _read_converted(call: GenAISpan, result: object) -> None:
    if type(result) is not str:
        call.note(outcome="told")
    elif result.startswith('"'):
        call.note(outcome="converted")
    elif result not in (_VOID, "null") and parse_json(result) is None:
        set_words_of_failure(call, result)


def _raised(span: Span) -> list[Mapping[str, Any]]:
    return [event.attributes for event in span.events[:MAX_EVENTS] if event.name == semconv.EVENT_EXCEPTION]


def _is_match(pattern: re.Pattern[str], words: object) -> bool:
    return type(words) is str and pattern.match(words) is not None


def _refusal(call: GenAISpan, raised: Mapping[str, Any]) -> Refusal:
    """Returns whether the exception ended the call before its tool began: an agent inside may have thrown it as well."""
    kind, words = raised.get(semconv.EXCEPTION_TYPE), raised.get(semconv.EXCEPTION_MESSAGE)
    misfit = _MISFIT.fullmatch(words, 0, _MAX_MISFIT) if type(words) is str else None
    if misfit is not None:
        if misfit[1] == call.arguments or misfit[2] == call.name:
            return Refusal()
        return BEGAN if type(call.arguments) is str else Refusal(is_sure=False)
    return (
        _refusal_before(kind, raised.get(semconv.EXCEPTION_STACK_TRACE)) if kind in (_GUARDRAIL, _NOT_BEGUN) else BEGAN
    )


def _refusal_before(kind: object, trace: object) -> Refusal:
    if type(trace) is not str or len(trace) > _MAX_TRACE:
        return Refusal(is_sure=False)
    if kind == _GUARDRAIL and _OF_INPUT not in trace:
        return BEGAN  # one of the output
    return Refusal(is_sure=trace.count(_OF_CALL) == 1)
