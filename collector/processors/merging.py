"""Executions and model requests of one run -> its calls: each once, with everything any span knows of it.

Executions count: what ran. Model outputs say what was asked for: they lend ids, arguments and positions to executions
that lack them, stand in where a dialect has no executions at all, and leave what never ran as ``executed=False``.
A model request seen twice (nested client spans, one response id) counts once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from collector.drafts import Call, Members, latest_start
from collector.messages import Outcome, Request, requested_calls
from collector.reading import Reading
from collector.values import Arguments, parse_arguments
from scorers.trajectory import Status

MAX_CANDIDATES: Final = 64
"""How many open requests of one tool an execution is compared with."""


@dataclass(slots=True)
class _Asked:
    """A request with its place: the ``position``-th call of the run's ``turn``-th model output that holds any."""

    id: str | None
    name: str
    arguments: Arguments
    arguments_text: str | None
    turn: int
    position: int
    model: Reading
    execution: Call | None = None


def resolve(run: Members) -> list[Call]:
    """The calls of ``run``: executions in order of start, then what was only asked for."""
    calls = [_merge(spans) for spans in run.executions]
    if run.nested:
        for call in calls:
            call.outer_id = run.nested.get(call.span_id or b"")
    if run.models:
        asked = _asked(run.models)
        if calls and asked:
            _match(calls, asked)
        elif calls:
            _infer_turns(calls, run.models)
        calls += _unseen(run, asked)
    return calls


def _merge(spans: Sequence[Reading]) -> Call:
    """One call from the spans that show it, outermost first: what the outer one does not say, an inner one may."""
    outer = spans[0]
    arguments, text = parse_arguments(outer.arguments)
    call = Call(
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


def _asked(models: Iterable[Reading]) -> list[_Asked]:
    """What the models asked for, turn by turn, each request once."""
    asked: list[_Asked] = []
    by_id: dict[str, _Asked] = {}
    responses: set[str] = set()
    outer: list[_Asked] = []
    turn = 0
    for model in sorted(models, key=_start):
        if model.output is None or model.response_id in responses:
            continue
        requests = [_place(request, model, turn, place) for place, request in enumerate(requested_calls(model.output))]
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
    return asked


def _place(request: Request, model: Reading, turn: int, position: int) -> _Asked:
    arguments, text = ({}, None) if request.arguments == "" else parse_arguments(request.arguments)
    return _Asked(request.id, request.name, arguments, text, turn, position, model)


def _is_same(requests: Sequence[_Asked], others: Sequence[_Asked]) -> bool:
    return len(requests) == len(others) and all(
        one.name == other.name and one.arguments == other.arguments for one, other in zip(requests, others, strict=True)
    )


def _is_new(request: _Asked, by_id: dict[str, _Asked]) -> bool:
    """False for a call some earlier output told already: an output may repeat a whole run."""
    if request.id is None:
        return True
    known = by_id.setdefault(request.id, request)
    return known is request or not _is_same([request], [known])


def _start(model: Reading) -> tuple[int, bytes]:
    return model.start_ns, model.span_id


def _covers(call: Call, request: _Asked) -> bool:
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
_AGREEMENTS: Final[tuple[Callable[[Call, _Asked], bool], ...]] = (
    lambda call, request: call.id is not None and call.id == request.id,
    _covers,
    lambda call, request: call.arguments is None or request.arguments is None,
    lambda call, request: request.model.start_ns <= call.start_ns,  # the framework changed the arguments
)


def _match(calls: Sequence[Call], asked: Sequence[_Asked]) -> None:
    """Join executions with the requests they answer, and let each learn what only the other knows."""
    open_requests: dict[str, list[_Asked]] = {}
    for request in asked:
        open_requests.setdefault(request.name, []).append(request)
    open_calls = list(calls)
    for agree in _AGREEMENTS:
        unmatched: list[Call] = []
        for call in open_calls:
            candidates = open_requests.get(call.name, ())
            fitting = next((request for request in candidates[:MAX_CANDIDATES] if agree(call, request)), None)
            if fitting is None:
                unmatched.append(call)
            else:
                open_requests[call.name].remove(fitting)
                _unite(call, fitting)
        open_calls = unmatched


def _unite(call: Call, request: _Asked) -> None:
    request.execution = call
    call.turn, call.position = request.turn, request.position
    call.id = call.id or request.id
    if call.arguments is None and request.arguments is not None:
        call.arguments, call.arguments_text = request.arguments, None


def _infer_turns(calls: Iterable[Call], models: Iterable[Reading]) -> None:
    """Where answers were not captured: what ran after one answer and before the next request was asked for by that one."""
    answers = sorted((model.end_ns, model.start_ns) for model in models)
    for call in calls:
        start_ns = latest_start(call.start_ns)
        turn = bisect_right(answers, (start_ns, start_ns)) - 1
        if turn >= 0:
            call.turn = turn


def _unseen(run: Members, asked: Sequence[_Asked]) -> Iterator[Call]:
    """Calls that exist in messages only; and what messages tell of those that failed.

    Where the run has executions, what has none never ran. Where it has none at all (an application that runs its tools
    itself), every request ran, but for those the model was told were refused and the last ones of a run that failed.
    What was asked for last in a run that has not ended is under way, as far as anybody can tell.
    """
    models = sorted(run.models, key=_start)
    outcomes = _outcomes(models, asked)
    agents = [child.anchor for child in run.children if child.anchor is not None and child.outer_id is None]
    starts = [model.start_ns for model in models]
    is_open = "missing_anchor" in run.missing
    has_failed = run.anchor is not None and run.anchor.status == "error"
    for place, request in enumerate(asked):
        outcome = outcomes.get(place)
        if request.execution is not None:
            if outcome == "refused" and request.execution.status != "ok":
                request.execution.executed = False
            continue
        model = request.model
        following = bisect_right(starts, model.start_ns)
        answered = following < len(starts)
        agent = next((agent for agent in agents if agent.name == request.name), None)
        if agent is not None:  # an agent given to another as a tool, with no span for the tool
            agents.remove(agent)
            executed = True
        elif run.executions:
            executed = is_open and not answered and outcome != "refused"
        else:
            executed = outcome != "refused" and (answered or not has_failed)
        status: Status = "error" if outcome == "error" else "ok" if answered and executed else "unset"
        # Nobody timed it: it began when the model had answered, at the latest when the model was asked again.
        start_ns = min(model.end_ns, starts[following]) if answered else model.end_ns
        if agent is not None:
            start_ns, status = agent.start_ns, agent.status if agent.status != "unset" else status
        call = Call(
            request.name, request.id, request.arguments, request.arguments_text, status, None, start_ns, 0, None,
            executed, request.turn, request.position,
        )  # fmt: skip
        call.resource = model.resource
        yield call


def _outcomes(models: Sequence[Reading], asked: Sequence[_Asked]) -> dict[int, Outcome]:
    """What became of requests, by their place in ``asked``, as later requests to the model tell.

    By id; and by position among the calls asked for last, where results are told under other ids than requests (or none).
    """
    place_of = {request.id: place for place, request in enumerate(asked) if request.id is not None}
    outcomes: dict[int, Outcome] = {}
    newest: list[int] = []
    upcoming = iter(enumerate(asked))
    pending = next(upcoming, None)
    for model in models:
        if model.results:
            by_id = [(place_of.get(call_id or ""), outcome) for call_id, outcome in model.results]
            if all(place is None for place, _ in by_id) and len(by_id) == len(newest):
                by_id = [(place, outcome) for place, (_, outcome) in zip(newest, by_id, strict=True)]
            outcomes.update((place, outcome) for place, outcome in by_id if place is not None)
        if pending is not None and pending[1].model is model:
            newest = []
            while pending is not None and pending[1].model is model:
                newest.append(pending[0])
                pending = next(upcoming, None)
    return outcomes
