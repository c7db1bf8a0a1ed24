"""Which runs change verdict under other rules, and why: what `rightcall diff` tells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from collector.cli import main
from tests import otlp_data as data

A = """
rules:
  - {name: refund, match: {agent: shop}, expect: {sequence: [lookup, refund]}}
  - {name: travel, match: {agent: travel}, expect: {sequence: [book]}}
"""
B = """
rules:
  - {name: refund, match: {agent: shop}, expect: {sequence: [lookup, check, refund]}}
  - {name: booking, match: {agent: travel}, expect: {sequence: [book]}}
"""
RUNS = [
    ("shop", ["lookup", "refund"]),
    ("shop", ["lookup", "refund"]),
    ("shop", ["lookup", "check", "refund"]),
    ("travel", ["book"]),
    ("other", ["search"]),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.yaml").write_text(A)
    (tmp_path / "b.yaml").write_text(B)
    (tmp_path / "traces").mkdir()
    for number, (agent, tools) in enumerate(RUNS, 1):
        trace = bytes([number]) * 16
        spans = [data.tool(at, 1, tool, at=0.1 * at, trace_id=trace) for at, tool in enumerate(tools, 2)]
        request = data.traces(*spans, data.agent(1, name=agent, trace_id=trace))
        (tmp_path / "traces" / f"{number}.pb").write_bytes(request.SerializeToString())
    return tmp_path


def diff(folder: Path, *options: str, before: str = "a.yaml", after: str = "b.yaml") -> int:
    return main(["diff", *options, str(folder / before), str(folder / after), str(folder / "traces")])


def test_each_run_that_changes_has_a_line_with_both_verdicts_and_the_reason(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert diff(folder, "--format", "jsonl") == 1
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["trace_id"] for line in found] == ["01" * 16, "02" * 16, "03" * 16]
    first, _, third = found
    assert first["before"] == {"rule": "refund", "label": "pass", "value": 1.0, "reasons": []}
    assert (first["after"]["label"], first["after"]["reasons"]) == ("fail", ["missing check"])
    assert (third["before"]["label"], third["after"]["label"]) == ("fail", "pass")
    assert third["before"]["reasons"] == ["extra check"]


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_reports_count_the_changes_by_rule_and_reason_and_name_examples(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert diff(folder, "--format", form) == 1
    told = capsys.readouterr().out
    assert "3 of 5 verdicts change" in told
    assert "before: 3 pass, 1 fail, 1 no" in told.replace("\\", "")
    assert "1 have the same label from another rule" in told
    row = next(line for line in told.splitlines() if "missing check" in line)
    assert "pass by refund" in row
    assert "fail by refund" in row
    assert f"{'01' * 16}, {'02' * 16}" in row


def test_the_same_rules_change_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert diff(folder, after="a.yaml") == 0
    assert "0 of 5 verdicts change" in capsys.readouterr().out


def test_invalid_rules_are_code_2_and_name_their_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "b.yaml").write_text("rules:\n  - {name: x, expekt: {}}\n")
    assert diff(folder) == 2
    assert "b.yaml:2" in capsys.readouterr().err


def test_a_verdict_on_a_whole_trace_that_only_one_side_gives_is_a_change(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "b.yaml").write_text(
        A + "  - {name: all, scope: trace, match: {agent: other}, expect: {forbid: [search]}}"
    )
    assert diff(folder, "--format", "jsonl") == 1
    (line,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (line["scope"], line["before"]["label"], line["after"]["label"]) == ("trace", "none", "fail")


def score(folder: Path, capsys: pytest.CaptureFixture[str], rules: str) -> dict[str, Any]:
    assert main(["score", "--fail-on", "none", "--min-runs", "0", "--rules", str(folder / rules), "--format", "jsonl",
                 str(folder / "traces")]) == 0  # fmt: skip
    return {row["trace_id"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}


def label(row: Any) -> str:
    return str(row["evaluations"][0]["label"] if row["evaluations"] else row["unscored_reason"])


def test_diff_and_shadow_rules_agree_with_scoring_by_either_side(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shadows = B.replace("{name: ", "{shadow: true, name: new ").partition("rules:\n")[2]
    (folder / "shadow.yaml").write_text(A + shadows)
    before, after, both = (score(folder, capsys, name) for name in ("a.yaml", "b.yaml", "shadow.yaml"))
    diff(folder, "--format", "jsonl")
    changed = {line["trace_id"]: line for line in map(json.loads, capsys.readouterr().out.splitlines())}
    for trace_id, row in after.items():
        expected = (label(before[trace_id]), label(row))
        found = changed.get(trace_id)
        assert (expected[0] != expected[1]) == (found is not None)
        if found is not None:
            assert (found["before"]["label"], found["after"]["label"]) == expected
        for shadow in both[trace_id].get("also", ()):
            assert (label(both[trace_id]), label(shadow)) == expected


def test_hostile_names_are_escaped(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = b"h" * 16
    request = data.traces(
        data.tool(2, 1, "x\x1b[2J|@all\n", trace_id=trace), data.agent(1, name="shop", trace_id=trace)
    )
    (folder / "traces" / "h.pb").write_bytes(request.SerializeToString())
    (folder / "a.yaml").write_text('rules: [{name: refund, match: {agent: shop}, expect: {allow_extra: ["*"]}}]')
    (folder / "b.yaml").write_text("rules: [{name: refund, match: {agent: shop}, expect: {sequence: [lookup]}}]")
    for form in ("table", "markdown", "jsonl"):
        assert diff(folder, "--format", form) == 1
        told = capsys.readouterr().out
        assert "\x1b" not in told
    diff(folder, "--format", "markdown")
    assert "\\|@&#8203;all" in capsys.readouterr().out
