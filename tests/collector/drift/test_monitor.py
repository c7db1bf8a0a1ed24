"""Verdicts become metrics of drift, survive a restart, and cost next to nothing."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import sys
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collector.config.model import Config, RedactionConfig
from collector.drift import monitor as monitors
from collector.drift.comparison import MAX_FACTS
from collector.drift.monitor import MAX_PATHS, DriftMonitor, build_monitor
from collector.drift.state import MAX_BYTES, DriftState
from collector.drift.stream import MAX_STREAMS
from collector.results.redaction import Redaction
from collector.telemetry.metric_table import MAX_LABEL_LENGTH
from collector.telemetry.metrics import Telemetry
from scorers.trajectory import DoubtName
from tests.collector.verdicts import verdict_of
from tests.sinks import ManualClock

HOUR = 3600.0


class Watching:
    """A monitor and its clock."""

    def __init__(self, state: DriftState | None = None, **redact: Any) -> None:
        self.clock, self.telemetry = ManualClock(), Telemetry()
        redaction = Redaction(RedactionConfig(**redact))
        self.monitor = DriftMonitor(1, self.telemetry, self.clock, redaction, state)

    def hour(self, tools: dict[tuple[str, ...], int], **run: Any) -> None:
        """Runs of so many calls each within an hour, which then passes."""
        for calls, number in tools.items():
            verdict = verdict_of(*calls, run={"route": "/refund", **run})
            for _ in range(number):
                self.monitor.offer(verdict)
        self.monitor.advance()
        self.clock.seconds += 60.0
        self.monitor.advance()
        self.clock.seconds += HOUR - 60.0

    def samples(self, name: str) -> dict[tuple[str, ...], float]:
        """The values of a metric by its labels."""
        families = [one for one in self.telemetry.registry.collect() if one.name == f"rightcall_{name}"]
        return {tuple(one.labels.values()): one.value for family in families for one in family.samples}


USUAL = {("lookup", "refund"): 490, ("lookup", "lookup", "refund"): 10}
CHANGED = {("lookup", "refund"): 345, ("lookup", "lookup", "refund"): 155}
SERIES = ("/refund", "helper", "last_week")


def test_a_change_is_a_metric_a_line_in_the_log_and_a_row_for_the_console(caplog: pytest.LogCaptureFixture) -> None:
    watching = Watching()
    for _ in range(8 * 24):
        watching.hour(USUAL)
    assert watching.samples("path_drift") == {SERIES: 0.0}
    assert watching.samples("path_share_ratio") == {}
    with caplog.at_level(logging.WARNING):
        watching.hour(CHANGED)
    assert watching.samples("path_drift") == {SERIES: 1.0}
    shares = watching.samples("path_share_ratio")
    assert shares[*SERIES, "calls_lookup_twice_or_more", "now"] == pytest.approx(0.31)
    assert shares[*SERIES, "calls_lookup_twice_or_more", "before"] == pytest.approx(0.02)
    (line,) = [record.getMessage() for record in caplog.records]
    assert "route /refund, agent helper changed: since " in line
    assert "calls lookup twice or more in 31% of runs (2.0% before)" in line
    (row,) = watching.monitor.watched
    assert (row.route, row.agent, row.is_ready) == ("/refund", "helper", True)
    assert row.drift is not None
    for _ in range(9 * 24):
        watching.hour(USUAL)
    assert watching.samples("path_drift") == {SERIES: 0.0}
    assert watching.samples("path_share_ratio") == {}


@pytest.mark.parametrize(
    "fields",
    [{"scope": "trace"}, {"shadow": True}, {"revision": 1}, {"judged": True}, {"doubts": ["missing_span"]}],
)
def test_a_run_is_counted_once_and_only_if_all_of_it_was_seen(fields: dict[str, Any]) -> None:
    watching = Watching()
    watching.monitor.offer(verdict_of("a", **fields))
    watching.monitor.advance()
    assert watching.monitor.watched == []
    # A doubt that hides no call is none here; neither is a run without a rule.
    order: list[DoubtName] = ["uncertain_order"]
    watching.monitor.offer(verdict_of("a", rule=None, evaluations=[], doubts=order))
    watching.clock.seconds += 1.0
    watching.monitor.advance()
    assert len(watching.monitor.watched) == 1


def test_agents_by_random_names_displace_none_that_is_at_work() -> None:
    watching = Watching()
    for _ in range(5):
        watching.hour(USUAL)
        for number in range(MAX_STREAMS):
            watching.monitor.offer(verdict_of("a", run={"agent": f"random {watching.clock.seconds} {number}"}))
        watching.clock.seconds += 1.0
        watching.monitor.advance()
        watching.clock.seconds += HOUR
        assert len(watching.monitor.watched) == MAX_STREAMS
    assert "helper" in {row.agent for row in watching.monitor.watched}
    assert watching.samples("label_overflow")["route_agent",] > 0


class CountedStreams(dict[Any, Any]):
    """Streams that count how often all of them were looked at."""

    times = 0

    def __iter__(self) -> Iterator[Any]:
        self.times += 1
        return super().__iter__()


def test_names_for_which_there_is_no_room_are_compared_with_all_streams_once_an_hour() -> None:
    watching = Watching()
    for number in range(MAX_STREAMS):
        watching.monitor.offer(verdict_of("a", run={"agent": f"random {number}"}))
    watching.monitor.advance()
    watching.monitor._streams = streams = CountedStreams(watching.monitor._streams)
    for hour in range(2):
        for number in range(100):
            watching.monitor.offer(verdict_of("a", run={"agent": f"another {hour} {number}"}))
        watching.clock.seconds += 1.0
        watching.monitor.advance()
        assert not watching.monitor._paths
        watching.clock.seconds += HOUR
    assert streams.times == 2


def test_only_so_many_paths_wait() -> None:
    watching = Watching()
    for number in range(MAX_PATHS + 50):
        watching.monitor.offer(verdict_of(f"tool {number}"))
    assert len(watching.monitor._paths) == MAX_PATHS
    assert watching.monitor._streams["", "helper"].hours


def test_what_waits_is_small_however_long_the_names_are() -> None:
    watching, long = Watching(), "x" * 100_000
    tracemalloc.start()
    for number in range(200):
        name = f"{number}{long}"
        watching.monitor.offer(verdict_of(name, run={"route": name, "agent": name, **version(name)}))
        del name
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1_000_000
    watching.monitor.advance()
    assert {len(route) for route, _ in watching.monitor._streams} == {MAX_LABEL_LENGTH}


def version(name: str) -> dict[str, Any]:
    return {"attributes": {"service.version": name}}


def test_a_version_that_differs_from_the_one_before_has_series_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    watching, release = Watching(), ("/refund", "helper", "previous_version")
    for _ in range(24):
        watching.hour(USUAL, **version("2.3.1"))
    assert watching.samples("path_drift") == {SERIES: 0.0}
    for _ in range(24):
        watching.hour(USUAL, **version("2.4.0"))
    assert watching.samples("path_drift") == {SERIES: 0.0, release: 0.0}
    with caplog.at_level(logging.WARNING):
        watching.hour(CHANGED, **version("2.5.0"))
    assert watching.samples("path_drift") == {SERIES: 0.0, release: 1.0}
    shares = watching.samples("path_share_ratio")
    assert shares[*release, "calls_lookup_twice_or_more", "before"] == pytest.approx(0.02)
    assert watching.samples("path_drift_evidence")["/refund", "helper", "version"] > 20
    assert "version 2.5.0 differs from 2.4.0: since" in caplog.text
    (row,) = watching.monitor.watched
    assert row.drift is None
    assert row.release is not None


def test_a_version_that_is_no_text_is_none() -> None:
    watching = Watching()
    watching.hour({("a",): 1}, attributes={"service.version": ["1"]})
    assert not watching.monitor._streams["/refund", "helper"].versions.known


@pytest.mark.parametrize("hours", [1, 3])
def test_a_restart_does_not_forget_the_version_before(tmp_path: Path, hours: int) -> None:
    async def run() -> None:
        watching = Watching(DriftState(tmp_path))
        for _ in range(24):
            watching.hour(USUAL, **version("1"))
        for _ in range(hours):
            watching.hour(USUAL, **version("2"))
        await watching.monitor.shutdown()
        again = Watching(DriftState(tmp_path))
        await again.monitor.start()
        again.clock.seconds = watching.clock.seconds
        again.hour(CHANGED, **version("2"))
        again.hour(CHANGED, **version("2"))
        assert again.samples("path_drift")["/refund", "helper", "previous_version"] == 1.0
        await again.monitor.shutdown()

    asyncio.run(run())


def test_a_restart_forgets_nothing(tmp_path: Path) -> None:
    async def run() -> None:
        watching = Watching(DriftState(tmp_path))
        for _ in range(8 * 24):
            watching.hour(USUAL)
        await watching.monitor.shutdown()
        again = Watching(DriftState(tmp_path))
        await again.monitor.start()
        again.clock.seconds = watching.clock.seconds
        again.hour(CHANGED)
        assert again.samples("path_drift") == {SERIES: 1.0}
        await again.monitor.shutdown()

    asyncio.run(run())


EMPTY = {
    "route": "", "agent": "", "facts": [None] * MAX_FACTS, "refused": 0, "hours": [], "versions": [],
    "counts": base64.b64encode(zlib.compress(b"")).decode(),
}  # fmt: skip


def of_stream(**damage: Any) -> bytes:
    return json.dumps({"format": [1, sys.byteorder], "streams": [{**EMPTY, **damage}]}).encode()


def test_a_stream_without_runs_is_read(tmp_path: Path) -> None:
    state = DriftState(tmp_path)
    state.path.write_bytes(of_stream())
    assert state.load(1).keys() == {("", "")}


@pytest.mark.parametrize(
    "damage",
    [
        b"", b"[]", b'{"format": [0, "little"]}', b"\xff", b'{"a":' * 100_000, of_stream(versions=[["2.0", 5]]),
        of_stream(refused=float("inf")), of_stream(counts="A"), of_stream(counts="AAAA"), of_stream(facts=[[]] * MAX_FACTS),
    ],
)  # fmt: skip
def test_a_file_that_is_not_ours_is_begun_anew(tmp_path: Path, damage: bytes, caplog: pytest.LogCaptureFixture) -> None:
    state = DriftState(tmp_path)
    state.path.write_bytes(damage)
    assert state.load(1) == {}
    assert "is begun anew" in caplog.text


def test_only_the_user_of_the_collector_may_read_the_file(tmp_path: Path) -> None:
    state = DriftState(tmp_path)
    state.save(state.pack({}))
    assert state.path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_too_large_is_begun_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    state = DriftState(tmp_path)
    with state.path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    assert state.load(1) == {}
    assert "larger than 64 MiB" in caplog.text


def test_counts_that_do_not_fit_are_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    watching = Watching(DriftState(tmp_path))
    watching.hour(USUAL)
    asyncio.run(watching.monitor.shutdown())
    path = DriftState(tmp_path).path
    path.write_text(path.read_text("utf-8").replace('"hours": [', '"hours": [1, '), "utf-8")
    assert DriftState(tmp_path).load(1) == {}
    assert "it is damaged" in caplog.text


def test_what_cannot_be_written_is_said_and_harms_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    state = DriftState(tmp_path / "missing")
    state.save([])
    assert "cannot be written" in caplog.text


def test_it_is_saved_every_ten_minutes_beside_the_work(tmp_path: Path) -> None:
    async def run() -> None:
        watching = Watching(DriftState(tmp_path))
        watching.hour(USUAL)
        watching.monitor.advance()
        assert watching.monitor._saving is not None
        await asyncio.wait([watching.monitor._saving])
        assert DriftState(tmp_path).load(1).keys() == {("/refund", "helper")}
        await watching.monitor.shutdown()

    asyncio.run(run())


def test_it_is_off_by_one_setting_and_keeps_its_file_with_the_runs(tmp_path: Path) -> None:
    clock = ManualClock()
    assert build_monitor(Config.model_validate({"drift": "off"}), Telemetry(), clock) is None
    for settings in ({"spool": {"path": tmp_path}}, {"spool": "memory", "runs": {"path": tmp_path}}):
        found = build_monitor(Config.model_validate({"drift": {"baseline": "336h"}, **settings}), Telemetry(), clock)
        assert found is not None
        assert found._state is not None
        assert found._state.path.parent == tmp_path
        assert found._baseline == 2
    found = build_monitor(Config.model_validate({"spool": "memory"}), Telemetry(), clock)
    assert found is not None
    assert found._state is None


def test_time_is_bounded_however_different_the_paths_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitors, "_STEP", 0.0)
    watching = Watching()
    for number in range(10):
        watching.monitor.offer(verdict_of(f"tool {number}"))
    watching.monitor.advance()
    assert len(watching.monitor._paths) == 10


def test_what_redact_hides_is_in_no_name_that_is_watched(tmp_path: Path) -> None:
    state = DriftState(tmp_path)
    watching = Watching(state, patterns=["[a-z]+@[a-z.]+"], attributes=["service.*"])
    watching.hour(
        {("look",): 1},
        agent="helper of ada@example.com",
        route="/chat/bob@example.com",
        attributes={"service.version": "s3cret"},
    )
    asyncio.run(watching.monitor.shutdown())
    (watched,) = watching.monitor.watched
    assert (watched.route, watched.agent) == ("/chat/[redacted]", "helper of [redacted]")
    (file,) = tmp_path.iterdir()
    assert "example.com" not in file.read_text()
    assert "s3cret" not in file.read_text()
