"""Which verdicts are stored where there are more than the store takes: a fair sample, the same for all runs of a trace."""

from __future__ import annotations

from typing import Final

_RANGE: Final = 1 << 56


class RateSample:
    """Takes about ``per_second`` of what is offered; each taken one stands for ``weight`` that were offered.

    What is taken is decided by the trace id, so neither the time of a run nor what is in it makes it likelier to be kept.
    """

    def __init__(self, per_second: float) -> None:
        self._per_second, self._since, self._offered = per_second, 0.0, 0
        self._share, self._below = 1.0, _RANGE

    @property
    def weight(self) -> float:
        """How many of those offered one that is taken now stands for."""
        return 1.0 / self._share

    def takes(self, trace_id: bytes, now: float) -> bool:
        """Whether to store a run that is offered ``now``, in seconds."""
        self._offered += 1
        elapsed = now - self._since
        if elapsed >= 1.0:
            # The share of the second that comes is taken from the one that was: what is offered is not known ahead.
            self._share = min(1.0, self._per_second * elapsed / self._offered)
            self._below, self._since, self._offered = int(self._share * _RANGE), now, 0
        # Most collectors have few runs and take all: that is decided without looking at the id.
        # Hashed, with the key that every process draws for itself: who may choose ids could make all of them be taken.
        return self._below == _RANGE or hash(trace_id) % _RANGE < self._below
