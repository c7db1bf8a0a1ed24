"""The calls of a run, in order: the plain data that every scorer reads.

A *tool call* is one execution attempt of one tool by one agent run.

- A failed attempt counts, with ``status="error"``; its retry is another call, equal arguments or not.
- A call that starts a sub-agent belongs to the run that made it; the sub-agent's own calls are another trajectory.
- A call that the model requested but that never ran (unknown tool, invalid arguments, crash) has ``executed=False``.
- ``arguments=None`` means that they were not captured. ``{}`` is a call without arguments.

Calls of one *step* ran concurrently: they have no order among themselves, whatever their position in ``calls``.
An empty trajectory is a run that called no tool; it is data, not an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Status = Literal["ok", "error", "unset"]


class ToolCall(NamedTuple):  # four times as fast to create as a frozen dataclass
    """One execution attempt of one tool. Times are Unix nanoseconds, 0 where unknown; ``span_id`` is 16 hex digits."""

    name: str
    arguments: Mapping[str, Any] | None = None
    id: str | None = None
    status: Status = "unset"
    error_type: str | None = None
    start_ns: int = 0
    end_ns: int = 0
    span_id: str | None = None
    executed: bool = True
    step: int = 0
    arguments_text: str | None = None
    """The arguments as received, if they could not be parsed as an object; ``arguments`` is then None."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The tool calls of one run in order. ``calls[i].step`` never decreases.

    ``unsure_steps`` are the steps whose calls share a step only because their clocks cannot order them (different hosts,
    closer than the skew tolerance): they ran in some order, but it is unknown.
    """

    calls: Sequence[ToolCall] = ()
    complete: bool = True
    user_input: str | None = None
    unsure_steps: frozenset[int] = field(default_factory=frozenset)
