"""Runs as tests of rules: what is exported says of a run what its verdict said."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.config.model import RedactionConfig
from collector.console.rule_tests import as_tests, is_exportable
from collector.offline.score import score_requests
from collector.receivers.otlp_file import read_set
from collector.results.redaction import Redaction
from collector.runs.record import Recorder, Submitted, bounded
from collector.runs.rows import Row
from collector.scoring.rule_files import check_rules, load_rules
from collector.scoring.verdict import Verdict
from tests import otlp_data as data
from tests import recorded

RULES = """\
rules:
  - name: booking
    match: {agent: "*r*"}
    expect:
      sequence: [search_flights, {tool: book_flight, arguments: {flight_id: {regex: "^AF"}}}]
      allow_extra: ["*"]
      max_errors: 0
    constraints: [{precedence: [search_flights, book_flight]}]
  - name: weather
    match: {}
    expect: {any_order: [get_weather, get_weather], forbid: ["charge_*"], max_calls: 3, retries: collapse}
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    return path


def stored(verdict: Verdict) -> Row:
    kept, cut = bounded(verdict)
    return Recorder(Redaction(RedactionConfig())).row(Submitted(kept, 0.0, 1.0, cut), ())


def test_recorded_runs_become_tests_that_pass(rules: Path, tmp_path: Path) -> None:
    runs, loaded, rows = tmp_path / "runs", load_rules([rules]), list[Row]()
    recorded.unpack(runs)
    for run in sorted(runs.iterdir())[::4]:
        sections = [(str(path), signal, body) for path, signal, body in read_set(recorded.requests(run))]
        rows += [
            row | {"label": verdict.label}
            for verdict in score_requests(sections, loaded)
            if verdict.label in {"pass", "fail"} and is_exportable(row := stored(verdict))
        ]
    assert {row["label"] for row in rows} == {"pass", "fail"}
    rules.write_text(RULES + as_tests(rows))
    report, passed = check_rules([rules])
    assert passed, report
    assert f"{len(rows)} of {len(rows)} tests pass" in report


@pytest.mark.parametrize("given", ["1e16", "1e-7", "12345678901234567890", "-0.0", "[[[1.5]]]"])
def test_a_number_stays_one(given: str, tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    text = "rules: [{name: r, match: {}, expect: {sequence: [{tool: x, arguments: {a: {schema: {not: {type: string}}}}}]}}]\n"
    path.write_text(text)
    spans = data.tool(2, 1, "x", gen_ai__tool__call__arguments=f'{{"a": {given}}}'), data.agent(1)
    (verdict,) = score_requests([("x", "traces", data.traces(*spans).SerializeToString())], load_rules([path]))
    path.write_text(text + as_tests([stored(verdict) | {"label": verdict.label}]))
    assert check_rules([path]) == (f"{path}: 1 rule, 1 of 1 tests pass", True)
