"""Joins the runs of one trace, or of the traces of a conversation, into one trajectory.

Calls of which several runs know are told apart or kept once, and what one trace leaves open another may settle.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from collector.model.span import Resource
from collector.reconstruction.doubts import call_doubts
from collector.reconstruction.drafts import DraftCall, trajectory_of
from collector.reconstruction.ordering import assign_steps
from collector.reconstruction.requested_calls import MIN_ID
from collector.reconstruction.run import Run
from scorers.trajectory import Doubt, Trajectory

_Doubts = Sequence[tuple[Doubt, Sequence[DraftCall]]]
_OF_SEVERAL: Final = ("uncertain_owner", "uncertain_duplicate")
_OF_EXECUTION: Final = ("uncertain_execution", "unobserved_results")


def join_runs(
    runs: Iterable[Run], skew_ns: int, *, are_all: bool = False
) -> tuple[Trajectory, tuple[bytes | None, ...]]:
    """All calls of several runs as one trajectory, and the span of each: the runs of a trace, or of a conversation.

    A call that started another run comes before that run's calls, though it lasts longer than they do. ``are_all`` if
    no other trace has runs of theirs; else they are all runs of one trace.
    """
    drafts: list[DraftCall] = []
    found: list[tuple[Doubt, Sequence[DraftCall]]] = []
    told_by: dict[tuple[bytes, str], tuple[Run, DraftCall]] = {}
    ordered = sorted(runs, key=lambda run: (run.start_ns, run.span_id))
    # Of the runs of one trace that may have made a call, one did.
    in_several = set() if are_all else _with_uncertain_owner(ordered)
    shared: dict[bytes | None, DraftCall] = {}
    for number, run in enumerate(ordered):
        # A run read back from a conversation's record has no resources, but its attributes still name the host.
        resources = run.call_resources or [Resource(run.attributes)] * len(run.call_span_ids)
        own = [
            DraftCall(
                call.name, call.id, call.arguments, call.arguments_text, call.status, call.error_type, call.start_ns,
                call.end_ns, span_id, call.executed, turn=call.step, enclosing_id=run.started_by, resource=resource,
                known_by=call.known_by, run=number,
            )
            for call, span_id, resource in zip(run.trajectory.calls, run.call_span_ids, resources, strict=True)
        ]  # fmt: skip
        if in_several:
            own = [shared.setdefault(call.span_id, call) if call.span_id in in_several else call for call in own]
        settled = "other_traces" if are_all else "uncertain_owner"  # but for what only messages tell of
        found += [
            (doubt, own)
            for doubt in run.trajectory.doubts
            if (doubt.name != settled or any(own[at].span_id is None for at in doubt.calls))
            and not (doubt.name == "uncertain_duplicate" and all(own[at].run != number for at in doubt.calls))
        ]
        new = [call for call in own if call.run == number]
        _doubt_repeated(new, run, told_by)
        drafts += new
    doubts = [*_without_settled(found, _settle_paused(drafts, found, ordered))]
    wrong_clocks = frozenset[frozenset[object]]().union(*(run.wrong_clocks for run in ordered))
    unordered = assign_steps(drafts, skew_ns, wrong_clocks=wrong_clocks)
    index = {id(call): at for at, call in enumerate(drafts)}
    user_input = next((run.trajectory.user_input for run in ordered if run.parent_span_id is None), None)
    # What is missing above a run is no call of that run. For the whole trace, further runs may be below it.
    if any(run.is_below_missing and run.parent_span_id is None for run in ordered):
        sentence = "a span above the outermost run was not received: further runs may be below it"
        doubts.append((Doubt("missing_span", sentence=sentence), ()))
    joined = [_of_all(doubt, [index[id(call)] for call in own]) for doubt, own in doubts]
    repeated = {doubt.calls for doubt in joined if doubt.name == "uncertain_duplicate"}
    further = [
        doubt
        for doubt in call_doubts(drafts, unordered)
        if doubt.name != "uncertain_duplicate" or doubt.calls not in repeated
    ]
    trajectory = trajectory_of(drafts, user_input, joined + further)
    return trajectory, tuple(call.span_id for call in drafts)


def _with_uncertain_owner(runs: Iterable[Run]) -> set[bytes | None]:
    """Returns the spans of the calls that may be of one of these runs or of another, or are records of such calls."""
    found = [(run.call_span_ids, doubt) for run in runs for doubt in run.trajectory.doubts]
    return {spans[at] for spans, doubt in found if doubt.name in _OF_SEVERAL for at in doubt.calls} - {None}


def _doubt_repeated(
    calls: Iterable[DraftCall], run: Run, told_by: dict[tuple[bytes, str], tuple[Run, DraftCall]]
) -> None:
    """Mark the calls of ``run`` that a run of another instrumentation has too. ``told_by`` has the first of each id, and its
    run, in each trace and in all of them: two tracers may each begin a trace (Langfuse 5.0 beside OpenInference).
    """
    for call in calls:
        if call.id is None:
            continue
        first_run, first = told_by.setdefault((run.trace_id, call.id), (run, call))
        is_repeated = first_run.scope != run.scope
        if not is_repeated and call.span_id is not None:
            # An id may be one of its trace alone (`call_0`), and a conversation does not keep scopes.
            first_run, first = told_by.setdefault((b"", call.id), (run, call))
            is_repeated = first_run.dialect != run.dialect and _ran_at_once(first, call)
        if is_repeated:
            call.doubt = "uncertain_duplicate"
            call.evidence = "another instrumentation recorded a call of the same id"


def _ran_at_once(one: DraftCall, other: DraftCall) -> bool:
    return one.name == other.name and 0 < one.start_ns < other.end_ns and 0 < other.start_ns < one.end_ns


def _settle_paused(drafts: Iterable[DraftCall], doubts: _Doubts, runs: Sequence[Run]) -> frozenset[int]:
    """Settle the calls with which a run waited for a human, where a later trace tells of the same: it ran there, or never,
    and those that a human may have denied, where an earlier trace has the span. Returns which they are, by ``id``."""
    open_calls = {id(own[at]) for doubt, own in doubts if doubt.name == "uncertain_execution" for at in doubt.calls}
    if not open_calls:
        return frozenset()
    told: dict[str, DraftCall] = {}
    for call in drafts:  # in order of their runs
        is_told = call.known_by != "request" or not call.executed
        if call.id is not None and len(call.id) >= MIN_ID and is_told and id(call) not in open_calls:
            told[call.id] = call
    settled: list[int] = []
    for call in drafts:
        other = told.get(call.id or "")
        if other is None or id(call) not in open_calls or call.span_id is not None:
            continue
        is_told = call.run < other.run or other.span_id is not None
        if is_told and runs[call.run].trace_id != runs[other.run].trace_id and _may_be_one(call, other):
            call.executed = False
            settled.append(id(call))
    return frozenset(settled)


def _may_be_one(asked: DraftCall, told: DraftCall) -> bool:
    """Whether a request and a call of the same id are of one call; a human may have added arguments (Agno's user input)."""
    is_subset = asked.arguments is None or told.arguments is None or asked.arguments.items() <= told.arguments.items()
    return asked.name == told.name and is_subset


def _without_settled(doubts: _Doubts, settled: frozenset[int]) -> _Doubts:
    """Returns the doubts without those of whether these calls ran."""
    if not settled:
        return doubts
    found: list[tuple[Doubt, Sequence[DraftCall]]] = []
    for doubt, own in doubts:
        if doubt.name in _OF_EXECUTION:
            left = tuple([at for at in doubt.calls if id(own[at]) not in settled])
            if not left:
                continue
            found.append((doubt._replace(calls=left), own))
        else:
            found.append((doubt, own))
    return found


def _of_all(doubt: Doubt, places: Sequence[int]) -> Doubt:
    """Returns the doubt of one run as one of the joined runs, in which its calls are at ``places``."""
    calls = tuple(places[at] for at in doubt.calls)
    orders = tuple(tuple(tuple(places[at] for at in step) for step in order) for order in doubt.orders)
    return doubt._replace(calls=calls, orders=orders)
