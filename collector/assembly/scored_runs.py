"""Which runs had their verdict in traces that are not remembered any more, and of which traces the rest may still come."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

from collector.assembly.recent_keys import RecentKeys
from collector.assembly.trace import Trace

_BEGUN: Final = b"begun"  # in place of an anchor, which has 8 bytes, or none for the trace itself


class ScoredRuns:
    """Remembers at least the last ``limit`` runs."""

    def __init__(self, limit: int) -> None:
        self._keys = RecentKeys(limit)
        self.wall_ns: Callable[[], int] = lambda: 0
        """Wall time in ns; 0 where it says nothing, as of recordings."""
        self.known_since_ns = 0
        """In wall time; what was added before is forgotten. 0 if nothing is."""
        self._generation_ns = 0  # when the one began that is forgotten next

    def add(self, trace: Trace) -> None:
        """Add the runs of a trace that have a verdict, and whether it was unfinished."""
        anchors = (*trace.verdicts, _BEGUN) if trace.unfinished else trace.verdicts
        self._add([(trace.trace_id, anchor) for anchor in anchors])

    def has(self, trace_id: bytes, anchor: bytes) -> bool:
        """Whether the run with this anchor was added, and is not forgotten yet."""
        return (trace_id, anchor) in self._keys

    def add_begun(self, trace_id: bytes) -> None:
        """Add an unfinished trace of which nothing else is known."""
        self._add([(trace_id, _BEGUN)])

    def has_begun(self, trace_id: bytes) -> bool:
        """Whether an unfinished trace with this id was added, and is not forgotten yet."""
        return self.has(trace_id, _BEGUN)

    def _add(self, keys: list[Hashable]) -> None:
        if self._keys.add(keys):
            self.known_since_ns, self._generation_ns = self._generation_ns, self.wall_ns()
