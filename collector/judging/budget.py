"""The budget of requests and tokens per minute and per UTC day, kept exactly: reserved before a request, settled after it.

Minutes and days are those of the wall clock; a clock that is set back opens no new one, and by what it shows then the next
begins. Each process has its own budget, which starts full.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from collector.config.judge import BudgetConfig


@dataclass(slots=True)
class _Window:
    seconds: int
    max_requests: int
    max_tokens: int
    number: int = -1
    requests: int = 0
    tokens: int = 0

    def roll(self, now: float) -> None:
        number = int(now // self.seconds)
        if number > self.number:
            self.number, self.requests, self.tokens = number, 0, 0
        elif number < self.number - 1:
            # Else a clock that was years ahead for a moment would open none for years. By one it may go back and forth.
            self.number = number

    def has_room(self, tokens: int) -> bool:
        return self.requests < self.max_requests and self.tokens + tokens <= self.max_tokens


@dataclass(slots=True)
class Reservation:
    """One request's share of each window."""

    windows: Sequence[tuple[_Window, int]]
    tokens: int

    def settle(self, tokens: int) -> None:
        """Replace the reserved tokens by those that were used."""
        for window, number in self.windows:
            # A window that is over takes nothing back: its successor must not get what it never had.
            if window.number == number:
                window.tokens += tokens - self.tokens
        self.tokens = tokens

    def cancel(self) -> None:
        """Give everything back: the request was not sent."""
        self.settle(0)
        for window, number in self.windows:
            if window.number == number:
                window.requests -= 1


class Budget:
    """The budget of one process; ``now`` is Unix seconds."""

    def __init__(self, config: BudgetConfig) -> None:
        self._windows = (
            _Window(60, config.requests_per_minute, config.tokens_per_minute),
            _Window(86_400, config.requests_per_day, config.tokens_per_day),
        )

    def reserve(self, tokens: int, now: float) -> Reservation | None:
        """Reserve one request of at most ``tokens``. Returns None if a window has no room for it."""
        for window in self._windows:
            window.roll(now)
        if not all(window.has_room(tokens) for window in self._windows):
            return None
        for window in self._windows:
            window.requests += 1
            window.tokens += tokens
        return Reservation([(window, window.number) for window in self._windows], tokens)
