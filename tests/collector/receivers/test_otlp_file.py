"""Requests from files: protobuf, JSON and JSON lines, with and without gzip."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from google.protobuf.message import Message
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.metrics.v1.metrics_pb2 import Gauge, Histogram, Metric, ResourceMetrics, ScopeMetrics, Sum
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.otlp import exported_json
from collector.receivers import otlp_file
from collector.receivers.otlp_file import (
    InputError,
    named_sets,
    read_file,
    read_set,
    refuse_streams,
    sections_of,
    trace_sets,
)
from tests import otlp_data as data

SPAN = {"traceId": data.TRACE.hex(), "spanId": data.span_id(1).hex()}
DOCUMENT = {"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]}
LINES = json.dumps(DOCUMENT) + "\n\n" + json.dumps({"resourceLogs": [], **DOCUMENT}) + "\n"


def metrics(*found: Metric) -> ExportMetricsServiceRequest:
    scope = ScopeMetrics(metrics=found)
    return ExportMetricsServiceRequest(resource_metrics=[ResourceMetrics(scope_metrics=[scope])])


def span_ids(path: Path) -> list[tuple[str, int]]:
    return [(signal, len(data.all_spans(body)) if signal == "traces" else 0) for signal, body in read_file(path)]


@pytest.mark.parametrize("pack", [lambda body: body, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize(
    ("name", "body", "found"),
    [
        ("request.pb", data.traces(data.span(1)).SerializeToString(), [("traces", 1)]),
        ("logs.pb", b"", [("traces", 0)]),
        ("request.json", json.dumps(DOCUMENT).encode(), [("traces", 1)]),
        ("exported.jsonl", LINES.encode(), [("traces", 1), ("traces", 1), ("logs", 0)]),
    ],
)
def test_every_kind(
    tmp_path: Path, name: str, body: bytes, found: list[tuple[str, int]], pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / (name + (".gz" if pack is gzip.compress else ""))
    path.write_bytes(pack(body))
    assert span_ids(path) == found


@pytest.mark.parametrize("name", ["request.pb", "biometrics-2026.pb", "catalogs.pb", "logs.pb.gz"])
@pytest.mark.parametrize(
    ("request_", "signal"),
    [
        (data.traces(data.span(1)), "traces"),
        (data.traces(Span(trace_id=data.TRACE, span_id=data.span_id(1), name="without times")), "traces"),
        (data.logs(LogRecord(observed_time_unix_nano=1, body=data.any_value("x"))), "logs"),
        (data.logs(LogRecord(), LogRecord(attributes=data.attributes({"event.name": "x"}))), "logs"),
        (data.logs(LogRecord(body=data.any_value("x"), trace_id=data.TRACE, span_id=bytes(8), event_name="x")), "logs"),
        (metrics(Metric(name="tokens", gauge=Gauge())), "metrics"),
        (metrics(Metric(name="http.server.time", description="seconds.", sum=Sum())), "metrics"),
        (metrics(Metric(name="http.server.time", histogram=Histogram())), "metrics"),
    ],
    ids=["spans", "spans-without-times", "logs", "logs-without-times", "logs-of-go", "gauge", "sum", "histogram"],
)
def test_the_bytes_of_a_request_tell_its_signal_and_not_the_name_of_its_file(
    tmp_path: Path, name: str, request_: Message, signal: str
) -> None:
    body = request_.SerializeToString()
    (tmp_path / name).write_bytes(gzip.compress(body) if name.endswith(".gz") else body)
    assert list(read_file(tmp_path / name)) == [(signal, body)]


ATTRIBUTES: dict[str, Any] = {
    "tool.name": "pay",
    "n": 7,
    "share": 0.5,
    "ok": True,
    "list": ["a", 1],
    "gen_ai.system": "openai",
}
CHILD = data.span(2, 1, "execute_tool pay", at=5, **ATTRIBUTES)


def otlp_document(**options: Any) -> dict[str, Any]:
    """What protobuf's own printer makes of two spans: base64 ids and names of enums."""
    return json_format.MessageToDict(data.traces(data.span(1), CHILD), **options)


def jaeger_tag(key: str, value: object) -> dict[str, Any]:
    kind = {bool: "bool", int: "int64", float: "float64"}.get(type(value), "string")
    return {"key": key, "type": kind, "value": json.dumps(value) if isinstance(value, list) else value}


JAEGER = {
    "data": [
        {
            "traceID": data.TRACE.hex().lstrip("0"),
            "spans": [
                {
                    "traceID": data.TRACE.hex().lstrip("0"),
                    "spanID": data.span_id(2).hex(),
                    "operationName": "execute_tool pay",
                    "references": [{"refType": "CHILD_OF", "traceID": "1", "spanID": data.span_id(1).hex()}],
                    "startTime": CHILD.start_time_unix_nano // 1000,
                    "duration": 1_000,
                    "tags": [
                        *(jaeger_tag(*item) for item in ATTRIBUTES.items()),
                        jaeger_tag("span.kind", "internal"),
                        jaeger_tag("otel.status_code", "ERROR"),
                        jaeger_tag("otel.scope.name", "agents"),
                    ],
                    "logs": [{"timestamp": 1, "fields": [jaeger_tag("event", "exception"), jaeger_tag("a", "b")]}],
                    "processID": "p1",
                }
            ],
            "processes": {"p1": {"serviceName": "shop", "tags": [jaeger_tag("host.name", "h")]}},
        }
    ]
}
CONSOLE = {
    "name": "execute_tool pay",
    "context": {"trace_id": "0x" + data.TRACE.hex(), "span_id": "0x" + data.span_id(2).hex(), "trace_state": "[]"},
    "kind": "SpanKind.INTERNAL",
    "parent_id": "0x" + data.span_id(1).hex(),
    "start_time": "2023-11-14T22:13:20.005000Z",
    "end_time": "2023-11-14T22:13:20.006000Z",
    "status": {"status_code": "ERROR", "description": "no"},
    "attributes": ATTRIBUTES,
    "events": [{"name": "exception", "timestamp": "2023-11-14T22:13:20.006000Z", "attributes": {"a": "b"}}],
    "links": [],
    "resource": {"attributes": {"service.name": "shop"}, "schema_url": ""},
}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(otlp_document()),
        json.dumps(otlp_document(preserving_proto_field_name=True)),
        json.dumps({"batches": otlp_document()["resourceSpans"]}),
        json.dumps({"trace": otlp_document()}),
        json.dumps([otlp_document()], indent=2),
        json.dumps(JAEGER),
        json.dumps(JAEGER["data"][0]),
        json.dumps(CONSOLE),
        json.dumps(CONSOLE, indent=4) + "\n",
    ],
    ids=[
        "printed",
        "printed-names",
        "tempo",
        "tempo-v2",
        "list",
        "jaeger",
        "jaeger-trace",
        "console",
        "console-indented",
    ],
)
def test_what_tools_export(tmp_path: Path, text: str) -> None:
    (tmp_path / "exported.json").write_text(text)
    spans = [span for _, body in read_file(tmp_path / "exported.json") for span in data.all_spans(body)]
    span = spans[-1]
    assert (span.trace_id, span.span_id, span.parent_span_id) == (data.TRACE, data.span_id(2), data.span_id(1))
    assert (span.name, span.kind) == ("execute_tool pay", 1)
    assert span.end_time_unix_nano - span.start_time_unix_nano == 1_000_000
    values = data.values_of(span)
    assert values["n"] == 7
    assert values["ok"] is True
    assert values["gen_ai.system"] == "openai"
    if len(spans) == 1:
        assert (span.status.code, [event.name for event in span.events]) == (2, ["exception"])


def test_a_file_about_something_else_is_left_out_of_a_folder_but_is_no_folder_of_traces(tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text('{"expected": 1}')
    (tmp_path / "a.json").write_text(json.dumps(DOCUMENT))
    assert [path.name for path, _, _ in read_set(sorted(tmp_path.iterdir()))] == ["a.json"]
    with pytest.raises(InputError, match=r"notes\.json:1: an object with 'expected'"):
        list(read_set([tmp_path / "notes.json"]))
    (tmp_path / "a.json").write_text(json.dumps(DOCUMENT) + '\n{"expected": 1}')
    with pytest.raises(InputError, match=r"a\.json:2: an object with 'expected'"):
        list(read_set(sorted(tmp_path.iterdir())))


@pytest.mark.parametrize("begin", ["", '[{"x": 1}]\n' * 900], ids=["second", "much-later"])
@pytest.mark.parametrize("document", [DOCUMENT, CONSOLE], ids=["otlp", "console"])
def test_a_file_of_traces_that_begins_with_another_line_is_not_left_out(
    tmp_path: Path, document: dict[str, Any], begin: str
) -> None:
    (tmp_path / "a.json").write_text(json.dumps(DOCUMENT))
    (tmp_path / "b.jsonl").write_text('{"level": "info"}\n' + begin + json.dumps(document) + "\n")
    with pytest.raises(InputError, match=r"b\.jsonl:1: an object with 'level'"):
        list(read_set(sorted(tmp_path.iterdir())))


def test_empty_requests_among_others_are_read_as_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("{}\n" + json.dumps(DOCUMENT) + "\n{}\n")
    assert span_ids(tmp_path / "a.jsonl") == [("traces", 1)]
    (tmp_path / "a.jsonl").write_text("{}\n{}\n")
    with pytest.raises(InputError, match=r"a\.jsonl:2: an object with no keys: not OTLP JSON"):
        list(read_set([tmp_path / "a.jsonl"]))


def test_several_documents_in_one_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(CONSOLE, indent=4) + "\n" + json.dumps(CONSOLE) + json.dumps(DOCUMENT))
    assert span_ids(tmp_path / "a.json") == [("traces", 1)] * 3


def test_json_of_the_official_classes_is_read_once_its_ids_are_hex(tmp_path: Path) -> None:
    document = json_format.MessageToDict(data.traces(data.span(1, wanted="x")))
    span = document["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    span.update(SPAN)
    (tmp_path / "a.json").write_text(json.dumps(document))
    ((_, body),) = read_file(tmp_path / "a.json")
    assert data.all_spans(body)[0].trace_id == data.TRACE


def test_a_folder_is_one_set_and_so_is_each_folder_below_it(tmp_path: Path) -> None:
    for name in ("a.pb", "b.json", "notes.txt", "run-1/c.pb", "run-2/d.jsonl.gz", "empty/x.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    sets = [[path.name for path in files] for files in trace_sets(tmp_path)]
    assert sets == [["a.pb", "b.json"], ["c.pb"], ["d.jsonl.gz"]]
    assert list(trace_sets(tmp_path / "a.pb")) == [[tmp_path / "a.pb"]]


@pytest.mark.parametrize("name", ["b.jsonl.zst", "b.pb.bz2", "b.json.xz"])
def test_a_recording_that_cannot_be_decompressed_is_not_left_out_of_a_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.jsonl").write_text("{}")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / name).write_bytes(b"")
    with pytest.raises(InputError, match=f"below/{name}: compressed with .*, which is not read"):
        list(trace_sets(tmp_path))
    (tmp_path / "below" / name).with_suffix("").write_text("{}")  # it is a copy of this one
    assert len(list(trace_sets(tmp_path))) == 2


def test_files_of_one_folder_that_are_named_one_by_one_are_one_set(tmp_path: Path) -> None:
    first, second, other = (tmp_path / name for name in ("run-1/a.pb", "run-1/b.pb", "run-2/c.pb"))
    for path in (first, second, other):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"")
    assert named_sets([first, other, second]) == [[first, second], [other]]
    assert named_sets([second, tmp_path / "run-2", first]) == [[second, first], [other]]


def test_a_file_is_read_once_however_often_it_is_named(tmp_path: Path) -> None:
    first, second, below = (tmp_path / "traces" / name for name in ("a.pb", "b.pb", "run-1/c.pb"))
    below.parent.mkdir(parents=True)
    for path in (first, second, below):
        path.write_bytes(b"")
    (tmp_path / "again").symlink_to("traces")
    (below.parent / "link.pb").symlink_to("../a.pb")
    folder, again = tmp_path / "traces", tmp_path / "again"
    assert named_sets([folder, folder, again, again / "a.pb", second, below]) == [[first, second], [below]]
    assert named_sets([second, second, folder]) == [[second, first], [below]]
    assert named_sets([below.parent, folder]) == [[below, below.parent / "link.pb"], [second]]


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        ("a.json", b"{", r"a\.json:1: not JSON"),
        ("a.json", b"\xff", r"a\.json: not JSON"),
        ("a.json", b" \n", r"a\.json: empty: not OTLP JSON, a trace of Tempo's"),
        ("a.json", b"{}", r"a\.json:1: an object with no keys: not OTLP JSON"),
        ("a.json", b'{"rows": 1, "b": 2}', r"a\.json:1: an object with 'rows', 'b': not OTLP JSON"),
        ("a.json", b'[{"resourceSpans": []}, 7]', r"a\.json:1: a JSON number: not OTLP JSON"),
        (
            "a.json",
            b'{"data": [{"spans": [{}], "processes": {}}]}',
            r"a\.json:1: a trace that cannot be read: KeyError",
        ),
        ("a.jsonl", b'{"resourceSpans": []}\n{\n', r"a\.jsonl:[23]: not JSON"),
        ("a.jsonl", b'{"resourceSpans": []}\n\n{"x": 1}\n', r"a\.jsonl:3: an object with 'x'"),
        ("a.pb.gz", b"not gzip", r"a\.pb\.gz: cannot be read"),
        ("a.jsonl", gzip.compress(b"{}", mtime=0), r"a\.jsonl: compressed with gzip; its name has to end in \.gz"),
        ("a.pb", b"\x28\xb5\x2f\xfd\x24\x00", r"a\.pb: compressed with Zstandard, which is not read; decompress it"),
        ("a.json", b"\0\0\x01\x10\x28\xb5\x2f\xfd\x24\x00", r"a\.json: compressed with Zstandard"),
        ("a.json.zst", b"\x28\xb5\x2f\xfd\x24\x00", r"a\.json\.zst: compressed with Zstandard"),
    ],
)
def test_an_error_names_the_file(tmp_path: Path, name: str, body: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(body)
    with pytest.raises(InputError, match=message):
        list(read_file(tmp_path / name))


@pytest.mark.parametrize("name", ["a.pb", "a.pb.gz"])
def test_the_spans_of_one_resource_have_a_limit(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp_file, "_MAX_RESOURCE", 2 << 20)
    body = data.traces(data.span(1, wanted="x" * (3 << 20))).SerializeToString()
    (tmp_path / name).write_bytes(gzip.compress(body) if name.endswith(".gz") else body)
    with pytest.raises(InputError, match=r"a\.pb(\.gz)?: the spans of one resource are larger than 2 MiB"):
        list(read_file(tmp_path / name))


def test_a_json_value_has_a_limit_and_a_file_of_many_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exported_json, "MAX_DOCUMENT", 2 << 20)
    line = json.dumps(DOCUMENT)
    (tmp_path / "a.jsonl").write_text(f"{line}\n" * ((3 << 20) // len(line)))
    assert sum(1 for _ in read_file(tmp_path / "a.jsonl")) == (3 << 20) // len(line)
    (tmp_path / "a.jsonl").write_text(f'{line}\n["{"x" * (5 << 20)}"]\n')
    with pytest.raises(InputError, match=r"a\.jsonl:1: line 2 begins a JSON value larger than 2 MiB"):
        list(read_file(tmp_path / "a.jsonl"))


def test_what_would_become_too_many_objects_is_refused_before_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exported_json, "MAX_VALUES", 1_000_000)
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(b'{"resourceSpans":[],"x":[' + b"[]," * (8 << 20) + b"0]}"))
    tracemalloc.start()
    with pytest.raises(InputError, match=r"a\.json\.gz: line 1 begins a JSON value of more than 1,000,000 values"):
        list(read_file(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 << 20
    line = json.dumps({**DOCUMENT, "x": [0] * 1000})
    (tmp_path / "a.jsonl").write_text(f"{line}\n" * 2000)
    assert sum(1 for _ in read_file(tmp_path / "a.jsonl")) == 2000, "the limit is of one value"


def test_no_file_is_read_twice_however_links_lead_to_it(tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "a.pb").write_bytes(data.traces(data.span(1)).SerializeToString())
    for link, to in (("traces/up", ".."), ("traces/self", "self"), ("again", "traces"), ("loop.pb", "loop.pb")):
        (tmp_path / link).symlink_to(to)
    assert sum(len(files) for files in trace_sets(tmp_path)) == 1


def test_folders_that_links_lead_to_are_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / "run-1").mkdir(parents=True)
    (tmp_path / "elsewhere" / "run-1" / "a.pb").write_bytes(b"")
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "today").symlink_to("../elsewhere")
    assert list(trace_sets(tmp_path / "traces")) == [[tmp_path / "traces" / "today" / "run-1" / "a.pb"]]


def test_nothing_is_waited_for_that_no_file_can_give(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.pb")
    for path, said in ((tmp_path / "a.pb", "neither a file nor a folder"), (tmp_path, r"contains no \.pb")):
        with pytest.raises(InputError, match=said):
            list(trace_sets(path))


@pytest.mark.parametrize("name", ["a.pb", "a.pb.gz"])
def test_the_resources_of_a_long_request_are_read_one_after_the_other(tmp_path: Path, name: str) -> None:
    parts = [data.traces(data.span(at, wanted="x" * 400_000)).SerializeToString() for at in range(1, 9)]
    body = b"".join(parts)
    (tmp_path / name).write_bytes(gzip.compress(body) if name.endswith(".gz") else body)
    read = [request for _, request in read_file(tmp_path / name)]
    assert len(read) > 2
    assert b"".join(read) == body
    assert [span.span_id for request in read for span in data.all_spans(request)] == [
        data.span_id(at) for at in range(1, 9)
    ]


def test_what_was_read_is_told_in_bytes_on_the_disk(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(f"{json.dumps(DOCUMENT)}\n" * 5000)
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(json.dumps(DOCUMENT).encode()))
    told: list[int] = []
    for name in ("a.jsonl", "b.json.gz"):
        list(read_file(tmp_path / name, told.append))
    assert sum(told) == sum((tmp_path / name).stat().st_size for name in ("a.jsonl", "b.json.gz"))


def test_sections_of_json_lines_begin_with_a_whole_request(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f"{json.dumps(DOCUMENT)}\n\n{json.dumps(DOCUMENT, indent=1)}\n" * 100)
    for size in (1, 500, 10_000, 1 << 20):
        sections = list(sections_of(path, size))
        assert len(sections) > 1 or size > path.stat().st_size
        assert [section.start for section in sections][1:] == [section.end for section in sections][:-1]
        assert [item for section in sections for item in read_file(section)] == list(read_file(path))


def test_an_error_in_a_section_names_the_line_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f"{json.dumps(DOCUMENT)}\n" * 20 + "{]\n")
    *_, last = sections_of(path, 100)
    with pytest.raises(InputError, match=r"a\.jsonl:21: not JSON"):
        list(read_file(last))


def test_a_file_that_goes_while_it_is_read_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f"{json.dumps(DOCUMENT)}\n" * 20 + "{]\n")
    *_, last = sections_of(path, 100)
    with pytest.raises(InputError, match=r"a\.jsonl: cannot be read: No such file"):
        list(read_file(last, lambda _: path.unlink(missing_ok=True)))


def test_a_path_without_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contains no"):
        list(trace_sets(tmp_path))
    with pytest.raises(InputError, match="no such file or folder"):
        list(trace_sets(tmp_path / "none"))


def test_a_pipe_of_a_shell_is_read_as_a_file_is() -> None:
    reader, writer = os.pipe()
    pipe, sizes = Path(f"/dev/fd/{reader}"), list[int]()
    os.write(writer, LINES.encode())
    os.close(writer)
    assert list(trace_sets(pipe)) == [[pipe]]
    assert [signal for signal, _ in read_file(pipe, sizes.append)] == ["traces", "traces", "logs"]
    os.close(reader)
    assert sum(sizes) == len(LINES)


def test_a_dash_is_standard_input() -> None:
    assert named_sets([Path("-")]) == [[Path("/dev/stdin")]]
    with pytest.raises(InputError, match="-: can be read only once; write it to a file"):
        refuse_streams([Path(__file__), Path("-")])
