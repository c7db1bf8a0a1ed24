"""Agents get worse and better again under a real Prometheus: the alert pends, fires and ends. Intervals are short.

Everything is what operators get: the generator (with windows of seconds), the example rules, the agents of the compose
file, the dashboards. Beside the agents, a few odd requests give every metric of the dashboards something to count.
"""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml

from tests import otlp_data as data
from tests.collector_process import CollectorProcess
from tests.deploy.programs import DEPLOY, must_run, must_run_python, program, run
from tests.deploy.prometheus_server import PrometheusServer
from tests.deploy.queries import RULE_FILES, filled_in, panel_expressions, rule_expressions
from tests.judge_server import JudgeServer, says
from tests.sinks import OtlpSink
from tests.waiting import PATIENCE, wait_for

CONVERSATIONS = {"name": "talks", "match": {"agent": "talker"}, "scope": "conversation", "expect": {"max_calls": 99}}
JUDGED = {
    "name": "judged",
    "match": {"route": "/judged"},
    "expect": {"sequence": [{"tool": "search", "arguments": {"query": "Rome"}}]},  # which nobody captures
    "scorers": ["trajectory", {"system": "mastra_llm", "sample_rate": 1}],
}
RULES = yaml.safe_load((DEPLOY / "config" / "rules.yaml").read_text("utf-8"))
CONTRACTS = {
    "name": "contracts", "match": {"route": "/unknown"}, "shadow": True, "schema": "declared", "objective": 0.9
}  # fmt: skip
RULES = yaml.safe_dump(RULES | {"rules": [JUDGED, *RULES["rules"], CONVERSATIONS, CONTRACTS]})
OBJECTIVES = {
    "objectives": [{"rule": "refund", "accuracy": 0.95}, {"accuracy": 0.9}],
    "accuracy": {"for": "3s", "keep_firing_for": "1s", "windows": [{"over": "12s", "recovery": "4s"}]},
    "budget": {
        "period": "600s",
        "max_error_ratio": 0.5,
        "windows": ["12s", "24s", "60s"],
        "alerts": [{"share": 0.02, "at_least": "12s", "for": "0s", "severity": "critical"}],
    },
    "last_week": {"over": "12s", "offset": "1w", "confidence": 3.5, "min_drop": 0.05, "for": "0s"},
    "version": {"label": "service_version", "over": "12s", "confidence": 3.5, "min_drop": 0.05, "for": "0s"},
}


class Agents:
    """The simulated agents of deploy/agents.py in a process of their own."""

    def __init__(self, port: int, wrong: float) -> None:
        options = ["--endpoint", f"127.0.0.1:{port}", "--runs", "25", "--wrong", str(wrong)]
        self._process = subprocess.Popen([sys.executable, str(DEPLOY / "agents.py"), *options])

    def __enter__(self) -> Agents:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


def gives_up(context: grpc.ServicerContext) -> bytes:
    return bytes(context.abort(grpc.StatusCode.INVALID_ARGUMENT, "not today"))


@pytest.fixture(scope="module")
def sink() -> Iterator[OtlpSink]:
    with OtlpSink([gives_up]) as sink:
        yield sink


@pytest.fixture(scope="module")
def collector(sink: OtlpSink) -> Iterator[CollectorProcess]:
    exporter = {"endpoint": sink.endpoint, "tls": {"insecure": True}}
    traces = {"settle": "300ms", "confirm": "600ms", "idle_timeout": "2s"}
    sections = {"conversations": {"idle_timeout": "1s"}, "spool": {"path": "spool", "max_size_mib": 16}}
    with JudgeServer(lambda _: says('{"evaluations": []}')) as server:
        judge = {"endpoint": server.endpoint, "model": "small"}
        sections["prometheus"] = {"dimensions": ["service.version"]}
        with CollectorProcess(RULES, exporter, traces=traces, judge=judge, **sections) as process:
            yield process


@pytest.fixture(scope="module")
def accelerated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rules and alerts with windows of seconds, by the same generator."""
    program("prometheus")
    folder = tmp_path_factory.mktemp("rules")
    settings = yaml.safe_load((DEPLOY / "prometheus" / "objectives.yaml").read_text("utf-8")) | OBJECTIVES
    (folder / "objectives.yaml").write_text(yaml.safe_dump(settings))
    generate = DEPLOY / "prometheus" / "generate.py"
    must_run_python(generate, "--objectives", folder / "objectives.yaml", "--output", folder)
    return folder / "prometheus"


@pytest.fixture(scope="module")
def prometheus(
    collector: CollectorProcess, accelerated: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PrometheusServer]:
    targets = {"rightcall": f"127.0.0.1:{collector.metrics_port}"}
    rules = [accelerated / "rules.yaml", accelerated / "accuracy.yaml", *RULE_FILES]
    with PrometheusServer(tmp_path_factory.mktemp("prometheus"), targets, rules) as server:
        yield server


def post(collector: CollectorProcess, body: bytes) -> None:
    headers = {"content-type": "application/x-protobuf", "content-encoding": "gzip"}
    url = f"http://127.0.0.1:{collector.http}/v1/traces"
    with urllib.request.urlopen(urllib.request.Request(url, gzip.compress(body), headers), timeout=PATIENCE):
        pass


def odd_traffic(collector: CollectorProcess, number: int) -> None:
    """What makes the rarer metrics move: no rule, twice, late, unreadable, unknown, refused, too many labels, wrong rules."""
    trace = bytes([number]) * 16
    words = '[{"role": "user", "parts": [{"type": "text", "content": "I want my money back"}]}]'
    asked: dict[str, Any] = {"gen_ai__input__messages": words, "gen_ai__tool__definitions": '[{"name": "find"}]'}
    request = data.traces(
        data.tool(2, 1, "search", trace_id=trace),
        data.agent(1, trace_id=trace, rightcall__route="/unknown", **asked),
    ).SerializeToString()
    series = 'rightcall_runs_unscored_total{agent="helper",reason="no_rule",route="/unknown"}'
    scored = collector.metric(series)
    post(collector, request)
    post(collector, request)
    wait_for(lambda: collector.metric(series) > scored)
    talk = data.agent(1, name="talker", trace_id=bytes([number, 8] * 8), gen_ai__conversation__id=f"c-{number}")
    post(collector, data.traces(talk).SerializeToString())
    post(collector, data.traces(data.tool(3, 1, "search", trace_id=trace)).SerializeToString())
    judged_traffic(collector, number)
    unread = data.span(9, 1, trace_id=trace, gen_ai__odd="?")
    by_shape = data.span(10, 1, "tool:search", trace_id=trace, step__tool__name="search", step__tool__input="{}")
    post(collector, data.traces(unread, by_shape, scope="new-sdk").SerializeToString())
    labelled = [
        data.agent(index + 1, trace_id=bytes([number, index]) * 8, rightcall__route=f"/{index}")
        for index in range(3, 253)
    ]
    post(collector, data.traces(*labelled).SerializeToString())
    with pytest.raises(urllib.error.HTTPError):
        post(collector, b"no protobuf")
    failures = collector.metric("rightcall_rules_reload_failures_total")
    collector.rules.write_text(f"rules: {number}")
    wait_for(lambda: collector.metric("rightcall_rules_reload_failures_total") > failures)
    collector.rules.write_text(RULES)


def judged_traffic(collector: CollectorProcess, number: int) -> None:
    """Runs that pass and fail their rule, are judged, from the cache too, and one that is revised and judged no more."""
    for index, (tool, label) in enumerate((("search", "pass"), ("delete", "fail")), 1):
        compared = f'{{deterministic="{label}",judge="pass",rule="judged",scorer="mastra_llm"}}'
        for again in (0, 1):
            trace = bytes([again, index, number, 9] * 4)
            before = collector.metric(f"rightcall_judge_agreement_total{compared}")
            spans = data.tool(2, 1, tool, trace_id=trace), data.agent(1, trace_id=trace, rightcall__route="/judged")
            post(collector, data.traces(*spans).SerializeToString())
            wait_for(lambda b=before, c=compared: collector.metric(f"rightcall_judge_agreement_total{c}") > b)
        post(collector, data.traces(data.tool(4, 1, "find", trace_id=trace)).SerializeToString())
    assert collector.metric('rightcall_judge_cache_hits_total{rule="judged"}') > 0


def test_the_alert_follows_quality(
    collector: CollectorProcess, prometheus: PrometheusServer, accelerated: Path, sink: OtlpSink
) -> None:
    alerts = accelerated / "accuracy.yaml"
    counted = 'sum(rightcall_evaluations_total{label=~"pass|fail"})'

    def states(name: str = "RightcallAccuracyLow") -> list[str]:
        return prometheus.alerts(name, alerts, rule="booking", scorer="trajectory")

    def evaluations() -> float:
        rows = prometheus.query(counted)
        return float(rows[0]["value"][1]) if rows else 0.0

    with Agents(collector.grpc, wrong=0.0):
        wait_for(lambda: evaluations() > 250)
        assert states() == []
    with Agents(collector.grpc, wrong=0.8):
        wait_for(lambda: states() == ["pending"])
        wait_for(lambda: states() == ["firing"])
        wait_for(lambda: states("RightcallErrorBudgetBurn") == ["firing"])
        wait_for(lambda: prometheus.query('ALERTS{alertname="RightcallForbiddenToolCalled"}'))
    with Agents(collector.grpc, wrong=0.0):
        wait_for(lambda: states() == [])
        wait_for(lambda: states("RightcallErrorBudgetBurn") == [])

    traces = prometheus.exemplar_traces("rightcall_evaluations_total")
    assert traces
    wait_for(lambda: traces <= {span.trace_id.hex() for span in sink.spans()})
    assert prometheus.exemplar_traces("rightcall_evaluation_score_bucket")


def test_every_query_returns_data(collector: CollectorProcess, prometheus: PrometheusServer) -> None:
    """After the agents, so that there is history; a counter needs two scrapes to have a rate."""
    with Agents(collector.grpc, wrong=0.5):
        for number in (1, 2):
            odd_traffic(collector, number)
            scrape = prometheus.query("timestamp(up)")[0]["value"][1]
            wait_for(lambda before=scrape: prometheus.query("timestamp(up)")[0]["value"][1] > before)
        # No topic is read here: tests/test_kafka.py sees those metrics move. Drift takes weeks. No listener has a certificate.
        absent = re.compile(r"rightcall_kafka_|rightcall_certificate_|rightcall_path_(share_ratio|drift_evidence)")
        queries = [(name, query) for name, query in panel_expressions() if not absent.search(query)]

        def unanswered() -> list[str]:
            return [name for name, expression in queries if not prometheus.query(filled_in(expression))]

        try:
            wait_for(lambda: not unanswered())
        except TimeoutError:
            pytest.fail(f"no data: {unanswered()}")
    for _, expression in rule_expressions():
        prometheus.query(expression)  # fails where Prometheus does not understand it


def test_promtool_accepts_the_metrics(collector: CollectorProcess, tmp_path: Path) -> None:
    """The plain format: promtool 2.42 does not read OpenMetrics with exemplars."""
    (tmp_path / "metrics").write_text(collector.get("/metrics"))
    done = run(["sh", "-c", f"{program('promtool')} check metrics < {tmp_path / 'metrics'}"])
    assert "error" not in (done.stdout + done.stderr).lower(), done.stderr
    assert must_run([program("promtool"), "--version"])
