"""Which requests a client may have repeated inside their spans, after it made the calls itself that the model asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from collector.model.genai_span import GenAISpan
from collector.model.tracing import MAY_LACK_CALLS
from collector.payloads.history import calls_in_history
from collector.payloads.values import parse_arguments
from collector.reconstruction.requested_calls import RequestedCall

Calls = list[tuple[str, Any]]
"""Calls by name and arguments."""


def may_lack_calls(models: Sequence[GenAISpan], requested: Iterable[RequestedCall]) -> set[bytes]:
    """Returns the ids of the requests whose answers may lack calls.

    Where a client that can make calls itself (google-genai) left those of its answers to the application, which told it of
    their results, it makes none: not in that conversation.
    """
    lacking = {model.span_id for model in models if model.tracing.extent in MAY_LACK_CALLS}
    automatic = [model for model in models if model.tracing.extent == "automatic"]
    if len(automatic) < 2:
        return lacking
    asked: dict[bytes, Calls] = {}
    for one in requested:
        if one.is_recorded:
            asked.setdefault(one.model.span_id, []).append((one.name, one.arguments))
    answers = [asked.get(model.span_id, []) for model in automatic]
    for index, model in enumerate(automatic):
        told = _told(model)
        start = _start_of(told, index, answers) if told else index
        if start < index:
            lacking -= {one.span_id for one in automatic[start : index + 1]}
    return lacking


def _told(model: GenAISpan) -> Calls:
    """Returns the calls of whose results the request was told; none of them if it was not told those of all."""
    calls = calls_in_history(model.history) if model.history is not None else []
    if any(call.status is None for call in calls):
        return []
    return [(call.name, parse_arguments(call.arguments)[0]) for call in calls]


def _start_of(told: Calls, index: int, answers: Sequence[Calls]) -> int:
    """Returns from which request on the answers before ``index`` ask for just these calls; ``index`` if there is none."""
    left, start = len(told), index
    while left > 0 and start > 0:
        answer = answers[start - 1]
        if not answer or told[max(left - len(answer), 0) : left] != answer:
            return index
        left, start = left - len(answer), start - 1
    return index if left else start
