"""The next turn of a session: its runs, rebuilt without those before it that have their verdict.

A session of hours is one trace, and each turn of it reopens that. To rebuild all of it each time takes longer with each turn.
So a turn is rebuilt alone where its runs come out as they would together with all others: everything below refuses whatever
looks beyond a run. What is refused is rebuilt with all spans, so a sign too many here costs time and never a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from collector.model.genai_span import AGENT, EVENT, MODEL, TOOL, GenAISpan
from collector.model.past import Past
from collector.reconstruction.context import ContextSettings
from collector.reconstruction.known_calls import begins_with_results
from collector.reconstruction.reconstruct import Rebuilt, rebuild
from collector.reconstruction.run import Run

MAX_UNSEEN: Final = 16
"""How many parents that were not received are remembered of finished runs; where there are more, all is rebuilt."""
_HAS_TRANSCRIPT: Final = (AGENT, MODEL)
"""Who keeps a transcript of its own. That of another span is given to the only agent of a trace."""


def past_of(genai_spans: Sequence[GenAISpan], parents: Mapping[bytes, bytes], rebuilt: Rebuilt) -> Past | None:
    """Returns what a later turn depends on of these spans and of what was rebuilt of them; None if that may be anything."""
    agents = [span for span in genai_spans if span.role is AGENT]
    instrumentations = {agent.instrumentation for agent in agents}
    unseen = _unseen(genai_spans, parents)
    if (
        len(instrumentations) != 1  # two of them may have recorded the same run
        or len(unseen) > MAX_UNSEEN
        or not all(agent.start_ns for agent in agents)
        or rebuilt.known.was_read  # messages of one run told of calls of another
        or not all(_is_of_one_run(span) for span in genai_spans)
        or not _has_agents(rebuilt)
    ):
        return None
    return Past(
        unseen,
        frozenset(rebuilt.ancestry.missing_parents()),
        instrumentations.pop(),
        max([agent.start_ns for agent in agents]),
        any(run.user_input is not None for run in rebuilt.runs),
        any(call.known_by == "result" for run in rebuilt.runs for call in run.trajectory.calls),
    )


def next_turn(
    trace_id: bytes,
    genai_spans: Sequence[GenAISpan],
    parents: dict[bytes, bytes],
    was_received: Callable[[bytes], bool],
    settings: ContextSettings,
    past: Past,
) -> tuple[Sequence[Run], Past] | None:
    """Returns the runs of a turn, and the past that it makes with ``past``; None if they cannot be rebuilt alone.

    Spans and parent links are those that came since; ``was_received`` tells whether a span came before.
    """
    starts = [span.start_ns for span in genai_spans if span.role is AGENT]
    # First what takes no time: a late span of an earlier run is below no agent of this turn.
    if not starts or min(starts) <= past.latest_start or _touches(genai_spans, parents, was_received, past):
        return None
    rebuilt = rebuild(trace_id, genai_spans, parents, settings)
    turn = past_of(genai_spans, parents, rebuilt)
    if turn is None or turn.instrumentation != past.instrumentation or not _stands_alone(rebuilt, turn, past):
        return None
    unseen = past.unseen | turn.unseen
    if len(unseen) > MAX_UNSEEN:
        return None
    together = turn._replace(
        unseen=unseen,
        missing=past.missing | turn.missing,
        has_user_input=past.has_user_input or turn.has_user_input,
        has_told_calls=past.has_told_calls or turn.has_told_calls,
    )
    return rebuilt.runs, together


def awaited_span(rebuilt: Rebuilt) -> bytes:
    """Returns a span whose absence alone keeps a run incomplete, whatever else arrives; b"" if there is none."""
    # The route of this run may be on the span. What comes in between is received already.
    for group, run in zip(rebuilt.groups, rebuilt.runs, strict=True):
        if run.trajectory.doubts and any(doubt.name == "unknown_route" for doubt in run.trajectory.doubts):
            return group.missing_ancestor
    return b""


def _touches(
    genai_spans: Iterable[GenAISpan],
    parents: Mapping[bytes, bytes],
    was_received: Callable[[bytes], bool],
    past: Past,
) -> bool:
    """Whether one of these spans is below a span that came before, or above one."""
    if not past.unseen.isdisjoint(parents) or not past.unseen.isdisjoint([span.span_id for span in genai_spans]):
        return True
    return any(was_received(parent) for parent in _unseen(genai_spans, parents) - past.unseen)


def _stands_alone(rebuilt: Rebuilt, turn: Past, past: Past) -> bool:
    groups, missing = rebuilt.groups, past.missing | turn.missing
    if not groups or any(begins_with_results(run) for run in groups):
        return False
    # Beside other runs an idle one may be a handoff, or only look like a run.
    if len(groups) == 1 and groups[0].is_idle:
        return False
    # A missing span may be a call of any run, but not of those that it encloses.
    if any(not missing <= {run.missing_ancestor} for run in groups):
        return False
    first = next((run for run in rebuilt.runs if run.parent_span_id is None), None)
    return first is not None and (first.user_input is not None or not past.has_user_input)


def _unseen(genai_spans: Iterable[GenAISpan], parents: Mapping[bytes, bytes]) -> frozenset[bytes]:
    """Returns the parents that are none of these spans."""
    # Of a few a dialect knows a better parent than the link.
    named = {*parents.values(), *[span.parent_span_id for span in genai_spans]}
    return frozenset(named.difference(parents, [span.span_id for span in genai_spans], (b"",)))


def _is_of_one_run(span: GenAISpan) -> bool:
    """Whether nothing of the span is given to a span found in another way than by its parents."""
    return span.role is not EVENT and (span.history is None or span.role in _HAS_TRANSCRIPT)


def _has_agents(rebuilt: Rebuilt) -> bool:
    """Whether an agent encloses each call and each request to a model."""
    return all(rebuilt.ancestry.ancestors_of(span.span_id).agent is not None
        for span in rebuilt.spans.values()
        if span.role is TOOL or span.role is MODEL)  # fmt: skip
