"""Open traces: what is known of each until its verdict, and when that time has come.

Theory of operation. A trace opens with its first span (or log event) that is about an agent. Its spans, its parent
links and the raw bytes of its *held* spans (those that will be annotated) wait here; every other span has left already.
When nothing new has come for ``settle``, the trace is due: if its runs look whole it is released, else it waits until it
was quiet for ``idle_timeout``. ``max_duration`` and the limits on open traces, spans and held bytes end it whatever it
looks like. A released trace is remembered for a while: a repeated span is recognised and dropped, a late one is passed on
at once and makes a revised verdict, and a new agent run in an old trace (a session of many turns) reopens it.

One owner, no locks; time is an argument. A deadline that fires early or for a trace that is gone does no harm.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from collector.assembly.trace import Trace, TraceEvent, TraceState
from collector.config.model import TracesConfig
from collector.model.genai_span import GenAISpan, Role
from collector.otlp.lazy import Envelope

_LARGE = 1000
"""Spans from which a trace is looked at less often: looking costs as much as there are."""


class Due(Enum):
    """Why a trace is due."""

    SETTLED = "root"
    """Quiet for ``settle``: release it if it is whole, else call ``wait``."""
    IDLE = "idle"
    MAX_DURATION = "max_duration"


class Disposition(Enum):
    """What becomes of a span that was added."""

    FORWARD = auto()
    HELD = auto()
    LATE = auto()
    """Forward it; its run has its verdict already, which may be revised."""
    DUPLICATE = auto()
    """Drop it: it is held, or has left."""


class _Entry(NamedTuple):
    """What is known of a trace without an agent: parent links, roots, and the journal's rows that hold them."""

    links: bytearray
    roots: list[GenAISpan]
    context: list[int]


class _Unclaimed:
    """Parent links and roots of traces in which no agent has shown up yet, forgotten after one to two ``lifetime``s.

    Two generations instead of a timer a trace: most traces never become an agent's.
    """

    def __init__(self, lifetime: float, limit: int) -> None:
        self._lifetime, self._limit = lifetime, limit
        self._young: dict[bytes, _Entry] = {}
        self._old: dict[bytes, _Entry] = {}
        self._since = 0.0

    def entry(self, trace_id: bytes, now: float) -> _Entry:
        if now - self._since > self._lifetime or len(self._young) >= self._limit:
            self._old, self._young, self._since = self._young, {}, now
        entry = self._young.get(trace_id)
        if entry is None:
            entry = self._young[trace_id] = self.claim(trace_id)
        return entry

    def claim(self, trace_id: bytes) -> _Entry:
        for generation in (self._young, self._old):
            if trace_id in generation:
                return generation.pop(trace_id)
        return _Entry(bytearray(), [], [])


class Assembler:
    """All open traces, oldest first, and the traces remembered after their verdict."""

    def __init__(self, config: TracesConfig) -> None:
        self._config = config
        self._open: dict[bytes, Trace] = {}
        self._closed: dict[bytes, Trace] = {}
        self._unclaimed = _Unclaimed(config.idle_timeout, config.max_open)
        self._deadlines: list[tuple[float, bytes]] = []
        self._max_links = 16 * 10 * config.max_spans
        self.held_bytes = 0
        self.forgotten: list[int] = []
        """Marks of traces remembered no more, for the journal to collect."""

    def __len__(self) -> int:
        return len(self._open)

    def link(self, links: dict[bytes, list[bytes]], now: float) -> None:
        """Remember parent links: for each trace the ids of span, parent, span, parent, ..."""
        for trace_id, ids in links.items():
            trace = self._open.get(trace_id)
            packed = trace.links if trace else self._unclaimed.entry(trace_id, now).links
            if len(packed) < self._max_links:
                packed += b"".join(ids)
            elif trace:
                trace.truncated = True
            if trace and trace.waits:  # this may be the parent it lacked
                trace.waits = False
                self._schedule(trace, now + self._config.settle)

    def add(
        self, trace_id: bytes, key: bytes | int, span: GenAISpan, raw: bytes | None, envelope: Envelope, now: float
    ) -> Disposition:
        """Take one span; ``raw`` is its span, None for a log record. Says what becomes of the span."""
        trace = self._open.get(trace_id)
        if trace is None:
            if span.role == Role.OTHER and trace_id not in self._closed:
                roots = self._unclaimed.entry(trace_id, now).roots
                if len(roots) < self._config.max_spans:
                    roots.append(span)
                return Disposition.FORWARD
            trace = self._reopen(trace_id, key, now) or self._begin(trace_id, now)
        if key in trace.spans or key in trace.seen:
            return Disposition.DUPLICATE if trace.was_held(key) else Disposition.FORWARD
        if trace.state is not TraceState.OPEN:  # by far the most are, and stay so
            trace.step(TraceEvent.ARRIVED)
        trace.touched = now
        if trace.waits:
            trace.waits = False
            self._schedule(trace, self._deadline(trace))
        if len(trace.spans) + len(trace.seen) >= self._config.max_spans:
            trace.truncated = True
            return Disposition.FORWARD
        late = trace.state is TraceState.REOPENED and self._has_verdict(trace, span)
        if late and trace.seen:  # the calls it would be scored with are gone: its verdict stays as it is
            trace.seen[key] = False
            return Disposition.LATE
        trace.spans[key] = span
        if late:
            return Disposition.LATE
        if raw is not None and (span.annotatable or self._may_be_anchor(trace, span)):
            trace.hold(span.span_id, raw, envelope)
            self.held_bytes += len(raw)
            return Disposition.HELD
        return Disposition.FORWARD

    def due(self, now: float) -> Iterator[tuple[Trace, Due]]:
        """The traces whose time has come. For each, ``close`` it, or ``wait`` when it settled without being whole."""
        while self._deadlines and self._deadlines[0][0] <= now:
            at, trace_id = heapq.heappop(self._deadlines)
            trace = self._open.get(trace_id)
            if trace is None or trace.due != at:
                continue
            deadline = self._deadline(trace)
            if deadline > now:
                self._schedule(trace, deadline)
            elif now >= trace.opened + self._config.max_duration:
                yield trace, Due.MAX_DURATION
            elif now >= trace.touched + self._config.idle_timeout:
                yield trace, Due.IDLE
            else:
                yield trace, Due.SETTLED

    def wait(self, trace: Trace) -> None:
        """The trace settled and is not whole: look again when more came, or when it was idle long enough."""
        trace.waits = True
        self._schedule(trace, self._deadline(trace))

    def postpone(self, trace: Trace, at: float) -> None:
        """Its verdict cannot be made yet: ``due`` will name it again."""
        self._schedule(trace, at)

    def over_limit(self) -> Trace | None:
        """The oldest trace, when there are too many or they hold too much: release it as evicted."""
        too_much = self.held_bytes > self._config.max_held_mib << 20
        return (
            next(iter(self._open.values()))
            if self._open and (too_much or len(self._open) > self._config.max_open)
            else None
        )

    def next_deadline(self) -> float | None:
        """When ``due`` may next yield something."""
        return self._deadlines[0][0] if self._deadlines else None

    def open_traces(self) -> list[Trace]:
        """Every open trace, oldest first."""
        return list(self._open.values())

    def close(self, trace: Trace) -> None:
        """Forget the trace but for what recognises late spans."""
        trace.step(TraceEvent.RELEASED)
        del self._open[trace.trace_id]
        self.held_bytes -= sum(map(len, trace.held.values()))
        trace.let_go()
        trace.known_parents, trace.links_read = None, 0
        if self._config.remember:
            self._remember(trace)

    # ---- for the journal

    def opened(self, trace_id: bytes) -> Trace | None:
        """The trace, where it is open."""
        return self._open.get(trace_id)

    def closed(self, trace_id: bytes) -> bool:
        """Whether the trace has its verdict and is remembered."""
        return trace_id in self._closed

    def remembers(self, trace: Trace) -> bool:
        """Whether a repeated span of this trace would be recognised."""
        return trace in (self._open.get(trace.trace_id), self._closed.get(trace.trace_id))

    def note_context(self, trace_id: bytes, row: int, now: float) -> None:
        """Links or roots of a trace, open or not, are kept in ``row``."""
        trace = self._open.get(trace_id)
        if trace is None:
            self._unclaimed.entry(trace_id, now).context.append(row)
        else:
            trace.context = (*trace.context, row)

    def restore(self, trace: Trace) -> None:
        """Remember a trace that was closed before a restart, even beyond the limit: it may be about to reopen."""
        trace.state = TraceState.CLOSED
        self._closed[trace.trace_id] = trace

    def _remember(self, trace: Trace) -> None:
        self._closed[trace.trace_id] = trace
        while len(self._closed) > self._config.remember:
            oldest = self._closed.pop(next(iter(self._closed)))
            if oldest.mark:
                self.forgotten.append(oldest.mark)

    def _begin(self, trace_id: bytes, now: float) -> Trace:
        links, roots, context = self._unclaimed.claim(trace_id)
        trace = self._open[trace_id] = Trace(trace_id, now, now, links, context=context or ())
        trace.spans.update((root.span_id, root) for root in roots)
        self._schedule(trace, self._deadline(trace))
        return trace

    def _reopen(self, trace_id: bytes, key: bytes | int, now: float) -> Trace | None:
        trace = self._closed.get(trace_id)
        if trace is None or key in trace.spans or key in trace.seen:
            return trace  # a repeated span reopens nothing
        del self._closed[trace_id]
        links, _, trace.context = self._unclaimed.claim(trace_id)
        trace.links += links
        trace.opened, trace.waits = now, False
        self._open[trace_id] = trace
        self._schedule(trace, now + self._config.settle)
        return trace

    def _schedule(self, trace: Trace, at: float) -> None:
        trace.due = at
        heapq.heappush(self._deadlines, (at, trace.trace_id))

    def _deadline(self, trace: Trace) -> float:
        quiet = self._config.settle * (1 + len(trace.spans) // _LARGE)
        if trace.waits:
            quiet = self._config.idle_timeout
        return min(trace.touched + quiet, trace.opened + self._config.max_duration)

    @staticmethod
    def _has_verdict(trace: Trace, span: GenAISpan) -> bool:
        """Whether an enclosing run was scored already. Walks known parents; unknown ones may be a new run's."""
        parents, at, seen = trace.parents(), span.parent_span_id, set[bytes]()
        while at and at not in seen:
            if at in trace.verdicts:
                return True
            if (known := trace.spans.get(at)) is not None and known.role == Role.AGENT:
                return False
            seen.add(at)
            at = parents.get(at, b"")
        return span.role != Role.AGENT and not span.parent_span_id

    @staticmethod
    def _may_be_anchor(trace: Trace, span: GenAISpan) -> bool:
        """A root with no agent seen so far: where a trace has no agent span, its root is annotated instead."""
        return not span.parent_span_id and all(other.role != Role.AGENT for other in trace.spans.values())
