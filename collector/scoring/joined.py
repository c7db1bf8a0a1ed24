"""Several runs as one, which rules for a whole trace or conversation score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from collector.model.genai_span import NOTHING_HIDDEN, Content
from collector.reconstruction.joined_runs import join_runs
from collector.reconstruction.run import Run


def outermost(runs: Sequence[Run]) -> Run:
    """Returns the earliest of the outermost runs, which all of them are matched by when they are scored as one."""
    return next((run for run in runs if run.parent_span_id is None), runs[0])


def join(runs: Sequence[Run], skew_ns: int, *, are_all: bool = False) -> Run:
    """Returns several runs as one, anchored at the earliest outermost of them."""
    anchor = outermost(runs)
    trajectory, call_span_ids = join_runs(runs, skew_ns, are_all=are_all)
    # Each text once: after a handoff the next agent has the words that the first was given.
    user_texts = dict.fromkeys(run.user_input for run in runs if run.parent_span_id is None and run.user_input)
    user_input = "\n\n".join(user_texts) or anchor.user_input
    contents = _join_contents(runs, anchor) if any(run.contents for run in runs) else ()
    return replace(
        anchor, trajectory=trajectory, call_span_ids=call_span_ids, contents=contents, user_input=user_input,
        hidden=NOTHING_HIDDEN.union(*[run.hidden for run in runs]),
    )  # fmt: skip


def _join_contents(runs: Sequence[Run], anchor: Run) -> list[Content]:
    """Returns what a judge reads: the last words of the last outermost run, and the tools offered to any."""
    last = next((run for run in reversed(runs) if run.parent_span_id is None), anchor)
    others = (content for run in runs if run is not last for content in run.contents)
    return [
        *last.contents,
        *(Content(None, content.tool_definitions) for content in others if content.tool_definitions),
    ]
