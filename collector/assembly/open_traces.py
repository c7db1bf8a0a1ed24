"""The open traces, oldest first: those that have been quiet for a while are packed, until something is looked for in them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from collector.assembly.held_spans import HeldSpans
from collector.assembly.packed_trace import MAX_PACKED, SMALL, PackedTrace, pack, unpack
from collector.assembly.trace import Trace

_QUIET: Final = 5.0
"""Seconds without a span after which a trace may be packed: SDKs send what they have that often, and most traces have gone."""


class OpenTraces:
    """Open traces by id, counted in ``held`` as what they take.

    Those that may become quiet are in two generations of their ids, instead of a timer for each: most are gone before.
    """

    def __init__(self, held: HeldSpans) -> None:
        self.entries: OrderedDict[bytes, Trace | PackedTrace] = OrderedDict()
        """All of them, as they are: to look at their deadlines."""
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
        """Add the newest open trace."""
        self.entries[trace.trace_id] = trace
        self._young[trace.trace_id] = None

    def remove(self, trace: Trace) -> None:
        """Remove a trace that was got from here."""
        del self.entries[trace.trace_id]

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
        self._held.count -= entry.held
        self._held.bytes -= entry.size
        return entry.held

    def oldest(self, count: int | None = None) -> Iterator[Trace]:
        """Yield the ``count`` oldest traces, or all of them, oldest first: those that are still open when their turn comes."""
        # One after the other: a hundred thousand of them, all unpacked, might not fit.
        for trace_id in list(islice(self.entries, count)):
            if (trace := self.get(trace_id)) is not None:
                yield trace

    def oldest_to_stay(self) -> Trace | None:
        """Returns the oldest trace that is not leaving already."""
        for entry in self.entries.values():
            if isinstance(entry, PackedTrace):
                return self._unpack(entry)
            if not entry.leaving:
                return entry
        return None

    def pack_quiet(self, now: float) -> Iterator[None]:
        """Pack what has been quiet, in steps of about 0.1 ms. What is not done when these are dropped is done next time."""
        if not self._quiet and now - self._since >= _QUIET:
            self._quiet, self._old, self._young, self._since = self._old, self._young, {}, now
        while self._quiet:
            trace_id, _ = self._quiet.popitem()
            entry = self.entries.get(trace_id)
            if isinstance(entry, Trace):
                self._pack(entry, now)
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
            self._held.bytes += packed.size - _bytes_of(trace)

    def _unpack(self, packed: PackedTrace) -> Trace:
        trace = self.entries[packed.trace_id] = unpack(packed)
        self._young[packed.trace_id] = None
        self._held.bytes += _bytes_of(trace) - packed.size
        return trace


def _bytes_of(trace: Trace) -> int:
    return trace.size + sum([len(raw) for raw in trace.held.values()])
