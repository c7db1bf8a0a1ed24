"""Runs made of calls, for what learns from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from collector.learning.groups import Observations
from collector.reconstruction.run import Run
from scorers import Doubt, ToolCall, Trajectory

Call = str | tuple[str, Mapping[str, Any] | None]


def run(calls: Sequence[ToolCall], agent: str | None = "shop", route: str | None = None, *doubts: Doubt) -> Run:
    """A run of these calls."""
    return Run(
        b"t" * 16, b"s" * 8, None, agent, None, route, None, None, None, None, "test", {}, Trajectory(calls, None, doubts),
        (None,) * len(calls), None,
    )  # fmt: skip


def calls(*given: Call) -> list[ToolCall]:
    """Calls one after the other: a name, or a name with its arguments."""
    pairs = [(one, None) if isinstance(one, str) else one for one in given]
    return [ToolCall(name, arguments, step=step) for step, (name, arguments) in enumerate(pairs)]


def observed(runs: Iterable[Run]) -> Observations:
    """What is counted of these runs."""
    observations = Observations()
    for one in runs:
        observations.add(one)
    return observations
