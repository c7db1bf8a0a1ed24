"""Agent runs scored in their own process: the events that come out, and that the agent never notices."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry._logs import Logger, LogRecord
from opentelemetry.context import Context
from opentelemetry.sdk._logs import LoggerProvider, LogRecordProcessor, ReadableLogRecord, ReadWriteLogRecord
from opentelemetry.sdk._logs.export import (
    BatchLogRecordProcessor,
    InMemoryLogRecordExporter,
    LogRecordExporter,
    LogRecordExportResult,
    SimpleLogRecordProcessor,
)
from opentelemetry.sdk.trace import Span as SdkSpan
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Span, Tracer

from collector import span_processor, span_queue
from collector.errors import ConfigError
from scorers.opentelemetry import ScoringSpanProcessor
from tests.waiting import wait_for

RULES = """
rules:
  - name: orders
    match: {agent: shop-*}
    expect: {sequence: [{tool: lookup, arguments: {id: {regex: "^ord_"}}}, refund]}
"""
AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop-helper"}


class Process:
    """The providers of a process, with a processor that scores."""

    def __init__(self, rules: Path, exporter: LogRecordExporter) -> None:
        self.logs = LoggerProvider(shutdown_on_exit=False)
        self.logs.add_log_record_processor(SimpleLogRecordProcessor(exporter))
        self.processor = ScoringSpanProcessor(rules, logger_provider=self.logs)
        self.traces = TracerProvider(shutdown_on_exit=False)
        self.traces.add_span_processor(self.processor)
        self.tracer = self.traces.get_tracer("agent")

    def shutdown(self) -> None:
        self.traces.shutdown()
        self.logs.shutdown()


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    (tmp_path / "rules.yaml").write_text(RULES)
    return tmp_path


@pytest.fixture
def exported() -> InMemoryLogRecordExporter:
    return InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]


@pytest.fixture
def process(rules: Path, exported: InMemoryLogRecordExporter) -> Iterator[Process]:
    process = Process(rules, exported)
    yield process
    process.shutdown()


def begin_call(tracer: Tracer, name: str, arguments: str = "{}") -> Span:
    said = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.arguments": arguments}
    return tracer.start_span(name, attributes=said)


def call(tracer: Tracer, name: str, arguments: str = "{}") -> None:
    begin_call(tracer, name, arguments).end()


def run_agent(tracer: Tracer, *tools: str, order: str = "ord_7") -> str:
    with tracer.start_as_current_span("invoke", attributes=AGENT) as span:
        for name in tools:
            call(tracer, name, f'{{"id": "{order}"}}')
    return format(span.get_span_context().trace_id, "032x")


def labels(exported: InMemoryLogRecordExporter) -> list[tuple[str, object]]:
    """Trace id and label of each event."""
    records = [record.log_record for record in exported.get_finished_logs()]
    return [
        (format(record.trace_id or 0, "032x"), (record.attributes or {})["gen_ai.evaluation.score.label"])
        for record in records
    ]


def test_a_run_that_ended_is_an_event_after_a_flush(process: Process, exported: InMemoryLogRecordExporter) -> None:
    good = run_agent(process.tracer, "lookup", "refund")
    bad = run_agent(process.tracer, "lookup", "delete_order", order="7")
    assert process.traces.force_flush()
    assert sorted(labels(exported)) == sorted([(good, "pass"), (bad, "fail")])
    (record,) = [
        one.log_record for one in exported.get_finished_logs() if format(one.log_record.trace_id or 0, "032x") == bad
    ]
    assert record.event_name == "gen_ai.evaluation.result"
    attributes = record.attributes or {}
    assert attributes["rightcall.rule"] == "orders"
    assert attributes["rightcall.missing_tools"] == ("refund",)
    assert "lookup.id does not match ^ord_" in str(record.body)
    assert '"7"' not in str(record.body)


def test_a_flush_exports_what_the_log_processor_collects(process: Process) -> None:
    collected = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    process.logs.add_log_record_processor(BatchLogRecordProcessor(collected, schedule_delay_millis=3_600_000))
    good = run_agent(process.tracer, "lookup", "refund")
    assert process.traces.force_flush()
    assert labels(collected) == [(good, "pass")]


def test_it_needs_no_flush(process: Process, exported: InMemoryLogRecordExporter) -> None:
    good = run_agent(process.tracer, "lookup", "refund")
    wait_for(lambda: labels(exported) == [(good, "pass")])


def test_a_run_waits_for_the_spans_above_it(process: Process, exported: InMemoryLogRecordExporter) -> None:
    with process.tracer.start_as_current_span("POST /chat"):
        run_agent(process.tracer, "lookup", "refund")
        assert process.traces.force_flush()
        assert labels(exported) == []
    assert process.traces.force_flush()
    assert [label for _, label in labels(exported)] == ["pass"]


def test_a_run_does_not_wait_for_a_parent_that_is_not_recorded_here(
    process: Process, exported: InMemoryLogRecordExporter
) -> None:
    web = TracerProvider(shutdown_on_exit=False)
    with web.get_tracer("web").start_as_current_span("POST /chat"):
        run_agent(process.tracer, "lookup", "refund")
        run_agent(process.tracer, "lookup")
        assert process.traces.force_flush()
    assert [label for _, label in labels(exported)] == ["pass", "fail"]
    web.shutdown()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch, rules: Path, exported: InMemoryLogRecordExporter) -> Iterator[Process]:
    """A process that waits for nothing: what is read of a part of a run is an event after a flush, whoever its agent is."""
    (rules / "rules.yaml").write_text(RULES.replace("{agent: shop-*}", "{}"))
    config = span_processor._CONFIG
    traces = config.traces.model_copy(update={"idle_timeout": 0.0})
    monkeypatch.setattr(span_processor, "_CONFIG", config.model_copy(update={"traces": traces}))
    process = Process(rules, exported)
    yield process
    process.shutdown()


def test_a_run_is_not_scored_while_its_agent_goes_on(impatient: Process, exported: InMemoryLogRecordExporter) -> None:
    with impatient.tracer.start_as_current_span("invoke", attributes=AGENT):
        call(impatient.tracer, "lookup", '{"id": "ord_7"}')
        assert impatient.traces.force_flush()
        assert labels(exported) == []
        call(impatient.tracer, "refund")
    assert impatient.traces.force_flush()
    assert [label for _, label in labels(exported)] == ["pass"]


def test_beyond_the_limit_the_trace_quiet_longest_is_scored_as_it_is(
    impatient: Process, exported: InMemoryLogRecordExporter
) -> None:
    first, second = (impatient.tracer.start_span("invoke", attributes=AGENT) for _ in range(2))
    for span in (second, first):
        with trace.use_span(span):
            call(impatient.tracer, "lookup", '{"id": "ord_7"}')
    others = [impatient.tracer.start_span("GET /") for _ in range(span_queue.MAX_OPEN_TRACES - 2)]
    assert impatient.traces.force_flush()
    assert labels(exported) == []
    others.append(impatient.tracer.start_span("GET /"))
    assert impatient.traces.force_flush()
    assert labels(exported) == [(format(second.get_span_context().trace_id, "032x"), "incomplete")]
    # Of a trace that was passed on, nothing waits any more.
    with trace.use_span(second, end_on_exit=True):
        call(impatient.tracer, "refund")
    assert impatient.traces.force_flush()
    assert labels(exported)[-1][1] == "pass"


def test_large_spans_of_traces_that_go_on_are_passed_on_as_well(
    impatient: Process, exported: InMemoryLogRecordExporter
) -> None:
    with impatient.tracer.start_as_current_span("invoke", attributes=AGENT):
        for number in range(span_queue.MAX_OPEN_BYTES >> 20):
            assert (number, labels(exported)) == (number, [])
            call(impatient.tracer, "lookup", "x" * (1 << 20))
            assert impatient.traces.force_flush()
        assert [label for _, label in labels(exported)] == ["incomplete"]


def test_shutdown_scores_what_is_left_as_it_is_and_ends_the_thread(
    process: Process, exported: InMemoryLogRecordExporter
) -> None:
    with trace.use_span(process.tracer.start_span("POST /chat")):
        run_agent(process.tracer, "lookup")
    process.processor.shutdown()
    assert [label for _, label in labels(exported)] == ["fail"]
    assert "rightcall" not in [thread.name for thread in threading.enumerate()]
    run_agent(process.tracer, "lookup", "refund")
    assert process.processor.force_flush()
    process.processor.shutdown()
    assert len(labels(exported)) == 1


def test_a_run_is_in_doubt_if_spans_below_it_go_on_at_shutdown(
    process: Process, exported: InMemoryLogRecordExporter
) -> None:
    for tools in (["lookup"], ["lookup", "refund"]):
        with process.tracer.start_as_current_span("invoke", attributes=AGENT):
            for name in tools:
                call(process.tracer, name, '{"id": "ord_7"}')
            with trace.use_span(process.tracer.start_span("step")):
                begin_call(process.tracer, "delete_order")
    process.processor.shutdown()
    assert [label for _, label in labels(exported)] == ["incomplete"] * 2
    assert [(one.log_record.attributes or {}).get("rightcall.doubts") for one in exported.get_finished_logs()] == [
        ("truncated",)
    ] * 2


def test_a_run_is_in_doubt_until_all_spans_below_it_have_ended_where_it_was_passed_on_before(
    process: Process, exported: InMemoryLogRecordExporter
) -> None:
    with process.tracer.start_as_current_span("invoke", attributes=AGENT):
        call(process.tracer, "lookup", '{"id": "ord_7"}')
        calls = [begin_call(process.tracer, name) for name in ("refund", "notify")]
    others = [process.tracer.start_span("GET /") for _ in range(span_queue.MAX_OPEN_TRACES)]
    found = []
    for ended in ([], *([one] for one in calls)):
        for span in ended:
            span.end()
        assert process.traces.force_flush()
        found.append([label for _, label in labels(exported)][-1])
    assert found == ["incomplete", "incomplete", "fail"]  # now it is known that it made a call too many
    assert len(others) == span_queue.MAX_OPEN_TRACES


def test_a_span_that_cannot_be_encoded_costs_only_the_runs_of_its_trace(
    process: Process, exported: InMemoryLogRecordExporter, caplog: pytest.LogCaptureFixture
) -> None:
    good = []
    for _ in range(3):
        good.append(run_agent(process.tracer, "lookup", "refund"))
        with process.tracer.start_as_current_span("invoke", attributes=AGENT):
            call(process.tracer, "lookup", '{"id": "ord_7"}')
            process.tracer.start_span("open report-\udcff.txt").end()
    assert process.traces.force_flush()
    assert sorted(labels(exported)) == sorted((trace_id, "pass") for trace_id in good)
    assert "a span could not be read; the runs of its trace get no verdict" in caplog.text


class _Stuck(LogRecordExporter):
    """A backend that takes nothing until it is released."""

    def __init__(self) -> None:
        self.entered, self.release = threading.Event(), threading.Event()
        self.exported: list[ReadableLogRecord] = []

    def export(self, batch: Sequence[ReadableLogRecord]) -> LogRecordExportResult:
        self.entered.set()
        self.release.wait()
        self.exported += batch
        return LogRecordExportResult.SUCCESS

    def shutdown(self) -> None:
        pass

    def force_flush(self, timeout_millis: int = 0) -> bool:
        return True


@pytest.fixture
def stuck(rules: Path) -> Iterator[tuple[Process, _Stuck]]:
    exporter = _Stuck()
    process = Process(rules, exporter)
    run_agent(process.tracer, "lookup", "refund")
    exporter.entered.wait()
    yield process, exporter
    exporter.release.set()
    process.shutdown()


def test_a_stuck_exporter_holds_up_no_agent_and_a_full_queue_makes_no_wrong_verdicts(
    stuck: tuple[Process, _Stuck], caplog: pytest.LogCaptureFixture
) -> None:
    process, exporter = stuck
    whole = run_agent(process.tracer, "lookup", "refund")
    with process.tracer.start_as_current_span("invoke", attributes=AGENT):
        call(process.tracer, "lookup", '{"id": "ord_7"}')
        for _ in range(span_queue.MAX_QUEUED_SPANS):
            process.tracer.start_span("GET /", Context()).end()
        call(process.tracer, "refund")
    assert not process.processor.force_flush(timeout_millis=1)
    exporter.release.set()
    assert process.processor.force_flush()
    traces = [format(record.log_record.trace_id or 0, "032x") for record in exporter.exported]
    assert traces[1:] == [whole]  # the other lacks spans: whatever its rule says would be wrong
    assert "5 spans ended faster than they were scored" in caplog.text


def test_many_runs_at_once_are_scored_whole_whatever_scopes_their_spans_have(stuck: tuple[Process, _Stuck]) -> None:
    process, exporter = stuck
    other = process.traces.get_tracer("mcp")
    for _ in range(1_300):
        with process.tracer.start_as_current_span("invoke", attributes=AGENT):
            call(process.tracer, "lookup", '{"id": "ord_7"}')
            call(other, "refund")
    exporter.release.set()
    assert process.processor.force_flush()
    attributes = [record.log_record.attributes or {} for record in exporter.exported]
    said = Counter((one["gen_ai.evaluation.score.label"], one["rightcall.revision"]) for one in attributes)
    assert said == {("pass", 0): 1_301}


def test_a_full_queue_keeps_nothing_of_further_traces() -> None:
    queue, tracer = span_queue.SpanQueue(), TracerProvider(shutdown_on_exit=False).get_tracer("agent")
    for _ in range(span_queue.MAX_QUEUED_SPANS + 100):
        span = tracer.start_span("invoke", Context())
        assert isinstance(span, SdkSpan)
        queue.begin(span)
        span.end()
        queue.put(span)
    taken = queue.take(0)
    assert (len(taken.traces), taken.dropped, len(taken.torn)) == (span_queue.MAX_QUEUED_SPANS, 100, 100)


def test_large_spans_fill_the_queue_as_well(stuck: tuple[Process, _Stuck], caplog: pytest.LogCaptureFixture) -> None:
    process, exporter = stuck
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "lookup", "input": "x" * (1 << 20)}
    fit = span_queue.MAX_QUEUED_BYTES >> 20
    for _ in range(fit + 3):
        process.tracer.start_span("tool", attributes=attributes).end()
    exporter.release.set()
    assert process.processor.force_flush()
    assert "4 spans ended faster" in caplog.text


class _Broken(LoggerProvider):
    """Of somebody else, with a bug."""

    def get_logger(self, *_: object, **__: object) -> Logger:
        return _BrokenLogger("", "")


class _BrokenLogger(Logger):
    def enabled(self, *_: object, **__: object) -> bool:
        return True

    def emit(self, record: LogRecord | None = None, **_: object) -> None:
        raise ValueError("no disk")


class _BrokenOnce(LogRecordProcessor):
    """Of somebody else, with bugs that show with the first event and in each flush."""

    def __init__(self) -> None:
        self.is_broken = True

    def on_emit(self, log_record: ReadWriteLogRecord) -> None:
        if self.is_broken:
            self.is_broken = False
            raise ValueError("no disk")

    def shutdown(self) -> None:
        pass

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        raise ValueError("no disk")


def test_an_event_that_cannot_be_emitted_costs_no_other(
    rules: Path, exported: InMemoryLogRecordExporter, caplog: pytest.LogCaptureFixture
) -> None:
    process = Process(rules, exported)
    process.logs.add_log_record_processor(_BrokenOnce())
    with process.tracer.start_as_current_span("POST /chat"):  # which scores them at once
        for _ in range(3):
            run_agent(process.tracer, "lookup", "refund")
    process.shutdown()
    assert len(labels(exported)) == 3
    assert caplog.text.count("an evaluation event could not be emitted") == 1


def test_a_flush_that_fails_raises_nothing(process: Process, caplog: pytest.LogCaptureFixture) -> None:
    process.logs.add_log_record_processor(_BrokenOnce())
    assert not process.processor.force_flush()
    assert "evaluation events could not be flushed" in caplog.text


def test_an_error_is_logged_and_the_agent_goes_on(rules: Path, caplog: pytest.LogCaptureFixture) -> None:
    processor = ScoringSpanProcessor(rules, logger_provider=_Broken(shutdown_on_exit=False))
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor)
    for _ in range(2):
        run_agent(provider.get_tracer("agent"), "lookup")
        assert processor.force_flush()
    processor.on_end(None)  # type: ignore[arg-type]
    provider.shutdown()
    assert caplog.text.count("ValueError: no disk") == 2
    assert "a span could not be queued" in caplog.text


def test_invalid_rules_and_none_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no rule file"):
        ScoringSpanProcessor(tmp_path)
    (tmp_path / "rules.yaml").write_text("rules: [{nam: x}]")
    with pytest.raises(ConfigError, match="did you mean name"):
        ScoringSpanProcessor(tmp_path)


SCRIPT = """
import os, sys, threading
from opentelemetry import _logs
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import ConsoleLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from scorers.opentelemetry import ScoringSpanProcessor

def start():
    provider = TracerProvider()
    provider.add_span_processor(ScoringSpanProcessor(sys.argv[1]))
    return provider

def run(provider, agent):
    said = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": agent}
    with provider.get_tracer("a").start_as_current_span("invoke", attributes=said):
        pass

silent = start()
run(silent, "shop-0")
silent.shutdown()

if not (child := os.fork()):
    run(silent, "shop-late")
    os._exit([thread.name for thread in threading.enumerate()] != ["MainThread"])
print(os.waitpid(child, 0)[1], flush=True)

logs = LoggerProvider()
logs.add_log_record_processor(SimpleLogRecordProcessor(ConsoleLogRecordExporter(
    formatter=lambda record: record.log_record.attributes["gen_ai.agent.name"] + chr(10))))
_logs.set_logger_provider(logs)
provider = start()
run(provider, "shop-parent")
child = os.fork()
if not child:
    run(provider, "shop-child")
    provider.shutdown()
    os._exit(0)
os.waitpid(child, 0)
"""


def test_a_fork_scores_its_own_runs_unless_shut_down_and_exit_flushes_and_events_that_go_nowhere_are_told(
    rules: Path,
) -> None:
    environment = {**os.environ, "PYTHONWARNINGS": "ignore::DeprecationWarning"}  # of fork beside threads
    command = [sys.executable, "-c", SCRIPT, str(rules)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == ["0", "shop-child", "shop-parent"]
    (said,) = done.stderr.splitlines()
    assert said.startswith("evaluation events go nowhere: set a logger provider")
