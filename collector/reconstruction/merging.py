"""Merges the executions and model requests of one run into its calls: each once, with what any of its spans records.

Executions are what ran. Model outputs are what was requested: they supply ids, arguments and positions that executions
lack, replace executions in dialects that record none, and yield calls that never ran, with ``executed=False``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from collector.model.genai_span import GenAISpan
from collector.payloads.values import parse_arguments
from collector.reconstruction.drafts import DraftCall, RunSpans, by_start, latest_start
from collector.reconstruction.requested_calls import RequestedCall, requested_calls
from scorers.trajectory import Status

MAX_CANDIDATES: Final = 64
"""With how many unmatched requests of one tool an execution is compared."""


def merge_calls(run: RunSpans) -> list[DraftCall]:
    """Returns the calls of ``run``: executions in order of start, then calls that were only requested."""
    calls = [_merge_execution(spans) for spans in run.executions]
    if run.enclosing:
        for call in calls:
            call.enclosing_id = run.enclosing.get(call.span_id or b"")
    if run.models:
        models = sorted(run.models, key=by_start)
        requested = requested_calls(models)
        if calls and requested:
            _match(calls, requested)
        elif calls:
            _infer_turns(calls, models)
        calls += _unexecuted(run, models, requested)
    return calls


def _merge_execution(spans: Sequence[GenAISpan]) -> DraftCall:
    """Returns one call from the spans that record it, outermost first: an inner one supplies what the outer one lacks."""
    outer = spans[0]
    arguments, text = parse_arguments(outer.arguments)
    call = DraftCall(
        outer.name or "", outer.call_id, arguments, text, outer.status, outer.error_type,
        outer.start_ns, outer.end_ns, outer.span_id,
    )  # fmt: skip
    call.resource = outer.resource
    call.executed = not outer.refused
    inner_status: Status = "unset"
    for inner in spans[1:]:
        call.id = call.id or inner.call_id
        if call.arguments is None:
            call.arguments, call.arguments_text = parse_arguments(inner.arguments)
        if inner.status != "unset" and call.status != "error":
            inner_status = inner.status
        call.error_type = call.error_type or inner.error_type
    if inner_status != "unset":
        # A framework that passes the failure to the model reports success; the last attempt inside has the real status.
        call.status = inner_status
    return call


def _covers(call: DraftCall, request: RequestedCall) -> bool:
    """Whether the call has the requested arguments; a framework may have added defaults.

    LangChain passes the bare value to a tool of one argument.
    """
    wanted = request.arguments
    if wanted is None:
        return False
    if call.arguments is None:
        return len(wanted) == 1 and call.arguments_text is not None and call.arguments_text in wanted.values()
    return all(key in call.arguments and call.arguments[key] == value for key, value in wanted.items())


# Criteria by which an execution and a request are the same call, the most reliable first.
_AGREEMENTS: Final[tuple[Callable[[DraftCall, RequestedCall], bool], ...]] = (
    lambda call, request: call.id is not None and call.id == request.id,
    _covers,
    lambda call, request: call.arguments is None or request.arguments is None,
    lambda call, request: request.model.start_ns <= call.start_ns,  # the framework changed the arguments
)


def _match(calls: Sequence[DraftCall], requested: Sequence[RequestedCall]) -> None:
    """Match executions with the requests they fulfil, and let each supply what the other lacks."""
    unmatched_requests: dict[str, list[RequestedCall]] = {}
    for request in requested:
        unmatched_requests.setdefault(request.name, []).append(request)
    unmatched_calls = list(calls)
    for agree in _AGREEMENTS:
        remaining: list[DraftCall] = []
        for call in unmatched_calls:
            candidates = unmatched_requests.get(call.name, ())
            fitting = next((request for request in candidates[:MAX_CANDIDATES] if agree(call, request)), None)
            if fitting is None:
                remaining.append(call)
            else:
                unmatched_requests[call.name].remove(fitting)
                _unite(call, fitting)
        unmatched_calls = remaining


def _unite(call: DraftCall, request: RequestedCall) -> None:
    request.execution = call
    call.turn, call.position = request.turn, request.position
    call.id = call.id or request.id
    if call.arguments is None and request.arguments is not None:
        call.arguments, call.arguments_text = request.arguments, None


def _infer_turns(calls: Iterable[DraftCall], models: Iterable[GenAISpan]) -> None:
    """Assign turns if outputs were not captured: a call was requested by the last response before it started."""
    responses = sorted((model.end_ns, model.start_ns) for model in models)
    for call in calls:
        start_ns = latest_start(call.start_ns)
        turn = bisect_right(responses, (start_ns, start_ns)) - 1
        if turn >= 0:
            call.turn = turn


def _unexecuted(run: RunSpans, models: Sequence[GenAISpan], requested: Iterable[RequestedCall]) -> Iterator[DraftCall]:
    """Yields the calls that exist in messages only, and marks executions that messages report as refused."""
    starts = [model.start_ns for model in models]
    agents = [child.anchor for child in run.children if child.anchor is not None and child.started_by is None]
    for request in requested:
        if request.execution is not None:
            if request.result_status == "refused" and request.execution.status != "ok":
                request.execution.executed = False
            continue
        model = request.model
        following = bisect_right(starts, model.start_ns)
        answered = following < len(starts)
        # Not timed: it started when the model responded, at the latest when the model was called again.
        start_ns = min(model.end_ns, starts[following]) if answered else model.end_ns
        executed = _has_executed(run, request, answered)
        status: Status = "error" if request.result_status == "error" else "ok" if answered and executed else "unset"
        if executed and run.executions and answered:
            status = "error"  # which is why there is no span
        agent = next((agent for agent in agents if agent.name == request.name), None)
        if agent is not None:  # an agent given to another as a tool, with no span for the tool
            agents.remove(agent)
            executed, start_ns, status = True, agent.start_ns, agent.status
        call = DraftCall(
            request.name, request.id, request.arguments, request.arguments_text, status, None, start_ns, 0, None,
            executed, request.turn, request.position,
        )  # fmt: skip
        call.resource = model.resource
        yield call


def _has_executed(run: RunSpans, request: RequestedCall, answered: bool) -> bool:
    """Whether a request without an execution span was executed.

    If tools leave spans it was not, except for spans that a lossy instrumentation lost and calls in progress in a run that
    has not ended. If the application runs its tools itself it was, except for the last calls of a run that failed.
    """
    if request.result_status == "refused":
        return False
    if run.executions or (run.anchor is not None and run.anchor.tracing == "complete"):
        if answered:
            return _is_lost(run, request)
        return "missing_anchor" in run.incomplete
    return answered or run.anchor is None or run.anchor.status != "error"


def _is_lost(run: RunSpans, request: RequestedCall) -> bool:
    """Whether a call failed and left no span: its result is an error, or a retry shows that the tool exists."""
    if not run.executions or not all(spans[0].tracing == "lossy" for spans in run.executions):
        return False
    return request.result_status == "error" or any(spans[0].name == request.name for spans in run.executions)
