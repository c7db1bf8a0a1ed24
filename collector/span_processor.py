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
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

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
from collector.config.yaml_documents import named_rule_paths
from collector.pipeline import Pipeline
from collector.results.evaluation_events import evaluation_events
from collector.scoring.rule_files import LoadedRules, load_rules
from collector.scoring.verdict import Verdict
from collector.service.log_config import RepeatLimit
from collector.span_queue import REMEMBERED, OpenTrace, RunningSpans, SpanQueue, Taken, batches
from collector.telemetry.metrics import Telemetry

_log = logging.getLogger(__name__)
_log.addFilter(RepeatLimit())

_DELAY: Final = 1.0
"""Seconds until the thread looks at the queue, unless it is half full before."""
_SHUTDOWN: Final = 30.0
"""Seconds that `shutdown` waits for the thread, which a log exporter may hold up."""

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
    invalid rules, and where there are none.
    """

    def __init__(self, rules: str | Path, *, logger_provider: LoggerProvider | None = None) -> None:
        self._rules, self._logger_provider = load_rules(named_rule_paths([Path(rules)])), logger_provider
        self._start()
        # A weak reference, because what is registered there stays for good, and would keep each processor alive.
        if hasattr(os, "register_at_fork"):  # no thread survives a fork
            restart = weakref.WeakMethod(self._restart)
            os.register_at_fork(after_in_child=lambda: (start := restart()) and start())

    def _restart(self) -> None:
        # With a queue of its own: the copied one may be locked by a thread that the child does not have.
        was_shut_down = self._queue.closed
        self._start()
        if was_shut_down:
            self.shutdown()

    def _start(self) -> None:
        self._queue = SpanQueue()
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
        """Score the runs that have ended, emit their events, and flush the logger provider. Returns False if it took longer."""
        until = SYSTEM_CLOCK.now() + timeout_millis / 1000
        if not self._queue.flush(timeout_millis / 1000):
            return False
        provider = self._logger_provider or get_logger_provider()
        if not isinstance(provider, sdk_logs.LoggerProvider):
            return True
        try:
            return provider.force_flush(max(0, round((until - SYSTEM_CLOCK.now()) * 1000)))
        except Exception:  # noqa: BLE001 - of an exporter, say; the agent goes on
            _log.exception("evaluation events could not be flushed")
            return False

    def shutdown(self) -> None:
        """Score all runs as they are, emit their events, and end the thread. Spans that end later are ignored."""
        self._queue.close()
        self._thread.join(_SHUTDOWN)


class _Worker:
    """What the thread does."""

    def __init__(self, queue: SpanQueue, rules: LoadedRules, logger_provider: LoggerProvider | None) -> None:
        self._queue, self._logger_provider = queue, logger_provider
        self._logger: Logger | None = None
        self._torn: OrderedDict[int, None] = OrderedDict()
        self._running = RunningSpans()
        self._verdicts: list[Verdict] = []
        self._pipeline = Pipeline(
            _CONFIG, rules, Telemetry(), None, SYSTEM_CLOCK, self._verdicts.append, running=self._running.parents
        )

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

    def _score(self, taken: Taken) -> None:
        if taken.dropped:
            _log.warning("%d spans ended faster than they were scored; their runs get no verdict", taken.dropped)
        self._tear(taken.torn)
        for traces in batches(taken.traces):
            for each in traces:
                self._running.note(each)
            self._receive(traces)
            self._advance()
            # What one waits for is not recorded here: a parent of another provider, say. Those cut short wait for the rest.
            for each in traces:
                if not self._running.parents(trace_id := each.trace_id.to_bytes(16, "big")):
                    self._pipeline.end(trace_id)
        self._advance()
        if taken.closed:
            self._pipeline.drain("shutdown")
        self._emit()

    def _receive(self, traces: Sequence[OpenTrace]) -> None:
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
        while len(self._torn) > REMEMBERED:
            self._torn.popitem(last=False)  # the oldest

    def _emit(self) -> None:
        # Emptied in place: the pipeline has its `append`.
        verdicts, self._verdicts[:] = list(self._verdicts), []
        for verdict in verdicts:
            # A run that lacks spans which were dropped or not read here would be scored by what is left of it.
            if int.from_bytes(verdict.run.trace_id, "big") in self._torn:
                continue
            for event in evaluation_events(verdict, SYSTEM_CLOCK.wall_ns()):
                try:
                    self._known_logger().emit(_record(logs_pb2.LogRecord.FromString(event)))
                except Exception:  # noqa: BLE001 - of a log processor, say; the other events are emitted all the same
                    _log.exception("an evaluation event could not be emitted")

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
