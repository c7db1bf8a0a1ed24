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
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

Status = Literal["ok", "error", "unset"]
KnownBy = Literal["span", "result", "request"]


# The classes below have an `__init__` of their own: that of a dataclass stays interpreted in the compiled build.


@dataclass(slots=True, init=False)
class ToolCall:
    """One execution attempt of one tool. Times are Unix nanoseconds, 0 where unknown; ``span_id`` is 16 hex digits."""

    name: Final[str]
    arguments: Final[Mapping[str, Any] | None]
    id: Final[str | None]
    status: Final[Status]
    error_type: Final[str | None]
    start_ns: Final[int]
    end_ns: Final[int]
    span_id: Final[str | None]
    executed: Final[bool]
    step: Final[int]
    arguments_text: Final[str | None]
    """The arguments as received, if they could not be parsed as an object; ``arguments`` is then None."""
    known_by: Final[KnownBy]
    """The evidence of the call: its execution span, its result as a model was told it, or only a model's request."""

    def __init__(  # noqa: PLR0913, PLR0917 - what is known of a call
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        id: str | None = None,  # noqa: A002 - the name of the field
        status: Status = "unset",
        error_type: str | None = None,
        start_ns: int = 0,
        end_ns: int = 0,
        span_id: str | None = None,
        executed: bool = True,
        step: int = 0,
        arguments_text: str | None = None,
        known_by: KnownBy = "span",
    ) -> None:
        self.name, self.arguments, self.id, self.status = name, arguments, id, status
        self.error_type, self.start_ns, self.end_ns, self.span_id = error_type, start_ns, end_ns, span_id
        self.executed, self.step, self.arguments_text, self.known_by = executed, step, arguments_text, known_by


DoubtName = Literal[
    "missing_span",
    "missing_anchor",
    "unrecorded_calls",
    "nothing_recorded",
    "truncated",
    "other_traces",
    "torn_trace",
    "refused_spans",
    "unconfirmed_reading",
    "uncertain_execution",
    "uncertain_owner",
    "uncertain_duplicate",
    "uncertain_order",
    "unreadable_arguments",
    "unobserved_arguments",
    "unobserved_results",
    "missing_step",
    "missing_remote_parent",
    "unknown_route",
]
"""Why the calls of a run may not be what happened; `scorers.doubts` defines each."""
Order = Sequence[Sequence[int]]
"""Calls by index, in order; those of one inner sequence ran concurrently."""


class Doubt(NamedTuple):
    """Something that the evidence leaves open."""

    name: DoubtName
    calls: Sequence[int] = ()
    """The calls that it is about, by index."""
    sentence: str = ""
    """What would settle it."""
    orders: Sequence[Order] = ()
    """``uncertain_order``: every order that ``calls``, all of one step, may have had; empty if there are too many."""


@dataclass(slots=True, init=False)
class Trajectory:
    """The tool calls of one run in order, and what the evidence leaves open. ``calls[i].step`` never decreases."""

    calls: Final[Sequence[ToolCall]]
    user_input: Final[str | None]
    doubts: Final[Sequence[Doubt]]
    declared: Final[Mapping[str, Mapping[str, Any] | None] | None]
    """The JSON Schema of the arguments of each tool that was offered, None for a tool without one; None if it is not known
    which were."""

    def __init__(
        self,
        calls: Sequence[ToolCall] = (),
        user_input: str | None = None,
        doubts: Sequence[Doubt] = (),
        declared: Mapping[str, Mapping[str, Any] | None] | None = None,
    ) -> None:
        self.calls, self.user_input, self.doubts, self.declared = calls, user_input, doubts, declared
