"""Which verdicts are stored where there are more than the store takes: a fair sample, the same for all runs of a trace."""

from __future__ import annotations

from random import Random
from typing import Final

_ID_BITS: Final = 128
_HASH_BITS: Final = 56
_RANGE: Final = 1 << _HASH_BITS
_MASK: Final = (1 << _ID_BITS) - 1
_BURST: Final = 100  # runs that may be taken in one second: what a team tries out is stored whole


class RateSample:
    """Takes about ``per_second`` of what is offered; each taken one stands for ``weight`` that were offered.

    What is taken is decided by the trace id, so neither the time of a run nor what is in it makes it likelier to be kept.
    Ids are hashed with ``chance``, a random number from 0 to 1: who may choose them could else make all of them be taken.
    The hash is multiply-shift (Dietzfelbinger et al. 1997), which is cheap: each trace is hashed. Without the factor nobody
    knows which of two ids it makes larger.
    """

    def __init__(self, per_second: float, chance: float) -> None:
        self._factor = Random(chance).getrandbits(_ID_BITS) | 1  # noqa: S311 - decides what is shown, and keeps no secret
        self._per_second, self._since, self._offered = per_second, 0.0, 0
        self._share, self._below, self._left = 1.0, _RANGE, float(_BURST)
        self._latest, self._takes_latest = b"", False

    @property
    def weight(self) -> float:
        """How many of those offered one that is taken now stands for."""
        return 1.0 / self._share

    def takes(self, trace_id: bytes, now: float) -> bool:
        """Whether to store a run that is offered ``now``, in seconds. The runs of a trace come one after the other."""
        self._offered += 1
        if trace_id != self._latest:
            self._adapt(now)
            # Most collectors have few runs and take all: that is decided without looking at the id.
            self._takes_latest = self._below == _RANGE or self._hash(trace_id) < self._below
            self._latest = trace_id
        self._left -= 1.0 if self._takes_latest else 0.0
        return self._takes_latest

    def _hash(self, trace_id: bytes) -> int:
        return (int.from_bytes(trace_id) * self._factor & _MASK) >> (_ID_BITS - _HASH_BITS)

    def _adapt(self, now: float) -> None:
        elapsed = now - self._since
        if elapsed >= 1.0:
            # The share of the second that comes is taken from the one that was: what is offered is not known ahead.
            self._use(min(1.0, self._per_second * elapsed / self._offered), _BURST)
            self._since, self._offered = now, 0
        elif self._left <= 0.0:
            # More are offered than the second before told, as after a quiet one.
            self._use(self._share / 2, self._per_second)

    def _use(self, share: float, left: float) -> None:
        self._share, self._below, self._left = share, int(share * _RANGE), left
