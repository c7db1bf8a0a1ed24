"""Scores agent runs in the process that makes them: a span processor of the OpenTelemetry SDK, for agents without a collector.

::

    tracer_provider.add_span_processor(ScoringSpanProcessor("rules/"))

The same reader and the same rules as in production. Spans that end are queued, once all of their trace have ended that began
here; a thread scores them once a second and writes `gen_ai.evaluation.result` events to the SDK's logs, so nothing here raises
into the agent or makes it wait. Its public name is `scorers.opentelemetry`.
"""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from opentelemetry import trace
from opentelemetry._logs import Logger, LoggerProvider, LogRecord, SeverityNumber, get_logger_provider
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.sdk import _logs as sdk_logs
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from collector import __version__
from collector.clock import SYSTEM_CLOCK
from collector.config.model import Config, ConversationsConfig, MemoryLimiterConfig, TracesConfig
from collector.config.yaml_documents import rule_paths
from collector.pipeline import Pipeline
from collector.results.evaluation_events import evaluation_events
from collector.scoring.rule_files import LoadedRules, load_rules
from collector.scoring.verdict import Verdict
from collector.service.log_config import RepeatLimit
from collector.telemetry.metrics import Telemetry

__all__ = ["MAX_OPEN_BYTES", "MAX_OPEN_TRACES", "MAX_QUEUED_BYTES", "MAX_QUEUED_SPANS", "ScoringSpanProcessor"]

_log = logging.getLogger(__name__)
_log.addFilter(RepeatLimit())

MAX_QUEUED_SPANS: Final = 4096
"""Spans that may wait for the thread. Further ones are dropped, and their traces get no events."""
MAX_QUEUED_BYTES: Final = 32 << 20
"""Size of their attributes."""
MAX_OPEN_TRACES: Final = 10_000
"""Traces with spans that have not ended. Beyond it the one that has been quiet longest is scored as it is."""
MAX_OPEN_BYTES: Final = 64 << 20
"""Size of the attributes of what has ended in them. Beyond it as well."""
_DELAY: Final = 1.0
"""Seconds until the thread looks at the queue, unless it is half full before."""
_SHUTDOWN: Final = 30.0
"""Seconds that `shutdown` waits for the thread, which a log exporter may hold up."""
_MAX_TRACES: Final = 500
"""Traces in one request, where their spans stand by scope, so that all are open at once: half of what the pipeline may have."""
_MAX_BYTES: Final = 16 << 20
"""Size of their attributes, of the 64 MiB that open traces may take there."""
_MAX_TORN: Final = 65_536
"""Traces that are remembered to lack spans that were dropped, or could not be read."""

# Spans of one process do not travel: its part of a trace is there when the spans that began have ended.
_CONFIG = Config(
    traces=TracesConfig(settle=0.0, confirm=0.0, max_open=1_000, max_held_mib=64, remember=1_000),
    conversations=ConversationsConfig(max_open=1_000, max_held_mib=16),
    memory_limiter=MemoryLimiterConfig(limit_mib=512),
)


class ScoringSpanProcessor(SpanProcessor):
    """Scores the agent runs of this process, and emits a `gen_ai.evaluation.result` event for each evaluation.

    ``rules`` is a rule file or a folder of them. ``logger_provider`` gets the events: the global one unless given. A run is
    scored when all spans of its trace have ended that began in this process. Judges are not asked. Raises ConfigError for
    invalid rules.
    """

    def __init__(self, rules: str | Path, *, logger_provider: LoggerProvider | None = None) -> None:
        self._rules, self._logger_provider = load_rules(rule_paths([Path(rules)])), logger_provider
        self._start()
        # A weak reference, because what is registered there stays for good, and would keep each processor alive.
        if hasattr(os, "register_at_fork"):  # no thread survives a fork
            restart = weakref.WeakMethod(self._start)
            os.register_at_fork(after_in_child=lambda: (start := restart()) and start())

    def _start(self) -> None:
        # In a child of a fork, too: the copied queue may be locked by a thread that the child does not have.
        self._queue = _Queue()
        work = _Worker(self._queue, self._rules, self._logger_provider).work
        # A daemon: an agent that ends without `shutdown` must not wait for it.
        self._thread = threading.Thread(target=work, name="rightcall", daemon=True)
        self._thread.start()

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Note that its trace goes on."""
        try:
            self._queue.begin(span)
        except Exception:  # noqa: BLE001 - as below
            _log.exception("a span could not be noted")

    def on_end(self, span: ReadableSpan) -> None:
        """Queue the span."""
        try:
            self._queue.put(span)
        except Exception:  # noqa: BLE001 - the agent goes on, whatever it put into a span
            _log.exception("a span could not be queued")

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Score the runs that have ended, and emit their events. Returns False if it took longer."""
        return self._queue.flush(timeout_millis / 1000)

    def shutdown(self) -> None:
        """Score all runs as they are, emit their events, and end the thread. Spans that end later are ignored."""
        self._queue.close()
        self._thread.join(_SHUTDOWN)


class _OpenTrace:
    """Spans of a trace that have ended, and how many have not."""

    __slots__ = ("bytes", "running", "spans", "trace_id")

    def __init__(self, trace_id: int) -> None:
        self.trace_id = trace_id
        self.spans: list[ReadableSpan] = []
        self.bytes = self.running = 0


class _Taken(NamedTuple):
    traces: Sequence[_OpenTrace]
    torn: set[int]
    """Ids of traces of which spans were dropped."""
    dropped: int
    flushes: int
    """How many times `flush` was called so far."""
    closed: bool


class _Queue:
    """The spans that wait for their traces to end, then for the thread; any thread may call it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        # By trace id, the one that has been quiet longest first.
        self._open: OrderedDict[int, _OpenTrace] = OrderedDict()
        self._open_bytes = 0
        self._passed_on: list[_OpenTrace] = []
        self._spans = self._bytes = self._dropped = self._flushes = self._flushed = 0
        self._torn: set[int] = set()
        self._closed = False

    def begin(self, span: Span) -> None:
        """The trace of this span is open until that ends."""
        with self._changed:
            if not self._closed:
                self._touched(span.context.trace_id).running += 1
                self._keep_limits()

    def put(self, span: ReadableSpan) -> None:
        """Keep a span that ended until its trace ends. If too many wait for the thread already, it is dropped."""
        # Before the lock: meanwhile other threads of the agent end their spans.
        size = _size(span)
        with self._changed:
            if self._closed or span.context is None:
                return
            trace_id = span.context.trace_id
            trace = self._touched(trace_id)
            if self._spans >= MAX_QUEUED_SPANS or self._bytes + size > MAX_QUEUED_BYTES:
                self._dropped += 1
                if len(self._torn) < _MAX_TORN:
                    self._torn.add(trace_id)
            else:
                trace.spans.append(span)
                trace.bytes += size
                self._open_bytes += size
            trace.running -= 1
            # Below 0 if it is not known that the span began: before a fork, or in a trace that was beyond the limits.
            if trace.running <= 0:
                self._pass_on(trace_id)
            self._keep_limits()
            if self._is_urgent():
                self._changed.notify_all()

    def _touched(self, trace_id: int) -> _OpenTrace:
        trace = self._open.get(trace_id)
        if trace is None:
            trace = self._open[trace_id] = _OpenTrace(trace_id)
        self._open.move_to_end(trace_id)
        return trace

    def _keep_limits(self) -> None:
        while len(self._open) > MAX_OPEN_TRACES or self._open_bytes > MAX_OPEN_BYTES:
            self._pass_on(next(iter(self._open)))

    def _pass_on(self, trace_id: int) -> None:
        """Let the thread have what has ended in a trace."""
        trace = self._open.pop(trace_id)
        self._open_bytes -= trace.bytes
        self._passed_on.append(trace)
        self._spans += len(trace.spans)
        self._bytes += trace.bytes

    def take(self, seconds: float) -> _Taken:
        """Empty the queue, after so many seconds unless there is reason to hurry."""
        with self._changed:
            self._changed.wait_for(self._is_urgent, seconds)
            taken = _Taken(self._passed_on, self._torn, self._dropped, self._flushes, self._closed)
            self._passed_on, self._torn, self._spans, self._bytes, self._dropped = [], set(), 0, 0, 0
            return taken

    def _is_urgent(self) -> bool:
        # Half, so that there is room for what ends until the thread gets its turn.
        half_full = 2 * self._spans >= MAX_QUEUED_SPANS or 2 * self._bytes >= MAX_QUEUED_BYTES
        return self._closed or self._flushes > self._flushed or half_full

    def flush(self, seconds: float) -> bool:
        """Wait until what is in the queue now was worked on, at most so many seconds. Returns whether it was."""
        with self._changed:
            if self._closed:
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
        with self._changed:
            self._closed = True
            for trace_id in list(self._open):
                self._pass_on(trace_id)
            self._changed.notify_all()


def _batches(traces: Sequence[_OpenTrace]) -> Iterator[Sequence[_OpenTrace]]:
    """Yield so few traces at a time that the pipeline evicts none of which it has read half."""
    batch: list[_OpenTrace] = []
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


class _Worker:
    """What the thread does."""

    def __init__(self, queue: _Queue, rules: LoadedRules, logger_provider: LoggerProvider | None) -> None:
        self._queue, self._logger_provider = queue, logger_provider
        self._logger: Logger | None = None
        self._torn: OrderedDict[int, None] = OrderedDict()
        self._verdicts: list[Verdict] = []
        self._pipeline = Pipeline(_CONFIG, rules, Telemetry(), None, SYSTEM_CLOCK, self._verdicts.append)

    def work(self) -> None:
        """Score what is queued until the queue is closed."""
        closed = False
        while not closed:
            taken = self._queue.take(_DELAY)
            closed = taken.closed
            try:
                self._score(taken)
            except Exception:  # noqa: BLE001 - of an exporter, say; the next runs are scored again
                _log.exception("agent runs could not be scored")
            self._queue.flushed(taken.flushes)

    def _score(self, taken: _Taken) -> None:
        if taken.dropped:
            _log.warning("%d spans ended faster than they were scored; their runs get no verdict", taken.dropped)
        self._tear(taken.torn)
        for traces in _batches(taken.traces):
            self._receive(traces)
            self._advance()
        self._advance()
        if taken.closed:
            self._pipeline.drain("shutdown")
        self._emit()

    def _receive(self, traces: Sequence[_OpenTrace]) -> None:
        spans = [span for trace in traces for span in trace.spans]
        try:
            self._pipeline.receive("traces", encode_spans(spans).SerializeToString(), "sdk")
        except Exception:  # noqa: BLE001 - the agent may put anything into a span: a name that is no Unicode, say
            if len(traces) == 1:
                _log.exception("a span could not be read; the runs of its trace get no verdict")
                self._tear(trace.trace_id for trace in traces)
                return
            # It costs only the runs of its own trace: the others are halved until it is alone.
            middle = len(traces) // 2
            self._receive(traces[:middle])
            self._receive(traces[middle:])

    def _advance(self) -> None:
        while self._pipeline.advance() == 0.0:
            self._emit()

    def _tear(self, traces: Iterable[int]) -> None:
        self._torn |= dict.fromkeys(traces)
        while len(self._torn) > _MAX_TORN:
            self._torn.popitem(last=False)  # the oldest

    def _emit(self) -> None:
        # Emptied in place: the pipeline has its `append`.
        verdicts, self._verdicts[:] = list(self._verdicts), []
        for verdict in verdicts:
            # A run that lacks spans which were dropped or not read here would be scored by what is left of it.
            if int.from_bytes(verdict.run.trace_id, "big") in self._torn:
                continue
            for event in evaluation_events(verdict, SYSTEM_CLOCK.wall_ns()):
                self._known_logger().emit(_record(logs_pb2.LogRecord.FromString(event)))

    def _known_logger(self) -> Logger:
        # At the first event and not before: the application may set its logger provider after this processor.
        if self._logger is None:
            provider = self._logger_provider or get_logger_provider()
            if not isinstance(provider, sdk_logs.LoggerProvider):
                _log.warning("evaluation events go nowhere: set a logger provider of the OpenTelemetry SDK, or pass it")
            self._logger = provider.get_logger("rightcall", __version__)
        return self._logger


def _record(event: logs_pb2.LogRecord) -> LogRecord:
    """Returns an event as the SDK's loggers take it."""
    trace_id, span_id = (int.from_bytes(one, "big") for one in (event.trace_id, event.span_id))
    span = trace.SpanContext(trace_id, span_id, is_remote=False, trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED))
    return LogRecord(
        timestamp=event.time_unix_nano,
        context=trace.set_span_in_context(trace.NonRecordingSpan(span)),
        severity_number=SeverityNumber(event.severity_number),
        body=_value(event.body),
        attributes={attribute.key: _value(attribute.value) for attribute in event.attributes},
        event_name=event.event_name,
    )


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return tuple(map(_value, value.array_value.values))
    return getattr(value, kind) if kind is not None else None
