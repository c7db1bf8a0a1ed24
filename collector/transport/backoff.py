"""Exponential backoff with jitter: the one policy by which everything that sends over the network retries."""

from __future__ import annotations

import math
from typing import Final

from collector.clock import Clock
from collector.config.fields import RetryConfig

MAX_RETRY_AFTER: Final = 300.0
"""Seconds; a server that asks for a longer pause gets this one."""


class Backoff:
    """The pauses between attempts. They double from ``initial_interval`` to ``max_interval``, each times 0.5 to 1.5."""

    def __init__(self, config: RetryConfig, clock: Clock, max_elapsed_time: float = math.inf) -> None:
        self._config, self._clock, self._max_elapsed_time = config, clock, max_elapsed_time
        self._interval = config.initial_interval

    def next_pause(self, failing_since: float, retry_after: float | None = None) -> float | None:
        """Returns the seconds to wait before the next attempt; None to give up.

        It is time to give up if retries are disabled, or if the pause would end more than ``max_elapsed_time`` seconds
        after ``failing_since``, a time of the clock. ``retry_after`` is the pause in seconds that the server asked for.
        """
        jittered = self._interval * (0.5 + self._clock.random())
        pause = jittered if retry_after is None else min(retry_after, MAX_RETRY_AFTER)
        elapsed = self._clock.now() - failing_since
        if not self._config.enabled or elapsed + pause > self._max_elapsed_time:
            return None
        self._interval = min(self._interval * 2, self._config.max_interval)
        return pause

    def reset(self) -> None:
        """Start again from ``initial_interval``, after a success."""
        self._interval = self._config.initial_interval
