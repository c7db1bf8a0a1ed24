"""The chart and the manifests, given to a real Kubernetes API server that enforces `restricted`.

Opt-in: see tests/deploy/kubernetes_server.py. No controller runs, so the pods are made here from the workloads' templates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.deploy.kubernetes_server import ApiServer
from tests.deploy.manifests import Manifest, manifests, one
from tests.deploy.programs import CHART, DEPLOY, program

CASES = sorted((CHART / "ci").glob("*-values.yaml"))
PLAIN = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("kubernetes")) as server:
        server.accept_any("monitoring.coreos.com", "ServiceMonitor/v1", "PrometheusRule/v1")
        server.accept_any("argoproj.io", "AnalysisTemplate/v1alpha1")
        server.accept_any("flagger.app", "MetricTemplate/v1beta1")
        # The one that a case names; every other name in the cases is looked up only when a pod runs.
        server.create({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "telemetry"}, "value": 1,
        })  # fmt: skip
        yield server


def pods(items: Sequence[Manifest]) -> list[Manifest]:
    """The pods that controllers would make of workloads."""
    found = []
    for item in items:
        if item["kind"] not in {"Deployment", "StatefulSet"}:
            continue
        template, claims = item["spec"]["template"], item["spec"].get("volumeClaimTemplates", [])
        volumes = [{"name": claim["metadata"]["name"], "emptyDir": {}} for claim in claims]
        spec = {**template["spec"], "volumes": [*template["spec"].get("volumes", []), *volumes]}
        metadata = {**template["metadata"], "name": f"{item['metadata']['name']}-0"}
        found.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name.removesuffix("-values.yaml"))
def test_the_chart_is_admitted_installed_and_upgraded(server: ApiServer, case: Path) -> None:
    helm, namespace = program("helm"), server.namespace(case.name.removesuffix("-values.yaml"))
    options: list[str | Path] = ["agents", CHART, "--namespace", namespace, "--values", case]
    items = manifests(server.run([helm, "template", *options, "--kube-version", "1.31.0"]))
    assert "Warning" not in server.dry_run(namespace, items)
    server.run([helm, "install", *options])
    # Also what the server itself made of it: fields that may never change are compared with that.
    server.run([helm, "upgrade", *options, "--set", "config.traces.settle=4s"])
    if made := pods(items):  # of the chart in mode: sidecar the agents' chart makes them
        assert "Warning" not in server.dry_run(namespace, made)


@pytest.mark.parametrize("file", PLAIN, ids=lambda path: path.stem)
def test_manifests_are_admitted(server: ApiServer, file: Path) -> None:
    namespace, items = server.namespace(f"plain-{file.stem}"), manifests(file.read_text("utf-8"))
    assert "Warning" not in server.dry_run(namespace, items)
    assert "Warning" not in server.dry_run(namespace, pods(items))


@pytest.mark.parametrize("file", sorted((DEPLOY / "progressive").glob("*.yaml")), ids=lambda path: path.stem)
def test_analyses_of_releases_are_admitted(server: ApiServer, file: Path) -> None:
    assert "Warning" not in server.dry_run("default", manifests(file.read_text("utf-8")))


def test_what_is_admitted_here_says_something(server: ApiServer) -> None:
    """The server refuses what the files could have got wrong: a pod as root, and a key that does not exist."""
    namespace = server.namespace("wrong")
    items = manifests((DEPLOY / "kubernetes" / "gateway.yaml").read_text("utf-8"))
    (pod,) = pods(items)
    pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    assert "violates PodSecurity" in server.dry_run(namespace, [pod], check=False)
    workload = one(items, "StatefulSet")
    workload["spec"]["replica"] = 1
    assert "field not declared" in server.dry_run(namespace, [workload], check=False)
