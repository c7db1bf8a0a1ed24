"""Runs whose agent is another framework's, and which its models' client records as one run for each request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from collector.reconstruction.drafts import RunSpans

_OFFERED: Final = "spring.ai.chat.client.tool.names"
"""The tools that a client of Spring AI offers. It runs what is asked for inside its span, unless the application does: so do
the agents of Spring AI Alibaba (1.1), which leave no spans of calls."""


def doubt_parted(runs: Iterable[RunSpans]) -> None:
    """Doubt what clients tell that offer the tools for which an earlier one asked, and of which no span shows a call.

    They go on with what came of these calls. ``runs`` are sorted by the start of their anchors.
    """
    asked: set[object] = set()
    for run in runs:
        offered = None if run.anchor is None else run.anchor.attributes.get(_OFFERED)
        if offered is None:
            continue
        if offered in asked:
            run.has_unrecorded_calls = True
        elif (
            not run.executions and not run.ended_before_calls and any(one.finish == "tool_calls" for one in run.models)
        ):
            asked.add(offered)
