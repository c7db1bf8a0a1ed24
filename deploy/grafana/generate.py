"""Generates the Grafana dashboards from the tables below, with grafana-foundation-sdk.

    python deploy/grafana/generate.py [--output FOLDER]

Writes ``tool-call-accuracy.json`` and ``collector-health.json``, by default into deploy/grafana/dashboards and the chart.
The table of wrong runs reads evaluation events from Loki; its links, and those of series, lead to the console.
Accuracy over hours uses the series recorded by deploy/prometheus/rules.yaml, all_option else the metrics of /metrics.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grafana_foundation_sdk.builders import dashboard, heatmap, loki, prometheus, stat, table, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DataSourceRef,
    DataTransformerConfig,
    DynamicConfigValue,
    VariableOption,
    VariableRefresh,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

HERE = Path(__file__).resolve().parent
CHART_FILES = HERE.parent.parent / "helm" / "rightcall" / "files" / "dashboards"
DATASOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
LOGS = DataSourceRef(type_val="loki", uid="${logs}")
WIDTH, HEIGHT = 24, 8

CONSOLE = "http://127.0.0.1:13133"
"""Where the console is unless `admin.endpoint` says otherwise; the chart puts `console.public_url` here."""
RUNS = (
    "${console}/console/runs?label=wrong&rule=${__field.labels.rule:percentencode}"
    "&since=${__from:date:seconds}&until=${__to:date:seconds}"
)
WRONG = '{service_name=~".+"} | gen_ai_evaluation_score_label=~"fail|error" | rightcall_rule=~"$rule"'
SHOWN = {
    "rightcall.run.url": "Run", "gen_ai.agent.name": "Agent", "rightcall.rule": "Rule", "rightcall.route": "Route",
    "gen_ai.evaluation.score.value": "Score", "gen_ai.evaluation.explanation": "Why",
}  # fmt: skip
"""Attributes of the events that are columns of the table. Loki replaces the dots in their names."""

SELECTED = 'rule=~"$rule", route=~"$route", intent=~"$intent", scorer=~"$scorer"'
LOW = ', le=~"0.5|0.9"'
COLLECTOR = 'job=~"$job", instance=~"$instance"'
QUEUED = f"rightcall_exporter_queue_size{{{COLLECTOR}}} / rightcall_exporter_queue_capacity{{{COLLECTOR}}}"
QUEUED_BYTES = f"rightcall_exporter_queue_bytes{{{COLLECTOR}}} / rightcall_exporter_queue_capacity_bytes{{{COLLECTOR}}}"
COUNTED = f'rightcall_evaluations_total{{{SELECTED}, label=~"pass|fail"}}'
PASSED = f'rightcall_evaluations_total{{{SELECTED}, label="pass"}}'
VERSION = 'service_version!="", service_version=~"$service_version"'
NEW_VERSION = (
    'count by (service_version) (rightcall_evaluations_total{service_version!=""}) unless on (service_version)'
    ' count by (service_version) (rightcall_evaluations_total{service_version!=""} offset 10m)'
)
ROUTE = "rule, route, intent, scorer"
AGREEMENT = 'rightcall_judge_agreement_total{rule=~"$rule", scorer=~"$scorer"'
# A share or a score of nothing is not 0.
NO_RUNS, NO_DATA = "no runs", "no data"
OBJECTIVE = 'rule:rightcall_objective:ratio{rule=~"$rule", scorer=~"$scorer"}'


@dataclass(frozen=True)
class Query:
    """One query of a panel; with ``exemplars``, Grafana also shows the exemplars of its samples."""

    expression: str
    legend: str = ""
    exemplars: bool = False


@dataclass(frozen=True)
class Panel:
    """One panel; ``width`` is in columns of 24, ``maximum`` is the upper end of the axis, ``empty`` is shown without data."""

    title: str
    description: str
    queries: Sequence[Query]
    kind: str = "timeseries"
    unit: str = "short"
    width: int = 12
    maximum: float | None = None
    leads_to_runs: bool = False
    empty: str = "0"


def rate(metric: str, by: str, matchers: str = COLLECTOR) -> str:
    """The rate per second, summed by these labels."""
    return f"sum by ({by}) (rate({metric}{{{matchers}}}[$__rate_interval]))"


def usage_panel(title: str, size: str, capacity: str, description: str) -> Panel:
    """A panel of the share of a capacity that is in use."""
    query = Query(f"{size}{{{COLLECTOR}}} / {capacity}{{{COLLECTOR}}}", "{{instance}}")
    return Panel(title, description, [query], unit="percentunit", width=8, maximum=1, empty=NO_DATA)


def counter_panel(metric: str, by: str, unit: str, title: str, description: str) -> Panel:
    """A panel of the rate of one counter, by its labels."""
    legend = " ".join(f"{{{{{label.strip()}}}}}" for label in by.split(","))
    return Panel(title, description, [Query(rate(metric, by), legend)], unit=unit, width=8)


ACCURACY: Sequence[Panel] = (
    Panel(
        "Accuracy",
        "Share of counted evaluations that passed in the selected time range. Only the labels pass and fail count.",
        [
            Query(
                f"(sum(increase({PASSED}[$__range])) or sum(increase({COUNTED}[$__range])) * 0)"
                f" / (sum(increase({COUNTED}[$__range])) > 0)"
            )
        ],
        kind="stat",
        unit="percentunit",
        width=6,
        empty=NO_RUNS,
    ),
    Panel(
        "Evaluations",
        "Evaluations labelled pass or fail.",
        [Query(f"sum(increase({COUNTED}[$__range]))")],
        kind="stat",
        width=6,
    ),
    Panel(
        "Agent runs",
        "All assembled runs, scored or not.",
        [Query("sum(increase(rightcall_runs_total[$__range]))")],
        kind="stat",
        width=6,
    ),
    Panel(
        "Runs without a verdict",
        "Accuracy does not include these runs.",
        [Query("sum(increase(rightcall_runs_unscored_total[$__range]))")],
        kind="stat",
        width=6,
    ),
    Panel(
        "Accuracy over an hour",
        "By rule, route and intent, with the objective. Noisy with few runs: see the upper bound beside it.",
        [
            Query(f"route:rightcall_accuracy:ratio1h{{{SELECTED}}}", "{{rule}} {{route}} {{intent}} {{scorer}}"),
            Query(OBJECTIVE, "objective of {{rule}} {{scorer}}"),
        ],
        unit="percentunit",
        maximum=1,
        leads_to_runs=True,
        empty=NO_RUNS,
    ),
    Panel(
        "Upper bound of accuracy",
        "Upper bound of the Wilson interval over six hours: below the objective, chance does not explain the difference.",
        [
            Query(f"route:rightcall_accuracy_upper:ratio6h{{{SELECTED}}}", "{{rule}} {{route}} {{intent}} {{scorer}}"),
            Query(OBJECTIVE, "objective of {{rule}} {{scorer}}"),
        ],
        unit="percentunit",
        maximum=1,
        leads_to_runs=True,
        empty=NO_RUNS,
    ),
    Panel(
        "Accuracy by version",
        "Over an hour. Needs exporters.prometheus.dimensions: [service.version]. A line marks a new version.",
        [
            Query(
                f"(sum by (rule, service_version) (increase({PASSED[:-1]}, {VERSION}}}[1h]))"
                f" or sum by (rule, service_version) (increase({COUNTED[:-1]}, {VERSION}}}[1h])) * 0)"
                f" / sum by (rule, service_version) (increase({COUNTED[:-1]}, {VERSION}}}[1h]))",
                "{{rule}} {{service_version}}",
            )
        ],
        unit="percentunit",
        maximum=1,
        empty=NO_RUNS,
    ),
    Panel(
        "Evaluations by version",
        "Which versions the traffic goes to.",
        [
            Query(
                rate("rightcall_evaluations_total", "service_version", f"{SELECTED}, {VERSION}"), "{{service_version}}"
            )
        ],
        unit="cps",
    ),
    Panel(
        "Evaluations by label",
        "Dots are exemplars: each links to the trace of one run.",
        [Query(rate("rightcall_evaluations_total", "label", SELECTED), "{{label}}", exemplars=True)],
        unit="cps",
    ),
    Panel(
        "Score",
        "Mean, and the share of runs up to 0.5 and to 0.9. No percentiles: within a bucket they would be guessed.",
        [
            Query(
                f"{rate('rightcall_evaluation_score_sum', 'rule', SELECTED)}"
                f" / {rate('rightcall_evaluation_score_count', 'rule', SELECTED)}",
                "mean {{rule}}",
            ),
            Query(
                f"{rate('rightcall_evaluation_score_bucket', 'rule, le', SELECTED + LOW)}"
                f" / on (rule) group_left () {rate('rightcall_evaluation_score_count', 'rule', SELECTED)}",
                "up to {{le}} {{rule}}",
            ),
        ],
        maximum=1,
        empty=NO_RUNS,
    ),
    Panel(
        "Distribution of scores",
        "Number of evaluations by score.",
        [Query(f"sum by (le) (increase(rightcall_evaluation_score_bucket{{{SELECTED}}}[$__rate_interval]))", "{{le}}")],
        kind="heatmap",
    ),
    Panel(
        "Lowest accuracy",
        "The ten lowest in the selected time range.",
        [
            Query(
                f"bottomk(10, (sum by ({ROUTE}) (increase({PASSED}[$__range]))"
                f" or sum by ({ROUTE}) (increase({COUNTED}[$__range])) * 0)"
                f" / (sum by ({ROUTE}) (increase({COUNTED}[$__range])) > 0))"
            )
        ],
        kind="table",
        unit="percentunit",
        empty=NO_RUNS,
    ),
    Panel(
        "Tool calls by outcome",
        "Tool calls of scored runs.",
        [Query(rate("rightcall_tool_calls_total", "outcome", 'rule=~"$rule"'), "{{outcome}}")],
        unit="cps",
    ),
    Panel(
        "Wrong calls",
        "The ten most frequent in the selected time range, by tool and outcome.",
        [
            Query(
                'topk(10, sum by (rule, tool, outcome) (increase(rightcall_tool_calls_total{rule=~"$rule",'
                ' outcome!~"matched|unscored"}[$__range])))'
            )
        ],
        kind="table",
    ),
    Panel(
        "Runs by release reason",
        "Why a run was released for scoring.",
        [Query("sum by (release) (rate(rightcall_runs_total[$__rate_interval]))", "{{release}}")],
        unit="cps",
    ),
    Panel(
        "Runs by service",
        "The ten with most in the selected time range. RightcallRunsStopped fires where they end at a busy hour.",
        [
            Query(
                "sum by (service_name) (rate(rightcall_service_runs_total[$__rate_interval]))"
                " and topk(10, sum by (service_name) (increase(rightcall_service_runs_total[$__range] @ end())))",
                "{{service_name}}",
            )
        ],
        unit="cps",
    ),
    Panel(
        "Runs without a verdict, by reason",
        "no_rule: none matches. error: a scorer failed. Others: the doubt that leaves the run undecided.",
        [Query("sum by (reason) (rate(rightcall_runs_unscored_total[$__rate_interval]))", "{{reason}}")],
        unit="cps",
    ),
    Panel(
        "Runs without a verdict, by route and agent",
        "Whose runs they are.",
        [
            Query(
                "topk(10, sum by (route, agent) (rate(rightcall_runs_unscored_total[$__rate_interval])))",
                "{{route}} {{agent}}",
            )
        ],
        unit="cps",
    ),
    Panel(
        "Paths that changed",
        "Routes and agents whose runs take other paths than in the same hours of the weeks before, or than by the version "
        "before, beyond chance.",
        [Query("max by (route, agent, baseline) (rightcall_path_drift)", "{{route}} {{agent}}, {{baseline}}")],
        maximum=1,
    ),
    Panel(
        "Evidence of other paths",
        "The logarithm of the e-value over all collectors, by the window of the test: from about 10 to 15 on, chance does "
        "not explain it.",
        [Query("sum by (route, agent, window) (rightcall_path_drift_evidence)", "{{route}} {{agent}}, {{window}}")],
    ),
    Panel(
        "What changed most in them",
        "The share of runs of which a fact is true, now and before.",
        [Query("max by (route, agent, baseline, fact, period) (rightcall_path_share_ratio)")],
        kind="table",
        unit="percentunit",
        empty=NO_DATA,
    ),
    Panel(
        "Runs with arguments that were not captured",
        "Their rule constrains arguments, and matched by the tool's name alone: wrong arguments would pass.",
        [Query("sum by (rule) (rate(rightcall_unobserved_arguments_total[$__rate_interval]))", "{{rule}}")],
        unit="cps",
    ),
    Panel(
        "Calls of tools that were never offered",
        "No tool definition of their run names them. Counted where a rule has schema: declared.",
        [Query("sum by (tool) (rate(rightcall_unoffered_tool_calls_total[$__rate_interval]))", "{{tool}}")],
        unit="cps",
    ),
    Panel(
        "Judge agreement with the rules",
        "Of the runs that the rules pass, and of those they fail: the share that the judge labels the same.",
        [
            Query(
                f'sum by (rule, scorer) (increase({AGREEMENT}, deterministic="{label}", judge="{label}"}}[$__range]))'
                f' / sum by (rule, scorer) (increase({AGREEMENT}, deterministic="{label}"}}[$__range]))',
                f"{{{{rule}}}} {{{{scorer}}}}: {label}",
            )
            for label in ("pass", "fail")
        ],
        unit="percentunit",
        maximum=1,
        empty=NO_RUNS,
    ),
    Panel(
        "Intents",
        "Runs whose intent was searched in the user's words, by what matched; none where nothing did.",
        [Query("sum by (by) (rate(rightcall_intents_total[$__rate_interval]))", "{{by}}")],
        unit="cps",
    ),
)

HEALTH: Sequence[Panel] = (
    counter_panel(
        "rightcall_receiver_accepted_spans_total", "transport", "cps", "Accepted spans", "Accepted from senders."
    ),
    counter_panel(
        "rightcall_receiver_refused_spans_total", "reason", "cps", "Refused requests", "By reason. Requests, not spans."
    ),
    Panel(
        "Sent spans and log records",
        "Delivered to the backend. Evaluation events are log records.",
        [
            Query(rate("rightcall_exporter_sent_spans_total", "exporter"), "spans {{exporter}}"),
            Query(rate("rightcall_exporter_sent_log_records_total", "exporter"), "log records {{exporter}}"),
        ],
        unit="cps",
        width=8,
    ),
    counter_panel(
        "rightcall_exporter_send_failed_spans_total",
        "exporter",
        "cps",
        "Failed spans",
        "Spans rejected by the backend, or not delivered after all retries.",
    ),
    Panel(
        "Lost log records and metric points",
        "Not delivered. Evaluation events are log records: send logs to a backend that takes them, or set them to off.",
        [
            Query(rate("rightcall_exporter_send_failed_log_records_total", "exporter"), "log records {{exporter}}"),
            Query(rate("rightcall_exporter_send_failed_metric_points_total", "exporter"), "metric points {{exporter}}"),
        ],
        unit="cps",
        width=8,
    ),
    counter_panel(
        "rightcall_dropped_spans_total",
        "stage, reason",
        "cps",
        "Dropped spans",
        "Duplicates are dropped on purpose, and what moved is read again.",
    ),
    counter_panel(
        "rightcall_late_spans_total", "instance", "cps", "Late spans", "Arrived after the verdict of their trace."
    ),
    counter_panel(
        "rightcall_verdict_revisions_total",
        "before, after",
        "cps",
        "Revised verdicts",
        "By label before and after. Frequent revisions of a fail: increase traces.confirm.",
    ),
    Panel(
        "Spans not sent yet",
        "Held for a verdict, queued for the backend, and resumed from the spool at start.",
        [
            Query(f"rightcall_held_spans{{{COLLECTOR}}}", "held {{instance}}"),
            Query(f"rightcall_exporter_queue_spans{{{COLLECTOR}}}", "queued {{exporter}} {{instance}}"),
            Query(f"rightcall_resumed_spans_total{{{COLLECTOR}}}", "resumed {{instance}}"),
        ],
        width=8,
    ),
    Panel(
        "Requests of log records not sent yet",
        "Evaluation events are log records. A backend that takes none of them fills the queue of its spans, too.",
        [Query(f"rightcall_exporter_queue_log_requests{{{COLLECTOR}}}", "{{exporter}} {{instance}}")],
        width=8,
    ),
    Panel(
        "Sending queue",
        "Share in use, of requests or, with spool: memory, of bytes, whichever is larger; at 1 senders are told to slow down.",
        [Query(f"{QUEUED} > {QUEUED_BYTES} or {QUEUED_BYTES} or {QUEUED}", "{{exporter}} {{instance}}")],
        unit="percentunit",
        width=8,
        maximum=1,
        empty=NO_DATA,
    ),
    usage_panel(
        "Spool",
        "rightcall_spool_bytes",
        "rightcall_spool_capacity_bytes",
        "Share in use; at 1 senders are told to slow down. Empty with spool: memory.",
    ),
    counter_panel(
        "rightcall_runs_not_stored_total", "reason", "cps", "Runs not stored", "Missing in the console, by reason."
    ),
    counter_panel("rightcall_spool_failures_total", "instance", "cps", "Spool failures", "Writes that failed."),
    Panel(
        "Open traces",
        "Traces being assembled.",
        [Query(f"rightcall_traces_open{{{COLLECTOR}}}", "{{instance}}")],
        width=8,
    ),
    Panel(
        "Open conversations",
        "Conversations whose runs are being collected. 0 if no rule has the scope conversation.",
        [Query(f"rightcall_conversations_open{{{COLLECTOR}}}", "{{instance}}")],
        width=8,
    ),
    counter_panel(
        "rightcall_conversations_total",
        "release",
        "cps",
        "Scored conversations",
        "By release reason; evicted ones are incomplete.",
    ),
    Panel(
        "Time to reconstruct and score a trace",
        "Median and 99th percentile.",
        [
            Query(f"histogram_quantile({quantile}, {rate('rightcall_scoring_seconds_bucket', 'le')})", name)
            for quantile, name in ((0.5, "p50"), (0.99, "p99"))
        ],
        unit="s",
        width=8,
        empty=NO_DATA,
    ),
    counter_panel(
        "rightcall_unread_spans_total",
        "scope",
        "cps",
        "Unread spans",
        "Look like an agent's, but no dialect reads them.",
    ),
    counter_panel(
        "rightcall_unread_runs_total",
        "scope",
        "cps",
        "Unread runs",
        "Nothing that was recorded tells what they called.",
    ),
    counter_panel(
        "rightcall_shape_spans_total",
        "scope",
        "cps",
        "Spans read by shape",
        "Of no known dialect; see collector/dialects/README.md.",
    ),
    counter_panel(
        "rightcall_label_overflow_total", "label", "cps", "Label overflow", "Samples counted under __other__."
    ),
    Panel(
        "Kafka lag",
        "Messages not taken, and those taken that are read again after a crash: of traces that are not finished.",
        [
            Query(f"sum(rightcall_kafka_unread_messages{{{COLLECTOR}}})", "unread"),
            Query(f"sum(rightcall_kafka_uncommitted_messages{{{COLLECTOR}}})", "uncommitted"),
        ],
    ),
    counter_panel(
        "rightcall_kafka_deleted_messages_total",
        "instance",
        "cps",
        "Kafka: deleted messages",
        "Deleted by the topic before they were read; runs under way then are incomplete.",
    ),
    counter_panel(
        "rightcall_kafka_moved_traces_total",
        "instance",
        "cps",
        "Kafka: moved traces",
        "Open traces that another consumer reads again, after a rebalance.",
    ),
    counter_panel(
        "rightcall_handed_over_traces_total",
        "instance",
        "cps",
        "Traces handed over",
        "Open traces of an instance that stopped, which another goes on with.",
    ),
    counter_panel(
        "rightcall_accept_failures_total", "listener", "cps", "Refused connections", "No file descriptors were left."
    ),
    Panel(
        "Certificates",
        "Share of the time left for which the certificate of a listener, or the authority of its clients, is valid. Once one is"
        " over, no sender can connect.",
        [
            Query(
                f"(rightcall_certificate_not_after_timestamp_seconds{{{COLLECTOR}}} - time())"
                f" / (rightcall_certificate_not_after_timestamp_seconds{{{COLLECTOR}}}"
                f" - rightcall_certificate_not_before_timestamp_seconds{{{COLLECTOR}}})",
                "{{instance}} {{listener}} {{certificate}}",
            )
        ],
        unit="percentunit",
        width=8,
        maximum=1,
        empty=NO_DATA,
    ),
    Panel(
        "Refused rules",
        "1 while the rule files in place are refused and the old rules stay in force. Beside it, failed reloads in the selected"
        " time range.",
        [
            Query(f"max by (instance) (rightcall_rules_refused{{{COLLECTOR}}})", "{{instance}}"),
            Query(
                f"sum by (instance) (increase(rightcall_rules_reload_failures_total{{{COLLECTOR}}}[$__range]))",
                "{{instance}} failed reloads",
            ),
        ],
        width=8,
    ),
    counter_panel("rightcall_judge_requests_total", "outcome", "cps", "Judge requests", "Every attempt, by outcome."),
    counter_panel(
        "rightcall_judge_tokens_total", "rule", "cps", "Judge tokens", "Of questions and answers, per second, by rule."
    ),
    counter_panel(
        "rightcall_judge_skipped_total",
        "rule, reason",
        "cps",
        "Skipped judgements",
        "Judgements due but not made, by reason.",
    ),
    counter_panel(
        "rightcall_judge_cache_hits_total", "rule", "cps", "Judge cache hits", "Answers taken from the cache."
    ),
    Panel(
        "Judge request time",
        "Median and 95th percentile.",
        [
            Query(f"histogram_quantile({quantile}, {rate('rightcall_judge_request_seconds_bucket', 'le')})", name)
            for quantile, name in ((0.5, "p50"), (0.95, "p95"))
        ],
        unit="s",
        width=8,
        empty=NO_DATA,
    ),
    usage_panel(
        "Judge queue",
        "rightcall_judge_queue_size",
        "rightcall_judge_queue_capacity",
        "Share in use; at 1 further judgements are skipped.",
    ),
    Panel(
        "Judge circuit",
        "1 for the current state; while it is open, no requests are made.",
        [Query(f"max by (instance, state) (rightcall_judge_circuit{{{COLLECTOR}}})", "{{instance}} {{state}}")],
        width=8,
        maximum=1,
    ),
    Panel(
        "Rules in force",
        "More than one digest per file means that replicas disagree.",
        [Query(f"count by (file, digest) (rightcall_rules_info{{{COLLECTOR}}})")],
        kind="table",
        width=8,
    ),
    Panel(
        "Objectives of rules",
        "The `objective` of each rule that has one.",
        [Query(f"max by (rule, scorer) (rightcall_rule_objective_ratio{{{COLLECTOR}}})")],
        kind="table",
        unit="percentunit",
        width=8,
        empty=NO_DATA,
    ),
    counter_panel(
        "process_cpu_seconds_total",
        "instance",
        "percentunit",
        "CPU",
        "Cores in use; one process uses little more than one.",
    ),
    Panel(
        "Memory",
        "Resident memory.",
        [Query(f"process_resident_memory_bytes{{{COLLECTOR}}}", "{{instance}}")],
        unit="bytes",
        width=8,
        empty=NO_DATA,
    ),
    Panel(
        "Open files",
        "Open file descriptors, sockets included.",
        [Query(f"process_open_fds{{{COLLECTOR}}}", "{{instance}}")],
        width=8,
        empty=NO_DATA,
    ),
)

KINDS: Mapping[str, Callable[[], Any]] = {
    "timeseries": timeseries.Panel,
    "stat": stat.Panel,
    "heatmap": heatmap.Panel,
    "table": table.Panel,
}


def build_panel(panel: Panel) -> Any:
    """Returns the panel as a builder of the SDK."""
    built = KINDS[panel.kind]().title(panel.title).description(panel.description).unit(panel.unit)
    built = built.datasource(DATASOURCE).span(panel.width).height(HEIGHT if panel.kind != "stat" else HEIGHT // 2)
    built = built.min(0).no_value(panel.empty)
    if panel.leads_to_runs:
        built = built.data_links([dashboard.DashboardLink("Wrong runs in the console").url(RUNS).target_blank(True)])
    if panel.maximum is not None:
        built = built.max(panel.maximum)
    for index, query in enumerate(panel.queries):
        target = prometheus.Dataquery().expr(query.expression).ref_id("ABCDEF"[index]).legend_format(query.legend)
        if panel.kind in {"stat", "table"}:
            target = target.instant()
        if panel.kind == "table":
            target = target.format(PromQueryFormat.TABLE)
        if panel.kind == "heatmap":
            target = target.format(PromQueryFormat.HEATMAP)
        built = built.with_target(target.exemplar(True) if query.exemplars else target)
    return built


def wrong_runs(number: int) -> Any:
    """Returns the table of recent wrong runs, from the events on them."""
    query = loki.Dataquery().expr(WRONG).ref_id("A").max_lines(100).query_type("range").datasource(LOGS)
    shown = {"Time": "Time", **{name.replace(".", "_"): title for name, title in SHOWN.items()}}
    order = {"indexByName": {name: place for place, name in enumerate(shown)}, "renameByName": shown}
    built = (
        table.Panel()
        .title("Recent wrong runs")
        .id(number)
        .datasource(LOGS)
        .span(WIDTH)
        .height(HEIGHT)
        .with_target(query)
    )
    built = built.description(
        "Events on runs that failed, from Loki: logs have to be exported to it. Links need `console.public_url`."
    )
    for transformation in (
        DataTransformerConfig("extractFields", options={"source": "labels", "format": "json", "keepTime": True}),
        DataTransformerConfig("filterFieldsByName", options={"include": {"names": list(shown)}}),
        DataTransformerConfig("organize", options=order),
    ):
        built = built.with_transformation(transformation)
    link = {"title": "Show the run in the console", "url": "${__value.raw}", "targetBlank": True}
    return built.override_by_name("Run", [DynamicConfigValue("links", [link])])


def variable(name: str, metric: str) -> dashboard.QueryVariable:
    """A variable with the values of a label; "All" also matches series where the label is empty."""
    all_option = VariableOption(selected=True, text="All", value="$__all")
    query = dashboard.QueryVariable(name).query(f"label_values({metric}, {name})").datasource(DATASOURCE)
    query = query.refresh(VariableRefresh.ON_TIME_RANGE_CHANGED).multi(True).include_all(True)
    return query.all_value(".*").current(all_option)


def new_versions() -> dict[str, Any]:
    """A line at the first evaluation of each version; the SDK has no annotations of Prometheus."""
    return {
        "name": "New versions",
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "enable": True,
        "iconColor": "blue",
        "expr": NEW_VERSION,
        "step": "60s",
        "titleFormat": "version {{service_version}}",
        "textFormat": "first evaluations",
    }


def build(
    title: str,
    uid: str,
    panels: Sequence[Panel],
    variables: Sequence[dashboard.QueryVariable],
    annotations: Sequence[dict[str, Any]] = (),
) -> str:
    """Returns one dashboard as JSON."""
    built = (
        dashboard.Dashboard(title).uid(uid).tags(["rightcall"]).refresh("30s").time("now-6h", "now").timezone("browser")
    )
    built = built.readonly().tooltip(DashboardCursorSync.CROSSHAIR)
    built = built.with_variable(dashboard.DatasourceVariable("datasource").type("prometheus"))
    for item in variables:
        built = built.with_variable(item)
    for number, panel in enumerate(panels, 1):
        built = built.with_panel(build_panel(panel).id(number))
    if any(panel.leads_to_runs for panel in panels):
        console = dashboard.TextBoxVariable("console").label("Console").default_value(CONSOLE)
        built = built.with_variable(console).with_variable(
            dashboard.DatasourceVariable("logs").type("loki").label("Logs")
        )
        built = built.with_panel(wrong_runs(len(panels) + 1))
        built = built.link(dashboard.DashboardLink("Console").type("link").url("${console}/console").target_blank(True))
    plain = json.loads(JSONEncoder().encode(built.build()))
    plain["annotations"] = {"list": annotations}
    return json.dumps(_without_nulls(plain), indent=2, sort_keys=True) + "\n"


def _without_nulls(data: Any) -> Any:
    """Grafana uses defaults for absent keys, not for null."""
    if isinstance(data, dict):
        return {key: _without_nulls(value) for key, value in data.items() if value is not None}
    return [_without_nulls(item) for item in data] if isinstance(data, list) else data


def main() -> None:
    """Parse the command line and write."""
    parser = argparse.ArgumentParser(description="Generate the Grafana dashboards.")
    parser.add_argument("--output", type=Path, default=HERE / "dashboards")
    output = parser.parse_args().output
    labels = [variable(name, "rightcall_evaluations_total") for name in (*ROUTE.split(", "), "service_version")]
    collectors = [variable(name, "rightcall_traces_open") for name in ("job", "instance")]
    files = {
        "tool-call-accuracy.json": build(
            "Rightcall: tool-call accuracy", "rightcall-accuracy", ACCURACY, labels, [new_versions()]
        ),
        "collector-health.json": build("Rightcall: collector health", "rightcall-health", HEALTH, collectors),
    }
    output.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (output / name).write_text(text, "utf-8")
        if output == HERE / "dashboards":
            CHART_FILES.mkdir(parents=True, exist_ok=True)
            shutil.copy(output / name, CHART_FILES / name)


if __name__ == "__main__":
    main()
