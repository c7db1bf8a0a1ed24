"""Rebuilds the agent runs of one trace from its GenAI spans.

GenAI spans ─▶ indexing ─▶ runs (group by agent) ─▶ merging (spans into calls) ─▶ ordering (steps) ─▶ context ─▶ Run
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from collector.checkpoints import checkpoint
from collector.model.genai_span import NOTHING_HIDDEN, GenAISpan
from collector.model.span import Resource
from collector.payloads.values import limit_parsing
from collector.reconstruction.ancestry import Ancestry, without_nodes
from collector.reconstruction.context import ContextSettings, context_of
from collector.reconstruction.doubts import AWAITED, call_doubts, run_doubts
from collector.reconstruction.drafts import DraftCall, RunSpans, clock_of
from collector.reconstruction.indexing import index_spans
from collector.reconstruction.known_calls import KnownCalls
from collector.reconstruction.merging import merge_calls
from collector.reconstruction.ordering import assign_steps, contradicting_clocks
from collector.reconstruction.requested_calls import MIN_ID
from collector.reconstruction.run import AGREEING, Run
from collector.reconstruction.runs import group_runs
from scorers.trajectory import Doubt, ToolCall, Trajectory

__all__ = ["ContextSettings", "Rebuilt", "is_awaited", "join_runs", "rebuild", "reconstruct"]


def reconstruct(
    trace_id: bytes, genai_spans: Sequence[GenAISpan], parents: Mapping[bytes, bytes], settings: ContextSettings
) -> list[Run]:
    """Returns the runs of one trace in order of start.

    ``parents`` maps every received span of the trace, GenAI or not, to its parent (b"" for a root). The result does not
    depend on the order or repetition of spans, which are not modified. Never raises on malformed input.
    """
    return rebuild(trace_id, genai_spans, dict(parents), settings).runs


class Rebuilt(NamedTuple):
    """The runs of some spans, and what they were made of."""

    runs: list[Run]
    spans: Mapping[bytes, GenAISpan]
    ancestry: Ancestry
    groups: Sequence[RunSpans]
    known: KnownCalls


def rebuild(
    trace_id: bytes, genai_spans: Sequence[GenAISpan], parents: dict[bytes, bytes], settings: ContextSettings
) -> Rebuilt:
    """As ``reconstruct``, for who has to know what the runs were made of."""
    # One budget for a trace: texts that are each within their limit may still take too long together.
    return limit_parsing(lambda: _rebuild(trace_id, genai_spans, parents, settings))


def _rebuild(
    trace_id: bytes, genai_spans: Sequence[GenAISpan], parents: dict[bytes, bytes], settings: ContextSettings
) -> Rebuilt:
    # A large trace is evaluated in slices. It can only be interrupted at a checkpoint, so there is one between steps.
    spans = without_nodes(index_spans(genai_spans), parents)
    checkpoint()
    ancestry = Ancestry(spans, parents)
    groups = group_runs(spans, ancestry, settings.skew_ns)
    checkpoint()
    # One table for all runs: after a handoff the messages of one agent tell of the calls of another.
    known = KnownCalls(groups)
    drafts = [merge_calls(run, known) for run in groups]
    if len(groups) > 1:
        known.note_lacking()
    # Only when all runs are merged: a later run may show that one before it lacks a call.
    for run_spans in groups if known.lacking else ():
        run_spans.has_unrecorded_calls |= id(run_spans.parent) in known.lacking
    checkpoint()
    unexplained = _unexplained(ancestry, groups, drafts)
    # Of all spans: the messages of one run may tell of the calls of another.
    hidden = NOTHING_HIDDEN.union(*[span.content.hidden for span in genai_spans if span.content is not None])
    runs: list[Run] = []
    user_input: str | None = None
    for at, run_spans in enumerate(groups):
        checkpoint()
        calls = drafts[at]
        wrong_clocks = _wrong_clocks(run_spans, calls, ancestry, settings.skew_ns)
        # Sorts `calls` in place. Doubts refer to calls by index, so they are made after this.
        unordered = assign_steps(
            calls, settings.skew_ns, turns_are_ordered=run_spans.turns_are_ordered, wrong_clocks=wrong_clocks
        )
        checkpoint()
        context = context_of(run_spans, ancestry, settings)
        if run_spans.parent is None:  # after a handoff the next agent gets no new message of the user's
            user_input = context.user_input = context.user_input or user_input
        if run_spans.anchor is not None and run_spans.anchor.remote_parent:
            run_spans.has_unseen_caller = ancestry.has_unseen_caller(run_spans.anchor)
        checkpoint()
        doubts = run_doubts(run_spans, calls, context, unexplained[at], needs_intent=settings.needs_intent)
        doubts += call_doubts(calls, unordered)
        runs.append(Run(
            trace_id, run_spans.anchor_id, None if run_spans.parent is None else run_spans.parent.anchor_id,
            context.agent, context.conversation_id, context.route, context.intent, context.user_input, context.response_id,
            context.service, context.dialect, context.attributes, _trajectory(calls, context.user_input, doubts),
            tuple([call.span_id for call in calls]), run_spans.started_by, _start_of(run_spans), None, context.contents,
            tuple([call.resource for call in calls]), wrong_clocks,
            bool(run_spans.missing_ancestor), "" if run_spans.anchor is None else run_spans.anchor.scope, hidden,
        ))  # fmt: skip
    return Rebuilt(runs, spans, ancestry, groups, known)


def _wrong_clocks(
    run: RunSpans, calls: Sequence[DraftCall], ancestry: Ancestry, skew_ns: int
) -> frozenset[frozenset[object]]:
    """Returns the pairs of clocks by which a call lies outside a span that encloses it, or after a run that it started."""
    anchor = run.anchor
    inner: list[DraftCall | GenAISpan] = [] if anchor is None or not anchor.remote_parent else [anchor]
    # By identity, which is cheap: spans of one envelope share their Resource. Where two are equal, the comparison
    # below finds one clock all the same.
    for call in calls:
        if anchor is None or call.resource is not anchor.resource:
            inner += calls
            break
    if not inner:  # nearly always: one process, one clock
        return AGREEING
    enclosing = (
        (span, next(ancestry.iter_ancestors(span.span_id), None)) for span in inner if span.span_id is not None
    )
    outside = [contradicting_clocks(span, outer, skew_ns) for span, outer in enclosing if outer is not None]
    starters = {call.span_id: call for call in calls}
    for child in run.children:
        starter = starters.get(child.started_by) if child.started_by is not None else None
        if starter is not None and child.anchor is not None and child.anchor.start_ns + skew_ns < starter.start_ns:
            outside.append(frozenset((clock_of(starter.resource), clock_of(child.anchor.resource))))
    return frozenset(clocks for clocks in outside if clocks is not None)


def _unexplained(
    ancestry: Ancestry, groups: Sequence[RunSpans], drafts: Sequence[Sequence[DraftCall]]
) -> list[frozenset[bytes]]:
    """Returns for each run the missing spans that are neither a run's nor the span of a call that messages tell of."""
    missing = ancestry.missing_parents()
    nothing = frozenset[bytes]()
    if not missing:
        return [nothing] * len(groups)
    left = frozenset(missing - frozenset().union(*(run.adopted for run in groups)))
    # A call without a span explains one missing span. Which one nothing tells, so they are only counted: in another run
    # only where tools leave spans, for a call that never has one explains nothing.
    told = [sum(call.known_by == "result" for call in calls) for calls in drafts]
    shared = [count if run.executions else 0 for run, count in zip(groups, told, strict=True)]
    of_all = sum(shared)
    return [left if len(left) > of_all - part + own else nothing for own, part in zip(told, shared, strict=True)]


def _start_of(run_spans: RunSpans) -> int:
    if run_spans.anchor is not None:
        return run_spans.anchor.start_ns
    return min([spans[0].start_ns for spans in run_spans.executions] + [model.start_ns for model in run_spans.models])


def is_awaited(runs: Sequence[Run]) -> bool:
    """Returns whether a span is still to come that would settle a doubt."""
    for run in runs:  # without a generator for each trace: nearly all have no doubts
        for doubt in run.trajectory.doubts:
            if doubt.name in AWAITED:
                return True
    return False


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
                call.end_ns, span_id, call.executed, call.step, enclosing_id=run.started_by, resource=resource,
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
            if doubt.name != settled or any(own[at].span_id is None for at in doubt.calls)
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
    trajectory = _trajectory(drafts, user_input, joined + call_doubts(drafts, unordered))
    return trajectory, tuple(call.span_id for call in drafts)


def _with_uncertain_owner(runs: Iterable[Run]) -> set[bytes | None]:
    """Returns the spans of the calls that may be of one of these runs or of another."""
    found = [(run.call_span_ids, doubt) for run in runs for doubt in run.trajectory.doubts]
    return {spans[at] for spans, doubt in found if doubt.name == "uncertain_owner" for at in doubt.calls} - {None}


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


_Doubts = Sequence[tuple[Doubt, Sequence[DraftCall]]]
_OF_EXECUTION: Final = ("uncertain_execution", "unobserved_results")


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


def _trajectory(calls: Iterable[DraftCall], user_input: str | None, doubts: Sequence[Doubt]) -> Trajectory:
    return Trajectory(
        [
            ToolCall(
                call.name, call.arguments, call.id, call.status, call.error_type, call.start_ns, call.end_ns,
                None if call.span_id is None else call.span_id.hex(), call.executed, call.step, call.arguments_text,
                call.known_by,
            )
            for call in calls
        ],
        user_input, doubts,
    )  # fmt: skip
