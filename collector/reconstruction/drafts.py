"""What the processors hand one another while a trace becomes runs: plain and changeable, gone when the runs are built."""

from __future__ import annotations

from dataclasses import dataclass, field

from collector.model.genai_span import GenAISpan
from collector.model.span import Resource
from collector.payloads.values import Arguments
from scorers.trajectory import Status


@dataclass(slots=True)
class RunSpans:
    """The spans of one agent run. ``executions`` are one list a call: spans of the same call, outermost first."""

    anchor: GenAISpan | None
    anchor_id: bytes
    """The span the run is named by: the agent's, else the trace's root, else the earliest seen."""
    parent: RunSpans | None = None
    """The run it was started in."""
    outer_id: bytes | None = None
    """The tool execution it was started by, where one did."""
    wrappers: list[GenAISpan] = field(default_factory=list)
    """Further agent spans of the same run, which may know what the anchor does not say."""
    executions: list[list[GenAISpan]] = field(default_factory=list)
    models: list[GenAISpan] = field(default_factory=list)
    children: list[RunSpans] = field(default_factory=list)
    """Runs started in this one."""
    nested: dict[bytes, bytes] = field(default_factory=dict)
    """Span of an execution -> span of the execution of another tool that it happened inside of."""
    missing: tuple[str, ...] = ()
    """Why the run is not complete yet."""


@dataclass(slots=True)
class DraftCall:
    """One tool call on its way into a trajectory."""

    name: str
    id: str | None
    arguments: Arguments
    arguments_text: str | None
    status: Status
    error_type: str | None
    start_ns: int
    end_ns: int
    span_id: bytes | None
    executed: bool = True
    turn: int = -1
    """Which of the run's model requests asked for it; -1 where none is known to."""
    position: int = 0
    """Its place among the calls of that turn."""
    step: int = 0
    outer_id: bytes | None = None
    """The tool execution this call was made inside of: that one began first, however long it lasted."""
    resource: Resource | None = None
    """Of its execution: tells whose clock stamped it."""


def latest_start(start_ns: int) -> int:
    """The latest a span can have begun that says it began at ``start_ns``.

    JavaScript clocks give starts in whole milliseconds, so such a start lies anywhere in the millisecond after it.
    """
    return start_ns + 999_999 if start_ns % 1_000_000 == 0 else start_ns
