"""Executions and model requests of one run -> its calls: each once, with everything any span knows of it.

Executions count: what ran. Model outputs say what was asked for: they lend ids, arguments and positions to executions
that lack them, stand in where a dialect has no executions at all, and leave what never ran as ``executed=False``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from collector.model.genai_span import GenAISpan
from collector.payloads.values import parse_arguments
from collector.reconstruction.drafts import DraftCall, RunSpans, latest_start
from collector.reconstruction.requested_calls import RequestedCall, by_start, requested_calls
from scorers.trajectory import Status

MAX_CANDIDATES: Final = 64
"""How many open requests of one tool an execution is compared with."""


def resolve(run: RunSpans) -> list[DraftCall]:
    """The calls of ``run``: executions in order of start, then what was only asked for."""
    calls = [_merge(spans) for spans in run.executions]
    if run.nested:
        for call in calls:
            call.outer_id = run.nested.get(call.span_id or b"")
    if run.models:
        models = sorted(run.models, key=by_start)
        asked = requested_calls(models)
        if calls and asked:
            _match(calls, asked)
        elif calls:
            _infer_turns(calls, models)
        calls += _unseen(run, models, asked)
    return calls


def _merge(spans: Sequence[GenAISpan]) -> DraftCall:
    """One call from the spans that show it, outermost first: what the outer one does not say, an inner one may."""
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
        # A framework that hands the failure to the model reports success; the last attempt inside knows better.
        call.status = inner_status
    return call


def _covers(call: DraftCall, request: RequestedCall) -> bool:
    """Whether the call got what was asked for; a framework may have added defaults.

    LangChain hands a tool of one argument the bare value.
    """
    requested = request.arguments
    if requested is None:
        return False
    if call.arguments is None:
        return len(requested) == 1 and call.arguments_text is not None and call.arguments_text in requested.values()
    return all(key in call.arguments and call.arguments[key] == value for key, value in requested.items())


# How well an execution and a request must agree to be one call, the surest first.
_AGREEMENTS: Final[tuple[Callable[[DraftCall, RequestedCall], bool], ...]] = (
    lambda call, request: call.id is not None and call.id == request.id,
    _covers,
    lambda call, request: call.arguments is None or request.arguments is None,
    lambda call, request: request.model.start_ns <= call.start_ns,  # the framework changed the arguments
)


def _match(calls: Sequence[DraftCall], asked: Sequence[RequestedCall]) -> None:
    """Join executions with the requests they answer, and let each learn what only the other knows."""
    open_requests: dict[str, list[RequestedCall]] = {}
    for request in asked:
        open_requests.setdefault(request.name, []).append(request)
    open_calls = list(calls)
    for agree in _AGREEMENTS:
        unmatched: list[DraftCall] = []
        for call in open_calls:
            candidates = open_requests.get(call.name, ())
            fitting = next((request for request in candidates[:MAX_CANDIDATES] if agree(call, request)), None)
            if fitting is None:
                unmatched.append(call)
            else:
                open_requests[call.name].remove(fitting)
                _unite(call, fitting)
        open_calls = unmatched


def _unite(call: DraftCall, request: RequestedCall) -> None:
    request.execution = call
    call.turn, call.position = request.turn, request.position
    call.id = call.id or request.id
    if call.arguments is None and request.arguments is not None:
        call.arguments, call.arguments_text = request.arguments, None


def _infer_turns(calls: Iterable[DraftCall], models: Iterable[GenAISpan]) -> None:
    """Where answers were not captured: what ran after one answer and before the next request was asked for by that one."""
    answers = sorted((model.end_ns, model.start_ns) for model in models)
    for call in calls:
        start_ns = latest_start(call.start_ns)
        turn = bisect_right(answers, (start_ns, start_ns)) - 1
        if turn >= 0:
            call.turn = turn


def _unseen(run: RunSpans, models: Sequence[GenAISpan], asked: Iterable[RequestedCall]) -> Iterator[DraftCall]:
    """Calls that exist in messages only; and of those that ran, what messages tell was refused."""
    starts = [model.start_ns for model in models]
    agents = [child.anchor for child in run.children if child.anchor is not None and child.outer_id is None]
    for request in asked:
        if request.execution is not None:
            if request.outcome == "refused" and request.execution.status != "ok":
                request.execution.executed = False
            continue
        model = request.model
        following = bisect_right(starts, model.start_ns)
        answered = following < len(starts)
        # Nobody timed it: it began when the model had answered, at the latest when the model was asked again.
        start_ns = min(model.end_ns, starts[following]) if answered else model.end_ns
        executed = _has_run(run, request, answered)
        status: Status = "error" if request.outcome == "error" else "ok" if answered and executed else "unset"
        if executed and run.executions and answered:
            status = "error"  # that is why there is no span
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


def _has_run(run: RunSpans, request: RequestedCall, answered: bool) -> bool:
    """Whether a request without an execution ran all the same.

    Where tools leave spans it did not, but for what a lossy instrumentation lost and what is under way in a run that has
    not ended. Where an application runs its tools itself it did, but for the last of a run that failed.
    """
    if request.outcome == "refused":
        return False
    if run.executions or (run.anchor is not None and run.anchor.tracing == "complete"):
        if answered:
            return _is_lost(run, request)
        return "missing_anchor" in run.missing
    return answered or run.anchor is None or run.anchor.status != "error"


def _is_lost(run: RunSpans, request: RequestedCall) -> bool:
    """Whether a call failed and so left no span: the model was told so, or a retry shows that the tool exists."""
    if not run.executions or not all(spans[0].tracing == "lossy" for spans in run.executions):
        return False
    return request.outcome == "error" or any(spans[0].name == request.name for spans in run.executions)
