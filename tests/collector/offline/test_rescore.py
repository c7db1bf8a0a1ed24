"""`rightcall rescore` goes on where it ended, and never takes results for those of other rules or recordings."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from collector.cli import main
from collector.offline import parts, stream
from collector.offline.progress import Progress
from collector.offline.rescore import rescore as run_rescore
from collector.otlp.json import from_protobuf
from collector.scoring.rule_files import load_rules
from tests import otlp_data as data
from tests.waiting import PATIENCE

RULES = """
rules:
  - {name: run, match: {}, expect: {forbid: [delete_order], allow_extra: ["*"]}}
  - {name: tried, match: {}, shadow: true, expect: {sequence: [search]}}
  - {name: talk, match: {}, scope: conversation, expect: {forbid: [delete_order], max_calls: 3, allow_extra: ["*"]}}
"""
OTHER = 'rules: [{name: run, match: {}, expect: {forbid: [search], allow_extra: ["*"]}}]\n'

KILLED = """
import os, signal, sys
from pathlib import Path
from collector.config.yaml_documents import rule_paths
from collector.offline.progress import Progress
from collector.offline.rescore import rescore
from collector.scoring.rule_files import load_rules

def now():
    if list(Path("results").glob("*.jsonl")):
        os.kill(os.getpid(), signal.SIGKILL)
    return 0.0

rescore([Path("traces")], load_rules(rule_paths([Path("rules.yaml")])), Path("results"), progress=Progress(None, now))
"""


def write(path: Path, *tools: str) -> None:
    """A recording of one conversation, in which each run calls one tool. Trace ids are those of its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for number, tool in enumerate(tools, 1):
            trace = path.parent.name[:1].encode() * 15 + bytes([number])
            agent = data.agent(1, trace_id=trace, gen_ai__conversation__id="talk")
            request = data.traces(data.tool(2, 1, tool, trace_id=trace), agent)
            file.write(from_protobuf("traces", request.SerializeToString()))


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Rules and three sets of traces in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.yaml").write_text(RULES)
    write(tmp_path / "traces" / "a" / "1.jsonl", "search", "search", "delete_order")
    write(tmp_path / "traces" / "b" / "1.jsonl", "search", "pay", "pay", "pay")
    write(tmp_path / "traces" / "c" / "1.jsonl", "pay")
    return tmp_path


def rescore(folder: str = "results", *options: str, paths: tuple[str, ...] = ("traces",)) -> int:
    return main(["rescore", "--rules", "rules.yaml", *options, "-o", folder, *paths])


def contents(folder: str = "results") -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def written(folder: str = "results") -> dict[str, int]:
    """When each file of results was written, by its set of traces."""
    return {path.name.partition("-")[0]: path.stat().st_mtime_ns for path in Path(folder).glob("*.jsonl")}


def test_the_files_have_the_lines_of_score_and_the_end_its_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert rescore() == 0
    sentence = capsys.readouterr().out
    lines = [path.read_text("utf-8") for path in sorted(Path("results").glob("*.jsonl"))]
    main(["score", "--rules", "rules.yaml", "--format", "jsonl", "traces"])
    assert "".join(lines) == capsys.readouterr().out
    main(["score", "--rules", "rules.yaml", "traces"])
    assert sentence == capsys.readouterr().out.splitlines(keepends=True)[-1]
    assert sentence.startswith("8 runs, 8 pass, 3 fail")  # two of the fails are conversations


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_was_killed_goes_on_and_ends_as_if_it_had_not_been(
    desk: Path, capsys: pytest.CaptureFixture[str], jobs: str
) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED], cwd=desk, timeout=PATIENCE, check=False)
    assert killed.returncode == -signal.SIGKILL
    (finished,) = written().items()
    assert finished[0] == "a"
    (Path("results") / "b.jsonl.new").write_text("half a li")
    assert rescore("results", "--jobs", jobs) == 0
    assert "1 of 3 sets of traces were scored before" in capsys.readouterr().out
    assert finished in written().items()
    assert rescore("whole") == 0
    assert contents() == contents("whole")


def test_what_cannot_be_read_ends_it_and_what_is_finished_stays(capsys: pytest.CaptureFixture[str]) -> None:
    good = Path("traces/b/1.jsonl").read_bytes()
    Path("traces/b/1.jsonl").write_bytes(good + b"]\n")
    assert rescore() == 2
    assert f"b{os.sep}1.jsonl:5: not JSON" in capsys.readouterr().err
    finished = written()
    assert set(finished) == {"a"}
    Path("traces/b/1.jsonl").write_bytes(good)
    assert rescore() == 0
    assert written()["a"] == finished["a"]
    rescore("whole")
    assert contents() == contents("whole")


def test_nothing_is_scored_again_without_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    rescore()
    first, figures = written(), capsys.readouterr().out
    Path("rules.yaml").write_text(f"# the same\n{RULES}")
    assert rescore() == 0
    assert written() == first
    assert capsys.readouterr().out == f"3 of 3 sets of traces were scored before, and are skipped\n{figures}"


@pytest.mark.parametrize("rules", [OTHER, f"intents: [{{name: pay, keywords: [pay]}}]\n{RULES}"])
def test_other_rules_begin_anew(rules: str, capsys: pytest.CaptureFixture[str]) -> None:
    rescore()
    Path("rules.yaml").write_text(rules)
    capsys.readouterr()
    assert rescore() == 0
    assert "scored before" not in capsys.readouterr().out
    rescore("whole")
    assert contents() == contents("whole")


def test_no_results_by_the_old_rules_are_left_where_other_rules_stopped_early() -> None:
    rescore()
    Path("rules.yaml").write_text(OTHER)
    Path("traces/a/1.jsonl").write_text("{")
    assert rescore() == 2
    assert written() == {}


@pytest.mark.parametrize("change", ["content", "time", "another file", "fewer results"])
def test_a_changed_set_of_traces_is_scored_again_and_no_other(change: str, capsys: pytest.CaptureFixture[str]) -> None:
    rescore()
    first = written()
    if change == "content":
        write(Path("traces/b/1.jsonl"), "delete_order")
    elif change == "time":
        os.utime("traces/b/1.jsonl", ns=(0, 0))
    elif change == "another file":
        write(Path("traces/b/2.jsonl"), "delete_order")
    else:
        (results,) = Path("results").glob("b-*.jsonl")
        os.truncate(results, 100)
    assert rescore() == 0
    assert "2 of 3 sets" in capsys.readouterr().out
    assert {name for name, time in written().items() if time != first[name]} == {"b"}
    rescore("whole")
    assert contents() == contents("whole")


def test_what_is_written_to_a_recording_while_it_is_read_is_a_change(capsys: pytest.CaptureFixture[str]) -> None:
    def now() -> float:
        write(Path("traces/c/1.jsonl"), "pay", "delete_order")
        return 0.0

    rules = load_rules([Path("rules.yaml")])
    run_rescore([Path("traces/c")], rules, Path("results"), progress=Progress(None, now))
    assert rescore(paths=("traces/c",)) == 0
    assert "scored before" not in capsys.readouterr().out


def test_files_may_have_any_name() -> None:
    name = os.fsdecode(b"a b\n\xff")
    write(Path(name) / "1.jsonl", "pay")
    assert rescore(paths=(name,)) == rescore(paths=(name,)) == 0
    assert [path.name[:6] for path in Path("results").glob("*.jsonl")] == ["a_b__-"]


def test_results_of_recordings_that_are_not_named_stay(capsys: pytest.CaptureFixture[str]) -> None:
    rescore()
    capsys.readouterr()
    assert rescore(paths=("traces/c",)) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("1 run, ")
    assert set(written()) == {"a", "b", "c"}


@pytest.mark.parametrize("named", [("a/1.jsonl", "a/2.jsonl"), ("a", "a/2.jsonl"), ("a/1.jsonl", "a"), ("a", "a")])
def test_a_trace_that_goes_on_in_the_next_file_is_whole_and_counts_once(
    named: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("rules.yaml").write_text("rules: [{name: both, match: {}, expect: {sequence: [search, pay]}}]\n")
    first, second = data.traces(data.tool(2, 1, "search")), data.traces(data.tool(3, 1, "pay", at=0.1), data.agent(1))
    Path("a").mkdir()
    for number, request in enumerate((first, second), 1):
        Path(f"a/{number}.jsonl").write_bytes(from_protobuf("traces", request.SerializeToString()))
    assert rescore(paths=named) == rescore(paths=named) == 0
    assert [line[:22] for line in capsys.readouterr().out.splitlines()[::2]] == ["1 run, 1 pass, 0 fail,"] * 2
    assert main(["score", "--rules", "rules.yaml", *named]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("1 run, 1 pass, 0 fail,")


def test_results_of_a_file_give_way_to_those_of_more_of_its_folder() -> None:
    write(Path("traces/a/2.jsonl"), "search")
    rescore(paths=("traces/a/1.jsonl",))
    rescore(paths=("traces/a/2.jsonl",))
    assert len(list(Path("results").glob("*.jsonl"))) == 2
    rescore(paths=("traces/a/1.jsonl", "traces/a/2.jsonl"))
    rescore("whole", paths=("traces/a",))
    assert contents() == contents("whole")


def test_a_set_about_something_else_is_left_out_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    Path("traces/app").mkdir()
    Path("traces/app/package.json").write_text('{"name": "shop"}')
    assert (rescore(), rescore()) == (0, 0)
    told = capsys.readouterr()
    assert "3 of 3 sets of traces were scored before" in told.out
    assert told.err.count("skipped: traces/app/package.json: not traces\n") == 2
    assert sorted(written()) == ["a", "b", "c"]
    assert rescore("other", paths=("traces/app",)) == 2
    assert "package.json:1: an object with 'name': not OTLP JSON" in capsys.readouterr().err


def test_a_folder_with_something_else_is_refused_and_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine").mkdir()
    Path("mine/notes.jsonl.new").write_text("keep")
    assert rescore("mine") == 2
    assert "mine: holds notes.jsonl.new and no results; name a new or an empty folder" in capsys.readouterr().err
    assert contents("mine") == {"notes.jsonl.new": b"keep"}
    assert rescore("rules.yaml") == 2
    assert "rules.yaml: cannot hold results: File exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    "manifest",
    ["", "[]", "{}", '{"format": 2}', '{"format": 1, "by": {}, "results": {"../rules.yaml": {}}}', "[" * 100_000],
)
def test_a_manifest_of_something_else_is_refused(manifest: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("results").mkdir()
    Path("results/rescore.json").write_text(manifest)
    assert rescore() == 2
    assert "rescore.json: is damaged, or of another version" in capsys.readouterr().err
    assert Path("rules.yaml").exists()


def test_a_manifest_that_is_a_pipe_is_not_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    Path("results").mkdir()
    os.mkfifo("results/rescore.json")
    assert rescore() == 2
    assert "results: cannot hold results: not a regular file" in capsys.readouterr().err


def test_a_folder_in_which_the_first_manifest_was_not_finished_is_as_good_as_empty() -> None:
    Path("results").mkdir()
    Path("results/rescore.json.new").write_text('{"by')
    assert rescore() == 0
    rescore("whole")
    assert contents() == contents("whole")


@pytest.mark.parametrize("folder", ["traces", "traces/results"])
def test_results_among_the_recordings_are_refused(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert rescore(folder) == 2
    assert f"{folder}: is in traces, where its results would be read as recordings" in capsys.readouterr().err


def test_two_at_once_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    rescore()
    other = os.open("results", os.O_RDONLY)
    try:
        fcntl.flock(other, fcntl.LOCK_SH)
        assert rescore() == 2
    finally:
        os.close(other)
    assert "results: another process writes results to it" in capsys.readouterr().err


def test_a_disk_without_room_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        assert rescore() == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "results: cannot hold results: File too large" in capsys.readouterr().err
    assert written() == {}  # nothing by half
    assert rescore() == 0
    rescore("whole")
    assert contents() == contents("whole")


def test_the_results_are_the_same_in_parts_and_with_several_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "_WHOLE", 1000)
    monkeypatch.setattr(parts, "_BATCH", 1000)
    assert rescore() == 0
    assert rescore("several", "--jobs", "2") == 0
    assert contents() == contents("several")
    assert sum(len(body.splitlines()) for name, body in contents().items() if name.endswith(".jsonl")) == 8


def test_rules_that_decide_no_run_are_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    Path("rules.yaml").write_text("rules: [{name: other, match: {agent: nobody}, expect: {sequence: []}}]\n")
    assert rescore() == 1
    said = capsys.readouterr()
    assert said.out.startswith("8 runs, 0 pass, 0 fail")
    assert "no run is pass or fail by these rules" in said.err


def test_only_the_user_can_read_results() -> None:
    rescore()
    assert Path("results").stat().st_mode & 0o077 == 0
    assert json.loads(Path("results/rescore.json").read_text("utf-8"))["format"] == 1


@pytest.mark.parametrize(
    "command", [["rescore", "-o", "results", "--rules", "rules.yaml", "-"], ["watch", "rules.yaml", "-"]]
)
def test_what_is_read_again_is_no_stream(desk: Path, capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    assert main(command) == 2
    assert capsys.readouterr().err == "-: can be read only once; write it to a file, and name that\n"
