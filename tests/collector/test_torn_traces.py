"""A run that may have begun before this process could see it is never scored as if it were whole."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests import otlp_data as data
from tests.collector_process import CollectorProcess, send
from tests.harness import WEATHER_RULES, Bench, Life
from tests.sinks import OtlpSink
from tests.waiting import wait_for

READY = 1000.0
"""What the clock of a bench says when it is ready: seconds after the epoch of the spans."""


def run(at: float, *, first_call: float = 0.05, lasting: float = 3.0) -> tuple[Span, Span, Span]:
    """A right run that begins ``at`` seconds: two calls and, last to arrive, the agent."""
    anchor = data.agent(1, at=at)
    anchor.end_time_unix_nano = anchor.start_time_unix_nano + int(lasting * 1e9)
    later = max(at + first_call, at + lasting - 0.5)
    return data.tool(2, 1, "get_weather", at + first_call), data.tool(3, 1, "send_email", later), anchor


def scored(bench: Bench) -> tuple[str, bool, tuple[str, ...]]:
    bench.wait(40)
    (verdict,) = bench.verdicts
    return verdict.label, verdict.complete, verdict.doubts


WHOLE, TORN = ("pass", True, ()), ("incomplete", False, ("torn_trace",))


@pytest.mark.parametrize(
    ("begins", "lasting", "expected"),
    [
        pytest.param(READY + 0.1, 3, WHOLE, id="it began after the process was ready"),
        pytest.param(READY - 0.001, 3, TORN, id="it began just before"),
        pytest.param(READY - 7200, 7203, TORN, id="it began long before and went on"),
        pytest.param(READY - 605, 6, TORN, id="it ended within max_duration before"),
        pytest.param(READY - 610, 6, WHOLE, id="it ended earlier: a recording"),
    ],
)
def test_a_run_that_began_before_the_process_was_ready_is_incomplete(
    tmp_path: Path, begins: float, lasting: float, expected: Any
) -> None:
    bench = Bench(tmp_path)
    bench.pipeline.ready()
    bench.send(*run(begins, lasting=lasting))
    assert scored(bench) == expected


def test_nothing_is_in_doubt_where_recordings_are_read(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.send(*run(READY - 1))
    assert scored(bench) == WHOLE


@pytest.mark.parametrize("others", [5, 50, 100, 300])
def test_a_long_run_whose_beginning_is_forgotten_is_incomplete_and_no_short_one(tmp_path: Path, others: int) -> None:
    bench = Bench(tmp_path, traces={"remember": 1, "settle": "1s"})
    bench.pipeline._assembler.scored._keys._limit = 20
    bench.pipeline.ready()
    bench.wait(1)
    first, _, anchor = run(READY + 1, lasting=1000)
    bench.send(first)
    bench.wait(40)
    bench.verdicts.clear()
    for number in range(others):
        short = run(bench.clock.seconds)
        for span in short:
            span.trace_id = (number + 1000).to_bytes(16)
        bench.send(*short)
        bench.wait(3)
    assert [(v.label, v.doubts) for v in bench.verdicts] == [("pass", ())] * others
    bench.verdicts.clear()
    later = data.tool(3, 1, "send_email", bench.clock.seconds)
    anchor.end_time_unix_nano = later.end_time_unix_nano
    bench.send(later, anchor)
    label, _, doubts = scored(bench)
    assert (label, doubts) in {("incomplete", ("truncated",)), ("incomplete", ("torn_trace",))}


@pytest.mark.parametrize(
    ("begins", "first_call", "expected"),
    [
        pytest.param(2.0, 0.05, WHOLE, id="its beginning was recorded"),
        pytest.param(2.0, 0.15, TORN, id="nothing of its beginning was recorded"),
        pytest.param(7.9, 0.15, TORN, id="it began before the last balancer learned of the process"),
        pytest.param(8.1, 0.15, WHOLE, id="it began after that"),
    ],
)
def test_a_run_that_moves_to_a_process_that_joined_a_ring_is_incomplete(
    tmp_path: Path, begins: float, first_call: float, expected: Any
) -> None:
    bench = Bench(tmp_path)
    bench.pipeline.ready()
    bench.wait(3)  # until the balancer sends the first traces: runs of another agent
    bench.send(*(data.agent(9, name="other", at=READY + 2.9, trace_id=bytes([at]) * 16) for at in range(1, 5)))
    bench.send(*run(READY + begins, first_call=first_call))
    bench.wait(40)
    assert [(v.label, v.complete, v.doubts) for v in bench.verdicts if v.rule] == [expected]


def test_a_single_agent_that_starts_after_the_process_is_no_balanced_traffic(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.pipeline.ready()
    bench.send(*run(READY + 2, first_call=1))
    assert scored(bench) == WHOLE


def test_long_after_the_start_a_first_run_is_taken_as_it_is(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.pipeline.ready()
    bench.wait(100)
    bench.send(*run(READY + 90, first_call=1))
    assert scored(bench) == WHOLE


@pytest.mark.parametrize(
    "known", [data.tool(2, 1, "get_weather", 1.0), data.span(4, 1, at=1.0)], ids=["agent's", "other"]
)
def test_a_trace_that_the_spool_has_goes_on_after_a_restart(known: Span, tmp_path: Path) -> None:
    with contextlib.closing(Life(tmp_path)) as life:
        life.send(known)
        life.write()
        life.crash()
        life.pipeline.ready()
        life.send(*run(1.0))
        life.wait(40)
        labels = {"rule": "weather", "route": "", "intent": "", "scorer": "trajectory"}
        value = life.telemetry.registry.get_sample_value("rightcall_evaluations_total", {**labels, "label": "pass"})
    assert value == 1


def crash(life: Life, times: int) -> None:
    for _ in range(times):
        life.crash()
        life.pipeline.ready()
        life.write()


def decided(life: Life) -> list[tuple[Any, ...]]:
    life.settle(40)
    names = ("gen_ai.evaluation.score.label", "rightcall.complete", "rightcall.doubts")
    return [tuple(event.get(name) for name in names) for event in life.events() if event["rightcall.rule"]]


@pytest.mark.parametrize("crashes", [0, 1, 2])
@pytest.mark.parametrize(
    ("begins", "expected"), [(READY - 1, ("incomplete", False, ["torn_trace"])), (READY + 1, ("pass", True, None))]
)
def test_a_restart_before_the_verdict_settles_no_doubt_and_casts_none(
    tmp_path: Path, begins: float, expected: Any, crashes: int
) -> None:
    with contextlib.closing(Life(tmp_path, WEATHER_RULES)) as life:
        life.pipeline.ready()
        life.send(*run(begins))
        life.write()
        crash(life, crashes)
        assert decided(life) == [expected]


def test_a_restart_does_not_forget_that_the_beginning_of_a_run_was_forgotten(tmp_path: Path) -> None:
    with contextlib.closing(Life(tmp_path, WEATHER_RULES, remember=1, settle="1s")) as life:
        life.pipeline._assembler.scored._keys._limit = 20
        life.pipeline.ready()
        life.wait(1)
        first, _, anchor = run(READY + 1)
        life.send(first)
        life.settle(40)
        for number in range(60):
            short = run(life.clock.seconds)
            for span in short:
                span.trace_id = (number + 1000).to_bytes(16)
            life.send(*short)
            life.settle()
        last = data.tool(3, 1, "send_email", life.clock.seconds)
        life.send(last)
        life.write()
        crash(life, 2)
        anchor.end_time_unix_nano = last.end_time_unix_nano
        life.send(anchor)
        assert decided(life) == [*[("pass", True, None)] * 60, ("incomplete", False, ["torn_trace"])]


def test_a_trace_that_opens_with_what_was_known_of_it_before_a_restart_may_have_begun_before_that(
    tmp_path: Path,
) -> None:
    with contextlib.closing(Life(tmp_path, WEATHER_RULES)) as life:
        life.pipeline.ready()
        life.send(data.span(4, 1, at=READY - 0.5))
        life.write()
        crash(life, 2)
        life.send(*run(READY - 1))
        assert decided(life) == [("incomplete", False, ["torn_trace"])]


def test_a_log_record_may_be_all_that_a_restart_brings_back_of_a_torn_trace(tmp_path: Path) -> None:
    message = data.any_value({"tool_calls": [{"id": "c", "function": {"name": "get_weather", "arguments": "{}"}}]})
    record = LogRecord(trace_id=data.TRACE, span_id=data.span_id(2), event_name="gen_ai.choice", body=message)
    with contextlib.closing(Life(tmp_path, WEATHER_RULES)) as life:
        life.pipeline.ready()
        life.pipeline.receive("logs", data.logs(record).SerializeToString(), "grpc")
        life.write()
        assert life.pipeline.open_traces == 1
        crash(life, 1)
        life.send(*run(READY - 1))
        assert decided(life) == [("incomplete", False, ["torn_trace"])]


@pytest.mark.parametrize("first_call", [0.05, 0.15])
def test_a_run_that_moved_here_while_the_process_joined_a_ring_is_incomplete_after_a_restart_too(
    tmp_path: Path, first_call: float
) -> None:
    with contextlib.closing(Life(tmp_path, WEATHER_RULES)) as life:
        life.pipeline.ready()
        life.wait(3)
        life.send(*(data.agent(9, name="other", at=READY + 2.9, trace_id=bytes([at]) * 16) for at in range(1, 6)))
        life.send(*run(READY + 2, first_call=first_call))
        life.write()
        crash(life, 1)
        assert [label for label, _, _ in decided(life)] == ["incomplete" if first_call > 0.1 else "pass"]


def test_from_when_on_traces_were_seen_is_kept_for_as_long_as_there_are_any(tmp_path: Path) -> None:
    with contextlib.closing(Life(tmp_path, WEATHER_RULES)) as life:
        life.pipeline.ready()
        life.write()
        crash(life, 3)
        assert life.rows()[0] == 1
        life.send(*run(READY + 1))
        life.write()
        crash(life, 3)
        assert life.rows()[0] == 3, "the spans, from when on they were seen, and from when on what comes is"
        life.settle(40)
        crash(life, 1)
        assert life.rows()[0] == 1


def live(trace_id: bytes) -> tuple[Span, Span, Span]:
    """A run that begins now."""
    spans = run(time.time() - data.EPOCH_NS / 1e9)
    for span in spans:
        span.trace_id = trace_id
    return spans


# What a slow restart may have lost then changes nothing: calls beside these are allowed.
LENIENT_RULES = WEATHER_RULES.replace("send_email]", "send_email], allow_extra: ['*']")


@pytest.mark.parametrize("in_spool", [False, True])
def test_a_restart_in_the_middle_of_a_run(in_spool: bool, tmp_path: Path) -> None:
    spool: Any = {"path": str(tmp_path)} if in_spool else "memory"
    trace_id = os.urandom(16)
    with OtlpSink() as sink:
        backend = {"endpoint": sink.endpoint, "tls": {"insecure": True}}
        traces = {"settle": "100ms", "confirm": "100ms"}
        with CollectorProcess(LENIENT_RULES, backend, traces=traces, spool=spool) as process:
            first, *rest = live(trace_id)
            assert send(process, first) is grpc.StatusCode.OK
            process.kill()
            process.start()
            assert send(process, *rest) is grpc.StatusCode.OK
            wait_for(sink.records)
            (event,) = sink.records()
    values = {item.key: item.value for item in event.attributes}
    assert values["gen_ai.evaluation.score.label"].string_value == ("pass" if in_spool else "incomplete")
