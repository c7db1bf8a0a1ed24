"""JSON lines in files: what a reader of the OpenTelemetry Collector's files expects, bounded, and never torn."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from collector.component import ExportRequest
from collector.config.exporters import FileExporterConfig
from collector.errors import ConfigError, DecodeError
from collector.exporters.file import FileTransport, RotatingFile
from collector.otlp.json import from_protobuf, to_protobuf
from collector.receivers.otlp_file import read_file
from tests import otlp_data as data
from tests.builders import load
from tests.collector_process import CollectorProcess, send
from tests.harness import WEATHER_RULES
from tests.waiting import wait_for

RUN = (data.tool(2, 1, "get_weather", at=0.1), data.tool(3, 1, "send_email", at=0.2), data.agent(1))
LINE = b"x" * 99 + b"\n"


def test_a_line_is_otlp_json_as_the_specification_has_it() -> None:
    span = data.tool(2, 1, "wetter_ä\n")
    span.links.add(trace_id=data.TRACE, span_id=data.span_id(7))
    request = data.traces(span)
    line = from_protobuf("traces", request.SerializeToString())
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    (scope,) = json.loads(line)["resourceSpans"][0]["scopeSpans"]
    (written,) = scope["spans"]
    assert (written["traceId"], written["parentSpanId"]) == (data.TRACE.hex(), data.span_id(1).hex())
    assert written["links"] == [{"traceId": data.TRACE.hex(), "spanId": data.span_id(7).hex()}]
    assert isinstance(written["startTimeUnixNano"], str)
    assert isinstance(written["kind"], int)


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    traces, logs = data.traces(*RUN), data.logs(LogRecord(trace_id=data.TRACE, event_name="e"))
    path = tmp_path / "all.jsonl"
    path.write_bytes(
        from_protobuf("traces", traces.SerializeToString()) + from_protobuf("logs", logs.SerializeToString())
    )
    found = dict(read_file(path))
    assert type(traces).FromString(found["traces"]) == traces
    assert json_format.MessageToDict(type(logs).FromString(found["logs"])) == json_format.MessageToDict(logs)


def test_a_request_without_anything_in_it_is_no_line(tmp_path: Path) -> None:
    transport = FileTransport(FileExporterConfig(path=tmp_path / "a.jsonl"))
    for payload in (b"", data.traces(*RUN).SerializeToString(), b""):
        asyncio.run(transport.send(ExportRequest("traces", payload, 0)))
    asyncio.run(transport.close())
    assert len((tmp_path / "a.jsonl").read_text().splitlines()) == 1


def test_what_is_nested_as_deeply_as_protobuf_reads_is_written_and_read_back() -> None:
    value: Any = "deep"
    for _ in range(47):
        value = [value]
    raw = data.traces(data.span(1, map=value)).SerializeToString()
    assert data.all_spans(raw)
    assert to_protobuf("traces", from_protobuf("traces", raw)) == raw


def test_what_is_no_request_is_an_error() -> None:
    with pytest.raises(DecodeError):
        from_protobuf("traces", b"\xff" * 10)


def test_files_are_bounded_in_size_and_number(tmp_path: Path) -> None:
    file = RotatingFile(tmp_path / "a.jsonl", 1000, 2)
    other = tmp_path / "a-2.jsonl"
    other.write_text("not ours")
    for _ in range(55):
        file.write(LINE)
    file.write(b"y" * 5000)
    file.close()
    assert [path.stat().st_size for path in file.backups()] == [1000, 500]
    assert (tmp_path / "a.jsonl").stat().st_size == 5000
    assert len(list(tmp_path.iterdir())) == 4


def test_without_backups_only_one_file_is_kept(tmp_path: Path) -> None:
    file = RotatingFile(tmp_path / "a.jsonl", 150, 0)
    for _ in range(3):
        file.write(LINE)
    file.close()
    assert [path.stat().st_size for path in tmp_path.iterdir()] == [100]


@pytest.mark.parametrize("becomes", ["deleted", "moved", "replaced", "without its folder"])
def test_a_file_that_is_taken_away_begins_anew(tmp_path: Path, becomes: str, caplog: pytest.LogCaptureFixture) -> None:
    path, elsewhere = tmp_path / "out" / "a.jsonl", tmp_path / "b.jsonl"
    file = RotatingFile(path, 1000, 1)
    for _ in range(2):
        file.write(LINE)
    path.rename(elsewhere)
    if becomes == "deleted":
        elsewhere.unlink()
    elif becomes == "replaced":
        path.write_bytes(LINE)
    elif becomes == "without its folder":
        path.parent.rmdir()
    for _ in range(2):
        file.write(LINE)
    file.close()
    assert path.read_bytes() == LINE * (3 if becomes == "replaced" else 2)
    assert not elsewhere.exists() or elsewhere.read_bytes() == LINE * 2
    assert caplog.messages == [f"{path} was deleted or moved while it was written: a new file begins"]


def test_a_line_that_a_crash_left_unfinished_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINE + b"z" * 200_000)
    RotatingFile(path, 1000, 1).close()
    assert path.read_bytes() == LINE
    path.write_bytes(b"z" * 10)
    RotatingFile(path, 1000, 1).close()
    assert path.read_bytes() == b""


def test_a_disk_that_fills_tears_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, write = RotatingFile(tmp_path / "a.jsonl", 1000, 1), os.write
    file.write(LINE)

    def full(descriptor: int, content: Any) -> int:
        if len(content) < len(LINE):
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, content[:10])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left"):
        file.write(LINE)
    monkeypatch.undo()
    file.write(LINE)
    file.close()
    assert (tmp_path / "a.jsonl").read_bytes() == LINE * 2


def test_a_new_file_that_cannot_be_opened_at_once_is_opened_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = RotatingFile(tmp_path / "a.jsonl", 150, 2)
    file.write(LINE)

    def busy(*_: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(os, "open", busy)
    with pytest.raises(OSError, match="Too many"):
        file.write(LINE)
    monkeypatch.undo()
    file.write(LINE)
    file.close()
    assert [path.read_bytes() for path in sorted(tmp_path.iterdir())] == [LINE, LINE]


def test_only_its_user_may_read_it(tmp_path: Path) -> None:
    RotatingFile(tmp_path / "deep" / "a.jsonl", 1000, 1).close()
    assert stat.S_IMODE((tmp_path / "deep" / "a.jsonl").stat().st_mode) == 0o600


def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"exporters\.file\.path: .*a\.jsonl: cannot be written"):
        FileTransport(FileExporterConfig(path=tmp_path / "file" / "a.jsonl"))
    with pytest.raises(ConfigError, match=r"exporters\.file: .*must end in \.jsonl"):
        load(tmp_path, "exporters: {file: {path: traces.json}}\n")


def test_a_collector_without_a_backend_keeps_scored_traces_in_a_file_and_shows_them(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    exporters = {"file": {"path": str(path)}, "debug": {"verbosity": "normal"}}
    sections = {"traces": {"settle": "100ms"}, "spool": {"path": "spool"}, "exporters": exporters}
    with CollectorProcess(WEATHER_RULES, None, **sections) as process:
        send(process, *RUN)
        wait_for(lambda: path.exists() and path.read_bytes().count(b"\n") == 2)
        assert process.metric('rightcall_exporter_sent_spans_total{exporter="file"}') == 3
        assert process.stop() == 0
        shown = [json.loads(line)["message"] for line in process.log.splitlines() if "exporters.debug" in line]
    found = dict(read_file(path))
    (agent,) = [span for span in data.all_spans(found["traces"]) if span.span_id == data.span_id(1)]
    assert data.values_of(agent)["rightcall.trajectory.score"] == 1.0
    assert len(data.all_records(found["logs"])) == 1
    assert any(line.startswith("traces: 3 items") for line in shown)
    assert any("rightcall.outcome=matched" in line for line in shown)
