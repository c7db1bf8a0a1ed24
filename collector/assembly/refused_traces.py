"""The traces of which spans were refused, until the requests that had them are accepted.

Exporters of SDKs send a refused request again for less than 10 s, then give it up and go on with the next. Nothing in the rest
of a trace tells of what was in it.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Collection
from typing import Final

_MAX_TRACES: Final = 100_000
"""Traces of refused requests that are known; beyond it those refused longest ago are forgotten."""
_KEPT: Final = 600.0
"""Seconds: no sender tries for longer, the OpenTelemetry Collector for 300."""


class RefusedTraces:
    """Falsy if there are none. ``now`` is monotonic time in seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._requests: OrderedDict[int, tuple[float, Collection[bytes]]] = OrderedDict()
        self._traces = Counter[bytes]()

    def __bool__(self) -> bool:
        return bool(self._requests)

    def __contains__(self, trace_id: bytes) -> bool:
        return trace_id in self._traces

    def add(self, request: bytes, traces: Collection[bytes]) -> None:
        """Note that a request with spans of these traces is refused, for the first time or again."""
        key = hash(request)
        self._forget(key)
        self._requests[key] = self._now(), traces
        self._traces.update(traces)
        while len(self._traces) > _MAX_TRACES:
            self._forget(next(iter(self._requests)))

    def accepted(self, request: bytes) -> None:
        """Note that a request is accepted, whether it was refused before or not."""
        self._forget(hash(request))
        expired = self._now() - _KEPT
        while self._requests and next(iter(self._requests.values()))[0] < expired:
            self._forget(next(iter(self._requests)))

    def _forget(self, key: int) -> None:
        _, traces = self._requests.pop(key, (0.0, frozenset[bytes]()))
        for trace_id in traces:
            self._traces[trace_id] -= 1
            if not self._traces[trace_id]:
                del self._traces[trace_id]
