"""Intermediate data of reconstruction: mutable, and discarded once the runs are built."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from collector.model.genai_span import GenAISpan
from collector.model.span import Resource
from collector.payloads.values import Arguments
from scorers.trajectory import DoubtName, KnownBy, Status


@dataclass(slots=True)
class RunSpans:
    """The spans of one agent run. ``executions`` has one list per call: the spans of the same call, outermost first."""

    anchor: GenAISpan | None
    anchor_id: bytes
    """The span that identifies the run: the agent's, else the trace's root, else the earliest received."""
    parent: RunSpans | None = None
    """The run that started it."""
    started_by: bytes | None = None
    """Span id of the tool execution that started it, if one did."""
    wrappers: list[GenAISpan] = field(default_factory=list)
    """Further agent spans of the same run, which may hold what the anchor lacks."""
    executions: list[list[GenAISpan]] = field(default_factory=list)
    models: list[GenAISpan] = field(default_factory=list)
    children: list[RunSpans] = field(default_factory=list)
    """Runs started by this one."""
    enclosing: dict[bytes, bytes] = field(default_factory=dict)
    """Span id of an execution -> span id of the execution of another tool that encloses it."""
    incomplete: tuple[Literal["missing_parent", "missing_anchor"], ...] = ()
    """What was not received and should be."""
    missing_ancestor: bytes = b""
    """Id of the nearest span above the anchor that was not received."""
    has_unseen_caller: bool = False
    """The nearest span above the anchor that was not received ran in another process."""
    adopted: set[bytes] = field(default_factory=set)
    """Ids of missing spans between the anchor and spans of the run."""
    disputed: list[RunSpans] = field(default_factory=list)
    """Spans below missing ones: they belong to this run or to another."""
    turns_are_ordered: bool = True
    """False if nothing tells which of its model requests came first."""
    repeated: set[bytes] = field(default_factory=set)
    """Span ids of executions that may be other executions of the run, recorded by a second instrumentation."""
    has_unrecorded_calls: bool = False
    """A model requested tools, or one ran, and nothing records which."""

    @property
    def is_idle(self) -> bool:
        """Whether it made no call and no request to a model."""
        return not self.executions and not self.models


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
    """Index of the run's model response that requested it; -1 if unknown."""
    position: int = 0
    """Its position among the calls of that turn."""
    step: int = 0
    enclosing_id: bytes | None = None
    """Span id of the tool execution that made this call: it started earlier, whatever its duration."""
    resource: Resource | None = None
    """Of its execution; identifies the clock that stamped it."""
    response: int = -1
    """Index of the model response that it followed by the clock, if its turn is unknown; -1 if there is none."""
    known_by: KnownBy = "span"
    doubt: DoubtName | None = None
    """Why it may not have run, or not in this run."""
    evidence: str = ""
    """What would settle the doubt, as a clause."""
    run: int = 0
    """Which of several joined runs it belongs to. Turns of one run order nothing in another."""

    def doubt_execution(self, evidence: str) -> None:
        """Doubt that it ran; ``evidence`` is a clause."""
        self.doubt, self.evidence = "uncertain_execution", evidence


def by_start(span: GenAISpan) -> tuple[int, bytes]:
    """Sort key of spans. Arrival order is not used: exporters send spans as they end, and retries reorder them."""
    return span.start_ns, span.span_id


def latest_start(start_ns: int) -> int:
    """Returns the latest time at which a span with this recorded start can have started.

    JavaScript clocks truncate starts to whole milliseconds, so such a start may be up to a millisecond later.
    """
    return start_ns + 999_999 if start_ns % 1_000_000 == 0 else start_ns
