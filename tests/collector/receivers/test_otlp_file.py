"""Requests from files: protobuf, JSON and JSON lines, with and without gzip."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf import json_format

from collector.receivers import otlp_file
from collector.receivers.otlp_file import InputError, read_file, trace_sets
from tests import otlp_data as data

SPAN = {"traceId": data.TRACE.hex(), "spanId": data.span_id(1).hex()}
DOCUMENT = {"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]}
LINES = json.dumps(DOCUMENT) + "\n\n" + json.dumps({"resourceLogs": [], **DOCUMENT}) + "\n"


def span_ids(path: Path) -> list[tuple[str, int]]:
    return [(signal, len(data.all_spans(body)) if signal == "traces" else 0) for signal, body in read_file(path)]


@pytest.mark.parametrize("pack", [lambda body: body, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize(
    ("name", "body", "found"),
    [
        ("request.pb", data.traces(data.span(1)).SerializeToString(), [("traces", 1)]),
        ("request-logs.pb", b"", [("logs", 0)]),
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


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        ("a.json", b"{", r"a\.json: the body is not JSON"),
        ("a.jsonl", b'{"resourceSpans": []}\n{\n', r"a\.jsonl:2: the body is not JSON"),
        ("a.pb.gz", b"not gzip", r"a\.pb\.gz: cannot be read"),
    ],
)
def test_an_error_names_the_file(tmp_path: Path, name: str, body: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(body)
    with pytest.raises(InputError, match=message):
        list(read_file(tmp_path / name))


@pytest.mark.parametrize("name", ["a.pb", "a.pb.gz"])
def test_a_file_over_the_limit_is_refused(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp_file, "_MAX_BYTES", 1 << 20)
    body = bytes((1 << 20) + 1)
    (tmp_path / name).write_bytes(gzip.compress(body) if name.endswith(".gz") else body)
    with pytest.raises(InputError, match=r"a\.pb(\.gz)?: larger than 1 MiB"):
        list(read_file(tmp_path / name))


def test_a_path_without_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contains no"):
        list(trace_sets(tmp_path))
    with pytest.raises(InputError, match="no such file or folder"):
        list(trace_sets(tmp_path / "none"))
