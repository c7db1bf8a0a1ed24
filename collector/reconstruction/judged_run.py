"""What a judge receives of a run: its content is parsed here, only for runs that are judged."""

from __future__ import annotations

from collector.payloads.flattened_attributes import unflatten
from collector.payloads.response import response_text
from collector.payloads.tool_definitions import tool_definitions
from collector.reconstruction.run import Run
from scorers.judged.judge import JudgedRun


def final_response(run: Run) -> str | None:
    """Returns the agent's final response; None if it was not recorded, or if no judge may be asked about the run."""
    texts = (response_text(unflatten(content.output)) for content in run.contents)
    return next((text for text in texts if text is not None), None)


def judged_run(run: Run) -> JudgedRun:
    """Returns the run as a judge receives it: bounded, with None for whatever was not recorded. Never raises."""
    tools = tool_definitions(unflatten(content.tool_definitions) for content in run.contents)
    return JudgedRun(run.trajectory, run.user_input, final_response(run), tools or None)
