"""What was called, in order: the plain data every scorer reads.

A *tool call* is one execution attempt of one tool by one agent run.

- A failed attempt counts, with ``status="error"``; its retry is another call, equal arguments or not.
- A call that starts a sub-agent belongs to the run that made it; the sub-agent's own calls are another trajectory.
- A call the model asked for and nothing ran (unknown tool, invalid arguments, crash) is kept with ``executed=False``.
- ``arguments=None`` means nobody recorded them. It is not ``{}``, which is a call without arguments.

Calls of one *step* ran concurrently: they have no order among themselves, whatever their place in ``calls``.
An empty trajectory is a run that called no tool; it is data, not an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Status = Literal["ok", "error", "unset"]


class ToolCall(NamedTuple):  # not a frozen dataclass, which takes four times as long to make
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
    """What the wire held where it could not be read as an object; ``arguments`` is then None."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The tool calls of one run in order. ``calls[i].step`` never decreases.

    ``unsure_steps`` are the steps whose calls share a step only because their clocks cannot order them (different
    hosts, closer than the skew tolerance): they had an order, nobody knows which.
    """

    calls: Sequence[ToolCall] = ()
    complete: bool = True
    user_input: str | None = None
    unsure_steps: frozenset[int] = field(default_factory=frozenset)
