"""Scoring files: each folder is a set of traces of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from collector.offline.score import score_files
from collector.otlp.json import from_protobuf
from collector.receivers.otlp_file import InputError
from collector.scoring.rule_files import LoadedRules
from scorers import load_rules
from tests import otlp_data as data
from tests import recorded
from tests.builders import no_rules
from tests.waiting import PATIENCE

TOOL = data.traces(data.tool(2, 1, "search", at=0.1)).SerializeToString()
AGENT = data.traces(data.agent(1)).SerializeToString()


def test_the_requests_of_a_folder_are_one_set_whatever_their_order(tmp_path: Path) -> None:
    (tmp_path / "1.pb").write_bytes(AGENT)
    (tmp_path / "2.pb").write_bytes(TOOL)
    (verdict,) = score_files([tmp_path], no_rules())
    assert [call.name for call in verdict.run.trajectory.calls] == ["search"]


def test_a_trace_of_many_runs_has_a_verdict_on_each(tmp_path: Path) -> None:
    agents = [data.agent(number, name=f"agent {number}", at=float(number)) for number in range(1, 151)]
    (tmp_path / "1.pb").write_bytes(data.traces(*agents).SerializeToString())
    assert len(score_files([tmp_path], no_rules())) == 150


def test_folders_do_not_mix_though_their_trace_ids_are_the_same(tmp_path: Path) -> None:
    for name, body in (("a", TOOL), ("b", AGENT)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.pb").write_bytes(body)
    found = [
        (verdict.run.span_id, len(verdict.run.trajectory.calls)) for verdict in score_files([tmp_path], no_rules())
    ]
    assert found == [(data.span_id(2), 1), (data.span_id(1), 0)]


def test_a_folder_of_something_else_below_the_traces_is_left_out_and_one_that_is_named_is_not(tmp_path: Path) -> None:
    for name, file, body in (("day", "1.pb", AGENT), ("app", "package.json", b'{"name": "shop"}')):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_bytes(body)
    (tmp_path / "tsconfig.json").write_text('{"files": []}')
    assert len(score_files([tmp_path], no_rules())) == 1
    for paths in (
        [tmp_path / "app"],
        [tmp_path / "day", tmp_path / "app"],
        [tmp_path / "app" / "package.json", tmp_path],
    ):
        with pytest.raises(InputError, match=r"package\.json:1: an object with 'name'"):
            score_files(paths, no_rules())
    (tmp_path / "app" / "package.json").write_text('{"name": ')
    with pytest.raises(InputError, match=r"package\.json"):
        score_files([tmp_path], no_rules())


def test_a_file_that_is_no_request_names_itself(tmp_path: Path) -> None:
    (tmp_path / "noise.pb").write_bytes(b"\xff\xff")
    with pytest.raises(InputError, match=r"noise\.pb"):
        score_files([tmp_path], no_rules())


@pytest.mark.parametrize(("forbidden", "label"), [("read_file", "pass"), ("run_shell_command", "fail")])
def test_an_agent_with_a_trace_for_each_request_is_decided_by_its_conversation(
    tmp_path: Path, forbidden: str, label: str
) -> None:
    recorded.unpack(tmp_path)
    loaded = LoadedRules(
        load_rules(
            {
                "rules": [
                    {"name": "turn", "match": {}, "expect": {"sequence": ["run_shell_command"]}},
                    {"name": "all", "match": {}, "scope": "conversation", "expect": {"forbid": [forbidden]}},
                ]
            }
        )
    )
    verdicts = score_files([tmp_path / "cli-gemini-0.61-seq"], loaded)
    labels = [(verdict.scope, verdict.evaluations[0].score.label) for verdict in verdicts]
    assert labels == [("run", "incomplete")] * 7 + [("conversation", label)]


def test_standard_input_is_scored_as_a_file_is(tmp_path: Path) -> None:
    body = from_protobuf("traces", TOOL) + from_protobuf("traces", AGENT)
    (tmp_path / "a.jsonl").write_bytes(body)
    command = [sys.executable, "-m", "collector", "score", "--format", "jsonl"]
    lines = [
        subprocess.run([*command, path], input=body, capture_output=True, timeout=PATIENCE, check=True).stdout
        for path in ("-", str(tmp_path / "a.jsonl"))
    ]
    assert lines[0] == lines[1]
    assert b'"search"' in lines[0]
