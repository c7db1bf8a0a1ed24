"""Two versions compared, by recordings and by what a Prometheus has scraped."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.cli import main
from collector.offline.compare import Counts, Criteria, Passed, RuleScorer, compare, markdown, table
from tests import otlp_data as data

RULES = "rules: [{name: refund, match: {}, expect: {sequence: [lookup, refund]}}]"


def counts(*rows: tuple[str, int, int]) -> Counts:
    return {RuleScorer(rule, "trajectory"): Passed(passed, total) for rule, passed, total in rows}


@pytest.mark.parametrize(
    ("a", "b", "decision"),
    [
        ((950, 1000), (800, 1000), "worse"),
        ((950, 1000), (955, 1000), "no worse"),
        ((950, 1000), (935, 1000), "no worse"),  # lower, and within the tolerance
        ((19, 20), (16, 20), "wait"),
        ((20, 20), (3, 20), "worse"),
        ((1000, 1000), (19, 19), "wait"),  # under min_runs
        ((95, 100), (93, 100), "wait"),
        ((0, 0), (10, 10), "wait"),
        ((0, 100), (100, 100), "no worse"),
    ],
)
def test_the_interval_decides(a: tuple[int, int], b: tuple[int, int], decision: str) -> None:
    assert compare(counts(("refund", *a)), counts(("refund", *b)), Criteria()).decision == decision


def test_one_worse_rule_is_enough_and_a_rare_one_does_not_block() -> None:
    a = counts(("big", 990, 1000), ("bad", 190, 200), ("rare", 2, 2))
    b = counts(("big", 990, 1000), ("bad", 120, 200), ("rare", 1, 1))
    assert compare(a, b, Criteria()).decision == "worse"
    good = counts(("big", 990, 1000), ("rare", 1, 1), ("new", 3, 3))
    found = compare(counts(("big", 990, 1000), ("rare", 2, 2)), good, Criteria())
    assert found.decision == "no worse"
    assert [row.is_enough for row in found.rows] == [True, False, False]


def test_more_rules_need_more_evidence_each() -> None:
    alone = compare(counts(("x", 95, 100)), counts(("x", 86, 100)), Criteria())
    rules = [("x", 95, 100), *((f"r{n}", 100, 100) for n in range(20))]
    among = compare(counts(*rules), counts(("x", 86, 100), *rules[1:]), Criteria())
    assert alone.decision == "worse"
    assert among.decision == "wait"


def test_nothing_to_compare_is_wait() -> None:
    assert compare({}, {}, Criteria()).decision == "wait"


def test_reports_name_counts_interval_and_decision_and_escape_names() -> None:
    found = compare(counts(("a|b\x1b@all", 95, 100)), counts(("a|b\x1b@all", 50, 100)), Criteria())
    said = markdown(found, "1.4", "<1.5>")
    assert said.startswith("**&lt;1.5&gt; is worse than 1.4: a\\|b\\\\x1b")
    assert "95 of 100 (95.0%)" in said
    assert "| -45.0% |" in said
    shown = table(found, "1.4", "1.5")
    assert "\x1b" not in said + shown
    assert "worse" in shown
    said = markdown(compare(counts(("a", 3000, 3000)), counts(("a", 2999, 3000)), Criteria()), "1.4", "1.5")
    assert "| 3000 of 3000 (100.0%) | 2999 of 3000 (99.97%) | -0.03% |" in said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "refund.yaml").write_text(RULES)
    (tmp_path / "traces").mkdir()
    for number in range(1, 81):
        trace, version = bytes([number]) * 16, "1.4.0" if number <= 40 else "1.5.0"
        tools = ["lookup"] if version == "1.5.0" and number % 2 else ["lookup", "refund"]
        spans = [data.tool(at, 1, tool, at=0.1 * at, trace_id=trace) for at, tool in enumerate(tools, 2)]
        request = data.traces(*spans, data.agent(1, trace_id=trace))
        request.resource_spans[0].resource.attributes.extend(data.attributes({"service.version": version}))
        (tmp_path / "traces" / f"{number}.pb").write_bytes(request.SerializeToString())
    return tmp_path


@pytest.mark.parametrize(("a", "b", "code"), [("1.4.0", "1.5.0", 1), ("1.5.0", "1.4.0", 0), ("1.4.0", "1.6.0", 3)])
def test_recordings_are_split_by_the_attribute(
    folder: Path, capsys: pytest.CaptureFixture[str], a: str, b: str, code: int
) -> None:
    assert main(["compare", "--rules", str(folder / "rules"), a, b, str(folder / "traces")]) == code
    told = {0: "is no worse than", 1: "is worse than", 3: "no run of 1.6.0 is pass or fail"}
    assert told[code] in capsys.readouterr().out


def test_recordings_without_rules_are_wrong_usage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "1.4.0", "1.5.0", str(folder / "traces")]) == 2
    assert "name the rules that score the recordings with --rules" in capsys.readouterr().err


def test_a_prometheus_that_is_none_is_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--prometheus", "http://127.0.0.1:1", "1", "2"]) == 2
    assert "http://127.0.0.1:1" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    [["--window", "1x"], ["--tolerance", "0"], ["--confidence", "95"], ["--by", "a b"], ["--min-runs", "-3"], []],
)
def test_wrong_usage(options: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        # Without any, what they are of is missing.
        main(["compare", *options, "1", "2", *(["traces"] if options else [])])
    assert caught.value.code == 2


def test_prometheus_takes_the_place_of_recordings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "1", "2", "traces", "--prometheus", "http://127.0.0.1:1"]) == 2
    assert "takes the place of PATHs" in capsys.readouterr().err
