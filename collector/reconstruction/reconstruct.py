"""Rebuilds the agent runs of one trace from its GenAI spans.

GenAI spans ─▶ indexing ─▶ runs (group by agent) ─▶ merging (spans into calls) ─▶ ordering (steps) ─▶ context ─▶ Run
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from collector.model.genai_span import Content, GenAISpan
from collector.reconstruction.ancestry import Ancestry
from collector.reconstruction.context import ContextSettings, context_of
from collector.reconstruction.drafts import DraftCall, RunSpans
from collector.reconstruction.indexing import index_spans
from collector.reconstruction.merging import merge_calls
from collector.reconstruction.ordering import assign_steps
from collector.reconstruction.runs import group_runs
from scorers.rules.intents import FoundIntent
from scorers.trajectory import ToolCall, Trajectory

__all__ = ["ContextSettings", "Run", "join_runs", "reconstruct"]


@dataclass(slots=True)
class Run:
    """One agent run: the unit that is scored. None means that it was not recorded."""

    trace_id: bytes
    span_id: bytes
    """Its anchor: the agent's span, else the trace's root, else the earliest span received."""
    parent_span_id: bytes | None
    """Anchor of the run that started it."""
    agent: str | None
    conversation_id: str | None
    route: str | None
    intent: str | None
    user_input: str | None
    response_id: str | None
    service: str | None
    dialect: str
    attributes: Mapping[str, Any]
    """Short attributes of anchor and resource, for rules to match."""
    trajectory: Trajectory
    incomplete: tuple[str, ...]
    """Why more spans are expected: missing_parent, missing_anchor, missing_execution. Empty if the run is complete."""
    call_span_ids: tuple[bytes | None, ...]
    """The execution span of each call; None if there is none to annotate."""
    started_by: bytes | None
    """The tool execution, in the parent run, that started this run."""
    start_ns: int = 0
    """Start of its anchor, else of the first span received."""
    found_intent: FoundIntent | None = None
    """The intent found in the user's text, if no attribute gives one and rules ask for it."""
    contents: Sequence[Content] = ()
    """Holds its final response and tool definitions, the most relevant first; empty unless a judge may be asked."""


def reconstruct(
    trace_id: bytes, genai_spans: Sequence[GenAISpan], parents: Mapping[bytes, bytes], settings: ContextSettings
) -> list[Run]:
    """Returns the runs of one trace in order of start.

    ``parents`` maps every received span of the trace, GenAI or not, to its parent (b"" for a root). The result does not
    depend on the order or repetition of spans, which are not modified. Never raises on malformed input.
    """
    spans = index_spans(genai_spans)
    ancestry = Ancestry(spans, parents)
    runs: list[Run] = []
    last_input: str | None = None
    for run_spans in group_runs(spans, ancestry):
        calls = merge_calls(run_spans)
        unsure_steps = assign_steps(calls, settings.skew_ns)
        context = context_of(run_spans, ancestry, settings)
        if run_spans.parent is None:  # after a handoff the next agent has no input of its own
            last_input = context.user_input = context.user_input or last_input
        incomplete = run_spans.incomplete
        if "missing_anchor" in incomplete and any(not call.executed for call in calls):
            incomplete = (*incomplete, "missing_execution")
        runs.append(Run(
            trace_id, run_spans.anchor_id, run_spans.parent.anchor_id if run_spans.parent is not None else None,
            context.agent, context.conversation_id, context.route, context.intent, context.user_input, context.response_id,
            context.service, context.dialect, context.attributes,
            _trajectory(calls, not incomplete, context.user_input, unsure_steps), incomplete,
            tuple([call.span_id for call in calls]), run_spans.started_by, _start_of(run_spans),
            None, context.contents,
        ))  # fmt: skip
    return runs


def _start_of(run_spans: RunSpans) -> int:
    if run_spans.anchor is not None:
        return run_spans.anchor.start_ns
    return min([spans[0].start_ns for spans in run_spans.executions] + [model.start_ns for model in run_spans.models])


def join_runs(runs: Iterable[Run]) -> tuple[Trajectory, tuple[bytes | None, ...]]:
    """Returns all calls of several runs, of a trace or a conversation, as one trajectory, and the span id of each call.

    A call that started another run precedes that run's calls, though it ends after them.
    """
    calls: list[DraftCall] = []
    unsure_calls: list[DraftCall] = []
    ordered = sorted(runs, key=lambda run: (run.start_ns, run.span_id))
    turns = 0
    for run in ordered:
        for call, span_id in zip(run.trajectory.calls, run.call_span_ids, strict=True):
            draft = DraftCall(
                call.name, call.id, call.arguments, call.arguments_text, call.status, call.error_type,
                call.start_ns, call.end_ns, span_id, call.executed, turns + call.step, enclosing_id=run.started_by,
            )  # fmt: skip
            calls.append(draft)
            if call.step in run.trajectory.unsure_steps:
                unsure_calls.append(draft)
        turns += len(run.trajectory.calls)
    assign_steps(calls, 0)
    user_input = next((run.trajectory.user_input for run in ordered if run.parent_span_id is None), None)
    unsure_steps = frozenset(call.step for call in unsure_calls)
    trajectory = _trajectory(calls, all(run.trajectory.complete for run in ordered), user_input, unsure_steps)
    return trajectory, tuple(call.span_id for call in calls)


def _trajectory(
    calls: Iterable[DraftCall], complete: bool, user_input: str | None, unsure_steps: frozenset[int]
) -> Trajectory:
    return Trajectory(
        [
            ToolCall(
                call.name, call.arguments, call.id, call.status, call.error_type, call.start_ns, call.end_ns,
                None if call.span_id is None else call.span_id.hex(), call.executed, call.step, call.arguments_text,
            )
            for call in calls
        ],
        complete, user_input, unsure_steps,
    )  # fmt: skip
