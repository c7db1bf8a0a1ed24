"""A process that is stopped and goes on knows that it may have missed something."""

from __future__ import annotations

import signal
import time

from collector.assembly.gaps import Gaps
from collector.clock import Clock
from collector.service.standstill import Standstill
from tests import otlp_data as data
from tests.collector_process import CollectorProcess, send
from tests.harness import WEATHER_RULES
from tests.waiting import wait_for

LONG = 6.0  # seconds: more than senders outlast


def test_a_run_that_was_under_way_while_the_process_was_stopped_is_in_doubt() -> None:
    with CollectorProcess(WEATHER_RULES, None, traces={"settle": "1s"}) as process:
        now = time.time()
        call, agent = data.tool(2, 1, "get_weather"), data.agent(1)
        for span in (call, agent):
            span.start_time_unix_nano = int(now * 1e9)
            span.end_time_unix_nano = int((now + LONG) * 1e9)
        send(process, call)
        process.signal(signal.SIGSTOP)
        stopped = time.monotonic()
        wait_for(lambda: time.monotonic() - stopped > LONG)
        process.signal(signal.SIGCONT)
        wait_for(lambda: "this process stood still for" in process.log)
        send(process, agent)
        wait_for(lambda: "rightcall_runs_unscored_total{" in process.get("/metrics"))
        assert 'reason="refused_spans"' in process.get("/metrics")


def test_the_time_for_which_the_machine_was_suspended_counts_though_the_monotonic_clock_stood_still() -> None:
    seconds = 100.0
    clock = Clock(now=lambda: 100.0, wall_ns=lambda: data.EPOCH_NS + int(seconds * 1e9), since_boot=lambda: seconds)
    gaps = Gaps(clock, horizon=3600.0)
    standstill = Standstill(gaps, clock)
    seconds += 60.0
    assert standstill.check()
    assert gaps.latest_ns == clock.wall_ns()
    assert not standstill.check()
