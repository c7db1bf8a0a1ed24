"""Open traces: what is known of each until its verdict, and when that verdict is due.

Theory of operation. A trace opens with its first GenAI span or log event. Its decoded spans, its parent links and the raw
bytes of its *held* spans (those that will be annotated) are kept here; every other span has already been forwarded. When
nothing new has arrived for ``settle`` the trace is due: if its runs are complete it is released, else it waits until it has
been idle for ``idle_timeout``. ``max_duration`` and the limits on open traces, spans and held bytes end it in any state. A
released trace is remembered for a while: a repeated span is recognised and dropped, a late one is forwarded at once and
revises the verdict, and a new agent run in an old trace (a session of many turns) reopens it.

Single-threaded, without locks; time is an argument. A deadline that fires early or for a trace that is gone does no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, NamedTuple

from collector.assembly.deadlines import Deadlines
from collector.assembly.disposition import Disposition
from collector.assembly.due import Due
from collector.assembly.finished import FinishedTraces
from collector.assembly.held_spans import HeldSpans
from collector.assembly.open_traces import OpenTraces
from collector.assembly.packed_trace import PackedTrace
from collector.assembly.scored_runs import ScoredRuns
from collector.assembly.seen_from import SeenFrom
from collector.assembly.sizes import KNOWN_SPAN, SCORED_SPAN, SHORT, SPAN, TRACE, envelope_bytes, span_bytes
from collector.assembly.topic_standstill import TopicStandstill
from collector.assembly.trace import Trace
from collector.assembly.trace_state import TraceEvent, TraceState
from collector.assembly.unclaimed import UnclaimedTraces
from collector.config.memory import MemoryBudget
from collector.config.model import TracesConfig
from collector.model.genai_span import AGENT, OTHER, GenAISpan
from collector.model.past import Past
from collector.otlp.structure import Envelope

_LARGE: Final = 1000
"""A trace settles later for each so many spans, because the cost of reconstructing it grows with them."""
MAX_LEAVING: Final = 64
"""How many evicted traces may wait to be evaluated, if they are large; one beyond it is released with an `error`."""
_SCORED_PER_REMEMBERED, _MIN_SCORED = 20, 20_000
"""Of how many times as many runs as traces are remembered it is known that they were scored, and of how many at least."""


class Occupied(NamedTuple):
    """How much open traces take of the limits, without those that are leaving."""

    traces: int = 0
    bytes: int = 0


class Assembler:
    """All open traces, and the traces remembered after their verdict."""

    def __init__(self, config: TracesConfig, budget: MemoryBudget = MemoryBudget()) -> None:  # noqa: B008 - frozen
        # Read at each span or trace: an attribute of a configuration takes several times as long.
        self._settle, self._confirm, self._idle_timeout = config.settle, config.confirm, config.idle_timeout
        self._max_duration, self._max_spans, self._max_open = config.max_duration, config.max_spans, config.max_open
        self.held = HeldSpans(budget.open_traces)
        self.open = OpenTraces(self.held)
        self._closed = FinishedTraces(config.remember, budget.finished_traces)
        self._unclaimed = UnclaimedTraces(config.idle_timeout, config.max_open, budget.unclaimed_traces)
        self._deadlines = Deadlines(self.open.entries)
        # 16 bytes each, and ten spans of any kind for each GenAI span that is kept.
        self._max_links = 16 * 10 * config.max_spans
        self.scored = ScoredRuns(max(_MIN_SCORED, _SCORED_PER_REMEMBERED * config.remember))
        self._reading: frozenset[str] | None = None
        self.topic = TopicStandstill()
        self.on_begun: Callable[[bytes], None] | None = None
        """Is told of a trace that opens without an earlier part of it, which is not remembered any more."""

    def __len__(self) -> int:
        return len(self.open)

    @property
    def remembered_bytes(self) -> int:
        """About how many bytes finished traces take, and those without an agent."""
        return self._closed.bytes + self._unclaimed.used_bytes

    def read_from_now(self, reading: frozenset[str] | None) -> None:
        """Note which attributes are read of spans from now on; None for all."""
        self._reading = self._unclaimed.reading = reading

    def ready(self, wall_ns: Callable[[], int], now: float) -> SeenFrom:
        """Returns from when on this process sees traces; of those that are known by now that is told already."""
        self.scored.set_clock(wall_ns)
        seen_from = SeenFrom(wall_ns(), now, self._max_duration)
        self._unclaimed.ready(seen_from)
        return seen_from

    def was_ready(self, wall_ns: int) -> SeenFrom:
        """Returns from when on a process before this one saw the traces that are read back next."""
        seen_from = SeenFrom.restored(wall_ns, self._max_duration)
        self._unclaimed.ready(seen_from)
        return seen_from

    def link(self, links: dict[bytes, list[bytes]], now: float) -> None:
        """Remember parent links: for each trace the ids of span, parent, span, parent, ..."""
        for trace_id, ids in links.items():
            entry = self.open.entries.get(trace_id)  # as in ``add``
            trace = self.open.get(trace_id) if isinstance(entry, PackedTrace) else entry
            if trace is None:
                self._unclaimed.add_links(trace_id, b"".join(ids), self._max_links, now - self.topic.stood)
                continue
            if trace.awaited and trace.awaited in ids[::2]:
                trace.awaited = b""
            if len(trace.links) < self._max_links:
                packed = b"".join(ids)
                trace.links += packed
                trace.size += len(packed)
                self.held.bytes += len(packed)
            else:
                trace.truncated = True
            if trace.waiting:  # this may be the parent it lacked
                if trace.waiting == "incomplete":  # what it lacks is still at work: a tool that asks others, say
                    trace.touched = now
                self._end_wait(trace)
                self._deadlines.schedule(trace_id, now + self._settle)

    def add(
        self,
        trace_id: bytes,
        key: bytes | int,
        span: GenAISpan,
        raw: bytes,
        envelope: Envelope,
        now: float,
        seen_from: SeenFrom | None = None,
        *,
        may_hold: bool = True,
    ) -> Disposition:
        """Add one decoded span, or a log record if the key is no span id. Returns what becomes of the raw span.

        A trace that it opens may have begun before ``seen_from``, unseen.
        """
        received = len(raw)
        # Looked up here: nearly none is packed, and a call for each span would take longer than that.
        entry = self.open.entries.get(trace_id)
        trace = self.open.get(trace_id) if isinstance(entry, PackedTrace) else entry
        if trace is None:
            # Nothing is opened for it: most traces never become an agent's.
            if span.role == OTHER and trace_id not in self._closed:
                self._unclaimed.add_root(trace_id, span, received, self._max_spans, now - self.topic.stood)
                return Disposition.FORWARD
            trace = self._reopen(trace_id, key, span, now) or self._begin(trace_id, key, now, seen_from)
        held = self._repeat(trace, key, span) if key in trace.spans or key in trace.seen else Disposition.HELD
        if held is Disposition.DUPLICATE or held is Disposition.FORWARD:
            return held
        if self._is_full(trace):
            return self._leave_out(trace, now)
        is_open = trace.state is TraceState.OPEN  # most are, and stay so
        if not is_open:
            trace.apply(TraceEvent.ARRIVED)
        if trace.touched != now or trace.waiting:  # not for each: nearly all spans of a trace come side by side
            self._touch(trace, now)
        late = not is_open and trace.has_verdict_around(span)
        if late and trace.seen:  # the calls it would be scored with are gone: its verdict stays as it is
            trace.seen[key] = False
            self._count(trace, KNOWN_SPAN)
            return Disposition.LATE
        trace.spans[key] = span
        trace.has_agent |= span.role == AGENT
        size = SPAN + 2 * received if received <= SHORT else span_bytes(span, received)
        # An evaluation in slices shares these spans, and may still read the inputs that would be dropped.
        if span.history is not None and not trace.evaluating:
            size -= trace.keep_longest_history(span)
        if span.resource is not trace.resource:
            trace.resource = span.resource
            size += envelope_bytes(envelope)
        trace.size += size  # as in ``_count``: a hot path
        self.held.bytes += size
        if late:
            return Disposition.LATE
        if may_hold and type(key) is bytes and (span.annotatable or trace.annotates_root(span)):
            self._hold(trace, span.span_id, raw, envelope)
            return held
        return Disposition.FORWARD

    def due(self, now: float) -> Iterator[tuple[Trace, Due]]:
        """Yield the traces that are due. For each call ``close``, or ``wait`` or ``postpone``."""
        for entry in self._deadlines.pop_due(now):
            if (trace := self.open.get(entry.trace_id)) is None or trace.evaluating:
                continue
            deadline = self._deadline(trace)
            # A span that arrives only moves `touched`, which saves an entry in the heap. The old deadline ends here.
            if deadline > now:
                self._deadlines.schedule(trace.trace_id, deadline)
            elif now >= self.topic.since(trace.opened, trace) + self._max_duration:
                yield trace, Due.MAX_DURATION
            elif now >= self.topic.since(trace.touched, trace) + self._idle_timeout:
                yield trace, Due.IDLE
            else:
                yield trace, Due.SETTLED if trace.waiting != "confirm" else Due.CONFIRMED

    def wait(self, trace: Trace, reason: Literal["incomplete", "confirm"], unconfirmed: object = None) -> None:
        """Make a trace that settled due again when a span arrives, or when it has been quiet long enough for ``reason``.

        ``unconfirmed`` is what it was scored as: kept with it until a span arrives.
        """
        self._end_wait(trace)
        trace.waiting = reason
        if unconfirmed is not None:
            trace.unconfirmed = unconfirmed
            self._count(trace, SCORED_SPAN * len(trace.spans))
        self.postpone(trace, self._deadline(trace))

    def postpone(self, trace: Trace, at: float) -> None:
        """Make a trace that cannot be scored yet due at ``at``."""
        trace.evaluating = False
        self._deadlines.schedule(trace.trace_id, at)

    def look_again(self, trace: Trace) -> None:
        """Make a trace due again when it is quiet: spans arrived while it was evaluated."""
        self.postpone(trace, self._deadline(trace))

    def occupied(self) -> Occupied:
        """Returns how much is held now."""
        return Occupied(len(self.open) - self.held.leaving, self.held.staying_bytes)

    def over_limit(self, before: Occupied = Occupied()) -> Trace | None:  # noqa: B008 - a tuple
        """The trace to evict if a limit is exceeded, and by more than it was ``before``: release it, or call ``leave``."""
        now = self.occupied()
        if now.traces > max(self._max_open, before.traces) or now.bytes > max(self.held.max_bytes, before.bytes):
            return self.open.next_to_evict()
        return None

    def leave(self, trace: Trace, *, always: bool = False) -> bool:
        """Count an evicted trace that closes later to no limit. Returns False, unless ``always``, if too much is leaving."""
        size, leaving = trace.total_size, self.held.leaving
        if not always and leaving and (leaving == MAX_LEAVING or not self.held.may_leave(size)):
            return False
        trace.leaving = size
        self.held.leave(size)
        return True

    def _stay(self, trace: Trace) -> None:
        if trace.leaving:
            self.held.stay(trace.leaving)
            trace.leaving = 0

    def next_deadline(self) -> float | None:
        """Returns when ``due`` or ``open.pack_quiet`` may next have something to do, None for never."""
        times = (self._deadlines.next(), self.open.next_packing())
        return min((time for time in times if time is not None), default=None)

    def is_open(self, trace_id: bytes) -> bool:
        """Whether the trace waits for its verdict."""
        return trace_id in self.open.entries

    def is_closed(self, trace_id: bytes) -> bool:
        """Whether the trace has its verdict and is remembered."""
        return trace_id in self._closed

    def was_evicted(self, trace_id: bytes) -> bool:
        """Whether the trace has its verdict because of a limit, and is remembered."""
        trace = self._closed.get(trace_id)
        return trace is not None and trace.evicted

    def close(self, trace: Trace, past: Past | None = None, release: str = "root") -> Sequence[Trace]:
        """Drop all of the trace but what recognises late spans. Returns the traces that are not remembered any more.

        ``past`` is what a later turn of it depends on, ``release`` why it closes.
        """
        trace.apply(TraceEvent.RELEASED)
        trace.release = release
        self.drop(trace)
        trace.drop_held()
        trace.awaited = b""
        trace.set_past(past)
        forgotten = self._closed.add(trace)
        for old in forgotten:
            self.scored.add(old)
        return forgotten

    def drop(self, trace: Trace) -> None:
        """Let a trace be no longer open; of one that is read again elsewhere, nothing else is left."""
        trace.evaluating = False
        self._stay(trace)
        self._end_wait(trace)
        self.open.remove(trace)
        self.held.count -= len(trace.held)
        self.held.bytes -= trace.total_size

    def close_snapshot(self, trace: Trace, snapshot: Trace, now: float, past: Past | None, release: str) -> None:
        """Close the trace as it was in ``snapshot``. The spans it has had since are those of a trace reopened by them."""
        trace.apply(TraceEvent.RELEASED)
        trace.apply(TraceEvent.ARRIVED)
        trace.evaluating = False
        self._stay(trace)
        for span_id in snapshot.held:
            self.held.bytes -= len(trace.held.pop(span_id))
        self.held.count -= len(snapshot.held)
        self.held.bytes += trace.set_past(past)
        trace.awaited = b""
        trace.opened, trace.waiting, trace.release = now, "", release
        self.open.add(trace)
        self._deadlines.schedule(trace.trace_id, now + self._settle)

    def drop_histories(self, trace: Trace) -> None:
        """Drop the inputs of all model requests of an open trace."""
        self._count(trace, -trace.drop_histories())

    def restore(self, trace: Trace) -> None:
        """Remember a trace closed before a restart, even beyond ``remember``: it may be about to reopen."""
        trace.state = TraceState.CLOSED
        self._closed.restore(trace)

    def _begin(self, trace_id: bytes, key: bytes | int, now: float, seen_from: SeenFrom | None) -> Trace:
        known = self._unclaimed.claim(trace_id)
        trace = Trace(trace_id, now, now, known.links)
        trace.reading = self._reading
        if known.roots:
            trace.read_earlier(known.reading)
        trace.known_since_ns = self.scored.known_since_ns
        self.open.add(trace)
        if known.before_ready:
            seen_from = known.seen_from
        if seen_from is not None:
            seen_from.trace_arrived(now)
            trace.seen_from = seen_from
        if self.scored.has_begun(trace_id):
            trace.truncated = True
            if self.on_begun is not None:
                self.on_begun(trace_id)
        for root in known.roots:
            if root.span_id != key:  # else the span that opens the trace is the same one, and tells more
                trace.spans[root.span_id] = root
        self._count(trace, TRACE + known.size)
        self._deadlines.schedule(trace_id, self._deadline(trace))
        return trace

    def _reopen(self, trace_id: bytes, key: bytes | int, span: GenAISpan, now: float) -> Trace | None:
        trace = self._closed.get(trace_id)
        if trace is None or not trace.is_news(key, span) or self._is_full(trace):
            return trace  # a repeated span reopens nothing, nor does one that is not kept
        self._closed.pop(trace_id)
        self.held.bytes += trace.size
        known = self._unclaimed.claim(trace_id)
        trace.links += known.links
        self._count(trace, len(known.links))
        trace.opened, trace.waiting = now, ""
        self.open.add(trace)
        self._deadlines.schedule(trace_id, now + self._settle)
        return trace

    def _repeat(self, trace: Trace, key: bytes | int, span: GenAISpan) -> Disposition:
        """Forget the copy of a span that was not complete. Any other repeated one is no news: the trace stays as it is."""
        if not trace.is_news(key, span):
            return Disposition.DUPLICATE if trace.was_held(key) else Disposition.FORWARD
        if trace.leaving:  # its verdict is not made anew for it
            return Disposition.FORWARD
        count = len(trace.held)
        self.held.bytes += trace.give_up(key)
        self.held.count -= count - len(trace.held)
        return Disposition.HELD if len(trace.held) == count else Disposition.REPLACED

    def _hold(self, trace: Trace, span_id: bytes, raw: bytes, envelope: Envelope) -> None:
        trace.hold(span_id, raw, envelope)
        self.held.count += 1
        self.held.bytes += len(raw)

    def _leave_out(self, trace: Trace, now: float) -> Disposition:
        """Forward a span of a trace that is full; if it is open, its verdict says that something is missing."""
        if trace.state is not TraceState.CLOSED:
            trace.truncated = True
            self._touch(trace, now)
        return Disposition.LEFT_OUT

    def _is_full(self, trace: Trace) -> bool:
        return len(trace.spans) + len(trace.seen) >= self._max_spans

    def _touch(self, trace: Trace, now: float) -> None:
        """Note that something arrived for an open trace: it waits no longer, and is due when it is quiet again."""
        trace.touched = now
        self.open.entries.move_to_end(trace.trace_id)
        if trace.waiting:
            self._end_wait(trace)
            self._deadlines.schedule(trace.trace_id, self._deadline(trace))

    def _end_wait(self, trace: Trace) -> None:
        """Wait no longer, and forget what the trace was scored as."""
        trace.waiting = ""
        if trace.unconfirmed is not None:
            trace.unconfirmed = None
            self._count(trace, -SCORED_SPAN * len(trace.spans))

    def _count(self, trace: Trace, size: int) -> None:
        trace.size += size
        self.held.bytes += size

    def _deadline(self, trace: Trace) -> float:
        quiet = self._settle * (1 + trace.recent_count // _LARGE)
        if trace.waiting:
            quiet = self._idle_timeout if trace.waiting == "incomplete" else self._confirm
        return min(
            self.topic.since(trace.touched, trace) + quiet, self.topic.since(trace.opened, trace) + self._max_duration
        )
