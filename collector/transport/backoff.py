"""Exponential backoff with jitter: the one policy by which everything that sends over the network retries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from collector.config.fields import RetryConfig

MAX_RETRY_AFTER: Final = 300.0
"""Seconds; a server that asks for a longer pause gets this one."""


class Backoff:
    """The pauses between attempts. They double from ``initial_interval`` to ``max_interval``, each times 0.5 to 1.5.

    ``random`` returns the jitter, from 0 to 1.
    """

    def __init__(self, config: RetryConfig, random: Callable[[], float], max_elapsed_time: float) -> None:
        self._config, self._random, self._max_elapsed_time = config, random, max_elapsed_time
        self._interval = config.initial_interval

    def next_pause(self, elapsed: float, retry_after: float | None = None) -> float | None:
        """Returns the seconds to wait before the next attempt; None to give up.

        ``elapsed`` is how many seconds the request has been failing for, ``retry_after`` the pause that the server asked
        for at least. There is no next attempt if retries are disabled, or if it would come after ``max_elapsed_time``.
        """
        # Without jitter, all that failed together would try again together.
        pause = self._interval * (0.5 + self._random())
        # Never less than our own: who is overloaded may ask for no pause at all, or for one until a time that has passed.
        if retry_after is not None:
            pause = max(pause, min(retry_after, MAX_RETRY_AFTER))
        if not self._config.enabled or elapsed + pause > self._max_elapsed_time:
            return None
        # Not where a request is given up: that must not slow down the next one.
        self._interval = min(self._interval * 2, self._config.max_interval)
        return pause

    def reset(self) -> None:
        """Start again from ``initial_interval``, after a success."""
        self._interval = self._config.initial_interval
