"""What a judge is told of a run. The run keeps it as the wire held it; it is taken apart here, for runs that are judged."""

from __future__ import annotations

from collector.payloads.flattened_attributes import unflatten
from collector.payloads.response import response_text
from collector.payloads.tool_definitions import tool_definitions
from collector.reconstruction.reconstruct import Run
from scorers.judged.judge import JudgedRun


def final_response(run: Run) -> str | None:
    """What the agent answered in the end, where somebody recorded it and a judge may be asked."""
    answers = (text for content in run.contents if (text := response_text(unflatten(content.output))) is not None)
    return next(answers, None)


def judged_run(run: Run) -> JudgedRun:
    """The run as a judge may see it: bounded, and None for whatever nobody recorded. Never raises on odd input."""
    tools = tool_definitions(unflatten(content.tool_definitions) for content in run.contents)
    return JudgedRun(run.trajectory, run.user_input, final_response(run), tools or None)
