"""A judge that keeps failing is left alone for a while.

CLOSED: it is asked. OPEN: it is not, for ``cool_down``. HALF_OPEN: one request finds out whether it works again; until
it is back nobody else is let through. One owner, no locks; time is an argument.
"""

from __future__ import annotations

from enum import Enum, auto

from collector.judge_settings import CircuitBreaker


class State(Enum):
    """Whether requests are let through."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Event(Enum):
    """What can happen to the circuit."""

    SUCCEEDED = auto()
    FAILED = auto()
    """So many failures in a row as are tolerated; in HALF_OPEN any one."""
    COOLED = auto()


TRANSITIONS: dict[State, dict[Event, State]] = {
    State.CLOSED: {Event.SUCCEEDED: State.CLOSED, Event.FAILED: State.OPEN},
    # Requests that were under way when it opened still come back.
    State.OPEN: {Event.SUCCEEDED: State.OPEN, Event.FAILED: State.OPEN, Event.COOLED: State.HALF_OPEN},
    State.HALF_OPEN: {Event.SUCCEEDED: State.CLOSED, Event.FAILED: State.OPEN},
}


class Circuit:
    """One judge's circuit."""

    def __init__(self, config: CircuitBreaker) -> None:
        self._config = config
        self.state = State.CLOSED
        self._failures = 0
        self._until = 0.0
        self._probing = False

    def admits(self, now: float) -> bool:
        """Whether to ask now. After a yes ``succeeded``, ``failed`` or ``released`` must follow."""
        if self.state is State.OPEN and now >= self._until:
            self._step(Event.COOLED)
        if self.state is State.HALF_OPEN and not self._probing:
            self._probing = True
            return True
        return self.state is State.CLOSED

    def succeeded(self) -> None:
        """The judge answered."""
        self._failures = 0
        self._step(Event.SUCCEEDED)

    def failed(self, now: float) -> None:
        """The judge did not."""
        self._failures += 1
        if self.state is State.CLOSED and self._failures < self._config.failures:
            return
        if self.state is not State.OPEN:
            self._until = now + self._config.cool_down
        self._step(Event.FAILED)

    def released(self) -> None:
        """Whoever was let through did not find out."""
        self._probing = False

    def _step(self, event: Event) -> None:
        self.state = TRANSITIONS[self.state][event]
        self._probing = False
