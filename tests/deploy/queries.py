"""Every PromQL expression we ship, and the metrics and labels in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import yaml
from prometheus_client import Counter, Histogram

from collector.telemetry.metrics import Telemetry
from tests.deploy.programs import DEPLOY

RULE_FILES = [DEPLOY / "prometheus" / name for name in ("rules.yaml", "accuracy.yaml", "health.yaml")]
DASHBOARDS = sorted((DEPLOY / "grafana" / "dashboards").glob("*.json"))
# Of the Prometheus client, of Prometheus itself, and labels that Prometheus puts on what it scrapes.
FOREIGN = ("up", "process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds")
SCRAPE_LABELS = {"job", "instance", "namespace", "service", "__name__"}
VARIABLES = {"__rate_interval": "15s", "__range": "5m", "__interval": "5s"}
NAME = re.compile(r"\b(?:rightcall|process)_\w+|(?<![\w:])(?:route|rule|service_name|version):[\w:]+")


def exported() -> dict[str, set[str]]:
    """Name of every series on /metrics -> its labels."""
    series: dict[str, set[str]] = {name: set() for name in FOREIGN}
    series["ALERTS"] = {"alertname", "alertstate"}
    for name, kind, labels, _ in Telemetry(dimensions=["service.version"]).table:
        full = f"rightcall_{name}"
        if issubclass(kind, Counter):
            series[f"{full}_total"] = set(labels)
        elif issubclass(kind, Histogram):
            series |= {f"{full}_bucket": {*labels, "le"}, f"{full}_sum": set(labels), f"{full}_count": set(labels)}
        else:
            series[full] = set(labels)
    return series


def recorded() -> set[str]:
    """Names of recorded series."""
    groups = [group for path in RULE_FILES for group in yaml.safe_load(path.read_text("utf-8"))["groups"]]
    return {rule["record"] for group in groups for rule in group["rules"] if "record" in rule}


def rule_expressions() -> Iterator[tuple[str, str]]:
    """(name, expression) of every rule and alert."""
    for path in RULE_FILES:
        for group in yaml.safe_load(path.read_text("utf-8"))["groups"]:
            for rule in group["rules"]:
                yield rule.get("record") or rule["alert"], rule["expr"]


def panel_expressions() -> Iterator[tuple[str, str]]:
    """(dashboard: panel, expression) of every query, its variables still in it."""
    for path in DASHBOARDS:
        dashboard = json.loads(path.read_text("utf-8"))
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                if panel["datasource"]["type"] == "prometheus":
                    yield f"{path.stem}: {panel['title']}", target["expr"]
        for annotation in dashboard["annotations"]["list"]:
            yield f"{path.stem}: {annotation['name']}", annotation["expr"]


def filled_in(expression: str) -> str:
    """A panel's expression as Grafana sends it, with "all" chosen everywhere."""
    for name, value in VARIABLES.items():
        expression = expression.replace(f"${name}", value)
    return re.sub(r"\$\w+", ".*", expression)


def series_of(expression: str) -> set[str]:
    """Names of the series an expression reads."""
    return set(NAME.findall(expression)) | ({"up"} if re.search(r"\bup\{", expression) else set())


def matched_labels(expression: str) -> Iterator[tuple[str, str]]:
    """(series, label) for every label an expression matches on."""
    for name, matchers in re.findall(r"([\w:]+)\{([^}]*)\}", expression):
        for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"", matchers):
            yield name, label


def grouped_labels(expression: str) -> set[str]:
    """Labels an expression groups or joins by."""
    lists = re.findall(r"\b(?:by|on|ignoring|group_left|without)\s*\(([^)]*)\)", expression)
    return {label.strip() for found in lists for label in found.split(",") if label.strip()}
