"""Rebuilds the agent runs of one trace from its GenAI spans.

GenAI spans ─▶ indexing ─▶ runs (group by agent) ─▶ merging (spans into calls) ─▶ ordering (steps) ─▶ context ─▶ Run

A trace of which nothing has to be told apart does not come here: `plain_runs` reads it in one pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from collector.checkpoints import checkpoint
from collector.model.genai_span import NOTHING_HIDDEN, GenAISpan
from collector.payloads.values import limit_parsing
from collector.reconstruction.ancestry import Ancestry, without_nodes
from collector.reconstruction.context import ContextSettings, context_of
from collector.reconstruction.doubts import AWAITED, UNREAD, call_doubts, run_doubts
from collector.reconstruction.drafts import DraftCall, RunSpans, clock_of, trajectory_of
from collector.reconstruction.indexing import index_spans
from collector.reconstruction.known_calls import KnownCalls
from collector.reconstruction.lost_requests import note_told_by_outputs
from collector.reconstruction.merging import merge_calls
from collector.reconstruction.ordering import assign_steps, contradicting_clocks
from collector.reconstruction.parted_runs import note_parts_inside
from collector.reconstruction.run import AGREEING, Run
from collector.reconstruction.runs import group_runs


class Rebuilt(NamedTuple):
    """The runs of some spans in order of start, and what they were made of."""

    runs: list[Run]
    spans: Mapping[bytes, GenAISpan]
    ancestry: Ancestry
    groups: Sequence[RunSpans]
    known: KnownCalls


def rebuild(
    trace_id: bytes, genai_spans: Sequence[GenAISpan], parents: dict[bytes, bytes], settings: ContextSettings
) -> Rebuilt:
    """Returns the runs of one trace in order of start, and what they were made of.

    ``parents`` maps every received span of the trace, GenAI or not, to its parent (b"" for a root). The result does not
    depend on the order or repetition of spans, which are not modified. Never raises on malformed input.
    """
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
        note_parts_inside(groups)
    # Only when all runs are merged: a later run may show that one before it lacks a call.
    for run_spans in groups if known.lacking else ():
        run_spans.has_unrecorded_calls |= id(run_spans.parent) in known.lacking
    note_told_by_outputs(groups, known, drafts)
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
        context = context_of(run_spans, list(ancestry.iter_ancestors(run_spans.anchor_id)), settings)
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
            context.service, context.dialect, context.attributes, trajectory_of(calls, context.user_input, doubts),
            tuple([call.span_id for call in calls]), run_spans.started_by, _start_of(run_spans), None, context.contents,
            tuple([call.resource for call in calls]), wrong_clocks,
            bool(run_spans.missing_ancestor), "" if run_spans.anchor is None else run_spans.anchor.scope, hidden,
            context.unread,
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
            if doubt.name in AWAITED and doubt != UNREAD:
                return True
    return False
