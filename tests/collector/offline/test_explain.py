"""One trace explained: everything that decided its verdict, and nothing that a terminal obeys."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.cli import main
from tests import otlp_data as data

RULES = """
rules:
  - {name: other, match: {agent: "support-*", route: /other}, expect: {tool: a}}
  - name: orders
    match: {agent: helper}
    expect:
      sequence: [{tool: lookup, arguments: {id: {regex: "^ord_"}}}, check, refund]
      forbid: ["delete_*"]
      max_calls: 3
    pass: 0.9
  - {name: never reached, match: {agent: helper, service: shop}}
  - {name: all of it, match: {}, scope: trace, expect: {allow_extra: ["*"]}}
"""
TRACE, FINE = b"\x4b" * 16, b"\x4c" * 16


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules.yaml").write_text(RULES)
    spans = [
        data.tool(2, 1, "lookup", at=0.1, trace_id=TRACE, gen_ai__tool__call__arguments='{"id": "7"}'),
        data.tool(3, 1, "refund", at=0.3, trace_id=TRACE),
        data.tool(4, 1, "delete_order\x1b[2J", at=0.3005, trace_id=TRACE),
        data.tool(5, 1, "email", at=0.4, trace_id=TRACE),
        data.agent(1, trace_id=TRACE),
    ]
    (tmp_path / "bad.pb").write_bytes(data.traces(*spans).SerializeToString())
    right = [
        data.tool(at, 1, name, at=0.1 * at, trace_id=FINE) for at, name in enumerate(("lookup", "check", "refund"), 2)
    ]
    (tmp_path / "fine.pb").write_bytes(data.traces(*right, data.agent(1, trace_id=FINE)).SerializeToString())
    orphan = data.tool(2, 7, "lookup", trace_id=b"\x4d" * 16)
    (tmp_path / "torn.pb").write_bytes(data.traces(orphan, data.agent(1, trace_id=b"\x4d" * 16)).SerializeToString())
    return tmp_path


def explained(folder: Path, capsys: pytest.CaptureFixture[str], trace: str) -> str:
    assert main(["explain", trace, "--rules", str(folder / "rules.yaml"), str(folder)]) == 0
    text = capsys.readouterr().out
    assert all(line.isprintable() for line in text.split("\n"))
    return text


def test_a_fail_says_what_was_called_tried_scored_and_wrong(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = explained(folder, capsys, TRACE.hex())
    for line in (
        "run of agent helper, span 0000000000000001",
        'lookup {"id": "7"}; known by its span',
        "refund arguments not captured, at once with 1 more; known by its span",
        "  other: route is unknown, must be /other; agent is helper, must be support-*",
        "  orders: matches, and scores it",
        "  fail by rule orders: score 0.",
        '    ~ lookup(id={"regex": "^ord_"})  lookup(id="7")  ',
        "to pass\n  the score must be at least 0.9; it is 0.",
        "  call check",
        '  lookup.id: "7" does not match ^ord_',
        "  do not call delete_order\\x1b[2J: as long as it is called, no score passes",
        "  do not call email, or name it in allow_extra",
        "  keep to max_calls 3: as long as it is broken, no score passes",
        "trace of agent helper, span 0000000000000001",
        "  all of it: matches, and scores it",
    ):
        assert line in text
    assert "never reached" not in text


def test_calls_stand_on_a_time_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line for line in explained(folder, capsys, TRACE.hex()).splitlines() if "known by" in line]
    starts = [line.index("█") for line in lines[:4]]
    assert starts[0] < starts[1] <= starts[2] < starts[3]
    assert "+0.0 ms, 1.0 ms" in lines[0]
    assert "+300.0 ms, 1.0 ms" in lines[3]


def test_the_beginning_of_an_id_suffices_where_it_is_the_only_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "pass by rule orders: score 1.000" in explained(folder, capsys, "4C")
    assert "to pass" not in explained(folder, capsys, "4c4c")
    assert main(["explain", "4", str(folder)]) == 2
    assert "3 traces begin with 4" in capsys.readouterr().err


def test_what_is_in_doubt_is_said_with_what_would_settle_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = explained(folder, capsys, "4d")
    doubts = text.partition("\ndoubts\n")[2].partition("\nrules\n")[0].splitlines()
    assert any(line.startswith("  uncertain_owner: ") and "was not received" in line for line in doubts)
    assert "\nto pass, if nothing happened but what is known\n" in text


@pytest.mark.parametrize("trace", ["ff", "", "\x1b[2J", "zz"])
def test_a_trace_that_is_not_there_is_code_2(folder: Path, capsys: pytest.CaptureFixture[str], trace: str) -> None:
    assert main(["explain", trace, str(folder)]) == 2
    told = capsys.readouterr().err
    assert "is in the input, which has 3 traces" in told
    assert "\x1b" not in told


def test_without_rules_the_run_is_shown_all_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "4c", str(folder)]) == 0
    assert "  there are none of scope run\nverdict\n  not scored: no_rule" in capsys.readouterr().out


def test_a_score_is_told_from_the_one_that_passes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rule = "{name: close, match: {}, expect: {sequence: [lookup, check, refund, email, call, wait]}, pass: 0.667}"
    (folder / "rules.yaml").write_text(f"rules: [{rule}]")
    assert "  the score must be at least 0.667; it is 0.6667\n" in explained(folder, capsys, FINE.hex())
