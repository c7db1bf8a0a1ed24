"""How long nobody could read the topic that some traces are read from: that they are quiet says nothing then."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from collector.assembly.trace import Trace


class TopicStandstill:
    """``stood`` is for how many seconds, all in all; ``is_of_topic`` tells which traces are read from a topic, if any are."""

    def __init__(self) -> None:
        self.stood = 0.0
        self.is_of_topic: Callable[[bytes], bool] | None = None
        self._until = -inf

    def note(self, now: float, stood: float) -> None:
        """Note for how many seconds it stood still until now."""
        if stood > self.stood:
            self.stood, self._until = stood, now

    def since(self, at: float, trace: Trace) -> float:
        """From when on time counts for a trace, since ``at``: what it lacks may have waited in the topic meanwhile."""
        if at < self._until and self.is_of_topic is not None and self.is_of_topic(trace.trace_id):
            return self._until
        return at
