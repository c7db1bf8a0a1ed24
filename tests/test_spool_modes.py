"""The collector with a spool as a process: stopping, starting again, and what an operator is told when it cannot."""

from __future__ import annotations

import itertools
import os
import resource
import signal
import sqlite3
import threading
from pathlib import Path
from typing import Any

import grpc
import pytest

from collector.storage.database import APPLICATION_ID
from collector.storage.spool_file import NAME
from tests import otlp_data as data
from tests.collector_process import CollectorProcess, free_port, readiness, send
from tests.sinks import OtlpSink
from tests.waiting import wait_for

RULES = """
rules:
  - {name: weather, match: {agent: helper}, expect: {sequence: [get_weather]}, pass: 0.9}
"""
WHOLE, OPEN = b"w" * 16, b"o" * 16
QUEUE = 'rightcall_exporter_queue_size{exporter="otlp"}'


def collector(endpoint: str, sending_queue: dict[str, Any] | None = None, **sections: Any) -> CollectorProcess:
    exporter = {"endpoint": endpoint, "tls": {"insecure": True}, "retry_on_failure": {"max_interval": "200ms"}}
    exporter["sending_queue"] = sending_queue or {}
    settings = {"traces": {"settle": "300ms", "idle_timeout": "1h"}, "spool": {"path": "spool"}, **sections}
    return CollectorProcess(RULES, exporter, **settings)


def test_stopping_settles_what_is_whole_and_keeps_what_is_open() -> None:
    with OtlpSink() as sink, collector(sink.endpoint) as process:
        send(process, data.tool(2, 1, "get_weather", trace_id=WHOLE), data.agent(1, trace_id=WHOLE))
        send(process, data.tool(2, 1, "get_weather", trace_id=OPEN))
        assert process.stop() == 0
        assert {record.trace_id for record in sink.records()} == {WHOLE}
        process.start()
        assert "recovered 1 open traces and 0 requests" in process.log
        send(process, data.agent(1, trace_id=OPEN))
        wait_for(lambda: {record.trace_id for record in sink.records()} == {WHOLE, OPEN})
        assert [data.values_of(record)["gen_ai.evaluation.score.label"] for record in sink.records()] == ["pass"] * 2


def test_a_backend_that_is_away_gets_everything_once_it_is_back() -> None:
    port = free_port()
    with collector(f"127.0.0.1:{port}") as process:
        for number in range(50):
            assert send(process, data.span(number + 1, parent=999)) is grpc.StatusCode.OK
        assert process.metric(QUEUE) == 50
        assert process.stop() == 0, "a stop does not wait for a backend that does not answer"
        assert "they are sent after the next start" in process.log
        process.start()
        with OtlpSink(port=port) as sink:
            wait_for(lambda: len(sink.spans()) >= 50)
            assert {span.span_id for span in sink.spans()} == {data.span_id(number + 1) for number in range(50)}
            wait_for(lambda: process.metric(QUEUE) == 0)


class Load(threading.Thread):
    """Sends spans one by one until it is stopped, and notes which were acknowledged and what it was told."""

    def __init__(self, process: CollectorProcess) -> None:
        super().__init__(daemon=True)
        self._process, self._stop_event = process, threading.Event()
        self.acknowledged: set[bytes] = set()
        self.told: set[grpc.StatusCode] = set()

    def run(self) -> None:
        for number in itertools.count(1):
            if self._stop_event.is_set():
                return
            self.told.add(code := send(self._process, data.span(number, parent=1 << 40)))
            if code is grpc.StatusCode.OK:
                self.acknowledged.add(data.span_id(number))

    def stop(self) -> None:
        self._stop_event.set()
        self.join()


@pytest.mark.parametrize("capacity", [10_000, 20])
def test_an_outage_under_load_is_a_queue_that_grows_and_empties(capacity: int) -> None:
    away = threading.Event()

    def answer(context: grpc.ServicerContext) -> bytes:
        return bytes(context.abort(grpc.StatusCode.UNAVAILABLE, "away")) if away.is_set() else b""

    queue = {"sending_queue": {"queue_size": capacity}}
    with OtlpSink(itertools.repeat(answer)) as sink, collector(sink.endpoint, **queue) as process:
        load = Load(process)
        load.start()
        wait_for(sink.spans)
        away.set()
        full = min(60, capacity)
        wait_for(lambda: process.metric(QUEUE) >= full)
        wait_for(lambda: capacity > full or grpc.StatusCode.RESOURCE_EXHAUSTED in load.told)
        away.clear()
        wait_for(lambda: process.metric(QUEUE) < full / 2)
        load.stop()
        wait_for(lambda: load.acknowledged <= {span.span_id for span in sink.spans()})
        assert load.told == {grpc.StatusCode.OK} | ({grpc.StatusCode.RESOURCE_EXHAUSTED} if capacity == full else set())
        assert process.metric('rightcall_exporter_send_failed_spans_total{exporter="otlp"}') == 0


def test_a_disk_that_cannot_be_written_is_back_pressure_not_the_end() -> None:
    with OtlpSink() as sink, collector(sink.endpoint) as process:
        assert send(process, data.span(1)) is grpc.StatusCode.OK
        used = max(path.stat().st_size for path in (process.folder / "spool").iterdir())
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (used + 4096, resource.RLIM_INFINITY))
        codes = [send(process, data.span(number, text="x" * 20_000)) for number in range(2, 6)]
        assert grpc.StatusCode.UNAVAILABLE in codes
        assert "not ready: the spool cannot be written; see the log" in readiness(process)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        wait_for(lambda: readiness(process).startswith("ok"))
        assert "the spool can be written again" in process.log
        assert send(process, data.span(7)) is grpc.StatusCode.OK
        wait_for(lambda: data.span_id(7) in {span.span_id for span in sink.spans()})
        assert process.stop() == 0


def test_two_collectors_on_one_spool_is_a_sentence_and_exit_code_2() -> None:
    with collector("127.0.0.1:9") as first:
        second = collector("127.0.0.1:9", spool={"path": str(first.folder / "spool")})
        with pytest.raises(RuntimeError, match="in use by another process; every collector needs a folder of its own"):
            second.start()
        assert second.stop() == 2
        second.close()


def test_a_spool_of_another_version_is_a_sentence_and_exit_code_2(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / NAME)
    other.executescript(f"CREATE TABLE x (y); PRAGMA user_version = 99; PRAGMA application_id = {APPLICATION_ID}")
    other.close()
    process = collector("127.0.0.1:9", spool={"path": str(tmp_path)})
    with pytest.raises(RuntimeError, match="written by a newer version"):
        process.start()
    assert process.stop() == 2
    process.close()


def test_a_damaged_spool_is_logged_counted_and_replaced(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(os.urandom(100_000))
    with collector("127.0.0.1:9", spool={"path": str(tmp_path)}) as process:
        assert "the spool was damaged: file is not a database; moved to" in process.log
        assert process.metric("rightcall_spool_failures_total") == 1


def test_memory_mode_warns_of_the_risk() -> None:
    with collector("127.0.0.1:9", spool="memory") as process:
        assert "spool: memory: acknowledged telemetry that is not delivered yet is lost" in process.log
        process.signal(signal.SIGTERM)
