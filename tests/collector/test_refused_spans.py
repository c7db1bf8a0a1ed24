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
from collector.errors import DecodeError, RefusedError, TooLargeError, TooSlowError
from collector.in_flight import InFlight
from collector.otlp.wire import field
from collector.service.admission import Admission
from collector.service.memory_limiter import MemoryLimiter
from collector.service.standstill import Standstill
from collector.storage.records import RecordKind
from tests import otlp_data as data
from tests.harness import WEATHER_RULES, Bench, Life

CONFIRM = 6.0
CALLS = (data.tool(2, 1, "get_weather", 0.1), data.tool(3, 1, "send_email", 0.2))
AGENT = data.agent(1, at=0.0)
READY = 1000.0
"""What the clock says when it begins: seconds after the epoch of the spans."""
ROOM = 1 << 30
SHORT, EXCEEDED = 90, 110
"""MiB that are resident where memory is short: above the soft limit, above the hard one."""


def request(*spans: Span) -> bytes:
    return data.traces(*spans).SerializeToString()


class Receiving(Bench):
    """A bench with the admission in front of it."""

    def __init__(self, folder: Path, rules: str = WEATHER_RULES) -> None:
        super().__init__(folder, rules, traces={"confirm": CONFIRM})
        self.resident_mib = 0
        limiter = MemoryLimiter(
            MemoryLimiterConfig(limit_mib=100, check_interval=0.001), self.clock.now, lambda: self.resident_mib << 20,
            lambda: None, lambda: None,
        )  # fmt: skip
        self.in_flight = InFlight(ROOM)
        self.admission = Admission(self.pipeline, self.queue, None, limiter, self.in_flight)
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

    def send_while_short(self, body: bytes, resident_mib: int = SHORT, signal: Signal = "traces") -> None:
        """Send a request as receivers do while memory is short; it is refused."""
        self.clock.seconds += 0.01
        self.resident_mib = resident_mib
        try:
            with self.admission.reservation() as room:
                room.add(len(body))
                self.take(body, signal)
        except RefusedError as error:
            self.admission.refuse("grpc", error)
        else:
            pytest.fail("it was taken")
        self.clock.seconds += 0.01
        self.resident_mib = 0

    def scored(self) -> list[tuple[str, tuple[str, ...], str]]:
        return [(verdict.label, verdict.doubts, verdict.release) for verdict in self.verdicts]


def run_at(begins: float, lasting: float) -> tuple[Span, Span]:
    """A call, and the agent whose other call was lost."""
    agent = data.agent(1, at=begins)
    agent.end_time_unix_nano = agent.start_time_unix_nano + int(lasting * 1e9)
    return data.tool(3, 1, "send_email", begins + 0.05), agent


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


def damaged(span: Span) -> bytes:
    """A request with a span that ends within an attribute."""
    whole = data.traces(span).resource_spans[0]
    raw = span.SerializeToString() + b"\x4a\x7f\x0a"
    scope = field(0x12, raw)
    return field(0x0A, field(0x0A, whole.resource.SerializeToString()) + field(0x12, scope))


def test_a_run_with_a_span_that_is_not_otlp_is_incomplete(tmp_path: Path) -> None:
    bench = Receiving(tmp_path)
    # Requests one after the other are one request in protobuf.
    bench.take(request(*CALLS, AGENT) + damaged(data.tool(4, 1, "delete_account", 0.3)))
    bench.wait(31)
    assert bench.scored() == [UNDECIDED]


def test_a_run_of_which_a_whole_request_is_not_otlp_is_incomplete(tmp_path: Path) -> None:
    bench = Receiving(tmp_path)
    with pytest.raises(DecodeError, match="no span of the request could be read"):
        bench.take(damaged(data.tool(4, 1, "delete_account", 0.3)))
    bench.take(request(*CALLS, AGENT))
    bench.wait(31)
    assert bench.scored() == [UNDECIDED]


def test_other_traces_of_a_request_with_a_span_that_is_not_otlp_are_whole(tmp_path: Path) -> None:
    bench = Receiving(tmp_path)
    bench.take(request(*CALLS, AGENT) + damaged(data.tool(4, 1, "delete_account", 0.3, trace_id=bytes(15) + b"x")))
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


# --- while memory is short


def test_a_run_waits_for_spans_that_were_refused_for_want_of_memory(tmp_path: Path) -> None:
    bench = Receiving(tmp_path)
    bench.send_while_short(request(CALLS[0]))
    bench.take(request(CALLS[1], AGENT))
    bench.wait(29)
    assert not bench.verdicts
    bench.take(request(CALLS[0]))
    bench.wait(3)
    assert bench.scored() == [("pass", (), "root")]


@pytest.mark.parametrize("how", ["too much memory", "no room", "too many are known"])
@pytest.mark.parametrize(
    ("seconds", "expected"), [(5, ("fail", (), "root")), (6, ("incomplete", ("refused_spans",), "root"))]
)
def test_a_run_that_is_under_way_while_requests_are_refused_unread_for_long_may_lack_spans(
    tmp_path: Path, how: str, seconds: int, expected: object
) -> None:
    bench = Receiving(tmp_path)
    if how == "too many are known":
        for number in range(10_001):
            bench.pipeline.refused.add(number.to_bytes(4), [number.to_bytes(16)])
    call, agent = run_at(READY + 1, 10)
    with contextlib.ExitStack() as others:
        if how == "no room":
            others.enter_context(bench.in_flight.reservation()).add(ROOM // 8)
        bench.wait(2)
        for _ in range(seconds + 1):
            bench.send_while_short(request(CALLS[0]), EXCEEDED if how == "too much memory" else SHORT)
            bench.wait(0.75)
            bench.clock.seconds += 0.23
    assert data.TRACE not in bench.pipeline.refused
    bench.take(request(call, agent))
    bench.wait(40)
    assert bench.scored() == [expected]


@pytest.mark.parametrize(
    ("seconds", "expected"), [(5, ("fail", (), "root")), (6, ("incomplete", ("refused_spans",), "root"))]
)
def test_a_run_that_is_under_way_while_the_process_stands_still_for_long_may_lack_spans(
    tmp_path: Path, seconds: int, expected: object
) -> None:
    bench = Receiving(tmp_path)
    standstill = Standstill(bench.pipeline.gaps, bench.clock)
    call, agent = run_at(READY + 1, 10)
    bench.wait(1)
    assert not standstill.check()
    bench.clock.seconds += seconds
    assert standstill.check()
    bench.take(request(call, agent))
    bench.wait(40)
    assert bench.scored() == [expected]


def test_what_is_not_sent_again_and_could_not_be_read_says_nothing_of_runs_before_and_after(tmp_path: Path) -> None:
    bench = Receiving(tmp_path)
    bench.wait(20)
    for _ in range(10):
        bench.send_while_short(request(CALLS[0]), EXCEEDED)
        bench.wait(1)
    bench.wait(10)
    for number, begins in enumerate((READY + 5, READY + 35)):
        spans = run_at(begins, 3)
        for span in spans:
            span.trace_id = bytes([number + 1]) * 16
        bench.take(request(*spans))
    bench.wait(40)
    assert bench.scored() == [("fail", (), "root")] * 2


def test_a_request_that_can_never_be_taken_casts_no_doubt(tmp_path: Path) -> None:
    bench = Receiving(tmp_path)
    for _ in range(10):
        bench.admission.refuse("grpc", TooLargeError("x"))
        bench.admission.refuse("grpc", TooSlowError("x"))
        bench.wait(1)
    assert not bench.pipeline.gaps


@pytest.mark.parametrize("begins", ["before", "behind"])
def test_where_more_traces_are_refused_than_are_known_each_run_under_way_then_may_lack_spans(
    tmp_path: Path, begins: str
) -> None:
    bench = Receiving(tmp_path)
    call, agent = run_at(READY + (1 if begins == "before" else 30), 3)
    bench.wait(2)
    if begins == "before":
        bench.refuse(request(CALLS[0]))
    else:
        bench.refuse(request(data.span(9, trace_id=b"\x07" * 16)))
    bench.pipeline.refused.add(b"many", [number.to_bytes(16) for number in range(50_000)])
    assert data.TRACE not in bench.pipeline.refused
    bench.wait(30 if begins == "behind" else 1)
    bench.take(request(call, agent))
    bench.wait(40)
    assert bench.scored() == [
        ("incomplete", ("refused_spans",), "root") if begins == "before" else ("fail", (), "root")
    ]


def test_refused_requests_that_nobody_sends_again_leave_room_for_others(tmp_path: Path) -> None:
    bench = Receiving(tmp_path)
    bench.send_while_short(request(CALLS[0]))
    bench.wait(599)
    assert len(bench.pipeline.refused) == 1
    bench.wait(2)
    assert len(bench.pipeline.refused) == 0


@pytest.mark.parametrize("has_begun", [True, False])
def test_a_run_that_goes_on_for_long_lacks_what_was_refused_at_its_beginning(tmp_path: Path, has_begun: bool) -> None:
    bench = Receiving(tmp_path)
    call, agent = run_at(READY + 1, 1200)
    bench.wait(2)
    bench.refuse(request(CALLS[0]))
    if has_begun:
        bench.take(request(call))
    bench.wait(1200)
    bench.take(request(agent) if has_begun else request(call, agent))
    bench.wait(40)
    assert bench.scored()[-1] == ("incomplete", ("refused_spans",), "idle")


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


# --- given up by their senders while the process was down, with a spool


def stop(life: Life, seconds: float, *, killed: bool = True) -> None:
    """Let the process be down for so long."""
    if not killed:
        life.pipeline.stops_listening()
        life.wait(5)  # until what is complete has its verdict
        seconds -= 5
    life.write()
    life.clock.seconds += seconds
    crash(life)


def said(life: Life) -> list[tuple[str, list[str] | None]]:
    life.settle(60)
    return [(event["gen_ai.evaluation.score.label"], event.get("rightcall.doubts")) for event in life.events()]


DECIDED, DOUBTED = [("fail", None)], [("incomplete", ["refused_spans"])]


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize(("down", "expected"), [(5, DECIDED), (6, DOUBTED), (60, DOUBTED)])
def test_a_run_in_progress_may_lack_spans_sent_while_the_process_was_down_for_long(
    tmp_path: Path, down: float, expected: object, killed: bool
) -> None:
    call, agent = run_at(READY + 1, down + 2)
    with contextlib.closing(Life(tmp_path, WEATHER_RULES, confirm=CONFIRM)) as life:
        life.pipeline.ready()
        life.wait(2)
        life.send(call)
        stop(life, down, killed=killed)
        life.send(agent)
        assert said(life) == expected


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("down", [60, 3600])
def test_a_run_that_was_open_as_the_process_went_down_is_no_recording_however_long_that_takes(
    tmp_path: Path, down: float, killed: bool
) -> None:
    with contextlib.closing(Life(tmp_path, WEATHER_RULES, confirm=CONFIRM)) as life:
        life.pipeline.ready()
        life.wait(2)
        life.send(*run_at(READY + 1, 0.5))
        stop(life, down, killed=killed)
        assert said(life) == DOUBTED


@pytest.mark.parametrize(
    ("begins", "lasting", "expected"),
    [
        pytest.param(READY + 1, 3, DECIDED, id="all of it was sent before"),
        pytest.param(READY + 1, 6, DOUBTED, id="a batch processor may have held its last spans"),
        pytest.param(READY + 41, 1, DECIDED, id="it began after"),
        pytest.param(READY - 700, 10, DECIDED, id="a recording"),
    ],
)
def test_a_run_of_which_nothing_can_be_lost_is_decided(
    tmp_path: Path, begins: float, lasting: float, expected: object
) -> None:
    with contextlib.closing(Life(tmp_path, WEATHER_RULES, confirm=20.0)) as life:
        life.pipeline.ready()
        life.send(data.span(4, 1))  # the trace is known before
        life.wait(9)
        if begins < READY + 9:
            life.send(*run_at(begins, lasting))
        stop(life, 30)
        life.wait(3)
        if begins > READY + 9:
            life.send(*run_at(begins, lasting))
        assert said(life) == expected


def test_an_idle_process_that_is_down_for_a_moment_was_not_down_since_it_had_something_to_do(tmp_path: Path) -> None:
    call, agent = run_at(READY + 1, 62)
    with contextlib.closing(Life(tmp_path, WEATHER_RULES, idle_timeout=100.0)) as life:
        life.pipeline.ready()
        life.wait(2)
        life.send(call)
        life.write()
        life.wait(60)
        stop(life, 2)
        life.send(agent)
        assert said(life) == DECIDED


@pytest.mark.parametrize("moments", [1, 3])
def test_a_further_restart_does_not_forget_that_the_process_was_down(tmp_path: Path, moments: int) -> None:
    call, agent = run_at(READY + 1, 30)
    with contextlib.closing(Life(tmp_path, WEATHER_RULES)) as life:
        life.pipeline.ready()
        life.wait(2)
        life.send(call)
        stop(life, 20)
        for _ in range(moments):
            life.wait(9)
            stop(life, 1)
        life.send(agent)
        assert said(life) == DOUBTED


def test_a_process_that_ends_again_and_again_before_it_is_ready_was_down_all_the_time(tmp_path: Path) -> None:
    call, agent = run_at(READY + 1, 12)
    with contextlib.closing(Life(tmp_path, WEATHER_RULES)) as life:
        life.pipeline.ready()
        life.wait(2)
        life.send(call)
        for _ in range(5):
            life.write()
            life.clock.seconds += 2
            life.crash()
        life.pipeline.ready()
        life.send(agent)
        assert said(life) == DOUBTED
        stop(life, 1)
        assert life.file is not None
        assert [kind for _, kind, _ in life.file.inbox()].count(RecordKind.GAP) == 1
