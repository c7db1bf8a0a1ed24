"""What the spool holds of what was sent and not received: requests that were refused, and gaps. The owner of these rows."""

from __future__ import annotations

from collections.abc import Collection

from collector.assembly.gaps import Gaps
from collector.assembly.refused_traces import RefusedTraces
from collector.clock import Clock
from collector.storage.records import RecordKind, write_gap, write_refused
from collector.storage.spool import Spool


class _Rows:
    """Rows of one kind in the inbox, one for each key."""

    def __init__(self, spool: Spool, kind: RecordKind) -> None:
        self._spool, self._kind = spool, kind
        self._rows: dict[int, int] = {}  # by key

    def delete(self, key: int) -> None:
        """Delete what was stored under a key, if anything was."""
        if key in self._rows:
            self._spool.delete("inbox", [self._rows.pop(key)])

    def restored(self, key: int, row: int) -> None:
        """Take over a row that was read back; it is deleted if another was stored in its place since the start."""
        if row != self._rows.setdefault(key, row):
            self._spool.delete("inbox", [row])

    def _store(self, key: int, record: bytes) -> None:
        # What cannot be written would pile up: each request is refused meanwhile.
        if not self._spool.failing:
            self.delete(key)
            self._rows[key] = self._spool.store(self._kind, record)


class RefusedRows(_Rows):
    """Refused requests, by key."""

    def __init__(self, spool: Spool) -> None:
        super().__init__(spool, RecordKind.REFUSED)

    def store(self, key: int, traces: Collection[bytes]) -> None:
        """Store that a request with spans of these traces is refused."""
        self._store(key, write_refused(key, traces))


class GapRows(_Rows):
    """Gaps in what was received, by when they began."""

    def __init__(self, spool: Spool) -> None:
        super().__init__(spool, RecordKind.GAP)

    def store(self, begun_ns: int, ended_ns: int) -> None:
        """Store a gap, in place of what was stored of the one that began then."""
        self._store(begun_ns, write_gap(begun_ns, ended_ns))


def unreceived(spool: Spool | None, clock: Clock, horizon: float) -> tuple[RefusedTraces, Gaps]:
    """Returns what is to be known of what is not received, stored where there is a spool; ``horizon`` as of `Gaps`."""
    gaps = Gaps(clock, horizon, None if spool is None else GapRows(spool))
    return RefusedTraces(clock, gaps, record=None if spool is None else RefusedRows(spool)), gaps
