"""What the models of one run asked for, and what they were told became of it.

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
    """A request with its place: the ``position``-th call of the run's ``turn``-th model output that holds any."""

    id: str | None
    name: str
    arguments: Arguments
    arguments_text: str | None
    turn: int
    position: int
    model: GenAISpan
    execution: DraftCall | None = None
    """The call that answered it, once they are matched."""
    outcome: ResultStatus | None = None
    """What a later request told the model, where it told of a failure among the results."""


def by_start(model: GenAISpan) -> tuple[int, bytes]:
    """Sort key of model requests: their order is their causal order."""
    return model.start_ns, model.span_id


def requested_calls(models: Sequence[GenAISpan]) -> list[RequestedCall]:
    """The requests of ``models``, which are in order of start."""
    asked: list[RequestedCall] = []
    by_id: dict[str, RequestedCall] = {}
    responses: set[str] = set()
    outer: list[RequestedCall] = []
    turn = 0
    for model in models:
        if model.output is None or model.response_id in responses:
            continue
        requests = [_place(request, model, turn, place) for place, request in enumerate(tool_call_parts(model.output))]
        if not requests:
            continue
        if model.response_id is not None:
            responses.add(model.response_id)
        if outer and model.end_ns <= outer[0].model.end_ns and _is_same(requests, outer):  # a client inside a client
            for told, again in zip(outer, requests, strict=True):
                told.id = told.id or again.id
            continue
        outer = requests
        turn += 1
        asked += [request for request in requests if _is_new(request, by_id)]
    _tell_outcomes(models, asked)
    return asked


def _place(request: ToolCallPart, model: GenAISpan, turn: int, position: int) -> RequestedCall:
    arguments, text = ({}, None) if request.arguments == "" else parse_arguments(request.arguments)
    return RequestedCall(request.id, request.name, arguments, text, turn, position, model)


def _is_same(requests: Sequence[RequestedCall], others: Sequence[RequestedCall]) -> bool:
    return len(requests) == len(others) and all(
        one.name == other.name and one.arguments == other.arguments for one, other in zip(requests, others, strict=True)
    )


def _is_new(request: RequestedCall, by_id: dict[str, RequestedCall]) -> bool:
    if request.id is None:
        return True
    known = by_id.setdefault(request.id, request)
    return known is request or not _is_same([request], [known])


def _tell_outcomes(models: Iterable[GenAISpan], asked: Sequence[RequestedCall]) -> None:
    """Set the outcomes: by id, or by position among the calls asked for last where results are told under other ids than
    requests, or under none."""
    by_id = {request.id: request for request in asked if request.id is not None}
    of_model: dict[bytes, list[RequestedCall]] = {}
    for request in asked:
        of_model.setdefault(request.model.span_id, []).append(request)
    newest: list[RequestedCall] = []
    for model in models:
        if model.tool_results:
            told = [(by_id.get(call_id or ""), outcome) for call_id, outcome in model.tool_results]
            if all(request is None for request, _ in told) and len(told) == len(newest):
                told = [(request, outcome) for request, (_, outcome) in zip(newest, told, strict=True)]
            for found, outcome in told:
                if found is not None:
                    found.outcome = outcome
        newest = of_model.get(model.span_id, newest)
