"""The open traces: those that have been quiet for a while are packed, until something is looked for in them.

Which of them goes first when a limit is reached decides what is lost. Were it the oldest, a collector with a fifth too many
agents would have no whole run: each would be evicted shortly before its end. So a trace that was evicted before goes first,
because its verdict is made already and others can still be whole; then the one that has been quiet longest, whose end may
never come.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from collector.assembly.held_spans import HeldSpans
from collector.assembly.packed_trace import MAX_PACKED, SMALL, PackedTrace, pack, unpack
from collector.assembly.trace import Trace

_QUIET: Final = 5.0
"""Seconds without a span after which a trace may be packed: SDKs send what they have that often, and most traces have gone."""
_GONE_AT_ONCE: Final = 500
"""How many traces that have their verdict are passed over in one step; there may be a hundred thousand, which takes 20 ms."""


class OpenTraces:
    """Open traces by id, counted in ``held`` as what they take.

    Those that may become quiet are in two generations of their ids, instead of a timer for each: most are gone before.
    """

    def __init__(self, held: HeldSpans) -> None:
        self.entries: OrderedDict[bytes, Trace | PackedTrace] = OrderedDict()
        """All of them, as they are, the one that has been quiet longest first."""
        self._evicted: OrderedDict[bytes, None] = OrderedDict()  # those that were evicted before, and came back
        self._held = held
        self._young: dict[bytes, None] = {}
        self._old: dict[bytes, None] = {}
        self._quiet: dict[bytes, None] = {}  # to be packed now
        self._since = 0.0  # when the young generation began

    def __len__(self) -> int:
        return len(self.entries)

    def get(self, trace_id: bytes) -> Trace | None:
        """Returns an open trace."""
        entry = self.entries.get(trace_id)
        return self._unpack(entry) if isinstance(entry, PackedTrace) else entry

    def add(self, trace: Trace) -> None:
        """Add a trace that is open from now on."""
        self.entries[trace.trace_id] = trace
        self._young[trace.trace_id] = None
        if trace.evicted:
            self._evicted[trace.trace_id] = None

    def remove(self, trace: Trace) -> None:
        """Remove a trace that was got from here."""
        del self.entries[trace.trace_id]
        self._evicted.pop(trace.trace_id, None)

    def unpack(self, trace_ids: Iterable[bytes]) -> Iterator[None]:
        """Unpack those of these traces that are packed, in steps of up to a millisecond."""
        for trace_id in trace_ids:
            entry = self.entries.get(trace_id)
            if isinstance(entry, PackedTrace):
                self._unpack(entry)
                yield

    def remove_packed(self, trace_id: bytes) -> int | None:
        """Remove a trace if it is packed, as it is. Returns how many spans it held, None if it is not packed."""
        entry = self.entries.get(trace_id)
        if not isinstance(entry, PackedTrace):
            return None
        del self.entries[trace_id]
        self._evicted.pop(trace_id, None)
        self._held.count -= entry.held
        self._held.bytes -= entry.size
        return entry.held

    def all(self) -> Iterator[Trace]:
        """Yield all traces that are still open when their turn comes."""
        # One after the other: a hundred thousand of them, all unpacked, might not fit.
        for trace_id in list(self.entries):
            if (trace := self.get(trace_id)) is not None:
                yield trace

    def next_to_evict(self) -> Trace | None:
        """Returns the trace to evict first, of those that are not leaving already."""
        for trace_id in chain(self._evicted, self.entries):
            entry = self.entries[trace_id]
            if isinstance(entry, PackedTrace):
                return self._unpack(entry)
            if not entry.leaving:
                return entry
        return None

    def pack_quiet(self, now: float) -> Iterator[None]:
        """Pack what has been quiet, in steps of about 0.1 ms. What is not done when these are dropped is done next time."""
        if not self._quiet and now - self._since >= _QUIET:
            self._quiet, self._old, self._young, self._since = self._old, self._young, {}, now
        gone = 0
        while self._quiet:
            trace_id, _ = self._quiet.popitem()
            entry = self.entries.get(trace_id)
            if isinstance(entry, Trace):
                self._pack(entry, now)
            elif (gone := gone + 1) % _GONE_AT_ONCE:
                continue
            yield

    def next_packing(self) -> float | None:
        """Returns when ``pack_quiet`` may next have something to do, None for never."""
        if self._quiet:
            return self._since
        return self._since + _QUIET if self._young or self._old else None

    def _pack(self, trace: Trace, now: float) -> None:
        # A large one is packed again after each turn, which takes longer than to take the turn: only where room is short.
        most = MAX_PACKED if 2 * self._held.bytes > self._held.share else SMALL
        packed = pack(trace, most) if now - trace.touched >= _QUIET else None
        if packed is None:
            self._young[trace.trace_id] = None
        else:
            self.entries[trace.trace_id] = packed
            self._held.bytes += packed.size - trace.total_size

    def _unpack(self, packed: PackedTrace) -> Trace:
        trace = self.entries[packed.trace_id] = unpack(packed)
        self._young[packed.trace_id] = None
        self._held.bytes += trace.total_size - packed.size
        return trace
