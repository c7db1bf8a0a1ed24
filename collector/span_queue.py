"""The spans that end in this process, until their traces end, then until the thread that scores them takes them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from opentelemetry.sdk.trace import ReadableSpan, Span

MAX_QUEUED_SPANS: Final = 4096
"""Spans that may wait for the thread. Further ones are dropped, and their traces get no events."""
MAX_QUEUED_BYTES: Final = 32 << 20
"""Size of their attributes."""
MAX_OPEN_TRACES: Final = 10_000
"""Traces with spans that have not ended. Beyond it the one that has been quiet longest is scored as it is."""
MAX_OPEN_BYTES: Final = 64 << 20
"""Size of the attributes of what has ended in them. Beyond it as well."""
REMEMBERED: Final = 65_536
"""Traces that are remembered to lack spans that were dropped, or could not be read. Spans that are remembered to go on, too."""
_RUNNING: Final = 100
"""Bytes that a span takes until it ends."""
_MAX_TRACES: Final = 500
"""Traces in one request, where their spans stand by scope, so that all are open at once: half of what the pipeline may have."""
_MAX_BYTES: Final = 16 << 20
"""Size of their attributes, of the 64 MiB that open traces may take there."""


class OpenTrace:
    """Spans of a trace that have ended, and the parents of those that have not, by their ids; 0 is no parent."""

    __slots__ = ("bytes", "running", "spans", "trace_id")

    def __init__(self, trace_id: int) -> None:
        self.trace_id = trace_id
        self.spans: list[ReadableSpan] = []
        self.running: dict[int, int] = {}
        self.bytes = 0


class Taken(NamedTuple):
    """What the thread takes from the queue at once."""

    traces: Sequence[OpenTrace]
    torn: set[int]
    """Ids of traces of which spans were dropped."""
    dropped: int
    flushes: int
    """How many times `flush` was called so far."""
    closed: bool


class SpanQueue:
    """The spans that wait for their traces to end, then for the thread; any thread may call it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        # By trace id, the one that has been quiet longest first.
        self._open: OrderedDict[int, OpenTrace] = OrderedDict()
        self._open_bytes = 0
        self._passed_on: list[OpenTrace] = []
        self._spans = self._bytes = self._dropped = self._flushes = self._flushed = 0
        self._torn: set[int] = set()
        self.closed = False
        """It takes nothing any more."""

    def begin(self, span: Span) -> None:
        """The trace of this span is open until that ends."""
        with self._changed:
            if not self.closed:
                trace = self._touched(span.context.trace_id)
                trace.running[span.context.span_id] = span.parent.span_id if span.parent is not None else 0
                self._grow(trace, _RUNNING)
                self._keep_limits()

    def put(self, span: ReadableSpan) -> None:
        """Keep a span that ended until its trace ends. If too many wait for the thread already, it is dropped."""
        # Before the lock: meanwhile other threads of the agent end their spans.
        size = _size(span)
        with self._changed:
            if self.closed or span.context is None:
                return
            trace_id = span.context.trace_id
            trace = self._touched(trace_id)
            if self._spans >= MAX_QUEUED_SPANS or self._bytes + size > MAX_QUEUED_BYTES:
                self._dropped += 1
                if len(self._torn) < REMEMBERED:
                    self._torn.add(trace_id)
            else:
                trace.spans.append(span)
                self._grow(trace, size)
            # It may not be known that the span began: before a fork, or in a trace that was beyond the limits.
            if trace.running.pop(span.context.span_id, None) is not None:
                self._grow(trace, -_RUNNING)
            if not trace.running:
                self._pass_on(trace_id)
            self._keep_limits()
            if self._is_urgent():
                self._changed.notify_all()

    def _touched(self, trace_id: int) -> OpenTrace:
        trace = self._open.get(trace_id)
        if trace is None:
            trace = self._open[trace_id] = OpenTrace(trace_id)
        self._open.move_to_end(trace_id)
        return trace

    def _grow(self, trace: OpenTrace, size: int) -> None:
        trace.bytes += size
        self._open_bytes += size

    def _keep_limits(self) -> None:
        while len(self._open) > MAX_OPEN_TRACES or self._open_bytes > MAX_OPEN_BYTES:
            self._pass_on(next(iter(self._open)))

    def _pass_on(self, trace_id: int) -> None:
        """Let the thread have what has ended in a trace."""
        trace = self._open.pop(trace_id)
        self._open_bytes -= trace.bytes
        # One whose spans were all dropped needs nothing; and while the thread is held up, nothing would bound their number.
        if trace.spans or trace.running:
            self._passed_on.append(trace)
        self._spans += len(trace.spans)
        self._bytes += trace.bytes

    def take(self, seconds: float) -> Taken:
        """Empty the queue, after so many seconds unless there is reason to hurry."""
        with self._changed:
            self._changed.wait_for(self._is_urgent, seconds)
            taken = Taken(self._passed_on, self._torn, self._dropped, self._flushes, self.closed)
            self._passed_on, self._torn, self._spans, self._bytes, self._dropped = [], set(), 0, 0, 0
            return taken

    def _is_urgent(self) -> bool:
        # Half, so that there is room for what ends until the thread gets its turn.
        half_full = 2 * self._spans >= MAX_QUEUED_SPANS or 2 * self._bytes >= MAX_QUEUED_BYTES
        return self.closed or self._flushes > self._flushed or half_full

    def flush(self, seconds: float) -> bool:
        """Wait until what is in the queue now was worked on, at most so many seconds. Returns whether it was."""
        with self._changed:
            if self.closed:
                return True
            self._flushes += 1
            # What other threads ask for later gets later numbers, and does not prolong this wait.
            number = self._flushes
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self._flushed >= number, seconds)

    def flushed(self, number: int) -> None:
        """The calls of `flush` up to this one have what they wait for."""
        with self._changed:
            self._flushed = number
            self._changed.notify_all()

    def close(self) -> None:
        """Pass all on as it is, and take nothing any more."""
        with self._changed:
            self.closed = True
            for trace_id in list(self._open):
                self._pass_on(trace_id)
            self._changed.notify_all()


class RunningSpans:
    """The spans that go on in traces of which others were passed on, and their parents, by ids."""

    def __init__(self) -> None:
        self._parents: OrderedDict[int, dict[int, int]] = OrderedDict()
        self._count = 0

    def note(self, trace: OpenTrace) -> None:
        """Note which spans of this trace have ended, and which have not."""
        before = self._parents.pop(trace.trace_id, {})
        running = before | trace.running
        if not running:  # nearly always
            return
        for span in trace.spans:
            running.pop(span.context.span_id if span.context is not None else 0, None)
        self._count += len(running) - len(before)
        if running:
            self._parents[trace.trace_id] = running
        while self._count > REMEMBERED:
            self._count -= len(self._parents.popitem(last=False)[1])  # of the trace noted longest ago

    def parents(self, trace_id: bytes) -> list[bytes]:
        """Returns the parents of the spans that go on in a trace, b"" for none."""
        running = self._parents.get(int.from_bytes(trace_id, "big"), {})
        return [parent.to_bytes(8, "big") if parent else b"" for parent in running.values()]


def batches(traces: Sequence[OpenTrace]) -> Iterator[Sequence[OpenTrace]]:
    """Yield so few traces at a time that the pipeline evicts none of which it has read half."""
    batch: list[OpenTrace] = []
    size = 0
    for each in traces:
        batch.append(each)
        size += each.bytes
        if len(batch) == _MAX_TRACES or size >= _MAX_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _size(span: ReadableSpan) -> int:
    size = 1_000
    for attributes in (span.attributes, *(event.attributes for event in span.events)):
        for value in (attributes or {}).values():
            if isinstance(value, str):
                size += len(value)
            elif not isinstance(value, bool | int | float):
                size += len(repr(value))
    return size
