"""Which runs had their verdict in traces that are not remembered any more."""

from __future__ import annotations

from collector.assembly.trace import Trace


class ScoredRuns:
    """Remembers at least the last ``limit`` runs: a hash each, in two generations."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._young: set[int] = set()
        self._old: set[int] = set()

    def add(self, trace: Trace) -> None:
        """Add the runs of a trace that have a verdict."""
        self._young.update(hash((trace.trace_id, anchor)) for anchor in trace.verdicts)
        # Two sets instead of an order of age: to forget the older half at once costs nothing for each run.
        if len(self._young) > self._limit:
            self._old, self._young = self._young, set()

    def has(self, trace_id: bytes, anchor: bytes) -> bool:
        """Whether the run with this anchor was added, and is not forgotten yet."""
        key = hash((trace_id, anchor))
        return key in self._young or key in self._old
