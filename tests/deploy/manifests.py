"""Kubernetes manifests: parsed, and validated against the schemas of Kubernetes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from collector.config.loading import load_config
from collector.config.model import Config
from collector.config.yaml_documents import rule_paths
from collector.scoring.rule_files import check_rules
from tests.deploy.programs import CHART, must_run, program

Manifest = dict[str, Any]
OPERATOR_KINDS = {"ServiceMonitor", "PrometheusRule"}  # of the Prometheus operator, not of Kubernetes
VERSIONS = ("1.29", "1.31", "1.33", "1.35", "1.37")
KUBE = ("--kube-version", "1.31.0")


def manifests(text: str) -> list[Manifest]:
    """The documents of a YAML text."""
    return [document for document in yaml.safe_load_all(text) if document]


def render(*options: str | Path, chart: Path = CHART) -> list[Manifest]:
    """What Helm makes of a chart."""
    command = [program("helm"), "template", "agents", chart, "--namespace", "telemetry", *KUBE, *options]
    return manifests(must_run(command))


def one(items: list[Manifest], kind: str, name: str | None = None) -> Manifest:
    """The only manifest of a kind, or the one with that name."""
    (found,) = [item for item in items if item["kind"] == kind and name in (None, item["metadata"]["name"])]
    return found


def assert_valid(items: list[Manifest]) -> None:
    """Against the schemas of several Kubernetes versions, strictly; skips where they are not installed."""
    validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    for item in items:
        if item["kind"] in OPERATOR_KINDS:
            assert item["apiVersion"] == "monitoring.coreos.com/v1"
            continue
        for version in VERSIONS:
            validate.validate(item, version, strict=True)


def pod_specs(items: list[Manifest]) -> Iterator[tuple[Manifest, Manifest]]:
    """(pod metadata, pod spec) of every workload."""
    for item in items:
        if item["kind"] == "Pod":
            yield item["metadata"], item["spec"]
        elif item["kind"] in {"Deployment", "StatefulSet"}:
            yield item["spec"]["template"]["metadata"], item["spec"]["template"]["spec"]


def containers(spec: Manifest) -> list[Manifest]:
    """All containers of a pod, sidecars first."""
    return [*spec.get("initContainers", []), *spec["containers"]]


def assert_restricted(items: list[Manifest], images: str = "") -> None:
    """The pod security standard "restricted", and a read-only root; only of containers whose image contains ``images``."""
    for _, spec in pod_specs(items):
        for container in containers(spec):
            if images not in container["image"]:
                continue
            context = container["securityContext"]
            assert context["runAsNonRoot"] is True
            assert context["runAsUser"] > 0
            assert context["allowPrivilegeEscalation"] is False
            assert context["readOnlyRootFilesystem"] is True
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert context["seccompProfile"] == {"type": "RuntimeDefault"}
            assert "limits" in container["resources"]
            if container["name"] == "rightcall":
                assert "/tmp" in [mount["mountPath"] for mount in container["volumeMounts"]], "with a read-only root"


def assert_admitted(items: list[Manifest]) -> None:
    """The least that "restricted" asks of every container, also of the examples in our files."""
    for _, spec in pod_specs(items):
        for container in containers(spec):
            context = container.get("securityContext", {})
            assert context.get("runAsNonRoot") is True, container["name"]
            assert context.get("allowPrivilegeEscalation") is False, container["name"]
            assert context.get("capabilities", {}).get("drop") == ["ALL"], container["name"]
            assert context.get("seccompProfile"), container["name"]


def assert_wired(items: list[Manifest]) -> None:
    """Selectors select something, ports and volumes have names that exist."""
    pods = list(pod_specs(items))
    for item in items:
        if item["kind"] in {"Deployment", "StatefulSet"}:
            labels = item["spec"]["template"]["metadata"]["labels"]
            assert item["spec"]["selector"]["matchLabels"].items() <= labels.items()
        if item["kind"] == "Service":
            (spec,) = [
                spec for metadata, spec in pods if item["spec"]["selector"].items() <= metadata["labels"].items()
            ]
            ports = {port["name"] for container in containers(spec) for port in container.get("ports", [])}
            assert {port["targetPort"] for port in item["spec"]["ports"]} <= ports
    claims = {
        claim["metadata"]["name"]
        for item in items
        if item["kind"] == "StatefulSet"
        for claim in item["spec"].get("volumeClaimTemplates", [])
    }
    maps = {item["metadata"]["name"] for item in items if item["kind"] == "ConfigMap"}
    for _, spec in pods:
        volumes = {volume["name"]: volume for volume in spec.get("volumes", [])}
        for container in containers(spec):
            assert {mount["name"] for mount in container.get("volumeMounts", [])} <= volumes.keys() | claims
        named = {volume["configMap"]["name"] for volume in volumes.values() if "configMap" in volume}
        assert named <= maps | {"agent-rules"}  # the one that a case brings along


def collector_config(
    items: list[Manifest], folder: Any, monkeypatch: pytest.MonkeyPatch, name: str = "config"
) -> Config:
    """The configuration in the ConfigMap, as the collector loads it, with its rules beside it; their tests are run."""
    (text,) = [
        item["data"]["config.yaml"]
        for item in items
        if item["kind"] == "ConfigMap" and item["metadata"]["name"].endswith(name)
    ]
    for secret in ("RIGHTCALL_HEADER_0", "RIGHTCALL_TOKEN", "RIGHTCALL_JUDGE_API_KEY", "KAFKA_PASSWORD"):
        monkeypatch.setenv(secret, "Bearer x")
    (folder / "rules").mkdir()
    for item in items:
        if item["kind"] == "ConfigMap" and item["metadata"]["name"].endswith("rules"):
            for file, rules in item["data"].items():
                (folder / "rules" / file).write_text(rules)
    for name in re.findall(r"/etc/rightcall/rules/([\w.-]+)", text):
        if not (file := folder / "rules" / name).exists():  # in a ConfigMap that the case brings along
            file.write_text(f"rules: [{{name: {name}, match: {{agent: {name}}}}}]")
    (folder / "config.yaml").write_text(text.replace("/etc/rightcall/rules", str(folder / "rules")))
    config = load_config(folder / "config.yaml")
    assert check_rules(rule_paths(config.rules))[1]
    return config
