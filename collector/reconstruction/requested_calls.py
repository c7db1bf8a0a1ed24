"""The tool calls that the models of one run requested, and the status of the results they received.

A request seen twice counts once: in nested client spans, under one response id, in an output that repeats earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from collector.model.genai_span import GenAISpan
from collector.payloads.messages import ResultStatus, ToldCall, ToolCallPart, told_calls, tool_call_parts
from collector.payloads.values import Arguments, parse_arguments
from collector.reconstruction.drafts import DraftCall, RunSpans, by_start


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


def in_causal_order(models: Sequence[GenAISpan]) -> tuple[list[GenAISpan], bool]:
    """Returns model requests in the order in which they were made, and whether anything tells that order.

    By start; where starts are missing or equal, by how many tool calls of the conversation each was told of.
    """
    ordered = sorted(models, key=by_start)
    starts = {model.start_ns for model in models}
    if len(starts) == len(models) and 0 not in starts:
        return ordered, True
    told = {id(model): len(told_calls(model.history)) if model.history is not None else 0 for model in models}
    ordered.sort(key=lambda model: told[id(model)])
    return ordered, len(set(told.values())) == len(models)


class ToldResults:
    """The results of tool calls in the inputs of a run's models, which are sorted by start; parsed only if asked for."""

    def __init__(self, models: Sequence[GenAISpan]) -> None:
        self._models = models
        self._parsed: dict[bytes, list[ToldCall]] = {}

    def status(self, request: RequestedCall) -> ResultStatus | None:
        """Returns the status of a call's result in the first later input that holds it, None if none does."""
        if request.result_status is not None:
            return request.result_status
        for model in self._models:
            if model.history is None or by_start(model) <= by_start(request.model):
                continue
            calls = [call for call in self._calls(model) if call.status is not None]
            same = [call for call in calls if request.id is not None and call.id == request.id] or [
                call for call in calls if call.name == request.name and (call.id is None or request.id is None)
            ]
            if same:
                return same[0].status
        return None

    def _calls(self, model: GenAISpan) -> list[ToldCall]:
        if model.span_id not in self._parsed:
            self._parsed[model.span_id] = told_calls(model.history)
        return self._parsed[model.span_id]


def belongs_to(spans: RunSpans, run: RunSpans) -> bool:
    """Whether messages prove that these spans are of this run: one requested what the other executed or was told of."""
    requested, own = _requested_ids(run.models), _requested_ids(spans.models)
    executed = {execution[0].call_id for execution in spans.executions}
    if requested & executed or own & {execution[0].call_id for execution in run.executions}:
        return True
    return bool(requested & _told_ids(spans.models) or own & _told_ids(run.models))


def _requested_ids(models: Sequence[GenAISpan]) -> set[str | None]:
    return {call.id for call in requested_calls(sorted(models, key=by_start)) if call.id is not None}


def _told_ids(models: Iterable[GenAISpan]) -> set[str | None]:
    return {call.id for model in models if model.history is not None for call in told_calls(model.history)} - {None}
