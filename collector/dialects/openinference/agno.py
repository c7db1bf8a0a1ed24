"""Agno: what its instrumentation records of calls that failed, release by release, and what it leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from collector.dialects.openinference.common import HIDDEN
from collector.model import semconv
from collector.model.genai_span import GenAISpan
from collector.model.span import Scope, Span
from collector.payloads.messages import tool_call_parts
from collector.payloads.pauses import PAUSED, outcome_of_pause
from collector.payloads.refusals import Refusal, may_be_blocked
from collector.payloads.values import MAX_TEXT, parse_any

SCOPE: Final = "openinference.instrumentation.agno"
_ENDS_FAILED: Final[tuple[int, ...]] = (0, 1, 28)
"""The first release that ends the span of a call which failed: before, there is none."""
_TELLS_FAILED: Final[tuple[int, ...]] = (0, 1, 9)
"""The first that tells a failure. Before, the span of a call which failed ends well, and has the result `None`."""
_CALLS: Final = '"tool_calls"'
_MARK: Final = '"tool_call_error"'
"""In the messages of Agno 2: whether a call failed."""


def _release(scope: Scope) -> tuple[int, ...]:
    """Returns the release of the instrumentation; nothing if its version is not of numbers, as that of the newest is."""
    parts = scope.version.split(".")
    return (
        tuple(map(int, parts)) if len(parts) == 3 and all(part.isdecimal() and len(part) < 9 for part in parts) else ()
    )


def note_lost_failures(genai_span: GenAISpan, span: Span) -> None:
    """Note of a call of an old release that it may have failed, or that others which failed have no span."""
    release = _release(span.scope)
    if not release or release >= _ENDS_FAILED:
        return
    if release >= _TELLS_FAILED:
        genai_span.note(traced_calls="succeeded")
    elif span.attributes.get(semconv.OUTPUT_VALUE) == "None" and genai_span.status == "ok":
        genai_span.status = "unset"
        genai_span.note(outcome="told")
        genai_span.refusal = genai_span.refusal or Refusal(is_sure=False)  # so does one whose arguments were refused


def note_hidden(call: GenAISpan, span: Span) -> None:
    """Note of a call whose result is hidden, as that of its run is, that the run waits if no model is asked after it; and of
    one that ended with what may be a hook's words, that it may be the hook that answered.
    """
    output = span.attributes.get(semconv.OUTPUT_VALUE)
    if output == HIDDEN:
        call.note(extent="apart")
    elif call.refusal is None and may_be_blocked(output):
        call.refusal = Refusal(is_sure=False)


def note_traced_calls(agent: GenAISpan, span: Span) -> None:
    """Note of a run that each of its calls leaves a span, unless its release is older."""
    release = _release(span.scope)
    if not release or release >= _ENDS_FAILED:
        agent.note(traced_calls="all")


def note_pause(agent: GenAISpan, span: Span) -> None:
    """Note of a run that it waits when it ends, if what it returned says so."""
    returned = span.attributes.get(semconv.OUTPUT_VALUE)
    if type(returned) is str and returned.startswith(PAUSED):
        agent.note(outcome=outcome_of_pause(returned))


def calls_in_output(output: object) -> list[dict[str, Any]] | None:
    """Returns the calls of an answer which old releases have in `output.value` alone; None if there are none.

    Of one that was streamed the arguments are those of the first piece, in which most providers write none: a later input
    tells them.
    """
    if type(output) is not str or _CALLS not in output or len(output) > MAX_TEXT:
        return None
    calls: list[dict[str, Any]] = []
    for call in tool_call_parts(output):
        given = parse_any(call.arguments)
        whole = {"arguments": given} if isinstance(given, Mapping) else {}
        calls.append({"type": "tool_call", "id": call.id, "name": call.name, **whole})
    return calls or None


def note_unmarked_failures(genai_span: GenAISpan, span: Span) -> None:
    """Note of a request of an old release that the words of a result may be those of a tool or of its failure: neither the
    messages nor the spans of the calls tell which.
    """
    release, given = _release(span.scope), span.attributes.get(semconv.INPUT_VALUE)
    if release and release < _ENDS_FAILED and not (type(given) is str and _MARK in given):
        genai_span.note(outcome="lossy")
