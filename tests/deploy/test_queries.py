"""No alert, rule, dashboard or document names a metric or label that the collector does not export."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.deploy.programs import DEPLOY, ROOT, must_run, program
from tests.deploy.queries import (
    DASHBOARDS,
    SCRAPE_LABELS,
    exported,
    filled_in,
    grouped_labels,
    matched_labels,
    panel_expressions,
    recorded,
    rule_expressions,
    series_of,
)

EXPRESSIONS = [*rule_expressions(), *panel_expressions()]
EXPORTED, RECORDED = exported(), recorded()
RECORDED_LABELS = {"rule", "route", "intent", "scorer", "service_name", "service_version"}
DOCUMENTS = [ROOT / "README.md", *DEPLOY.rglob("*.md"), *(ROOT / "helm").rglob("*.md")]
# Kinds of families that documents name without the suffix of a series.
FAMILIES = {re.sub(r"_(total|bucket|sum|count)$", "", name) for name in EXPORTED}


@pytest.mark.parametrize(("name", "expression"), EXPRESSIONS, ids=[name for name, _ in EXPRESSIONS])
def test_only_series_that_exist_are_read(name: str, expression: str) -> None:
    assert series_of(expression)
    assert series_of(expression) <= EXPORTED.keys() | RECORDED
    for series, label in matched_labels(expression):
        assert label in EXPORTED.get(series, RECORDED_LABELS) | SCRAPE_LABELS, f"{series} has no label {label}"
    known = SCRAPE_LABELS.union(*(EXPORTED.get(series, RECORDED_LABELS) for series in series_of(expression)))
    assert grouped_labels(expression) <= known


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_documents_name_only_metrics_that_exist(path: Path) -> None:
    text = path.read_text("utf-8")
    named = set(re.findall(r"\brightcall_(?:[a-z]+_)*[a-z]+\b(?![/.*-])", text)) - {"rightcall_agents"}
    assert named <= EXPORTED.keys() | FAMILIES


def test_every_own_metric_is_on_a_dashboard() -> None:
    shown = {series for _, expression in panel_expressions() for series in series_of(expression)}
    families = {re.sub(r"_(total|bucket|sum|count)$", "", name) for name in shown}
    assert FAMILIES - families <= {"up", "ALERTS"}  # are not our own


def test_no_share_of_nothing_is_shown_as_0(tmp_path: Path) -> None:
    panels = [panel for path in DASHBOARDS for panel in json.loads(path.read_text("utf-8"))["panels"]]
    shown = {
        panel["title"]: panel["fieldConfig"]["defaults"]["noValue"]
        for panel in panels
        if any(" / " in target["expr"] or "ratio" in target["expr"] for target in panel["targets"])
    }
    assert {shown.pop(name) for name in ("Accuracy", "Accuracy over an hour", "Lowest accuracy", "Score")} == {
        "no runs"
    }
    assert set(shown.values()) <= {"no runs", "no data"}
    # Nor as NaN, which is what counters that are there but did not move would make it.
    counters = [f'rightcall_evaluations_total{{rule="r", scorer="s", label="{label}"}}' for label in ("pass", "fail")]
    accuracies = [query for name, query in panel_expressions() if name.endswith((": Accuracy", ": Lowest accuracy"))]
    test = {
        "interval": "5s",
        "input_series": [{"series": counter, "values": "0x120"} for counter in counters],
        "promql_expr_test": [{"expr": filled_in(query), "eval_time": "10m", "exp_samples": []} for query in accuracies],
    }
    (tmp_path / "test.yaml").write_text(yaml.safe_dump({"tests": [test]}))
    must_run([program("promtool"), "test", "rules", tmp_path / "test.yaml"])


def test_scores_of_one_are_shown_as_one(tmp_path: Path) -> None:
    """No percentile, which would be guessed to be 0.95 within the bucket from 0.9 to 1."""
    mean, share = (query for name, query in panel_expressions() if name.endswith(": Score"))
    labels = 'rule="r", route="", intent="", scorer="trajectory"'
    series = {f"count{{{labels}}}": "0+1x60", f"sum{{{labels}}}": "0+1x60", f'bucket{{{labels}, le="1.0"}}': "0+1x60"}
    series |= {f'bucket{{{labels}, le="{bound}"}}': "0x60" for bound in ("0.5", "0.9")}
    test = {
        "interval": "5s",
        "input_series": [
            {"series": f"rightcall_evaluation_score_{name}", "values": values} for name, values in series.items()
        ],
        "promql_expr_test": [
            {"expr": filled_in(mean), "eval_time": "4m", "exp_samples": [{"labels": '{rule="r"}', "value": 1}]},
            {
                "expr": filled_in(share),
                "eval_time": "4m",
                "exp_samples": [{"labels": f'{{rule="r", le="{bound}"}}', "value": 0} for bound in ("0.5", "0.9")],
            },
        ],
    }
    (tmp_path / "test.yaml").write_text(yaml.safe_dump({"tests": [test]}))
    must_run([program("promtool"), "test", "rules", tmp_path / "test.yaml"])
