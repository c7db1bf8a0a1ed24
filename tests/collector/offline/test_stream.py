"""Recordings of any size: divided into parts on disk, their verdicts are those on the whole."""

from __future__ import annotations

import gc
import json
import random
import resource
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.cli import main
from collector.offline import parts, stream
from collector.offline.score import score_files
from collector.offline.scorer import Scorer
from collector.otlp.json import from_protobuf
from collector.receivers import otlp_file
from collector.receivers.otlp_file import InputError, read_file
from collector.runs.rows import row_of
from collector.scoring.rule_files import LoadedRules
from scorers import load_rules
from tests import otlp_data as data
from tests import recorded
from tests.builders import no_rules

RULES = {
    "rules": [
        {"name": "tried", "match": {}, "shadow": True, "expect": {"max_calls": 2, "allow_extra": ["*"]}},
        {"name": "run", "match": {}, "expect": {"forbid": ["delete_*", "shell"], "allow_extra": ["*"]}},
        {"name": "trace", "match": {}, "scope": "trace", "expect": {"max_calls": 3, "allow_extra": ["*"]}},
        {"name": "talk", "match": {}, "scope": "conversation", "expect": {"max_calls": 4, "allow_extra": ["*"]}},
    ]
}


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every tenth recorded run, their requests shuffled as far as the order in each run allows, as JSON lines."""
    folder = tmp_path_factory.mktemp("recorded")
    recorded.unpack(folder)
    lines: list[Iterator[bytes]] = []
    for name in recorded.names()[::10]:
        requests = [item for path in recorded.requests(folder / name) for item in read_file(path)]
        lines.append(iter([from_protobuf(signal, body) for signal, body in requests if signal != "metrics"]))
    chosen, path = random.Random(7), folder / "all.jsonl"
    with path.open("wb") as file:
        while lines:
            try:
                file.write(next(picked := chosen.choice(lines)))
            except StopIteration:
                lines.remove(picked)
    return path


def rows(*paths: Path) -> list[str]:
    return sorted(
        json.dumps(row_of(verdict), default=str) for verdict in score_files(paths, LoadedRules(load_rules(RULES)))
    )


def in_parts(patch: pytest.MonkeyPatch, *, batch: int = 50_000, part: int = 1 << 30) -> None:
    """Divide every recording, however small."""
    patch.setattr(stream, "_WHOLE", 1000)
    patch.setattr(stream, "_MAX_PART", part)
    patch.setattr(stream, "_CONVERSATIONS", 2000)
    patch.setattr(parts, "_BATCH", batch)


@pytest.mark.parametrize(("batch", "part"), [(1 << 30, 1 << 30), (50_000, 1 << 30), (50_000, 20_000)])
def test_verdicts_are_the_same_in_parts_as_on_the_whole(
    recording: Path, monkeypatch: pytest.MonkeyPatch, batch: int, part: int
) -> None:
    whole = rows(recording)
    assert {scope for row in map(json.loads, whole) for scope in [row.get("scope", "run")]} == {
        "run",
        "trace",
        "conversation",
    }
    in_parts(monkeypatch, batch=batch, part=part)
    assert rows(recording) == whole


def test_a_conversation_is_scored_with_all_of_its_runs_though_their_traces_are_in_different_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "a.jsonl").open("wb") as file:
        for number in range(1, 41):
            trace = bytes([number]) * 16
            spans = (
                data.tool(2, 1, "search", trace_id=trace),
                data.agent(1, trace_id=trace, gen_ai__conversation__id=f"talk-{number % 2}"),
            )
            file.write(from_protobuf("traces", data.traces(*spans).SerializeToString()))
    in_parts(monkeypatch, batch=1000)
    verdicts = score_files([tmp_path / "a.jsonl"], LoadedRules(load_rules(RULES)))
    calls = [len(verdict.run.trajectory.calls) for verdict in verdicts if verdict.scope == "conversation"]
    assert calls == [20, 20]


@pytest.mark.parametrize("form", ["table", "jsonl", "junit", "markdown"])
def test_the_report_is_the_same_with_several_processes(
    recording: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, form: str
) -> None:
    (tmp_path / "rules.json").write_text(json.dumps(RULES))
    in_parts(monkeypatch)
    monkeypatch.setattr(stream, "_SECTION", 100_000)
    texts = []
    for jobs in ("1", "3"):
        options = ["--rules", str(tmp_path / "rules.json"), "--verbose", "--format", form, "--jobs", jobs]
        assert main(["score", *options, str(recording)]) == 0
        texts.append(capsys.readouterr())
    assert texts[0] == texts[1]


def test_a_file_that_sections_cannot_read_is_read_as_a_whole(
    recording: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lines = recording.read_bytes().splitlines()[:200]
    # The last line of the array is a request by itself: a section begins there, inside of the array.
    (tmp_path / "a.jsonl").write_bytes(b"[\n" + b",\n".join(lines) + b"\n]\n")
    in_parts(monkeypatch)
    monkeypatch.setattr(stream, "_SECTION", 1000)
    texts = []
    for jobs in ("1", "2"):
        assert main(["score", "--format", "jsonl", "--jobs", jobs, str(tmp_path / "a.jsonl")]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] != ""


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("divided", [False, True])
def test_what_is_no_recording_is_left_out_and_named(
    recording: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    jobs: str,
    divided: bool,
) -> None:
    day = tmp_path / "day"
    for path, text in (
        ("traces.jsonl", recording.read_text()),
        ("truth.json", '{"b": 1}'),
        ("app/package.json", '{"a": 1}'),
    ):
        (day / path).parent.mkdir(parents=True, exist_ok=True)
        (day / path).write_text(text)
    if divided:
        in_parts(monkeypatch)
        monkeypatch.setattr(stream, "_SECTION", 100_000)
    assert main(["score", "--jobs", jobs, str(day)]) == 0
    assert capsys.readouterr().err == f"skipped: {day}/truth.json and 1 more: not traces\n"


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_error_in_the_middle_of_a_large_recording_names_its_line(
    recording: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, jobs: str
) -> None:
    lines = recording.read_bytes().splitlines(keepends=True)
    (tmp_path / "a.jsonl").write_bytes(b"".join([*lines[:50], b'{"resourceSpans": [}\n', *lines[50:]]))
    in_parts(monkeypatch)
    monkeypatch.setattr(stream, "_SECTION", 100_000)
    assert main(["score", "--jobs", jobs, str(tmp_path / "a.jsonl")]) == 2
    assert "a.jsonl:51: not JSON" in capsys.readouterr().err


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize(
    "begin", ['{"level": "info"}\n', '{"level": "info"}\n' * 2_000], ids=["one-line", "many-lines"]
)
def test_a_recording_that_begins_with_something_else_is_never_scored_in_part(
    recording: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    jobs: str,
    begin: str,
) -> None:
    (tmp_path / "a.jsonl").write_text(begin + recording.read_text())
    in_parts(monkeypatch)
    monkeypatch.setattr(stream, "_SECTION", 100_000)
    assert main(["score", "--jobs", jobs, str(tmp_path / "a.jsonl")]) == 2
    assert "a.jsonl:1: an object with 'level'" in capsys.readouterr().err


def test_a_request_without_a_readable_span_is_refused_in_parts_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = data.traces(data.agent(1), data.span(5, wanted="x" * 2000)).SerializeToString()
    bad = (
        data.traces(data.agent(1))
        .SerializeToString()
        .replace(data.TRACE, b"\xff" * 16)
        .replace(b"\n\x10\xff", b"\x0f\x10\xff")
    )
    for name, body in (("1.pb", good), ("2.pb", good), ("3.pb", bad)):
        (tmp_path / name).write_bytes(body)
    messages = []
    for whole in (1 << 30, 1000):
        monkeypatch.setattr(stream, "_WHOLE", whole)
        with pytest.raises(InputError) as caught:
            score_files([tmp_path], no_rules())
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert "3.pb: no span of the request could be read" in messages[0]


def test_a_file_that_goes_before_it_is_read_is_named(tmp_path: Path) -> None:
    names = ("a", "b")
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.pb").write_bytes(data.traces(data.agent(1)).SerializeToString())
    found = stream.Evaluation([Scorer(no_rules())], len).of_files([tmp_path / name for name in names])
    next(found)
    (tmp_path / "b" / "x.pb").unlink()
    with pytest.raises(InputError, match=r"b/x\.pb: cannot be read: No such file"):
        next(found)


def test_a_disk_without_room_is_named(
    recording: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    in_parts(monkeypatch)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        assert main(["score", str(recording)]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert f"{tmp_path}: no room for parts of the recording" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_memory_does_not_grow_with_the_recording(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    in_parts(monkeypatch)
    monkeypatch.setattr(otlp_file, "_PIECE", 10_000)
    peaks = []
    for traces in (50, 300):
        with (tmp_path / f"{traces}.jsonl").open("wb") as file:
            for number in range(traces):
                trace = number.to_bytes(16, "big")
                spans = (data.tool(2, 1, "search", trace_id=trace, note="x" * 2000), data.agent(1, trace_id=trace))
                file.write(from_protobuf("traces", data.traces(*spans).SerializeToString()))
        # Reference cycles are garbage, collected in every part here and by Python whenever there is much of it.
        evaluation = stream.Evaluation([Scorer(no_rules())], lambda lists: len(lists[0]) + 0 * gc.collect())
        assert sum(evaluation.of_files([tmp_path / "50.jsonl"])) == 50  # what is made once is there now
        gc.collect()
        gc.freeze()
        tracemalloc.start()
        try:
            assert sum(evaluation.of_files([tmp_path / f"{traces}.jsonl"])) == traces
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
            gc.unfreeze()
    assert (tmp_path / "300.jsonl").stat().st_size > 800_000
    assert peaks[1] - peaks[0] < 200_000, peaks
