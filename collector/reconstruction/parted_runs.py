"""Runs that are parts: of an agent of another framework, which its models' client records as one run for each request; and
those around others that are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from collector.model.genai_span import OTHER, GenAISpan
from collector.reconstruction.drafts import RunSpans
from collector.reconstruction.frameworks import SPRING_OFFERED

_MAX_GRAPHS: Final = 64
"""Among how many graphs of a trace that is looked for which is around a run."""


def doubt_parted(runs: Iterable[RunSpans]) -> None:
    """Doubt what clients tell that offer the tools for which an earlier one asked, and of which no span shows a call.

    They go on with what came of these calls. ``runs`` are sorted by the start of their anchors.
    """
    asked: set[object] = set()
    for run in runs:
        offered = None if run.anchor is None else run.anchor.attributes.get(SPRING_OFFERED)
        if offered is None:
            continue
        if offered in asked:
            run.has_unrecorded_calls = True
        elif (
            not run.executions and not run.ended_before_calls and any(one.finish == "tool_calls" for one in run.models)
        ):
            asked.add(offered)


def note_parts_inside(runs: Iterable[RunSpans]) -> None:
    """Note of the runs around one that is a part that they are parts as well: the call that started it did not end, or did
    not begin here. Where models were asked before that call and after it, what it waits for is left to a run of its own.

    Outer ones are first in ``runs``. A run that no call started was handed over to, and what handed over had ended, but for the
    graph around it.
    """
    spans: dict[int, tuple[int, int] | None] = {}
    found = [*runs]
    graphs = [(run, wrapper) for run in found for wrapper in run.wrappers if wrapper.role is OTHER][:_MAX_GRAPHS]
    for run in reversed(found):
        anchor = run.anchor
        if anchor is None or not run.is_continued:
            continue
        # What no call started was handed over to: its parent, if it has one, had ended by then.
        outer = run.parent if run.started_by is not None else None
        if run.parent is None and graphs:
            outer = _graph_around(anchor, graphs)
        if outer is None:
            continue
        if id(outer) not in spans:  # found once for all that are inside
            spans[id(outer)] = _first_and_last_request(outer)
        asked = spans[id(outer)]
        outer.is_continued |= asked is not None and not asked[0] < anchor.start_ns < asked[1]


def _graph_around(anchor: GenAISpan, graphs: Iterable[tuple[RunSpans, GenAISpan]]) -> RunSpans | None:
    """Returns the run whose graph a run is in as one of its nodes, as an agent of LangGraph's supervisor is."""
    for outer, graph in graphs:
        if (
            outer.anchor is not anchor
            and graph.scope == anchor.scope
            and graph.start_ns <= anchor.start_ns < graph.end_ns
        ):
            return outer
    return None


def _first_and_last_request(run: RunSpans) -> tuple[int, int] | None:
    """Returns when the first and the last request of a run began; None where that does not tell whether it waited."""
    if (run.anchor is not None and run.anchor.status == "error") or any(model.is_transcript for model in run.models):
        return None
    starts = [model.start_ns for model in run.models]
    return min(starts, default=0), max(starts, default=0)
