"""Agents that did nothing themselves, which are no runs: workflows around others, steps, spans of a handoff."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Final

from collector.reconstruction.drafts import RunSpans
from collector.reconstruction.frameworks import LANGCHAIN_OPENINFERENCE

_HANDOFF_NS: Final = 5_000_000
"""How long before or after the start of an agent's run the span of the handoff to it may end."""


def without_workflows(found: list[RunSpans]) -> list[RunSpans]:
    """Returns ``found`` without agents that did nothing themselves and only contain others: those are workflows."""
    starters = {run.parent.anchor_id for run in found if run.parent is not None and run.started_by is None}
    runs: list[RunSpans] = []
    for run in found:  # outer runs come first
        while run.parent is not None and run.parent.anchor_id in starters and run.parent.is_idle:
            run.parent = run.parent.parent
        if run.anchor_id not in starters or not run.is_idle:
            runs.append(run)
    return runs


def without_handoffs(found: list[RunSpans]) -> list[RunSpans]:
    """Returns ``found`` without agents that did nothing just before one of the same name started: spans of a handoff."""
    busy: dict[str | None, list[int]] = {}
    for run in found:
        if run.anchor is not None and not run.is_idle:
            busy.setdefault(run.anchor.name, []).append(run.anchor.start_ns)
    for starts in busy.values():
        starts.sort()
    return [run for run in found if not (run.is_idle and (_is_handoff(run, busy) or _is_step(run)))]


def _is_step(idle: RunSpans) -> bool:
    """Whether the run is none: only its name said so, as of a function of a graph, `route_to_agent`, that OpenInference calls
    an agent.
    """
    if idle.anchor is not None and idle.anchor.tracing.identity == "guessed" and not idle.children:
        return True
    if idle.anchor is None or idle.parent is None or idle.children or idle.started_by is not None:
        return False
    return idle.anchor.scope == LANGCHAIN_OPENINFERENCE and idle.anchor.agent is None


def _is_handoff(idle: RunSpans, busy: Mapping[str | None, Sequence[int]]) -> bool:
    """Whether a busy agent of this name started when, or soon after, the idle one ended."""
    if idle.anchor is None or idle.anchor.status == "error":
        return False
    starts = busy.get(idle.anchor.name, ())
    after = bisect_left(starts, max(idle.anchor.end_ns - _HANDOFF_NS, idle.anchor.start_ns))
    return after < len(starts) and starts[after] <= idle.anchor.end_ns + _HANDOFF_NS
