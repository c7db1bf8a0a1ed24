"""Takes requests in: splits them, reads what may be about agents, gives it to the assembler, forwards the rest.

A request is taken slice by slice, and a slice is read in portions: between two of them anything else may happen, so that no
request keeps others waiting for long. A slice is read first and then taken in one step, with its records in the spool and what
is forwarded of it. A request that breaks off has been taken as far as its last whole slice, like the first of several requests.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any, Final

from collector import dialects
from collector.assembly.assembler import Assembler, Occupied
from collector.assembly.disposition import Disposition
from collector.assembly.refused_traces import RefusedTraces
from collector.assembly.seen_from import SeenFrom
from collector.clock import Clock
from collector.component import ExportRequest, Rejected, Signal
from collector.delivery.hold import HoldQueue
from collector.errors import DecodeError
from collector.model.genai_span import AGENT, BY_SHAPE, IGNORED, OTHER, UNREAD, GenAISpan
from collector.otlp import lazy
from collector.otlp.by_trace import readable_trace_ids
from collector.otlp.handed_over import Handover, handover_of
from collector.otlp.structure import Envelope, Items, Structure
from collector.reader import Reader
from collector.results.redaction import Redaction
from collector.storage.journal import Journal, JournaledScope
from collector.storage.offsets import Offsets, Origin
from collector.storage.records import RecordKind
from collector.telemetry.metrics import Telemetry

_MAX_LOG_RECORD: Final = 1 << 20  # bytes; a larger one is forwarded unread
# Selects spans to be read, and what may be of an agent where that must not leave as it came.
_AGENT_FILTER: Final = lazy.SpanFilter(dialects.MARKERS, dialects.SCOPES)
_TRACE_ID_SIZE: Final = 16  # spans with other ids pass through; nothing can be joined by them
_SPAN_ID_SIZE: Final = 8

Steps = Generator[None, None, Rejected]
"""The steps of taking one request in, and what of it was rejected."""


class _ReadScope:
    """The spans of one scope: which are GenAI spans, with index, trace id and bytes, and which could not be read.

    ``reading`` are the attributes that were read of each, None for all.
    """

    __slots__ = ("found", "reading", "scope", "undecodable")

    def __init__(
        self, scope: lazy.ScopeSpans, undecodable: Sequence[int], reading: frozenset[str] | None = None
    ) -> None:
        self.scope, self.undecodable, self.reading = scope, undecodable, reading
        self.found: list[tuple[int, bytes, GenAISpan, bytes]] = []


class _Slice:
    """What becomes of the spans of one slice: forwarded now, as fields of their scopes, or withheld: held or dropped."""

    __slots__ = ("forwarded", "forwarded_count", "journaled", "withheld_count")

    def __init__(self) -> None:
        self.forwarded: list[tuple[Envelope, list[bytes]]] = []
        self.forwarded_count = self.withheld_count = 0
        self.journaled: list[JournaledScope] = []


class RequestPipeline:
    """Takes requests in; ``reader`` is to be set before the first.

    ``settle`` writes what was recorded, and makes room for what a slice has added to what was occupied before, in steps.
    """

    reader: Reader
    seen_from: SeenFrom | None = None
    """From when on the process sees what is sent to it, once that is so; not of the messages of a topic."""

    def __init__(  # noqa: PLR0913 - what it is connected to
        self,
        assembler: Assembler,
        hold_queue: HoldQueue,
        journal: Journal | None,
        redaction: Redaction,
        telemetry: Telemetry,
        clock: Clock,
        settle: Callable[[float, Occupied], Iterator[None]],
        *,
        refused: RefusedTraces,
        offsets: Offsets | None,
        on_handover: Callable[[float], None],
    ) -> None:
        self._assembler, self._hold_queue, self._journal, self._offsets = assembler, hold_queue, journal, offsets
        self._redaction, self._telemetry, self._clock, self._settle = redaction, telemetry, clock, settle
        self._refused, self._on_handover = refused, on_handover

    def ready(self, seen_from: SeenFrom) -> None:
        """Note from when on the process sees what is sent to it."""
        self.seen_from = seen_from
        if self._journal is not None:
            self._journal.ready(seen_from)
            self._assembler.on_begun = self._journal.store_begun
            self._assembler.scored.on_forgotten = self._journal.store_known_since

    def take(self, signal: Signal, request: Structure, transport: str, origin: Origin | None = None) -> Steps:
        """Take one request in, whether there is room or not. Raises DecodeError if nothing of it could be taken.

        A message of a topic has an ``origin``.
        """
        if signal == "traces":
            return (yield from self._take_traces(request, transport, origin))
        if signal == "logs":
            yield from self._take_logs(request)
        else:
            self._hold_queue.send(ExportRequest(signal, request.raw, 0))
        return Rejected()

    # ---- spans

    def _take_traces(self, request: Structure, transport: str, origin: Origin | None) -> Steps:
        undecodable, receiver = list[bytes](), "otlp" if origin is None else "kafka"
        for groups in request.slices():
            received = lazy.split(groups, _AGENT_FILTER)
            yield
            scopes = yield from self._read_spans(received.scopes)
            # Here, in steps: it takes too long to be done where the spans are taken.
            yield from self._assembler.open.unpack(received.links)
            # Read after the last pause: deadlines count from when the
            # spans are taken, not from when reading them began.
            now, before = self._clock.now(), self._assembler.occupied()
            rejected = [read.scope.spans[index] for read in scopes for index in read.undecodable]
            if len(rejected) < received.span_count:
                # A request that fits into one slice can leave as the very bytes that came.
                whole = request.raw if received.span_count == request.items else b""
                if origin is None:
                    self._take_slice(received, scopes, whole, now, self.seen_from)
                else:
                    self._take_slice_of(origin, received, scopes, whole, now)
                accepted = self._telemetry.child(self._telemetry.receiver_accepted_spans, receiver, transport)
                accepted.inc(received.span_count - len(rejected))
            undecodable += rejected
            # After each slice, not at the end: one request may open 100,000 traces.
            yield from self._settle(now, before)
            yield
        if not undecodable:
            return Rejected()
        # Nobody sends them again: what is left of their runs would be taken for all of it.
        self._refused.add(request.raw, readable_trace_ids(undecodable))
        # A partial success would tell the sender that something was accepted.
        if len(undecodable) == request.items:
            raise DecodeError("no span of the request could be read")
        return Rejected(len(undecodable), "spans that are not OTLP")

    def _read_spans(self, scopes: Iterable[lazy.ScopeSpans]) -> Generator[None, None, list[_ReadScope]]:
        read = []
        for scope in scopes:
            read.append((yield from self._read_scope(scope)))  # noqa: PERF401 - no comprehension can yield
        return read

    def _read_scope(self, scope: lazy.ScopeSpans) -> Generator[None, None, _ReadScope]:
        undecodable: list[int] = []
        has_context = False
        read = _ReadScope(scope, undecodable, self.reader.names)
        for indexes in scope.portions():
            # One reader for the whole portion: rules may be reloaded in
            # any pause, and decoder and dialects belong together.
            reader = self.reader
            if reader.names is not read.reading and reader.names is not None:
                read.reading = reader.names if read.reading is None else read.reading & reader.names
            raws = [scope.spans[index] for index in indexes]
            try:
                spans = reader.decoder.read(raws, scope.envelope, reader.span)
            except DecodeError:  # the scope or its resource
                return _ReadScope(scope, range(len(scope.spans)))
            for at, both in enumerate(spans):
                index = indexes[at]
                if both is None:
                    undecodable.append(index)
                    continue
                trace_id, span = both
                if span is UNREAD:
                    self._count(self._telemetry.unread_spans, reader, scope)
                    continue
                if span.dialect == BY_SHAPE:
                    self._count(self._telemetry.shape_spans, reader, scope)
                if span is not IGNORED and len(trace_id) == _TRACE_ID_SIZE and len(span.span_id) == _SPAN_ID_SIZE:
                    has_context |= span.role is OTHER
                    read.found.append((index, trace_id, span, raws[at]))
            yield
        if has_context:
            read.found.sort(key=_context_last)
        return read

    def _count(self, metric: Any, reader: Reader, scope: lazy.ScopeSpans) -> None:
        """Count a span by the name of its scope."""
        name = self._telemetry.label("scope", reader.decoder.scope_name(scope.envelope))
        self._telemetry.child(metric, name).inc()

    def _take_slice_of(
        self, origin: Origin, received: lazy.Split, scopes: list[_ReadScope], whole: bytes, now: float
    ) -> None:
        """Take a slice of a message. Traces that were finished before it was read again are only forwarded."""
        partition = origin.partition
        for read in scopes if partition.finished else ():
            read.found = [item for item in read.found if item[1] not in partition.finished]
        links = {trace_id: ids for trace_id, ids in received.links.items() if trace_id not in partition.finished}
        # A trace that opens here may have begun before the messages
        # of this partition, whenever this process became ready.
        self._take_slice(
            lazy.Split(received.scopes, links, received.span_count), scopes, whole, now, partition.seen_from
        )
        if self._offsets is not None:
            self._offsets.read(origin, received.links)

    def _take_slice(
        self,
        received: lazy.Split,
        scopes: Iterable[_ReadScope],
        whole: bytes,
        now: float,
        seen_from: SeenFrom | None,
    ) -> None:
        """Hold some of the spans, forward the rest; ``whole`` is the request if the slice is all of it."""
        # Links first: `add` walks them to tell a late span of a scored run from one of a new run.
        self._assembler.link(received.links, now)
        taken = _Slice()
        for read in scopes:
            self._take_scope(read, taken, now, seen_from)
        if whole and taken.withheld_count == 0 and not self._redaction.active:
            self._hold_queue.send(ExportRequest("traces", whole, received.span_count))
        elif taken.forwarded_count:
            self._hold_queue.send(ExportRequest("traces", lazy.join_fields(taken.forwarded), taken.forwarded_count))
        # In the same step as what was forwarded: the writer of the spool takes both in one transaction.
        if self._journal is not None:
            self._journal.store_request(received.links, taken.journaled, now)

    def _take_scope(self, read: _ReadScope, taken: _Slice, now: float, seen_from: SeenFrom | None) -> None:
        # The sender is told that these were rejected, so they must not reach the backend all the same.
        scope, withheld = read.scope, set(read.undecodable)
        journaled: dict[bytes, list[bytes]] = {}
        for index, trace_id, span, raw in read.found:
            # `whole` is there only if a span was cut to be read. Held, it would leave with what was cut off missing.
            disposition = self._assembler.add(
                trace_id, span.span_id, span, raw, scope.envelope, now, seen_from, may_hold=not scope.whole
            )
            # A repeated span is in the spool already, or its trace is finished.
            if self._journal is not None and disposition is not Disposition.DUPLICATE:
                journaled.setdefault(trace_id, []).append(raw)
            if disposition is Disposition.HELD:  # first: most are
                withheld.add(index)
            elif disposition is Disposition.DUPLICATE or disposition is Disposition.REPLACED:
                withheld.add(index)
                self._telemetry.child(self._telemetry.dropped_spans, "assembly", "duplicate").inc()
            elif disposition is Disposition.LATE:
                self._telemetry.late_spans.inc()
            elif disposition is Disposition.LEFT_OUT:
                self._count_left_out(span)
        handover = handover_of(scope.envelope)
        if handover is not None or read.reading is not self.reader.names:
            self._note_origin(read, handover, now)
        forwarded = self._forwarded(scope, withheld)
        if forwarded:
            taken.forwarded.append((scope.envelope, forwarded))
        taken.forwarded_count += len(scope.spans) - len(withheld)
        taken.withheld_count += len(withheld)
        if journaled:
            kind = RecordKind.CUT if scope.whole else RecordKind.SPANS
            taken.journaled.append(JournaledScope(scope.envelope, journaled, kind))

    def _note_origin(self, read: _ReadScope, handover: Handover | None, now: float) -> None:
        """Note of the traces of a scope what is special about its spans: read by earlier rules, or handed over."""
        wall_ns = self._clock.wall_ns()
        if handover is not None:
            self._on_handover(now)
        for trace_id in {trace_id for _, trace_id, _, _ in read.found}:
            trace = self._assembler.open.get(trace_id)
            if trace is None:
                continue
            trace.read_earlier(read.reading)
            if handover is not None:
                trace.take_over(handover, wall_ns - int((now - trace.opened) * 1e9))

    def _forwarded(self, scope: lazy.ScopeSpans, withheld: set[int]) -> list[bytes]:
        """Returns all but the withheld spans as fields of their scope, as they may leave."""
        if self._redaction.active and (redacted := self._to_redact(scope.envelope, scope.spans, scope.wanted)):
            # Of a span that was cut to be read the rest does not leave: nobody has looked at it.
            return lazy.fields_of([
                self._redaction.span(raw) if index in redacted else raw
                for index, raw in enumerate(scope.spans) if index not in withheld
            ])  # fmt: skip
        if scope.whole:
            return [] if withheld else lazy.fields_of([scope.whole])
        return scope.spans.fields_without(withheld)

    def _to_redact(self, envelope: Envelope, items: Items, read: Iterable[int] = ()) -> set[int]:
        """Returns which spans or log records leave redacted: those that were ``read`` or may be of an agent, or all."""
        everything = range(len(items))
        if self._redaction.pass_through:
            return set(everything)
        # Of those that were not read, too: a span without a proper trace id, a log record that is too large.
        return {*read, *_AGENT_FILTER.find(envelope, items, everything)}

    def _count_left_out(self, span: GenAISpan) -> None:
        """Count the run of an agent whose trace is full: it gets no verdict."""
        if span.role == AGENT:
            agent = self._telemetry.label("agent", span.name)
            self._telemetry.child(self._telemetry.runs_unscored, "max_spans", "", agent).inc()

    # ---- log records

    def _take_logs(self, request: Structure) -> Generator[None, None, None]:
        """Find tool calls in log events, where old conventions put them. All log records are forwarded all the same."""
        for groups in request.slices():
            before = self._assembler.occupied()
            for envelope, records in groups:
                yield from self._read_logs(envelope, records)
            if self._redaction.active:
                redacted = lazy.join((envelope, self._redacted_logs(envelope, records)) for envelope, records in groups)
                self._hold_queue.send(ExportRequest("logs", redacted, 0))
            yield from self._settle(self._clock.now(), before)
            yield
        # After the last slice and in one piece: unless redacted, log records leave byte for byte.
        if not self._redaction.active:
            self._hold_queue.send(ExportRequest("logs", request.raw, 0))

    def _redacted_logs(self, envelope: Envelope, records: Items) -> list[bytes]:
        redacted = self._to_redact(envelope, records)
        return [self._redaction.log_record(raw) if index in redacted else raw for index, raw in enumerate(records)]

    def _read_logs(self, envelope: Envelope, records: Iterable[bytes]) -> Iterator[None]:
        for raw in records:
            # Looking for a marker in the bytes is much cheaper than decoding, and few log records are about agents.
            if len(raw) > _MAX_LOG_RECORD or not any(marker in raw for marker in dialects.LOG_MARKERS):
                continue
            trace_id = self.add_log(envelope, raw, self._clock.now(), self.seen_from)
            if trace_id and self._journal is not None:
                self._journal.store_log(trace_id, envelope, raw)
            yield

    def add_log(self, envelope: Envelope, raw: bytes, now: float, seen_from: SeenFrom | None) -> bytes:
        """Add one log record to its trace. Returns the trace id, b"" if it is not a GenAI event. Raises DecodeError."""
        record = self.reader.decoder.log_record(raw, envelope)
        span = self.reader.log(record) if len(record.trace_id) == _TRACE_ID_SIZE else None
        if span is None:
            return b""
        key = int.from_bytes(blake2b(raw, digest_size=8).digest())  # the same after a restart, which hash() is not
        self._assembler.add(record.trace_id, key, span, raw, envelope, now, seen_from)
        return record.trace_id


def _context_last(item: tuple[int, bytes, GenAISpan, bytes]) -> bool:
    """Sort key: roots after the spans they enclose, so that a root is added when its trace is known to have an agent."""
    return item[2].role == OTHER
