"""Gaps in what was received: times at which what was sent was not even read, for the process was down, still or without room.

Nothing tells of which traces that was, so each run that was under way then may lack spans, and each conversation runs.
"""

from __future__ import annotations

from typing import Final, Protocol

from collector.clock import Clock

OUTLASTED: Final = 5_000_000_000
"""ns: exporters of SDKs outlast a shorter gap; that for Python tries again after 1, 3 and 7 s, each give or take a fifth."""
_ON_THE_WAY: Final = 5_000_000_000  # ns for which batch processors of SDKs hold a span that has ended
_WRITTEN_AFTER: Final = 1_000_000_000  # ns by which a gap has grown
_MAX_GAPS: Final = 100
"""Those before the latest so many are forgotten: with what is between it and the next, each takes ten seconds at least."""


class Record(Protocol):
    """What a restart brings back."""

    def store(self, begun_ns: int, ended_ns: int) -> None:
        """Store a gap, in place of what was stored of the one that began then."""

    def delete(self, begun_ns: int) -> None:
        """Delete what was stored of a gap, if it was."""

    def restored(self, begun_ns: int, row: int) -> None:
        """Take over what is stored of a gap in a row that was read back."""


class Gaps:
    """Falsy if there are none. ``clock`` is the one that says when traces open.

    A run that ended more than ``horizon`` seconds ago is a recording that is replayed: nothing of it was sent in a gap. Unless
    its trace was open by the end of one, which then lasted that long.
    """

    def __init__(self, clock: Clock, horizon: float, record: Record | None = None) -> None:
        self.wall_ns, self._now, self._horizon_ns, self._record = clock.wall_ns, clock.now, int(horizon * 1e9), record
        self._passed = float("-inf")
        self._gaps = list[tuple[int, int]]()  # when they began and ended; none is less than `OUTLASTED` after another
        self._written = dict[int, int]()  # when those that were recorded had ended by then, by when they began

    def __bool__(self) -> bool:
        return bool(self._gaps)

    def add(self, begun_ns: int, ended_ns: int) -> None:
        """Note that nothing was read from then until then: between two times at which that is so senders do not get through."""
        if begun_ns > ended_ns:  # the clock was set back meanwhile: nobody knows how long it was
            begun_ns = ended_ns - OUTLASTED - 1
        kept, joined = list[tuple[int, int]](), [begun_ns]
        for gap in self._gaps:
            if gap[0] <= ended_ns + OUTLASTED and begun_ns <= gap[1] + OUTLASTED:
                begun_ns, ended_ns = min(begun_ns, gap[0]), max(ended_ns, gap[1])
                joined.append(gap[0])
            elif _is_long(gap) or gap[0] > ended_ns:  # a short one before this one can grow no more
                kept.append(gap)
        kept.append((begun_ns, ended_ns))
        kept.sort()
        self._gaps = kept[-_MAX_GAPS:]
        for at in [at for at in joined if at != begun_ns] + [gap[0] for gap in kept[:-_MAX_GAPS]]:
            self._forget(at)
        if _is_long((begun_ns, ended_ns)):
            self.passed()
            self._write(begun_ns, ended_ns)

    def passed(self) -> None:
        """Note that the traces which are open by now were so before the latest ended."""
        self._passed = self._now()

    def restore(self, begun_ns: int, ended_ns: int, row: int) -> None:
        """Note a gap that was recorded before a restart."""
        if self._record is not None:
            self._record.restored(begun_ns, row)
        self._written[begun_ns] = max(ended_ns, self._written.get(begun_ns, 0))
        self.add(begun_ns, ended_ns)

    def may_hold(self, start_ns: int, end_ns: int, opened: float) -> bool:
        """Whether spans of a run may have been sent in one; ``opened`` is when its trace was."""
        if opened > self._passed and end_ns < self.wall_ns() - self._horizon_ns:
            return False
        until_ns = end_ns + _ON_THE_WAY
        return any(_is_long(gap) and start_ns < gap[1] and gap[0] < until_ns for gap in self._gaps)

    @property
    def latest_ns(self) -> int:
        """When the latest ended, 0 if there is none."""
        return max([gap[1] for gap in self._gaps if _is_long(gap)], default=0)

    def _write(self, begun_ns: int, ended_ns: int) -> None:
        written = self._written.get(begun_ns, 0)
        if self._record is not None and (not written or ended_ns - written >= _WRITTEN_AFTER):
            self._written[begun_ns] = ended_ns
            self._record.store(begun_ns, ended_ns)

    def _forget(self, begun_ns: int) -> None:
        if self._written.pop(begun_ns, 0) and self._record is not None:
            self._record.delete(begun_ns)


def _is_long(gap: tuple[int, int]) -> bool:
    return gap[1] - gap[0] > OUTLASTED
