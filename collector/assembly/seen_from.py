"""From when on a process sees the spans of its traces: what began before may have sent its first spans elsewhere.

That is so after a restart without a spool, and whenever a process joins others behind a balancer that routes by trace id: the
traces that it takes over have begun at another. Nothing in such a trace tells of the spans that are not here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

_JOINING: Final = 60_000_000_000  # ns after the start in which a balancer learns of the process
_LAST_BALANCER: Final = 5_000_000_000  # ns after the first span in which other balancers learn of it too
_UNSEEN: Final = 100_000_000  # ns at the beginning of a run in which nothing was recorded
_NEVER: Final = 1 << 63  # ns
_FLOWING: Final = 5  # traces in that time: a process that joins others takes over a share of their traffic


class SeenFrom:
    """Tells which runs may have begun unseen by a process that is ready since ``ready_ns``, at ``now`` on its own clock.

    A run that ended more than ``horizon`` seconds earlier is a recording that is replayed: nothing of it went elsewhere.
    """

    def __init__(self, ready_ns: int, now: float, horizon: float) -> None:
        self.ready_ns, self._now = ready_ns, now
        self._replayed_ns = ready_ns - int(horizon * 1e9)
        self._joined_ns = 0  # what began later was seen from its beginning; 0 until the first trace arrives
        self._joining = 0  # traces that arrived until then
        self.on_joining: Callable[[int], None] | None = None
        """Is told until when it joins others, once it is known that it does."""

    @classmethod
    def topic(cls) -> SeenFrom:
        """Returns that of a topic, which sees all runs, unless ``began`` or ``interrupted`` is called."""
        seen_from = cls(0, 0.0, 0.0)
        seen_from.joins_until(-1)  # no balancer comes into this
        return seen_from

    @classmethod
    def restored(cls, ready_ns: int, horizon: float) -> SeenFrom:
        """Returns that of a process before this one."""
        seen_from = cls(ready_ns, 0.0, horizon)
        seen_from.joins_until(ready_ns)
        return seen_from

    def later(self, ready_ns: int) -> SeenFrom:
        """Returns that of another process, for a trace that both saw."""
        return SeenFrom.restored(ready_ns, (self.ready_ns - self._replayed_ns) / 1e9)

    def joins_until(self, joined_ns: int) -> None:
        """Take from elsewhere until when the process joins others: no trace that arrives says more about that."""
        self._joined_ns, self._joining = joined_ns, _FLOWING

    def began(self, first_ns: int) -> None:
        """Note that all messages since then are read."""
        self.ready_ns = max(0, first_ns)

    def interrupted(self) -> None:
        """Note that messages are missing: until ``began`` is called, each run may have spans among them."""
        self.ready_ns = _NEVER

    @property
    def latest_ns(self) -> int:
        """No run that began later is in doubt."""
        return max(self.ready_ns, self._joined_ns) if self._joining >= _FLOWING else self.ready_ns

    def trace_arrived(self, now: float) -> None:
        """Note that the first spans of a trace arrive."""
        # By the monotonic clock: a wall clock that is set meanwhile neither lengthens nor ends the period.
        now_ns = self.ready_ns + int((now - self._now) * 1e9)
        if not self._joined_ns:
            self._joined_ns = min(now_ns + _LAST_BALANCER, self.ready_ns + _JOINING)
        if now_ns <= self._joined_ns:
            self._joining += 1
            if self._joining == _FLOWING and self.on_joining is not None:
                self.on_joining(self._joined_ns)

    def may_miss_beginning(self, start_ns: int, end_ns: int, recorded_ns: int) -> bool:
        """Whether a run may have begun unseen. ``recorded_ns`` is the start of the first thing that was recorded of it.

        It may if it began before the process was ready; or soon after, and nothing is known of how it began: a balancer
        learns of a process only after that is ready.
        """
        if end_ns < self._replayed_ns:
            return False
        return start_ns < self.ready_ns or (start_ns < self.latest_ns and recorded_ns - start_ns > _UNSEEN)
