"""The ways of three who are new here: an agent in Python or TypeScript to a green and a red gate, Helm values to an alert."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests import otlp_data as data
from tests.collector_process import CollectorProcess, send
from tests.deploy.manifests import manifests, one
from tests.deploy.programs import CHART, DEPLOY, must_run, program
from tests.deploy.prometheus_server import PrometheusServer
from tests.sinks import OtlpSink
from tests.waiting import PATIENCE, wait_for

HERE = Path(__file__).parent
TYPESCRIPT = HERE / "typescript"


def to_the_gate(folder: Path, *agent: str) -> list[str]:
    """What the way prints; the exit code of the last command is the test's failure."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "TMPDIR": str(folder),
    }
    command = [str(HERE / "to_the_gate.sh"), *agent]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rightcall score: not met: accuracy 0.400 is under 0.9 (--min-accuracy)" in done.stderr
    return done.stdout.splitlines()


def assert_was_told_why(said: list[str]) -> None:
    assert "5 runs, 5 pass, 0 fail, mean score 1.000, accuracy 1.000" in said
    assert any(line.startswith("3 fail by shop: missing check_policy") for line in said)
    assert any(line.split()[:2] == ["-", "check_policy"] for line in said)


def test_a_python_agent_to_a_green_and_a_red_gate(tmp_path: Path) -> None:
    assert_was_told_why(to_the_gate(tmp_path, sys.executable, str(HERE / "agent.py")))


@pytest.mark.skipif(
    not (TYPESCRIPT / "node_modules").is_dir(), reason="npm ci --prefix tests/newcomers/typescript installs the SDK"
)
def test_a_typescript_agent_to_a_green_and_a_red_gate(tmp_path: Path) -> None:
    tsx = TYPESCRIPT / "node_modules" / ".bin" / "tsx"
    assert_was_told_why(to_the_gate(tmp_path, str(tsx), str(TYPESCRIPT / "agent.ts")))


def run_agent(collector: CollectorProcess, number: int, *tools: str) -> None:
    trace = bytes([number]) * 16
    calls = [data.tool(at + 2, 1, name, at * 0.1, trace) for at, name in enumerate(tools)]
    send(collector, data.agent(1, name="shop", trace_id=trace), *calls)


def test_helm_values_to_a_firing_alert(tmp_path: Path) -> None:
    helm, values = program("helm"), HERE / "monitoring.yaml"
    program("prometheus")
    must_run([helm, "lint", CHART, "--values", values])
    items = manifests(must_run([helm, "template", "shop", CHART, "--values", values, "--kube-version", "1.31.0"]))
    config = yaml.safe_load(one(items, "ConfigMap", "shop-rightcall-config")["data"]["config.yaml"])
    rules = one(items, "ConfigMap", "shop-rightcall-rules")["data"]["shop.yaml"]
    alerts = tmp_path / "alerts.yaml"
    alerts.write_text(yaml.safe_dump(one(items, "PrometheusRule")["spec"]))
    with OtlpSink(signals=["traces"]) as tempo:
        exporter = {**config["exporters"]["otlp"], "endpoint": tempo.endpoint}
        with (
            CollectorProcess(rules, exporter, traces=config["traces"]) as collector,
            PrometheusServer(
                tmp_path, {"shop-rightcall": f"127.0.0.1:{collector.metrics_port}"}, [alerts]
            ) as prometheus,
        ):
            forbidden = 'rightcall_tool_calls_total{outcome="forbidden"}'
            wait_for(lambda: prometheus.query("up == 1"))
            run_agent(collector, 1, "lookup_order", "refund_card")
            wait_for(lambda: prometheus.query('rightcall_evaluations_total{label="pass"} == 1'))
            assert prometheus.alerts("RightcallForbiddenToolCalled", alerts) == []
            run_agent(collector, 2, "lookup_order", "delete_order")
            wait_for(lambda: prometheus.query(forbidden))
            run_agent(collector, 3, "lookup_order", "delete_order")
            wait_for(
                lambda: prometheus.alerts("RightcallForbiddenToolCalled", alerts, tool="delete_order") == ["firing"]
            )
    assert "RightcallForbiddenToolCalled" in (DEPLOY / "runbook.md").read_text("utf-8")
