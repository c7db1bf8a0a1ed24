"""Runs whose agent is another framework's, and which its models' client records as one run for each request."""

from __future__ import annotations

from collections.abc import Iterable

from collector.reconstruction.drafts import RunSpans
from collector.reconstruction.frameworks import SPRING_OFFERED


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
