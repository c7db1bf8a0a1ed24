"""The first files of a project: valid at once, and from recordings rules that pass what most runs did."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from collector.cli import main
from tests import otlp_data as data


def recordings(folder: Path, *runs: tuple[str, list[str]]) -> Path:
    traces = folder / "traces"
    traces.mkdir()
    for number, (agent, tools) in enumerate(runs, 1):
        trace = bytes([number]) * 16
        spans = [data.tool(at, 1, tool, at=0.1 * at, trace_id=trace) for at, tool in enumerate(tools, 2)]
        request = data.traces(*spans, data.agent(1, name=agent, trace_id=trace))
        (traces / f"{number}.pb").write_bytes(request.SerializeToString())
    return traces


def follow(out: str) -> list[int]:
    """Run the commands that it says come next, all but the collector itself."""
    said = [line.strip().partition("#")[0] for line in out.partition("next:\n")[2].splitlines()]
    commands = [shlex.split(line)[1:] for line in said]
    assert [command[0] for command in commands] == ["check", "score", "run"]
    assert main(["check", "--config", commands[2][2]]) == 0
    return [main(command) for command in commands[:2]]


def test_from_nothing_the_files_are_valid_and_their_tests_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", str(tmp_path / "new")]) == 0
    assert "wrote " in capsys.readouterr().out
    assert main(["check", "--config", str(tmp_path / "new" / "collector.yaml")]) == 0
    assert "1 rule, 2 of 2 tests pass" in capsys.readouterr().out


def test_from_recordings_each_agent_gets_a_rule_that_most_of_its_runs_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = ["lookup", "refund"]
    traces = recordings(
        tmp_path, ("shop", usual), ("shop", usual), ("shop", ["lookup", "search"]), ("travel", ["book"])
    )
    assert main(["init", str(tmp_path), "--from", str(traces)]) == 0
    assert follow(capsys.readouterr().out) == [0, 0]
    told = capsys.readouterr().out
    assert "2 rules, 2 of 2 tests pass" in told
    assert "4 runs, 3 pass, 1 fail" in told
    text = (tmp_path / "rules" / "agents.yaml").read_text()
    assert "# 2 of 3 recorded runs made these calls" in text
    assert 'allow_extra: ["search"]' in text


NAMES = ["a*b[", "x: y #", '"quoted"', "line\nbreak", "\x1b[2J", "- item", "{regex: .*}", "null", "助手", "a" * 300]


def test_names_match_only_themselves_whatever_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    traces = recordings(tmp_path, *((name, [name]) for name in NAMES))
    assert main(["init", str(tmp_path), "--from", str(traces)]) == 0
    capsys.readouterr()
    assert main(["check", str(tmp_path / "rules")]) == 0
    assert main(["score", "--rules", str(tmp_path / "rules"), "--format", "jsonl", str(traces)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    assert [row["evaluations"][0]["label"] for row in rows] == ["pass"] * len(NAMES)
    assert len({row["rule"] for row in rows}) == len(NAMES)


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "collector.yaml").write_text("mine")
    assert main(["init", str(tmp_path)]) == 2
    assert "is already there" in capsys.readouterr().err
    assert (tmp_path / "collector.yaml").read_text() == "mine"
    assert not (tmp_path / "rules").exists()


def test_a_folder_that_cannot_be_written_is_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["init", str(tmp_path / "file")]) == 2
    assert "cannot be written" in capsys.readouterr().err
