"""Agent runs in a test suite: spans of the OpenTelemetry SDK in this process become runs, which rules then judge.

::

    with record_runs() as runs:
        agent.run("Please refund order 7")
    assert_run(runs[0], rules="rules/")

The same reader and the same rules as in production, without a collector. Its public name is `scorers.testing`; it stands in
this package because it reads spans and files.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, overload
from weakref import WeakKeyDictionary

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider

from collector.config.yaml_documents import named_rule_paths
from collector.offline.score import score_files, score_requests
from collector.reconstruction.run import Run
from collector.runs.explained import explained, tried_lines
from collector.scoring.rule_files import LoadedRules, load_rules
from collector.scoring.select_and_score import verdict_of_run
from collector.scoring.verdict import Verdict
from scorers import RuleSet
from scorers.wording import quantity

__all__ = ["Asserted", "RecordedRuns", "assert_run", "read_runs", "record_runs", "take_asserted"]

_LATER_RULES = LoadedRules(RuleSet(), reads_all_attributes=True)
"""Runs are read before `assert_run` is told which rules judge them."""


class _Recording:
    """The spans that ended so far, and the parents of those that go on, b"" for none, by trace and span id."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []
        self.running: dict[tuple[bytes, int], bytes] = {}

    def begin(self, span: Span) -> None:
        self.running[_key(span.context)] = span.parent.span_id.to_bytes(8, "big") if span.parent is not None else b""

    def end(self, span: ReadableSpan) -> None:
        self.spans.append(span)
        if span.context is not None:
            self.running.pop(_key(span.context), None)


def _key(span: trace.SpanContext) -> tuple[bytes, int]:
    return span.trace_id.to_bytes(16, "big"), span.span_id


class RecordedRuns(Sequence[Run]):
    """The agent runs of the spans that ended so far, in order of start. It grows while the recording goes on."""

    def __init__(self, recording: _Recording) -> None:
        self._recording, self._read = recording, (0, 0)
        self._runs: list[Run] = []

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> list[Run]: ...
    def __getitem__(self, index: int | slice) -> Run | list[Run]:
        runs = self._rebuilt()
        if isinstance(index, int) and not -len(runs) <= index < len(runs):
            spans = len(self._recording.spans)
            raise IndexError(
                f"there is no run {index}: {quantity(spans, 'span')} ended, with {quantity(len(runs), 'agent run')}"
                + ("" if spans else "; does the agent make its spans by the tracer provider that is recorded?")
            )
        return runs[index]

    def __len__(self) -> int:
        return len(self._rebuilt())

    def _rebuilt(self) -> list[Run]:
        # Copies, since other threads may begin and end spans meanwhile. Those that run first: one that ends is in both.
        running, spans = dict(self._recording.running), list(self._recording.spans)
        if self._read != (read := (len(running), len(spans))):
            request = encode_spans(spans).SerializeToString()
            verdicts = score_requests(
                [("spans", "traces", request)],
                _LATER_RULES,
                lambda trace_id: [parent for (of, _), parent in running.items() if of == trace_id],
            )
            # Traces come in order of the spans that ended. The sort is stable: a run stays before those that it started.
            self._runs = sorted((verdict.run for verdict in verdicts), key=lambda run: run.start_ns)
            self._read = read
        return self._runs


class _Recorder(SpanProcessor):
    """Hands each span that begins or ends to the recordings that are open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: tuple[_Recording, ...] = ()

    def open(self, recording: _Recording) -> None:
        with self._lock:
            self._open += (recording,)

    def close(self, recording: _Recording) -> None:
        with self._lock:
            self._open = tuple(other for other in self._open if other is not recording)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        for recording in self._open:
            recording.begin(span)

    def on_end(self, span: ReadableSpan) -> None:
        for recording in self._open:
            recording.end(span)


_recorders: WeakKeyDictionary[TracerProvider, _Recorder] = WeakKeyDictionary()


@contextmanager
def record_runs(provider: TracerProvider | None = None) -> Iterator[RecordedRuns]:
    """Record the agent runs whose spans end in the block, whatever framework makes them.

    ``provider`` is the global tracer provider unless given, which is set up if there is none yet. Raises RuntimeError if it is
    not the SDK's. Spans that are sampled out, or end later, are missing: the runs then say what is in doubt.
    """
    recorder = _recorder_of(provider or _global_provider())
    recording = _Recording()
    recorder.open(recording)
    try:
        yield RecordedRuns(recording)
    finally:
        recorder.close(recording)


def _global_provider() -> TracerProvider:
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):
        # Only the first call in a process counts, and another thread may have made it: so the provider is read again.
        trace.set_tracer_provider(TracerProvider())
        provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        kind = type(provider).__name__
        raise RuntimeError(f"the global tracer provider is a {kind}, which records nothing; is OTEL_SDK_DISABLED set?")
    return provider


def _recorder_of(provider: TracerProvider) -> _Recorder:
    recorder = _recorders.get(provider)
    if recorder is None:
        recorder = _recorders[provider] = _Recorder()
        provider.add_span_processor(recorder)  # for good: the SDK cannot remove one
    return recorder


def read_runs(*paths: str | Path) -> list[Run]:
    """The agent runs of recorded traces: files or folders, as `rightcall score` reads them. Raises InputError."""
    verdicts = score_files([Path(path) for path in paths], _LATER_RULES)
    return [verdict.run for verdict in verdicts]


def assert_run(run: Run, *, rules: str | Path) -> None:
    """Raise AssertionError unless the rule that matches the run passes it; the message shows expected and actual calls.

    A run that no rule matches, or about which too little was recorded, is no pass. Raises ConfigError for invalid rules, and
    where there are none.
    """
    __tracebackhide__ = True
    # With the times of the files, so that rules edited between two runs in one process are loaded again.
    loaded = _load(tuple((path, path.stat().st_mtime_ns) for path in named_rule_paths([Path(rules)])))
    verdict = verdict_of_run(run, loaded.set)
    _asserted.append(_as_asserted(verdict))
    if verdict.label != "pass":
        raise AssertionError(_why(verdict, loaded))


@lru_cache(maxsize=16)
def _load(files: tuple[tuple[Path, int], ...]) -> LoadedRules:
    return load_rules(path for path, _ in files)


def _why(verdict: Verdict, rules: LoadedRules) -> str:
    if not verdict.evaluations:
        return "\n".join(
            [f"the run is not scored: {verdict.unscored_reason}", *tried_lines(explained(verdict, rules.set.rules))]
        )
    primary = next((one for one in verdict.evaluations if one.primary), verdict.evaluations[0])
    return verdict.explain(primary, values=True)


class Asserted(NamedTuple):
    """The result of one `assert_run`, as a summary counts it."""

    label: str
    rule: str
    reasons: str


_asserted: list[Asserted] = []


def take_asserted() -> list[Asserted]:
    """The results since the last call."""
    taken = list(_asserted)
    _asserted.clear()
    return taken


def _as_asserted(verdict: Verdict) -> Asserted:
    label = verdict.label or verdict.unscored_reason or ""
    # What is in doubt about a run that no rule matches is not why.
    reasons = (
        verdict.difference().reasons if label == "fail" else () if label in ("pass", "no_rule") else verdict.doubts
    )
    return Asserted(label, verdict.rule or "", ", ".join(reasons))
