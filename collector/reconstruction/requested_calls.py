"""The tool calls that the models of one run requested, and the status of the results they received.

A request seen twice counts once: in nested client spans, under one response id, in an output that repeats earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from collector.model.genai_span import GenAISpan
from collector.payloads.messages import ResultStatus, ToolCallPart, tool_call_parts
from collector.payloads.values import Arguments, parse_arguments
from collector.reconstruction.drafts import DraftCall


@dataclass(slots=True)
class RequestedCall:
    """A tool call requested by a model: call ``position`` of the run's output ``turn``, counting outputs with calls."""

    id: str | None
    name: str
    arguments: Arguments
    arguments_text: str | None
    turn: int
    position: int
    model: GenAISpan
    execution: DraftCall | None = None
    """The execution that it was matched with."""
    result_status: ResultStatus | None = None
    """The status of its result in a later request to the model; None if no result of that request failed."""


def requested_calls(models: Sequence[GenAISpan]) -> list[RequestedCall]:
    """Returns the calls requested by ``models``, which are sorted by start."""
    requested: list[RequestedCall] = []
    by_id: dict[str, RequestedCall] = {}
    response_ids: set[str] = set()
    outer: list[RequestedCall] = []
    turn = 0
    for model in models:
        if model.output is None or model.response_id in response_ids:
            continue
        calls = [_requested_call(part, model, turn, index) for index, part in enumerate(tool_call_parts(model.output))]
        if not calls:
            continue
        if model.response_id is not None:
            response_ids.add(model.response_id)
        if outer and model.end_ns <= outer[0].model.end_ns and _are_equal(calls, outer):  # a client inside a client
            for known, repeated in zip(outer, calls, strict=True):
                known.id = known.id or repeated.id
            continue
        outer = calls
        turn += 1
        requested += [call for call in calls if _is_new(call, by_id)]
    _set_result_statuses(models, requested)
    return requested


def _requested_call(part: ToolCallPart, model: GenAISpan, turn: int, position: int) -> RequestedCall:
    arguments, text = ({}, None) if part.arguments == "" else parse_arguments(part.arguments)
    return RequestedCall(part.id, part.name, arguments, text, turn, position, model)


def _are_equal(calls: Sequence[RequestedCall], others: Sequence[RequestedCall]) -> bool:
    return len(calls) == len(others) and all(
        call.name == other.name and call.arguments == other.arguments for call, other in zip(calls, others, strict=True)
    )


def _is_new(call: RequestedCall, by_id: dict[str, RequestedCall]) -> bool:
    if call.id is None:
        return True
    known = by_id.setdefault(call.id, call)
    return known is call or not _are_equal([call], [known])


def _set_result_statuses(models: Iterable[GenAISpan], requested: Sequence[RequestedCall]) -> None:
    """Set the statuses of results: by call id, or by position among the calls requested last if no id is known, because
    results have other ids than requests, or none."""
    by_id = {call.id: call for call in requested if call.id is not None}
    by_model: dict[bytes, list[RequestedCall]] = {}
    for call in requested:
        by_model.setdefault(call.model.span_id, []).append(call)
    newest: list[RequestedCall] = []
    for model in models:
        if model.tool_results:
            calls: list[RequestedCall | None] = [by_id.get(call_id or "") for call_id, _ in model.tool_results]
            if len(calls) == len(newest) and all(found is None for found in calls):
                calls = [*newest]
            for found, (_, status) in zip(calls, model.tool_results, strict=True):
                if found is not None:
                    found.result_status = status
        newest = by_model.get(model.span_id, newest)
