"""What every part of the process promises.

``start`` returns once the part works, or raises ConfigError with a sentence; it does not wait for the outside world.
``shutdown`` stops taking in, hands on what it holds, and returns when its background work is gone; it is safe without
``start``, safe to repeat, and never raises. Parts are started downstream first, so that every consumer is ready before
its producer, and stopped upstream first, so that every producer can drain into its consumer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from collector.errors import CollectorError
from scorers.judged.judge import JudgeRequest

Signal = Literal["traces", "logs", "metrics"]
SIGNALS: tuple[Signal, ...] = ("traces", "logs", "metrics")


class Component(Protocol):
    """A part of the process with a life of its own."""

    async def start(self) -> None:
        """Begin to work."""

    async def shutdown(self) -> None:
        """Stop, draining first."""


class Rejected:
    """How much of a request was not taken: the OTLP partial success. Falsy when all of it was."""

    __slots__ = ("count", "message")

    def __init__(self, count: int = 0, message: str = "") -> None:
        self.count, self.message = count, message

    def __bool__(self) -> bool:
        return self.count > 0


class Intake(Protocol):
    """Where receivers hand requests on."""

    async def take(self, signal: Signal, request: bytes, transport: str) -> Rejected:
        """Take one OTLP protobuf request; what it returns was rejected for good. Acknowledge nothing before it returns.

        Raises CollectorError when none of it was taken.
        """

    def refuse(self, transport: str, error: CollectorError) -> None:
        """Count a request that was not taken, whoever found out."""


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    """What a judge answered. ``tokens`` are those of question and answer; None where it did not count them."""

    text: str
    tokens: int | None


class Judge(Protocol):
    """A model that can be asked."""

    @property
    def identity(self) -> str:
        """Changes whenever its answers may."""

    async def ask(self, request: JudgeRequest) -> JudgeAnswer:
        """Ask once. Raises JudgeError."""

    async def close(self) -> None:
        """Give its connections back."""


@dataclass(slots=True, eq=False)
class ExportRequest:
    """One serialised OTLP request; ``items`` is how many spans (records, points unknown: 0) it holds.

    Where it is not ``in_memory``, only the spool has the payload, in ``row``.
    """

    signal: Signal
    payload: bytes
    items: int
    in_memory: bool = True
    row: int = 0
    size: int = 0
    failing_since: float | None = None
    """When the first attempt to deliver it failed, on the exporter's clock."""
    attempts: int = 0
    tried_ns: int = 0
    """When it was tried first, in Unix nanoseconds."""

    def spill(self) -> None:
        """Leave the payload to the spool."""
        self.payload, self.in_memory = b"", False
