"""What a judge is told of a run. The run keeps it as the wire held it; it is taken apart here, for runs that are judged."""

from __future__ import annotations

from collector.reconstruction import Run
from scorers.judge import JudgedRun


def judged_run(run: Run) -> JudgedRun:
    """The run as a judge may see it: bounded, and None for whatever nobody recorded. Never raises on odd input."""
    return JudgedRun(run.trajectory, run.user_input)
