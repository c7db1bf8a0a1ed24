"""Traces with spans in requests that were refused, until these requests are accepted.

Exporters of SDKs send a refused request again for less than 10 s, then give it up and go on with the next. Nothing in the rest
of a trace tells of what was in it.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Collection
from typing import Final, NamedTuple, Protocol
from zlib import crc32

from collector.assembly.gaps import Gaps
from collector.clock import Clock

_MAX_TRACES: Final = 50_000
"""Traces of refused requests that are known, once for each request. Of those refused longest ago nothing is known beyond it but
when: a gap in what was received."""
_ID_SIZE: Final = 16  # bytes: others are of no trace that is assembled, and may be of any size
_KEPT: Final = 600.0
"""Seconds: no sender tries for longer, the OpenTelemetry Collector for 300."""
_TRIED: Final = 10_000_000_000
"""ns for which exporters of SDKs send a refused request again: so long before, its spans may have ended."""


class Record(Protocol):
    """What a restart brings back."""

    def store(self, key: int, traces: Collection[bytes]) -> None:
        """Store that a request with spans of these traces is refused."""

    def delete(self, key: int) -> None:
        """Delete what was stored of a request, if it was."""

    def restored(self, key: int, row: int) -> None:
        """Take over what is stored of a request in a row that was read back."""


class _Refused(NamedTuple):
    at: float
    at_ns: int
    """In wall time."""
    traces: Collection[bytes]


class RefusedTraces:
    """Falsy if there are none. Where more are refused than are known, it adds to the ``gaps``."""

    def __init__(self, clock: Clock, gaps: Gaps, max_traces: int = _MAX_TRACES, record: Record | None = None) -> None:
        self._clock, self._gaps, self._max_traces, self._record = clock, gaps, max_traces, record
        self._requests: OrderedDict[int, _Refused] = OrderedDict()
        self._traces = Counter[bytes]()
        self._size = 0

    def __len__(self) -> int:
        """How many traces are known, once for each request."""
        return self._size

    def __bool__(self) -> bool:
        return bool(self._requests)

    def __contains__(self, trace_id: bytes) -> bool:
        return trace_id in self._traces

    def add(self, request: bytes, traces: Collection[bytes]) -> None:
        """Note that a request with spans of these traces is refused, for the first time or again."""
        key = _key_of(request)
        self._forget(key)
        traces = frozenset(trace_id for trace_id in traces if len(trace_id) == _ID_SIZE)
        if not traces:
            return
        if len(traces) > self._max_traces:
            self._forget_which(self._clock.wall_ns())
            return
        self._note(key, traces)
        if self._record is not None:
            self._record.store(key, traces)
        while self._size > self._max_traces:
            key, refused = next(iter(self._requests.items()))
            self._forget_which(refused.at_ns)
            self._forget(key)

    def restore(self, key: int, traces: Collection[bytes], row: int) -> None:
        """Note that a request was refused before a restart; it may have been refused again since."""
        if key not in self._requests:
            self._note(key, traces)
        if self._record is not None:
            self._record.restored(key, row)

    def accepted(self, request: bytes) -> None:
        """Note that a request is accepted, whether it was refused before or not."""
        self._forget(_key_of(request))

    def forget_old(self) -> None:
        """Forget the requests that nobody tries to send any more."""
        expired = self._clock.now() - _KEPT
        while self._requests and next(iter(self._requests.values())).at < expired:
            self._forget(next(iter(self._requests)))

    def _forget_which(self, at_ns: int) -> None:
        """Note that it is not known any more of which traces spans were refused then."""
        self._gaps.add(at_ns - _TRIED, at_ns)

    def _note(self, key: int, traces: Collection[bytes]) -> None:
        self._requests[key] = _Refused(self._clock.now(), self._clock.wall_ns(), traces)
        self._traces.update(traces)
        self._size += len(traces)

    def _forget(self, key: int) -> None:
        if key not in self._requests:
            return
        traces = self._requests.pop(key).traces
        self._size -= len(traces)
        if self._record is not None:
            self._record.delete(key)
        for trace_id in traces:
            self._traces[trace_id] -= 1
            if not self._traces[trace_id]:
                del self._traces[trace_id]


def _key_of(request: bytes) -> int:
    # Not its `hash`, which is another one after a restart.
    return len(request) << 32 | crc32(request)
