"""A good, a bad and a quiet release under a real Prometheus: what the query decides, and what `rightcall compare` says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml

from collector.cli import main
from collector.offline.compare import query_counts
from tests import otlp_data as data
from tests.collector_process import CollectorProcess, send
from tests.deploy.programs import DEPLOY, must_run, must_run_python, program
from tests.deploy.prometheus_server import PrometheusServer
from tests.judge_server import JudgeServer, says
from tests.waiting import wait_for

FOLDER = DEPLOY / "progressive"
JUDGED = ["trajectory", {"system": "tool_choice", "sample_rate": 1}]
RULES = json.dumps(
    {
        "rules": [
            {"name": name, "match": {"agent": name}, "expect": {"tool": "search"}, "scorers": scorers}
            for name, scorers in (("good", ["trajectory"]), ("bad", ["trajectory"]), ("quiet", JUDGED))
        ]
    }
)
USER = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "find it"}]}])
SAID = says(
    json.dumps(
        {
            "calls": [{"call": 1, "reason": "so", "verdict": "unnecessary"}], "reason": "so", "missing_tools": [],
            "clarification": "not_asked",
        }
    )
)  # fmt: skip
RUNS = {"good": (300, 0), "bad": (300, 120), "quiet": (8, 8)}
"""Runs of each version after the first, and how many of the canary's fail."""


def load(name: str) -> Any:
    return yaml.safe_load((FOLDER / name).read_text("utf-8"))


def filled_in(query: str, rule: str) -> str:
    for prefix, suffix in (("{{args.", "}}"), ("{{ variables.", " }}")):
        for name, value in (("rule", rule), ("stable", "1.4.0"), ("canary", "1.5.0")):
            query = query.replace(f"{prefix}{name}{suffix}", value)
    assert "{{" not in query
    return query


def queries() -> list[str]:
    (metric,) = load("analysis-template.yaml")["spec"]["metrics"]
    return [metric["provider"]["prometheus"]["query"], load("metric-template.yaml")["spec"]["query"]]


def test_the_files_are_those_that_the_generator_writes(tmp_path: Path) -> None:
    before = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.yaml")}
    must_run_python(FOLDER / "generate.py")
    assert {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.yaml")} == before


def test_too_few_runs_are_asked_again_and_never_fail() -> None:
    (metric,) = load("analysis-template.yaml")["spec"]["metrics"]
    assert "> 0" in metric["successCondition"]
    assert "< 0" in metric["failureCondition"]
    assert metric["inconclusiveLimit"] >= 60
    assert {one["name"] for one in load("analysis-template.yaml")["spec"]["args"]} == {
        "prometheus",
        "rule",
        "stable",
        "canary",
    }


COUNTER = 'rightcall_evaluations_total{{rule="r", scorer="{}", service_version="{}", label="{}"}}'
WORSE, NO_WORSE, FEW = (300, 120), (300, 0), (8, 8)
"""Runs of the canary within the window, and how many of them fail; of those of the stable version none does."""


@pytest.mark.parametrize(
    ("canary", "decision"),
    [
        ({"evalite_exact": WORSE}, -1),
        ({"evalite_exact": NO_WORSE}, 1),
        ({"trajectory": NO_WORSE, "evalite_exact": WORSE}, -1),
        ({"trajectory": WORSE, "evalite_exact": NO_WORSE}, -1),
        ({"trajectory": NO_WORSE, "mastra_llm": FEW}, 1),
        ({"trajectory": NO_WORSE, "mastra_llm": (60, 2)}, 0),
        ({"trajectory": FEW, "mastra_llm": FEW}, 0),
    ],
    ids=str,
)
def test_each_scorer_of_the_rule_with_enough_runs_decides(
    tmp_path: Path, canary: dict[str, tuple[int, int]], decision: int
) -> None:
    runs = [
        {"series": COUNTER.format(scorer, version, label), "values": f"0+{count / 1440}x1440"}
        for scorer, (total, failed) in canary.items()
        for version, wrong in (("1.4.0", 0), ("1.5.0", failed))
        for label, count in (("pass", total - wrong), ("fail", wrong))
    ]
    expected = [{"labels": "{}", "value": decision}]
    asked = [{"expr": filled_in(query, "r"), "eval_time": "1440m", "exp_samples": expected} for query in queries()]
    tests = [{"interval": "1m", "input_series": runs, "promql_expr_test": asked}]
    (tmp_path / "test.yaml").write_text(yaml.safe_dump({"tests": tests}))
    must_run([program("promtool"), "test", "rules", tmp_path / "test.yaml"])


def test_a_changed_rule_file_is_never_a_worse_version(tmp_path: Path) -> None:
    """A stricter rule came with the canary: nearly all of its runs are by that, and few of the stable version's."""
    hours = {
        "1.4.0": ("0+1.9x1380 2622+0.8x180", "0+0.1x1380 138+0.2x180"),
        "1.5.0": ("_x1380 0+0.8x180", "_x1380 0+0.2x180"),
    }
    runs = [
        {"series": COUNTER.format("trajectory", version, label), "values": values}
        for version, both in hours.items()
        for label, values in zip(("pass", "fail"), both, strict=True)
    ]
    contents = [
        ([("a", "aa", "1x1560")], -1),  # the same rules throughout
        ([("a", "aa", "1x1560"), ("b", "bb", "1x1560")], -1),  # another release has rules of its own
        ([("a", "aa", "1x1380 stale"), ("a", "bb", "_x1380 1x180")], 0),
    ]
    tests = [
        {
            "interval": "1m",
            "input_series": runs
            + [
                {
                    "series": f'rightcall_rules_info{{job="r", service="{service}", file="r.yaml", digest="{digest}"}}',
                    "values": values,
                }
                for service, digest, values in digests
            ],
            "promql_expr_test": [
                {
                    "expr": filled_in(query, "r"),
                    "eval_time": "1560m",
                    "exp_samples": [{"labels": "{}", "value": decision}],
                }
                for query in queries()
            ],
        }
        for digests, decision in contents
    ]
    (tmp_path / "test.yaml").write_text(yaml.safe_dump({"tests": tests}))
    must_run([program("promtool"), "test", "rules", tmp_path / "test.yaml"])


class Releases:
    """Agents of two versions that send to a collector."""

    def __init__(self, collector: CollectorProcess) -> None:
        self._collector, self._number = collector, 0

    def run(self, agent: str, version: str, count: int, wrong: int = 0) -> None:
        spans = []
        for at in range(count):
            self._number += 1
            trace = self._number.to_bytes(16, "big")
            tool = "delete" if at < wrong else "search"
            spans += [
                data.tool(2, 1, tool, at=0.1, trace_id=trace),
                data.agent(1, name=agent, trace_id=trace, service__version=version, gen_ai__input__messages=USER),
            ]
        assert send(self._collector, *spans) is grpc.StatusCode.OK


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Any:
    program("prometheus")
    traces = {"settle": "0.2s", "confirm": "0s"}
    sections = {"traces": traces, "prometheus": {"dimensions": ["service.version"]}}
    with (
        JudgeServer(lambda _: SAID) as judge,
        CollectorProcess(RULES, None, judge={"endpoint": judge.endpoint, "model": "small"}, **sections) as collector,
    ):
        target = f"127.0.0.1:{collector.metrics_port}"
        with PrometheusServer(tmp_path_factory.mktemp("prometheus"), {"rightcall": target}, []) as server:
            releases = Releases(collector)
            sent = 0
            for counts in (dict.fromkeys(RUNS, (1, 0)), RUNS):  # Prometheus must have seen the counters begin
                for name, (count, wrong) in counts.items():
                    releases.run(name, "1.4.0", count)
                    releases.run(name, "1.5.0", count, wrong)
                    sent += 2 * count
                wait_for(lambda expected=sent: _seen(server) == expected)
            yield server


def _seen(server: PrometheusServer) -> float:
    rows = server.query('sum(rightcall_evaluations_total{scorer="trajectory"})')
    return float(rows[0]["value"][1]) if rows else 0.0


@pytest.mark.parametrize(("rule", "decision"), [("good", 1.0), ("bad", -1.0), ("quiet", 0.0), ("unknown", 0.0)])
def test_the_query_decides(prometheus: PrometheusServer, rule: str, decision: float) -> None:
    for query in queries():
        wait_for(lambda query=query: _value(prometheus, filled_in(query, rule)) == decision)


def _value(server: PrometheusServer, query: str) -> float:
    (row,) = server.query(query)
    return float(row["value"][1])


def test_compare_says_the_same(prometheus: PrometheusServer, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["compare", "--prometheus", prometheus.url, "--window", "5m", "--format", "markdown"]
    assert main([*options, "1.4.0", "1.5.0"]) == 1
    said = capsys.readouterr().out
    assert "1.5.0 is worse than 1.4.0: bad" in said
    assert [line.split("|")[-2].strip() for line in said.splitlines() if line.startswith("| ")][1:] == [
        "worse", "no worse", "too few runs",
    ]  # fmt: skip
    assert main([*options, "1.5.0", "1.4.0"]) == 0
    assert main([*options, "1.4.0", "9.9.9"]) == 3


def test_compare_asks_no_judge(prometheus: PrometheusServer) -> None:
    """All runs that fail are judged and few others: what a judge passes is no accuracy."""
    judged = (
        'sum(increase(rightcall_evaluations_total{scorer="tool_choice", label="fail", service_version="1.5.0"}[5m]))'
    )
    wait_for(lambda: _value(prometheus, judged) > 0)
    found = query_counts(prometheus.url, "service.version", "1.5.0", "5m")
    assert {tested.scorer for tested in found} == {"trajectory"}
