"""Shadow rules in the collector, `rightcall diff` and scoring recordings again say the same of each run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from collector.cli import main
from collector.offline import parts, stream
from collector.otlp.json import from_protobuf
from collector.receivers.otlp_file import read_file
from collector.scoring.verdict import Verdict
from tests import recorded
from tests.harness import Bench

IN_FORCE: dict[str, Any] = {
    "rules": [
        {
            "name": "travel",
            "match": {"agent": {"regex": "(?i)travel"}},
            "expect": {"max_calls": 2, "allow_extra": ["*"]},
        },
        {"name": "other", "match": {}, "expect": {"sequence": ["lookup_policy"]}},
    ]
}
ON_TRIAL: dict[str, Any] = {
    "rules": [
        {"name": "weather", "match": {}, "expect": {"mode": "in_order", "tools": ["get_weather", "book_flight"]}},
    ]
}
Labels = dict[tuple[str, str], str]
"""The label of the primary scorer, else why there is none, by trace and anchor."""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every eighth recorded run as JSON lines."""
    folder = tmp_path_factory.mktemp("recorded")
    recorded.unpack(folder)
    path = folder / "all.jsonl"
    with path.open("wb") as file:
        for name in recorded.names()[::8]:
            for request in recorded.requests(folder / name):
                file.writelines(from_protobuf(*item) for item in read_file(request) if item[0] != "metrics")
    return path


def scored(folder: Path, rules: dict[str, Any], recording: Path, capsys: pytest.CaptureFixture[str]) -> Labels:
    (folder / "rules.yaml").write_text(yaml.safe_dump(rules))
    main(["score", "--rules", str(folder / "rules.yaml"), "--format", "jsonl", str(recording)])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {
        (row["trace_id"], row["span_id"]): row["evaluations"][0]["label"]
        if row["evaluations"]
        else row["unscored_reason"]
        for row in rows
    }


def live(folder: Path, recording: Path) -> tuple[Labels, Labels]:
    """What a collector says by the rules in force and by those on trial, once every trace has been quiet."""
    on_trial = [{**rule, "shadow": True} for rule in ON_TRIAL["rules"]]
    bench = Bench(folder, yaml.safe_dump({"rules": [*IN_FORCE["rules"], *on_trial]}))
    for signal, body in read_file(recording):
        bench.pipeline.receive(signal, body, "http")
    for _ in range(5):
        bench.wait(120.0)
    assert bench.pipeline.open_traces == 0
    of_runs = [verdict for verdict in bench.verdicts if verdict.revision == 0]
    sides = [[verdict for verdict in of_runs if verdict.shadow == shadow] for shadow in (False, True)]
    return _labels(sides[0]), _labels(sides[1])


def _labels(verdicts: list[Verdict]) -> Labels:
    return {
        (verdict.run.trace_id.hex(), verdict.run.span_id.hex()): verdict.label or verdict.unscored_reason or ""
        for verdict in verdicts
    }


@pytest.mark.parametrize("whole", [1 << 30, 1000])
def test_shadow_rules_diff_and_scoring_again_agree_on_every_run(
    tmp_path: Path, recording: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], whole: int
) -> None:
    monkeypatch.setattr(stream, "_WHOLE", whole)
    monkeypatch.setattr(parts, "_BATCH", 200_000)
    before, after = (scored(tmp_path, rules, recording, capsys) for rules in (IN_FORCE, ON_TRIAL))
    assert {*before.values(), *after.values()} >= {"pass", "fail", "incomplete"}
    assert live(tmp_path, recording) == (before, after)

    for name, rules in (("a.yaml", IN_FORCE), ("b.yaml", ON_TRIAL)):
        (tmp_path / name).write_text(yaml.safe_dump(rules))
    assert main(["diff", "--format", "jsonl", str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml"), str(recording)]) == 1
    changes = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    told = {(row["trace_id"], row["span_id"]): (row["before"]["label"], row["after"]["label"]) for row in changes}
    assert told == {run: (before[run], after[run]) for run in before if before[run] != after[run]}
