"""A run of which spans were refused and not sent again is never scored as if it were whole."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.component import ExportRequest, Signal
from collector.config.model import MemoryLimiterConfig
from collector.errors import RefusedError
from collector.in_flight import InFlight
from collector.service.admission import Admission
from collector.service.memory_limiter import MemoryLimiter
from tests import otlp_data as data
from tests.harness import WEATHER_RULES, Bench, Life

CONFIRM = 6.0
CALLS = (data.tool(2, 1, "get_weather", 0.1), data.tool(3, 1, "send_email", 0.2))
AGENT = data.agent(1, at=0.0)


def request(*spans: Span) -> bytes:
    return data.traces(*spans).SerializeToString()


class Receiving(Bench):
    """A bench with the admission in front of it."""

    def __init__(self, folder: Path, rules: str = WEATHER_RULES) -> None:
        super().__init__(folder, rules, traces={"confirm": CONFIRM})
        limiter = MemoryLimiter(MemoryLimiterConfig(limit_mib=100), self.clock.now, lambda: 0, lambda: None)
        self.admission = Admission(self.pipeline, self.queue, None, limiter, InFlight(1 << 30))
        self.pipeline.ready()

    def take(self, body: bytes, signal: Signal = "traces") -> None:
        asyncio.run(self.admission.take(signal, body, "grpc"))

    def refuse(self, body: bytes, signal: Signal = "traces") -> None:
        """Refuse a request: the backend is down, and the sending queue is full."""
        while not self.queue.full:
            self.queue.put(ExportRequest("traces", b"", 1))
        with self.admission.reservation(), pytest.raises(RefusedError, match="queue is full"):
            self.take(body, signal)
        self.queue.drop_pending()

    def scored(self) -> list[tuple[str, tuple[str, ...], str]]:
        return [(verdict.label, verdict.doubts, verdict.release) for verdict in self.verdicts]


UNDECIDED = ("incomplete", ("refused_spans",), "idle")


def test_a_run_waits_for_spans_that_were_refused_and_is_incomplete_without_them(tmp_path: Path) -> None:
    bench = Receiving(tmp_path)
    bench.refuse(request(CALLS[0]))
    bench.take(request(CALLS[1], AGENT))
    bench.wait(29)
    assert not bench.verdicts
    bench.wait(2)
    assert bench.scored() == [UNDECIDED]


def test_a_run_is_whole_once_they_are_sent_again(tmp_path: Path) -> None:
    bench = Receiving(tmp_path)
    bench.refuse(request(*CALLS))
    bench.refuse(request(*CALLS))
    bench.take(request(AGENT))
    bench.wait(20)
    assert not bench.verdicts
    bench.take(request(*CALLS))
    bench.wait(3)
    assert bench.scored() == [("pass", (), "root")]


def test_a_fail_that_waits_to_be_confirmed_is_not_given_when_spans_are_refused_meanwhile(tmp_path: Path) -> None:
    bench = Receiving(tmp_path)
    bench.take(request(CALLS[1], AGENT))
    bench.wait(4)
    bench.refuse(request(CALLS[0]))
    bench.wait(25)
    assert not bench.verdicts
    bench.wait(5)
    assert bench.scored() == [UNDECIDED]


def test_what_was_seen_stands(tmp_path: Path) -> None:
    bench = Receiving(tmp_path, WEATHER_RULES.replace("send_email]", "check], forbid: [send_email]"))
    bench.refuse(request(CALLS[0]))
    bench.take(request(CALLS[1], AGENT))
    bench.wait(40)
    assert bench.scored() == [("fail", ("refused_spans",), "idle")]


def test_a_log_record_that_was_refused_may_tell_of_a_call(tmp_path: Path) -> None:
    bench = Receiving(tmp_path)
    record = LogRecord(trace_id=data.TRACE, event_name="gen_ai.choice")
    bench.refuse(data.logs(record).SerializeToString(), "logs")
    bench.take(request(*CALLS, AGENT))
    bench.wait(40)
    assert bench.scored() == [UNDECIDED]


@pytest.mark.parametrize(
    ("signal", "body"),
    [
        ("traces", request(data.span(9, trace_id=b"\x07" * 16))),
        ("traces", b"\xff"),
        ("metrics", b""),
    ],
    ids=["another trace", "no OTLP", "metrics"],
)
def test_other_requests_say_nothing_of_a_run(tmp_path: Path, signal: Signal, body: bytes) -> None:
    bench = Receiving(tmp_path)
    bench.refuse(body, signal)
    bench.take(request(*CALLS, AGENT))
    bench.wait(3)
    assert bench.scored() == [("pass", (), "root")]


# --- across restarts, with a spool


def refused(life: Life, *bodies: bytes) -> None:
    for body in bodies:
        life.pipeline.refused.add(body, [data.TRACE])
    life.write()


def crash(life: Life) -> None:
    life.crash()
    life.pipeline.ready()


@pytest.mark.parametrize("crashes", [0, 1, 2])
def test_a_restart_does_not_forget_that_spans_were_refused(tmp_path: Path, crashes: int) -> None:
    with contextlib.closing(Life(tmp_path, WEATHER_RULES)) as life:
        refused(life, request(CALLS[0]))
        life.send(CALLS[1], AGENT)
        life.write()
        for _ in range(crashes):
            crash(life)
        life.settle(40)
        (event,) = life.events()
    assert (event["gen_ai.evaluation.score.label"], event["rightcall.doubts"]) == ("incomplete", ["refused_spans"])


def test_spans_that_are_sent_again_after_a_restart_complete_the_run(tmp_path: Path) -> None:
    with contextlib.closing(Life(tmp_path, WEATHER_RULES)) as life:
        refused(life, request(CALLS[0]), request(CALLS[0]))
        life.send(CALLS[1], AGENT)
        life.write()
        crash(life)
        life.send(CALLS[0])
        life.pipeline.refused.accepted(request(CALLS[0]))
        life.settle(3)
        (event,) = life.events()
        crash(life)
        assert not life.pipeline.refused
    assert (event["gen_ai.evaluation.score.label"], event.get("rightcall.doubts")) == ("pass", None)


def test_what_is_refused_while_nothing_can_be_written_does_not_pile_up(tmp_path: Path) -> None:
    with contextlib.closing(Life(tmp_path)) as life:
        life.spool.failing = True
        for number in range(100):
            life.pipeline.refused.add(bytes([number]), [data.TRACE])
        assert not life.spool.unwritten
        life.pipeline.refused.accepted(bytes([0]))
        assert not life.spool.unwritten
