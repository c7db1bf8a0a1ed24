"""Traces with spans in requests that were refused, until these requests are accepted.

Exporters of SDKs send a refused request again for less than 10 s, then give it up and go on with the next. Nothing in the rest
of a trace tells of what was in it, however long that goes on.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Collection
from typing import Final, NamedTuple, Protocol
from zlib import crc32

from collector.assembly.gaps import Gaps
from collector.clock import Clock

_MAX_TRACES: Final = 50_000
"""Traces of refused requests that are known, once for each request. Beyond it those refused longest ago are forgotten, and the
time at which they were refused is a gap in what was received."""
_ID_SIZE: Final = 16  # bytes: others are of no trace that is assembled, and may be of any size
_SENT_AGAIN: Final = 600.0
"""Seconds: no sender tries for longer, the OpenTelemetry Collector for 300."""
_GOES_ON: Final = 86_400.0
"""Seconds for which a run may go on, with a span missing that nobody sends again."""
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


class _Requests:
    """Refused requests by key, those refused longest ago first."""

    def __init__(self) -> None:
        self._by_key: OrderedDict[int, _Refused] = OrderedDict()
        self.traces = 0
        """How many they have spans of, counted once for each request."""

    def __bool__(self) -> bool:
        return bool(self._by_key)

    def __contains__(self, key: int) -> bool:
        return key in self._by_key

    def put(self, key: int, refused: _Refused) -> None:
        self._by_key[key] = refused
        self.traces += len(refused.traces)

    def pop(self, key: int) -> _Refused | None:
        refused = self._by_key.pop(key, None)
        if refused is not None:
            self.traces -= len(refused.traces)
        return refused

    def oldest(self) -> tuple[int, _Refused]:
        return next(iter(self._by_key.items()))


class RefusedTraces:
    """Falsy if there are none. Where more are refused than are known, it adds to the ``gaps``."""

    def __init__(self, clock: Clock, gaps: Gaps, max_traces: int = _MAX_TRACES, record: Record | None = None) -> None:
        self._clock, self._gaps, self._max_traces, self._record = clock, gaps, max_traces, record
        self._awaited, self._lost = _Requests(), _Requests()
        self._traces = Counter[bytes]()

    def __len__(self) -> int:
        """Of how many traces spans may be sent again, counted once for each request."""
        return self._awaited.traces

    def __bool__(self) -> bool:
        return bool(self._awaited or self._lost)

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
        while self._awaited.traces + self._lost.traces > self._max_traces:
            key, refused = (self._lost or self._awaited).oldest()
            self._forget(key)
            self._forget_which(refused.at_ns)

    def restore(self, key: int, traces: Collection[bytes], row: int) -> None:
        """Note that a request was refused before a restart; it may have been refused again since."""
        if key not in self._awaited:
            self._note(key, traces)
        if self._record is not None:
            self._record.restored(key, row)

    def accepted(self, request: bytes) -> None:
        """Note that a request is accepted, whether it was refused before or not."""
        if self._awaited:  # else its key is not needed, which takes its time
            self._forget(_key_of(request))

    def forget_old(self) -> None:
        """Forget the requests whose traces have ended by now. Those that nobody sends again any more are lost."""
        now = self._clock.now()
        while self._awaited and self._awaited.oldest()[1].at < now - _SENT_AGAIN:
            key, refused = self._awaited.oldest()
            self._awaited.pop(key)
            self._lost.put(key, refused)
        while self._lost and self._lost.oldest()[1].at < now - _GOES_ON:
            self._forget(self._lost.oldest()[0])

    def _forget_which(self, at_ns: int) -> None:
        """Note that it is not known any more of which traces spans were refused then."""
        self._gaps.add(at_ns - _TRIED, at_ns)

    def _note(self, key: int, traces: Collection[bytes]) -> None:
        self._awaited.put(key, _Refused(self._clock.now(), self._clock.wall_ns(), traces))
        self._traces.update(traces)

    def _forget(self, key: int) -> None:
        refused = self._awaited.pop(key) or self._lost.pop(key)
        if refused is None:
            return
        if self._record is not None:
            self._record.delete(key)
        for trace_id in refused.traces:
            self._traces[trace_id] -= 1
            if not self._traces[trace_id]:
                del self._traces[trace_id]


def _key_of(request: bytes) -> int:
    # Not its `hash`, which is another one after a restart.
    return len(request) << 32 | crc32(request)
