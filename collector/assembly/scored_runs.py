"""Which runs had their verdict in traces that are not remembered any more, and of which traces the rest may still come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from collector.assembly.recent_keys import RecentKeys
from collector.assembly.trace import Trace

_BEGUN: Final = b"begun"  # in place of an anchor, which has 8 bytes, or none for the trace itself


class ScoredRuns:
    """Remembers at least the last ``limit`` runs."""

    def __init__(self, limit: int) -> None:
        # Until the clock is set, time says nothing, as of recordings.
        self._keys = RecentKeys(limit, lambda: 0)
        self.on_forgotten: Callable[[int], None] | None = None
        """Is told since when runs are known, each time that the older ones are forgotten."""

    def set_clock(self, wall_ns: Callable[[], int]) -> None:
        """Tell it wall time in ns."""
        self._keys.wall_ns = wall_ns

    @property
    def known_since_ns(self) -> int:
        """In wall time; what was added before is forgotten. 0 if nothing is."""
        return self._keys.known_since_ns

    def add(self, trace: Trace) -> None:
        """Add the runs of a trace that have a verdict, and whether it was unfinished."""
        anchors = (*trace.verdicts, _BEGUN) if trace.unfinished else trace.verdicts
        self._add([(trace.trace_id, anchor) for anchor in anchors])

    def _add(self, keys: list[tuple[bytes, bytes]]) -> None:
        before = self.known_since_ns
        self._keys.add(keys)
        if self.known_since_ns != before and self.on_forgotten is not None:
            self.on_forgotten(self.known_since_ns)

    def restore(self, known_since_ns: int) -> None:
        """Take over since when runs were known to a process before this one."""
        self._keys.restore(known_since_ns)

    def has(self, trace_id: bytes, anchor: bytes) -> bool:
        """Whether the run with this anchor was added, and is not forgotten yet."""
        return (trace_id, anchor) in self._keys

    def add_begun(self, trace_id: bytes) -> None:
        """Add an unfinished trace of which nothing else is known."""
        self._add([(trace_id, _BEGUN)])

    def has_begun(self, trace_id: bytes) -> bool:
        """Whether an unfinished trace with this id was added, and is not forgotten yet."""
        return self.has(trace_id, _BEGUN)
