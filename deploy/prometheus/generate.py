"""Makes the Prometheus rules and Grafana-managed alerts on accuracy from objectives.yaml.

    python deploy/prometheus/generate.py [--objectives FILE] [--output FOLDER]

Writes ``prometheus/rules.yaml`` (recording rules), ``prometheus/accuracy.yaml`` (alerts) and
``grafana/provisioning/alerting/accuracy.yaml`` under FOLDER, by default deploy/ itself, and copies the rules into the chart.

The Wilson interval is that of E. B. Wilson (1927), written in counts: of n evaluations s passed, and with z the
confidence the upper bound of accuracy is (s + z²/2 + z √(s (n - s) / n + z²/4)) / (n + z²).
"""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
CHART_FILES = HERE.parent.parent / "helm" / "rightcall" / "files" / "prometheus"
HEADER = "# Made by deploy/prometheus/generate.py from objectives.yaml: change that, not this.\n"
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
LEVELS = {"route": "rule, route, intent, scorer", "rule": "rule, scorer"}
OBJECTIVE = "rule:rightcall_objective:ratio"
DROP = "route:rightcall_accuracy_drop:z"
PER_RULE = "on (rule, scorer) group_left ()"
Rule = dict[str, Any]


@dataclass(frozen=True)
class Objectives:
    """objectives.yaml; the keys are explained there."""

    objectives: list[dict[str, Any]]
    confidence: float
    min_evaluations: int
    accuracy: dict[str, Any]
    budget: dict[str, Any]
    last_week: dict[str, Any]
    runbook: str

    @property
    def ratios(self) -> list[float]:
        """The distinct objectives, highest first."""
        return sorted({entry["accuracy"] for entry in self.objectives if entry["accuracy"] is not None}, reverse=True)


@dataclass(frozen=True)
class Burn:
    """One error budget alert: it fires while accuracy over ``window`` is surely under ``target``."""

    share: float
    window: str
    factor: float
    target: float
    alert: dict[str, Any]


def seconds(duration: str) -> int:
    """A Prometheus duration of one unit, such as 90m."""
    match = re.fullmatch(r"([0-9]+)([smhdw])", duration)
    if not match:
        raise SystemExit(f"{duration!r} is not a number and one of s, m, h, d, w")
    return int(match[1]) * SECONDS[match[2]]


def load(path: Path) -> Objectives:
    """Read objectives.yaml; says what is wrong with it."""
    settings = Objectives(**yaml.safe_load(path.read_text("utf-8")))
    for entry in settings.objectives:
        if entry["accuracy"] is not None and not 0 < entry["accuracy"] < 1:
            raise SystemExit(f"{path}: accuracy {entry['accuracy']}: an objective is above 0 and under 1")
    return settings


def burns(objective: float, budget: dict[str, Any]) -> Iterator[Burn]:
    """The error budget alerts of one objective. Each can fire: its error ratio is at most ``max_error_ratio``."""
    period = seconds(budget["period"])
    for alert in budget["alerts"]:
        needed = alert["share"] * period * (1 - objective) / budget["max_error_ratio"]
        shortest = max(needed, seconds(alert["at_least"]))
        window = next((one for one in budget["windows"] if seconds(one) >= shortest), None)
        if window is None:
            raise SystemExit(
                f"no window in which {alert['share']:.0%} of the budget of {objective} can go; add a longer one"
            )
        factor = alert["share"] * period / seconds(window)
        if factor < 1:  # slower than the budget allows: it would speak while the objective is kept
            continue
        yield Burn(alert["share"], window, round(factor, 4), round(1 - factor * (1 - objective), 6), alert)


def recovery(window: str) -> str:
    """The window that ends an error budget alert: a twelfth, as is customary."""
    length = seconds(window) // 12
    unit = next(unit for unit in "hms" if length % SECONDS[unit] == 0)
    return f"{length // SECONDS[unit]}{unit}"


# ---- PromQL


def evaluations(level: str, window: str) -> str:
    """Evaluations that passed or failed; others say nothing about accuracy."""
    return f'sum by ({LEVELS[level]}) (increase(rightcall_evaluations_total{{label=~"pass|fail"}}[{window}]))'


def passes(level: str, window: str, of: str) -> str:
    """Those that passed; 0 where none ever did, for then there is no such series."""
    return f'sum by ({LEVELS[level]}) (increase(rightcall_evaluations_total{{label="pass"}}[{window}]))\nor\n{of} * 0'


def upper_bound(passed: str, of: str, z: float) -> str:
    """Upper bound of the Wilson interval."""
    half, quarter, square = (f"{z * z / part:.6g}" for part in (2, 4, 1))
    return f"({passed} + {half} + {z} * sqrt({passed} * ({of} - {passed}) / {of} + {quarter})) / ({of} + {square})"


def recorded(level: str, what: str, window: str) -> str:
    """The name of a recorded series."""
    names = {
        "evaluations": "rightcall_evaluations:increase",
        "passes": "rightcall_passes:increase",
        "accuracy": "rightcall_accuracy:ratio",
        "upper": "rightcall_accuracy_upper:ratio",
    }
    return f"{level}:{names[what]}{window}"


def below(level: str, window: str, back: str, target: str, least: int) -> str:
    """Accuracy is surely under ``target`` (PromQL), and no recovery is to be seen in the window ``back``."""
    return (
        f"{recorded(level, 'upper', window)} < {target}\n"
        f"and {recorded(level, 'evaluations', window)} >= {least}\n"
        f"unless ({recorded(level, 'accuracy', back)} >= {target} and {recorded(level, 'evaluations', back)} >= {least})"
    )


def drop_z(settings: Objectives) -> list[Rule]:
    """How surely accuracy fell against last week: the z statistic of two proportions, by their pooled accuracy."""
    over, offset = settings.last_week["over"], settings.last_week["offset"]
    n, s, now = (recorded("route", what, over) for what in ("evaluations", "passes", "accuracy"))
    pooled = f"route:rightcall_accuracy_pooled:ratio{over}"
    z = f"({now} offset {offset} - {now})\n/ sqrt({pooled} * (1 - {pooled}) * (1 / {n} + 1 / ({n} offset {offset})))"
    return [
        {"record": pooled, "expr": f"({s} + {s} offset {offset}) / ({n} + {n} offset {offset})"},
        {"record": DROP, "expr": z},
    ]


def objective_ratio(settings: Objectives) -> str:
    """The objective of every rule and scorer that was evaluated lately; the first entry that matches wins."""
    longest = max(settings.budget["windows"], key=seconds)
    base, parts = recorded("rule", "evaluations", longest), []
    for entry in settings.objectives:
        keys = ", ".join(f'{key}=~"{entry[key]}"' for key in ("rule", "scorer") if key in entry)
        value = "NaN" if entry["accuracy"] is None else entry["accuracy"]
        parts.append(f"{base}{{{keys}}} * 0 + {value}" if keys else f"{base} * 0 + {value}")
    return "\nor\n".join(parts)


# ---- files


def recording_rules(settings: Objectives) -> dict[str, Any]:
    """rules.yaml: counts, accuracy and its upper bound, per route and per rule, over every window an alert looks at."""
    accuracy = [one for pair in settings.accuracy["windows"] for one in (pair["over"], pair["recovery"])]
    chosen = [burn.window for ratio in settings.ratios for burn in burns(ratio, settings.budget)]
    longest = max(settings.budget["windows"], key=seconds)
    windows = {
        "route": {*accuracy, settings.last_week["over"]},
        "rule": {*chosen, *map(recovery, chosen), longest},
    }
    groups: list[dict[str, Any]] = []
    for level, wanted in windows.items():
        rules = [rule for window in sorted(wanted, key=seconds) for rule in _records(level, window, settings)]
        groups.append({"name": f"rightcall-{level}", "rules": rules})
    groups[0]["rules"] += drop_z(settings)
    groups[1]["rules"].append({"record": OBJECTIVE, "expr": objective_ratio(settings)})
    return {"groups": groups}


def _records(level: str, window: str, settings: Objectives) -> list[Rule]:
    counted, passed = recorded(level, "evaluations", window), recorded(level, "passes", window)
    return [
        {"record": counted, "expr": evaluations(level, window)},
        {"record": passed, "expr": passes(level, window, counted)},
        {"record": recorded(level, "accuracy", window), "expr": f"{passed} / {counted}"},
        {"record": recorded(level, "upper", window), "expr": upper_bound(passed, counted, settings.confidence)},
    ]


def alert_rules(settings: Objectives) -> dict[str, Any]:
    """accuracy.yaml: accuracy under its objective, budgets burning, drops since last week."""
    rules = [accuracy_low(settings), last_week(settings)]
    rules += [budget_burn(ratio, burn, settings) for ratio in settings.ratios for burn in burns(ratio, settings.budget)]
    return {"groups": [{"name": "rightcall-accuracy", "rules": rules}]}


def _alert(
    name: str, settings: Objectives, expr: str, severity: str, summary: str, description: str, **times: str
) -> Rule:
    return {
        "alert": name,
        "expr": expr,
        **times,
        "labels": {"severity": severity},
        "annotations": {
            "summary": summary,
            "description": description,
            "runbook_url": f"{settings.runbook}#{name.lower()}",
        },
    }


def accuracy_low(settings: Objectives) -> Rule:
    """Any window's upper bound is under the objective."""
    target = f"{PER_RULE} {OBJECTIVE}"
    parts = [
        f"({below('route', pair['over'], pair['recovery'], target, settings.min_evaluations)})"
        for pair in settings.accuracy["windows"]
    ]
    return _alert(
        "RightcallAccuracyLow",
        settings,
        "\nor\n".join(parts),
        "warning",
        "Tool calls of rule {{ $labels.rule }} are less accurate than promised",
        "Accuracy by {{ $labels.scorer }} on route '{{ $labels.route }}', intent '{{ $labels.intent }}' is at most "
        "{{ $value | humanizePercentage }} (upper Wilson bound), which is under the objective: not a matter of chance.",
        **{"for": settings.accuracy["for"], "keep_firing_for": settings.accuracy["keep_firing_for"]},
    )


def budget_burn(ratio: float, burn: Burn, settings: Objectives) -> Rule:
    """A share of one objective's error budget went within one window."""
    one = below("rule", burn.window, recovery(burn.window), f"{burn.target:g}", settings.min_evaluations)
    rule = _alert(
        "RightcallErrorBudgetBurn",
        settings,
        f"({one})\nand on (rule, scorer) {OBJECTIVE} == {ratio}",
        burn.alert["severity"],
        f"{burn.share:.0%} of the error budget of rule {{{{ $labels.rule }}}} went within {burn.window}",
        f"At this pace, {burn.factor:g} times what an objective of {ratio:.2%} allows, the budget of "
        f"{settings.budget['period']} ends early. Accuracy by {{{{ $labels.scorer }}}} over {burn.window} is at most "
        "{{ $value | humanizePercentage }} (upper Wilson bound).",
        **{"for": burn.alert["for"]},
    )
    rule["labels"] |= {"objective": f"{ratio}", "window": burn.window}
    return rule


def last_week(settings: Objectives) -> Rule:
    """Accuracy fell against the same hour last week, by a two-proportion z-test."""
    test, least = settings.last_week, settings.min_evaluations
    n, now = (recorded("route", what, test["over"]) for what in ("evaluations", "accuracy"))
    expr = (
        f"{now} offset {test['offset']} - {now} > {test['min_drop']}\n"
        f"and {DROP} > {test['confidence']}\n"
        f"and {n} >= {least}\nand {n} offset {test['offset']} >= {least}"
    )
    return _alert(
        "RightcallAccuracyDroppedSinceLastWeek",
        settings,
        expr,
        "warning",
        "Tool calls of rule {{ $labels.rule }} are less accurate than in the same hour last week",
        "Accuracy by {{ $labels.scorer }} on route '{{ $labels.route }}', intent '{{ $labels.intent }}' fell by "
        "{{ $value | humanizePercentage }} of all its evaluations, more than chance explains.",
        **{"for": test["for"]},
    )


def grafana_alerts(alerts: dict[str, Any]) -> dict[str, Any]:
    """The same alerts, managed by Grafana. They read the series recorded by Prometheus; a row of the query is an alert."""
    rules = [_grafana_rule(rule) for rule in alerts["groups"][0]["rules"]]
    group = {"orgId": 1, "name": "rightcall-accuracy", "folder": "Rightcall", "interval": "1m", "rules": rules}
    return {"apiVersion": 1, "groups": [group]}


def _grafana_rule(rule: Rule) -> Rule:
    labels = rule["labels"]
    name = "-".join(
        [rule["alert"], *(labels[key].replace(".", "") for key in ("objective", "window") if key in labels)]
    )
    query = {"refId": "A", "datasourceUid": "prometheus", "relativeTimeRange": {"from": 600, "to": 0}}
    query["model"] = {"refId": "A", "expr": rule["expr"], "instant": True}
    any_value = {"evaluator": {"type": "gt", "params": [-1]}}
    threshold = {"refId": "B", "type": "threshold", "expression": "A", "conditions": [any_value]}
    said = {key: text.replace("$value", "$values.A.Value") for key, text in rule["annotations"].items()}
    return {
        "uid": name[:40],  # the longest that Grafana takes
        "title": name,
        "condition": "B",
        "data": [query, {"refId": "B", "datasourceUid": "__expr__", "model": threshold}],
        "noDataState": "OK",  # no row: nothing is wrong
        "execErrState": "Error",
        "for": rule["for"],
        "labels": labels,
        "annotations": said,
    }


class _Dumper(yaml.SafeDumper):
    """Multi-line expressions as blocks, and no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


def write(settings: Objectives, output: Path) -> None:
    """Write the three files under ``output``."""
    alerts = alert_rules(settings)
    files = {
        "prometheus/rules.yaml": recording_rules(settings),
        "prometheus/accuracy.yaml": alerts,
        "grafana/provisioning/alerting/accuracy.yaml": grafana_alerts(alerts),
    }
    for name, data in files.items():
        path = output / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HEADER + yaml.dump(data, Dumper=_Dumper, sort_keys=False, width=120), "utf-8")


def main() -> None:
    """Parse the command line and write."""
    parser = argparse.ArgumentParser(description="Make the accuracy rules and alerts from objectives.yaml.")
    parser.add_argument("--objectives", type=Path, default=HERE / "objectives.yaml")
    parser.add_argument("--output", type=Path, default=HERE.parent)
    options = parser.parse_args()
    write(load(options.objectives), options.output)
    if options.output == HERE.parent:
        CHART_FILES.mkdir(parents=True, exist_ok=True)
        for name in ("rules.yaml", "accuracy.yaml", "health.yaml"):  # a chart reads only files of its own
            shutil.copy(HERE / name, CHART_FILES / name)


if __name__ == "__main__":
    main()
