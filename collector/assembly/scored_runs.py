"""Which runs had their verdict in traces that are not remembered any more, and of which traces the rest may still come."""

from __future__ import annotations

from typing import Final

from collector.assembly.trace import Trace

_BEGUN: Final = b"begun"  # in place of an anchor, which has 8 bytes, or none for the trace itself


class ScoredRuns:
    """Remembers at least the last ``limit`` runs: a hash each, in two generations."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._young: set[int] = set()
        self._old: set[int] = set()

    def add(self, trace: Trace) -> None:
        """Add the runs of a trace that have a verdict, and whether it was unfinished."""
        self._young.update(hash((trace.trace_id, anchor)) for anchor in trace.verdicts)
        if trace.unfinished:
            self._young.add(hash((trace.trace_id, _BEGUN)))
        # Two sets instead of an order of age: to forget the older half at once costs nothing for each run.
        if len(self._young) > self._limit:
            self._old, self._young = self._young, set()

    def has(self, trace_id: bytes, anchor: bytes) -> bool:
        """Whether the run with this anchor was added, and is not forgotten yet."""
        key = hash((trace_id, anchor))
        return key in self._young or key in self._old

    def has_begun(self, trace_id: bytes) -> bool:
        """Whether an unfinished trace with this id was added, and is not forgotten yet."""
        return self.has(trace_id, _BEGUN)
