"""The interfaces and types that components share, and the lifecycle that every component follows.

``start`` returns once the component works, or raises ConfigError with a message for the operator; it does not wait for
backends. ``shutdown`` stops accepting work, drains, and returns when no background work is left; it is safe without
``start``, safe to repeat, and never raises. Components start downstream first, so that every consumer is ready before its
producer, and stop upstream first, so that every producer can drain into its consumer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from collector.errors import CollectorError
from collector.in_flight import Reservation
from scorers.judged.judge import JudgeRequest

Signal = Literal["traces", "logs", "metrics"]
SIGNALS: tuple[Signal, ...] = ("traces", "logs", "metrics")


class Component(Protocol):
    """A part of the process that is started and stopped."""

    async def start(self) -> None:
        """Start working."""

    async def shutdown(self) -> None:
        """Drain, then stop."""


class Rejected:
    """How much of a request was rejected permanently: OTLP's partial success. Falsy if nothing was."""

    __slots__ = ("count", "message")

    def __init__(self, count: int = 0, message: str = "") -> None:
        self.count, self.message = count, message

    def __bool__(self) -> bool:
        return self.count > 0


class Intake(Protocol):
    """What receivers pass requests to."""

    def reservation(self) -> Reservation:
        """Returns room for one request, before any of it is read. Raises CollectorError where none would be taken now."""

    async def take(self, signal: Signal, request: bytes, transport: str) -> Rejected:
        """Take one OTLP protobuf request. Returns what was rejected permanently. Do not acknowledge before it returns.

        Raises CollectorError if nothing of it was taken.
        """

    def refuse(self, transport: str, error: CollectorError) -> None:
        """Count a request that was refused, by the receiver or by ``take``."""


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    """A judge's answer. ``tokens`` counts those of question and answer; None if the judge did not report them."""

    text: str
    tokens: int | None


class Judge(Protocol):
    """A language model that answers questions about runs."""

    @property
    def identity(self) -> str:
        """Changes whenever the answers may change: part of the key of cached answers."""

    async def ask(self, request: JudgeRequest) -> JudgeAnswer:
        """Send one request, without retries. Raises JudgeError."""

    async def close(self) -> None:
        """Close the connections."""


@dataclass(slots=True, eq=False)
class ExportRequest:
    """One serialised OTLP request with ``items`` spans or log records; 0 if they were not counted.

    If it is not ``in_memory``, only the spool has the payload, in ``row``.
    """

    signal: Signal
    payload: bytes
    items: int
    in_memory: bool = True
    row: int = 0
    size: int = 0
    failing_since: float | None = None
    """When the first attempt to send it failed, on the exporter's monotonic clock."""
    attempts: int = 0
    first_attempt_ns: int = 0
    """When it was sent first, in Unix nanoseconds."""
    number: int = 0
    """Its place in the order of all requests of its queue."""
    parts: Sequence[ExportRequest] = ()
    """The requests that it was joined of, if it was."""

    @property
    def spans(self) -> int:
        """How many spans it holds."""
        return self.items if self.signal == "traces" else 0

    def spill(self) -> None:
        """Drop the payload from memory; the spool has it."""
        self.payload, self.in_memory = b"", False
