"""Finished traces that are remembered, to recognise late and repeated spans: a bounded number in a bounded size."""

from __future__ import annotations

from collections import OrderedDict

from collector.assembly.sizes import VERDICT
from collector.assembly.trace import Trace


class FinishedTraces:
    """The last ``max_traces`` finished traces, oldest first, in about ``max_bytes``.

    Where bytes run short, first the spans of the oldest traces are dropped: their late and repeated spans are recognised
    still, and revise nothing any more. Where that is not enough, the oldest traces themselves.
    """

    def __init__(self, max_traces: int, max_bytes: int) -> None:
        self._max_traces, self._max_bytes = max_traces, max_bytes
        # Not plain dicts, which find their oldest entry by walking over all that were deleted before it.
        self._traces: OrderedDict[bytes, Trace] = OrderedDict()
        self._whole: OrderedDict[bytes, Trace] = OrderedDict()  # those of them whose spans are kept
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._traces)

    def __contains__(self, trace_id: bytes) -> bool:
        return trace_id in self._traces

    def get(self, trace_id: bytes) -> Trace | None:
        """Returns a remembered trace."""
        return self._traces.get(trace_id)

    def add(self, trace: Trace) -> list[Trace]:
        """Remember a trace that was closed. Returns those that are not remembered any more."""
        self.restore(trace)
        if trace.spans:
            self._whole[trace.trace_id] = trace
        while self.bytes > self._max_bytes and self._whole:
            _, oldest = self._whole.popitem(last=False)
            self.bytes += oldest.drop_spans()
        evicted = []
        while self._traces and (len(self._traces) > self._max_traces or self.bytes > self._max_bytes):
            _, oldest = self._traces.popitem(last=False)
            evicted.append(self._forgotten(oldest))
        return evicted

    def restore(self, trace: Trace) -> None:
        """Remember a trace, even beyond the limits."""
        trace.size += VERDICT * len(trace.verdicts)
        self._traces[trace.trace_id] = trace
        self.bytes += trace.size

    def pop(self, trace_id: bytes) -> Trace:
        """Returns a remembered trace, which is not remembered any more. Raises KeyError."""
        return self._forgotten(self._traces.pop(trace_id))

    def _forgotten(self, trace: Trace) -> Trace:
        if trace.spans:
            self._whole.pop(trace.trace_id, None)
        self.bytes -= trace.size
        trace.size -= VERDICT * len(trace.verdicts)  # counted anew when it is finished again
        return trace
