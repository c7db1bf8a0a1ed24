"""The rules and alerts, as promtool sees them, and that none is left untested, unexplained or unable to fire."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.programs import CHART, DEPLOY, ROOT, must_run, must_run_python, program, run, same_files

PROMETHEUS = DEPLOY / "prometheus"
GENERATE = PROMETHEUS / "generate.py"
RULES = [PROMETHEUS / name for name in ("rules.yaml", "accuracy.yaml", "health.yaml")]
TESTS = sorted((PROMETHEUS / "tests").glob("*.yaml"))


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def rules_of(path: Path) -> list[dict[str, Any]]:
    return [rule for group in load(path)["groups"] for rule in group["rules"]]


ALERTS = [rule for path in RULES for rule in rules_of(path) if "alert" in rule]


def test_generated_files_are_up_to_date(tmp_path: Path) -> None:
    must_run_python(GENERATE, "--output", tmp_path)
    same_files(tmp_path, DEPLOY, "run: python deploy/prometheus/generate.py")
    for path in RULES:
        copy = CHART / "files" / "prometheus" / path.name
        assert copy.read_text("utf-8") == path.read_text("utf-8"), "run: python deploy/prometheus/generate.py"


def test_promtool_accepts_the_rules() -> None:
    must_run([program("promtool"), "check", "rules", *RULES])


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_promtool_runs_the_alert_tests(path: Path) -> None:
    must_run([program("promtool"), "test", "rules", path])


def test_every_alert_has_a_firing_and_a_silent_test() -> None:
    checks = [check for path in TESTS for test in load(path)["tests"] for check in test["alert_rule_test"]]
    firing = {check["alertname"] for check in checks if check["exp_alerts"]}
    silent = {check["alertname"] for check in checks if not check["exp_alerts"]}
    alerts = {alert["alert"] for alert in ALERTS}
    assert firing == alerts
    assert silent == alerts


def test_every_error_budget_alert_fires_in_a_test() -> None:
    """Each objective has factors of its own, so each alert has to be seen firing."""
    fired = {
        (alert["exp_labels"]["objective"], alert["exp_labels"]["window"])
        for path in TESTS
        for test in load(path)["tests"]
        for check in test["alert_rule_test"]
        for alert in check["exp_alerts"]
        if check["alertname"] == "RightcallErrorBudgetBurn"
    }
    labels = [alert["labels"] for alert in ALERTS if alert["alert"] == "RightcallErrorBudgetBurn"]
    assert fired == {(one["objective"], one["window"]) for one in labels if one["severity"] == "critical"} | {
        ("0.95", "3d")
    }


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: str(alert["alert"]))
def test_alerts_say_what_to_do(alert: dict[str, Any]) -> None:
    runbook = (DEPLOY / "runbook.md").read_text("utf-8")
    assert alert["labels"]["severity"] in {"critical", "warning", "info"}
    assert set(alert["annotations"]) == {"summary", "description", "runbook_url"}
    url, anchor = alert["annotations"]["runbook_url"].split("#")
    assert url == "https://example.com/rightcall/runbook.md"
    assert anchor == alert["alert"].lower()
    assert f"\n## {alert['alert']}\n" in runbook


def test_alerts_lead_to_the_runs_of_their_rule_where_the_console_has_an_address(tmp_path: Path) -> None:
    settings = load(PROMETHEUS / "objectives.yaml") | {"console": "https://rightcall.example/"}
    (tmp_path / "objectives.yaml").write_text(yaml.safe_dump(settings))
    must_run_python(GENERATE, "--objectives", tmp_path / "objectives.yaml", "--output", tmp_path)
    (link,) = {alert["annotations"]["console_url"] for alert in rules_of(tmp_path / "prometheus" / "accuracy.yaml")}
    # As Prometheus fills it in: a rule may have any name, and an alert on the whole collector has none.
    found = {}
    for name, shown in (("refund & more", "/runs?label=wrong&rule=refund+%26+more"), ("", "")):
        alert = {"alert": "Low", "expr": "accuracy < 1", "annotations": {"console_url": link}}
        (tmp_path / "low.yaml").write_text(yaml.safe_dump({"groups": [{"name": "low", "rules": [alert]}]}))
        fired = {
            "exp_labels": {"rule": name} if name else {},
            "exp_annotations": {"console_url": f"https://rightcall.example/console{shown}"},
        }
        test = {
            "input_series": [{"series": f'accuracy{{rule="{name}"}}', "values": "0"}],
            "alert_rule_test": [{"eval_time": "0m", "alertname": "Low", "exp_alerts": [fired]}],
        }
        (tmp_path / "test.yaml").write_text(yaml.safe_dump({"rule_files": ["low.yaml"], "tests": [test]}))
        found[name] = run([program("promtool"), "test", "rules", tmp_path / "test.yaml"]).returncode
    assert set(found.values()) == {0}, found


def test_the_runbook_explains_no_alert_that_does_not_exist() -> None:
    sections = re.findall(r"^## (Rightcall\w+)$", (DEPLOY / "runbook.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(sections) == sorted({alert["alert"] for alert in ALERTS})


@pytest.mark.parametrize(("passed", "total"), [(20, 20), (19, 20), (10, 20), (0, 20), (850, 1000)])
def test_the_upper_bound_is_wilsons(passed: int, total: int, tmp_path: Path) -> None:
    """Against the textbook form, in proportions; the rule is written in counts."""
    z, p = 2.58, passed / total
    centre, spread = p + z * z / (2 * total), z * math.sqrt(p * (1 - p) / total + z * z / (4 * total * total))
    expected = (centre + spread) / (1 + z * z / total)
    rule = next(rule for rule in rules_of(RULES[0]) if rule["record"] == "route:rightcall_accuracy_upper:ratio1h")
    test = {
        "interval": "1m",
        "input_series": [
            {"series": "route:rightcall_passes:increase1h", "values": f"{passed}"},
            {"series": "route:rightcall_evaluations:increase1h", "values": f"{total}"},
        ],
        "promql_expr_test": [
            {
                "expr": f"abs({rule['expr']} - {expected!r}) < bool 1e-6",  # constants have six digits
                "eval_time": "0m",
                "exp_samples": [{"labels": "{}", "value": 1}],
            }
        ],
    }
    path = tmp_path / "wilson.yaml"
    path.write_text(yaml.safe_dump({"rule_files": [], "evaluation_interval": "1m", "tests": [test]}))
    must_run([program("promtool"), "test", "rules", path])


@pytest.mark.parametrize("objective", [0.5, 0.8, 0.9, 0.93, 0.95, 0.99, 0.995, 0.999])
def test_every_burn_alert_of_any_objective_can_fire(objective: float, tmp_path: Path) -> None:
    settings = load(PROMETHEUS / "objectives.yaml") | {"objectives": [{"accuracy": objective}]}
    (tmp_path / "objectives.yaml").write_text(yaml.safe_dump(settings))
    must_run_python(GENERATE, "--objectives", tmp_path / "objectives.yaml", "--output", tmp_path)
    alerts = [rule for rule in rules_of(tmp_path / "prometheus" / "accuracy.yaml") if "objective" in rule["labels"]]
    targets = [float(found) for alert in alerts for found in re.findall(r"ratio\w+ < ([0-9.]+)", alert["expr"])]
    assert 1 <= len(targets) <= 3
    assert all(0.5 - 1e-9 <= target <= objective for target in targets)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"objectives": [{"accuracy": 1.0}]}, "below 1"),
        ({"objectives": [{"accuracy": 0.1}]}, "add a longer one"),
        ({"accuracy": {"for": "5m", "keep_firing_for": "1h", "windows": [{"over": "1y", "recovery": "1h"}]}}, "1y"),
    ],
)
def test_impossible_objectives_are_refused(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    settings = load(PROMETHEUS / "objectives.yaml")
    settings |= change
    if words == "add a longer one":
        settings["budget"] |= {"windows": ["1h", "6h", "3d"], "max_error_ratio": 0.05}
    (tmp_path / "objectives.yaml").write_text(yaml.safe_dump(settings))
    done = run([sys.executable, GENERATE, "--objectives", tmp_path / "objectives.yaml", "--output", tmp_path])
    assert done.returncode == 1
    assert words in done.stderr
    assert ROOT.name not in done.stdout
