"""The spans of one trace -> its agent runs, each with its calls in order. Pure: no clock, no wire, no settings of its own.

spans ─▶ runs (who belongs to whom) ─▶ merging (one call, many spans) ─▶ ordering (steps) ─▶ context ─▶ Run
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from collector.model.genai_span import Content, GenAISpan
from collector.reconstruction.ancestry import Ancestry
from collector.reconstruction.context import ContextSettings, describe
from collector.reconstruction.drafts import DraftCall, RunSpans
from collector.reconstruction.merging import resolve
from collector.reconstruction.ordering import arrange
from collector.reconstruction.runs import group, index_spans
from scorers.rules.intents import FoundIntent
from scorers.trajectory import ToolCall, Trajectory

__all__ = ["ContextSettings", "Run", "join_runs", "reconstruct"]


@dataclass(slots=True)
class Run:
    """One agent run: the unit that is scored. None is "nobody said it"."""

    trace_id: bytes
    span_id: bytes
    """Its anchor: the agent's span, else the trace's root, else the earliest span seen."""
    parent_span_id: bytes | None
    """Anchor of the run it was started in."""
    agent: str | None
    conversation_id: str | None
    route: str | None
    intent: str | None
    user_input: str | None
    response_id: str | None
    service: str | None
    dialect: str
    attributes: Mapping[str, Any]
    """Short attributes of anchor and resource, for rules to match on."""
    trajectory: Trajectory
    incomplete: tuple[str, ...]
    """Why spans are still to come: missing_parent, missing_anchor, missing_execution. Empty: the run is complete."""
    call_span_ids: tuple[bytes | None, ...]
    """The execution span of each call, None where there is none to annotate."""
    started_by: bytes | None
    """The tool execution, of the parent run, inside of which this run happened."""
    start_ns: int = 0
    """When its anchor began, or the first span seen of it."""
    found_intent: FoundIntent | None = None
    """What the user's words showed, where no attribute said the intent and somebody looked."""
    contents: Sequence[Content] = ()
    """Where its last words and its tools may be found, the most telling first; empty unless a judge may be asked."""


def reconstruct(
    trace_id: bytes, genai_spans: Sequence[GenAISpan], parents: Mapping[bytes, bytes], settings: ContextSettings
) -> list[Run]:
    """The runs of one trace in order of start.

    ``parents`` maps every span of the trace that was seen, read or not, to its parent (b"" for a root). The same spans
    give the same runs in whatever order and however often they came. Never raises on odd input.
    """
    spans = index_spans(genai_spans)
    ancestry = Ancestry(spans, parents)
    runs: list[Run] = []
    heard: str | None = None
    for members in group(spans, ancestry):
        calls = resolve(members)
        unsure_steps = arrange(calls, settings.skew_ns)
        context = describe(members, ancestry, settings)
        if members.parent is None:  # after a handoff the next agent is told no new words
            heard = context.user_input = context.user_input or heard
        incomplete = members.missing
        if "missing_anchor" in incomplete and any(not call.executed for call in calls):
            incomplete = (*incomplete, "missing_execution")
        runs.append(Run(
            trace_id, members.anchor_id, members.parent.anchor_id if members.parent is not None else None,
            context.agent, context.conversation_id, context.route, context.intent, context.user_input, context.response_id,
            context.service, context.dialect, context.attributes,
            _trajectory(calls, not incomplete, context.user_input, unsure_steps), incomplete,
            tuple([call.span_id for call in calls]), members.outer_id, _start_of(members),
            None, context.contents,
        ))  # fmt: skip
    return runs


def _start_of(members: RunSpans) -> int:
    if members.anchor is not None:
        return members.anchor.start_ns
    return min([spans[0].start_ns for spans in members.executions] + [model.start_ns for model in members.models])


def join_runs(runs: Iterable[Run]) -> tuple[Trajectory, tuple[bytes | None, ...]]:
    """All calls of several runs as one trajectory, and the span of each: the runs of a trace, or of a conversation.

    A call that started another run comes before that run's calls, though it lasts longer than they do.
    """
    calls: list[DraftCall] = []
    unsure_calls: list[DraftCall] = []
    ordered = sorted(runs, key=lambda run: (run.start_ns, run.span_id))
    turns = 0
    for run in ordered:
        for call, span_id in zip(run.trajectory.calls, run.call_span_ids, strict=True):
            draft = DraftCall(
                call.name, call.id, call.arguments, call.arguments_text, call.status, call.error_type,
                call.start_ns, call.end_ns, span_id, call.executed, turns + call.step, outer_id=run.started_by,
            )  # fmt: skip
            calls.append(draft)
            if call.step in run.trajectory.unsure_steps:
                unsure_calls.append(draft)
        turns += len(run.trajectory.calls)
    arrange(calls, 0)
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
