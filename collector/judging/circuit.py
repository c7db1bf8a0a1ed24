"""A circuit breaker: a judge that keeps failing is not asked for a while.

CLOSED: requests are sent. OPEN: none are, for ``cool_down``. HALF_OPEN: a single request probes whether the judge works
again; no other is sent meanwhile. Used by one event loop, without locks; time is an argument.
"""

from __future__ import annotations

from enum import Enum, auto

from collector.config.judge import CircuitBreakerConfig


class CircuitState(Enum):
    """Whether requests are sent."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class CircuitEvent(Enum):
    """What can happen to the circuit."""

    SUCCEEDED = auto()
    FAILED = auto()
    """The configured number of failures in a row; in HALF_OPEN a single one."""
    COOLED = auto()


TRANSITIONS: dict[CircuitState, dict[CircuitEvent, CircuitState]] = {
    CircuitState.CLOSED: {CircuitEvent.SUCCEEDED: CircuitState.CLOSED, CircuitEvent.FAILED: CircuitState.OPEN},
    # Requests that were in flight when it opened still complete.
    CircuitState.OPEN: {
        CircuitEvent.SUCCEEDED: CircuitState.OPEN,
        CircuitEvent.FAILED: CircuitState.OPEN,
        CircuitEvent.COOLED: CircuitState.HALF_OPEN,
    },
    CircuitState.HALF_OPEN: {CircuitEvent.SUCCEEDED: CircuitState.CLOSED, CircuitEvent.FAILED: CircuitState.OPEN},
}


class Circuit:
    """The circuit breaker of one judge."""

    def __init__(self, config: CircuitBreakerConfig) -> None:
        self._config = config
        self.state = CircuitState.CLOSED
        self._failures = 0
        self._until = 0.0
        self._probing = False

    def admits(self, now: float) -> bool:
        """Returns whether to send a request now. If so, ``succeeded``, ``failed`` or ``released`` must follow."""
        if self.state is CircuitState.OPEN and now >= self._until:
            self._step(CircuitEvent.COOLED)
        # One probe at a time: a judge that is barely back must not get all that waits for it.
        if self.state is CircuitState.HALF_OPEN and not self._probing:
            self._probing = True
            return True
        return self.state is CircuitState.CLOSED

    def succeeded(self) -> None:
        """The judge answered."""
        self._failures = 0
        self._step(CircuitEvent.SUCCEEDED)

    def failed(self, now: float) -> None:
        """The judge failed to answer."""
        self._failures += 1
        if self.state is CircuitState.CLOSED and self._failures < self._config.failures:
            return
        # Requests that were sent before it opened may fail later: they do not prolong the pause.
        if self.state is not CircuitState.OPEN:
            self._until = now + self._config.cool_down
        self._step(CircuitEvent.FAILED)

    def released(self) -> None:
        """The request was inconclusive: let another one probe."""
        self._probing = False

    def _step(self, event: CircuitEvent) -> None:
        self.state = TRANSITIONS[self.state][event]
        self._probing = False
