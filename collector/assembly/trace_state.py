"""The states of a trace, and what takes it from one to another."""

from __future__ import annotations

from enum import IntEnum, auto


class TraceState(IntEnum):
    """Where a trace is in its life."""

    OPEN = auto()
    CLOSED = auto()
    """It has its verdict and is only remembered."""
    REOPENED = auto()
    """Spans arrived after the verdict."""


class TraceEvent(IntEnum):
    """What can happen to a trace."""

    ARRIVED = auto()
    RELEASED = auto()


# Of integers: other members of an Enum are hashed by a function of their own, which is interpreted.
TRANSITIONS: dict[TraceState, dict[TraceEvent, TraceState]] = {
    TraceState.OPEN: {TraceEvent.ARRIVED: TraceState.OPEN, TraceEvent.RELEASED: TraceState.CLOSED},
    TraceState.CLOSED: {TraceEvent.ARRIVED: TraceState.REOPENED},
    TraceState.REOPENED: {TraceEvent.ARRIVED: TraceState.REOPENED, TraceEvent.RELEASED: TraceState.CLOSED},
}
