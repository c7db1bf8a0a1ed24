"""The chart under real Helm: what clusters, pipelines and habits of their owners ask of it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.manifests import assert_valid, containers, one, pod_specs, render
from tests.deploy.programs import CHART

INDENTED = "  # of the support team\nrules: []\n"


def test_rules_are_mounted_as_they_are_written(tmp_path: Path) -> None:
    rules = {"indented.yaml": INDENTED, "tab.yaml": "\t\nrules: []\n", "ends.yaml": "rules: []  \n\n", "empty.yaml": ""}
    (tmp_path / "values.yaml").write_text(yaml.safe_dump({"rules": rules}))
    assert one(render("--values", tmp_path / "values.yaml"), "ConfigMap", "agents-rightcall-rules")["data"] == rules


@pytest.mark.parametrize(
    "section",
    [
        "exporters.otlp",
        "judge",
        "receivers.kafka",
        "service.handover",
        "console.public_url",
        "receivers.otlp.protocols.http",
    ],
)
def test_a_section_that_an_overlay_takes_away_is_not_there(section: str) -> None:
    """As ``--values base.yaml --values production.yaml`` gives it to Helm: a null stays in `config`."""
    items = render("--set", f"config.{section}=null", "--set", "dashboards.enabled=true,prometheusRule.enabled=true")
    assert one(items, "Deployment")


def test_a_chart_that_was_packaged_with_build_metadata_installs(tmp_path: Path) -> None:
    shutil.copytree(CHART, tmp_path / "chart")
    about = tmp_path / "chart" / "Chart.yaml"
    about.write_text(re.sub(r"^((?:app)?[vV]ersion: \"?[\d.]+)", r"\1+build.7", about.read_text(), flags=re.MULTILINE))
    options = "--values", CHART / "ci" / "balanced-values.yaml"
    for item in render(*options, chart=tmp_path / "chart"):
        labels = item["metadata"]["labels"]
        assert labels["helm.sh/chart"] == "rightcall-0.1.0_build.7"
        assert all(re.fullmatch(r"[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?", value) for value in labels.values())


def test_names_are_looked_up_wherever_the_cluster_answers() -> None:
    """NodeLocal DNSCache, which some clusters bring along, listens on an address of the node: no selector of pods allows it."""
    egress = one(render("--values", CHART / "ci" / "balanced-values.yaml"), "NetworkPolicy", "agents-rightcall")[
        "spec"
    ]["egress"]
    (dns,) = [rule for rule in egress if 53 in [port["port"] for port in rule["ports"]]]
    assert "to" not in dns


def test_the_pod_of_helm_test_is_pulled_as_the_collector_is() -> None:
    items = render("--set", "image.pullPolicy=Never")
    for item in (one(items, "Deployment")["spec"]["template"], one(items, "Pod")):
        assert [container["imagePullPolicy"] for container in item["spec"]["containers"]] == ["Never"]


def test_a_sidecar_restarts_with_its_configuration_and_not_with_its_rules(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parent / "sidecar_app", tmp_path / "app")
    shutil.copytree(CHART, tmp_path / "app" / "charts" / "rightcall")

    def pods(setting: str) -> Any:
        return one(render("--set", f"rightcall.{setting}", chart=tmp_path / "app"), "Deployment")["spec"]["template"]

    before = pods("config.traces.settle=2s")
    assert pods("config.traces.settle=3s") != before
    assert pods(r"config.traces.settle=2s,rightcall.rules.refund\.yaml=rules: []") == before


@pytest.mark.parametrize("user", ["1000650000", "null"])
def test_a_cluster_may_choose_the_user_of_all_pods(user: str) -> None:
    """OpenShift admits no user but those of the namespace's range, and sets one where there is none."""
    items = render("--values", CHART / "ci" / "balanced-values.yaml", "--set", f"runAsUser={user}")
    assert_valid(items)
    expected = [int(user)] * 2 if user != "null" else [None] * 2
    for _, spec in pod_specs(items):
        assert spec["securityContext"].get("fsGroup") == expected[0]
        for context in (spec["securityContext"], *(container["securityContext"] for container in containers(spec))):
            assert [context.get("runAsUser"), context.get("runAsGroup")] == expected
            assert context["runAsNonRoot"] is True
