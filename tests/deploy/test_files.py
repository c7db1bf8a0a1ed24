"""The files of deploy/ that no other test loads: image, compose file, manifests, neighbours' and Grafana's settings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import yaml

from collector import __version__
from collector.config.loading import load_config
from collector.config.yaml_documents import rule_paths
from collector.console.request import filter_of
from collector.model import semconv
from collector.scoring.rule_files import check_rules
from tests.deploy.manifests import (
    assert_admitted,
    assert_restricted,
    assert_valid,
    assert_wired,
    collector_config,
    manifests,
    one,
)
from tests.deploy.programs import CHART, DEPLOY, must_run, must_run_python, program, same_files

CONFIGURATIONS = [DEPLOY / "config" / "gateway.yaml", DEPLOY / "config" / "sidecar.yaml"]
NEIGHBOURS = sorted((DEPLOY / "opentelemetry-collector").glob("*.yaml"))
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
PORTS = {"4317", "4318", "9464", "13133"}


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


@pytest.mark.parametrize("path", sorted(DEPLOY.rglob("*.yaml")), ids=lambda path: str(path.relative_to(DEPLOY)))
def test_every_yaml_loads(path: Path) -> None:
    assert list(yaml.safe_load_all(path.read_text("utf-8")))


@pytest.mark.parametrize("path", CONFIGURATIONS, ids=lambda path: path.stem)
def test_configurations_load_and_their_rules_pass(path: Path) -> None:
    said, passed = check_rules(rule_paths(load_config(path).rules))
    assert passed, said


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_manifests_are_valid_restricted_and_wired(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = manifests(path.read_text("utf-8"))
    assert_valid(items)
    assert_restricted(items, images="rightcall")
    assert_admitted(items)
    assert_wired(items)
    assert collector_config(items, tmp_path, monkeypatch).rules
    assert "tests" in yaml.safe_load(one(items, "ConfigMap", _rules_name(items))["data"]["rules.yaml"])


def _rules_name(items: list[Any]) -> str:
    return next(str(item["metadata"]["name"]) for item in items if item["metadata"]["name"].endswith("-rules"))


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_manifests_hold_the_files_beside_them(path: Path) -> None:
    items = manifests(path.read_text("utf-8"))
    rules = one(items, "ConfigMap", _rules_name(items))["data"]["rules.yaml"]
    assert rules == (DEPLOY / "config" / "rules.yaml").read_text("utf-8")
    (held,) = [item["data"]["config.yaml"] for item in items if "config.yaml" in item.get("data", {})]
    beside = load(DEPLOY / "config" / path.name) | {"rules": ["/etc/rightcall/rules/rules.yaml"]}
    assert yaml.safe_load(held) == beside


def test_the_sidecar_is_a_native_one() -> None:
    items = manifests((DEPLOY / "kubernetes" / "sidecar.yaml").read_text("utf-8"))
    (sidecar,) = one(items, "Deployment")["spec"]["template"]["spec"]["initContainers"]
    assert sidecar["restartPolicy"] == "Always"


@pytest.mark.parametrize("path", NEIGHBOURS, ids=lambda path: path.stem)
def test_pipelines_of_neighbours_use_what_is_declared(path: Path) -> None:
    """The OpenTelemetry Collector refuses to start otherwise; it also refuses what is declared and never used."""
    config = load(path)
    used: dict[str, set[str]] = {"receivers": set(), "processors": set(), "exporters": set()}
    for pipeline in config["service"]["pipelines"].values():
        for kind, names in pipeline.items():
            used[kind] |= set(names)
    assert {kind: set(config[kind]) for kind in used} == used
    assert all(next(iter(p["processors"])) == "memory_limiter" for p in config["service"]["pipelines"].values())


def test_the_front_keeps_traces_together_and_finds_the_replicas() -> None:
    balancing = load(DEPLOY / "opentelemetry-collector" / "front.yaml")["exporters"]["loadbalancing"]
    assert balancing["routing_key"] == "traceID"
    items = manifests((DEPLOY / "kubernetes" / "gateway.yaml").read_text("utf-8"))
    service = one(items, "Service", balancing["resolver"]["dns"]["hostname"])
    assert service["spec"]["clusterIP"] == "None"
    assert load(DEPLOY / "opentelemetry-collector" / "kafka.yaml")["exporters"]["kafka"]["partition_traces_by_id"]


def test_the_image_is_built_in_stages_and_not_run_as_root() -> None:
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    base, *stages = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    assert re.fullmatch(r"python:3\.\d+-slim-\w+", base)
    assert stages == ["python", "python"]
    assert f"FROM {base} AS python\n" in text
    final = text.split("FROM ")[-1]
    assert "RUN" not in final.split()
    assert re.search(r"^USER [1-9]\d*:[1-9]\d*$", final, re.MULTILINE)
    assert set(re.findall(r"^EXPOSE (.*)$", final, re.MULTILINE)[0].split()) == PORTS
    copied = [word for line in re.findall(r"^COPY (?!--)(.*) \S+$", text, re.MULTILINE) for word in line.split()]
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8")
    for name in copied:
        assert (DEPLOY.parent / name).exists()
        assert f"!{name}\n" in ignored


def test_the_image_has_one_name_wherever_it_is_named() -> None:
    """Built with one name, run with another: a pod would wait for an image that nobody has."""
    name = f"rightcall:{__version__}"
    files = [*DEPLOY.rglob("*.yaml"), *DEPLOY.rglob("*.md"), DEPLOY / "Dockerfile", CHART / "README.md"]
    texts = {path.name: path.read_text("utf-8") for path in files}
    named = {
        found for text in texts.values() for found in re.findall(r"(?:image: |-t |docker-image )(rightcall\S*)", text)
    }
    assert named == {name}
    values = load(CHART / "values.yaml")["image"]
    assert f"{values['repository']}:{values['tag'] or load(CHART / 'Chart.yaml')['appVersion']}" == name


def test_the_image_has_bytecode_of_all_it_imports() -> None:
    text = (DEPLOY / "Dockerfile").read_text("utf-8").replace("\\\n", "")
    assert re.search(r"^RUN python -m compileall .* /usr/local/lib/python3\.\d+$", text, re.MULTILINE)
    installs = re.findall(r"uv pip install ([^&\n]*)", text)
    assert ["--compile-bytecode" in line for line in installs] == [True] * 2, installs


def test_the_image_has_the_compiled_build() -> None:
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    assert "RIGHTCALL_COMPILE=1 uv build" in text
    assert " gcc " in text.split("uv build")[0]


def test_the_image_has_only_packages_whose_hashes_are_in_a_lock() -> None:
    text = (DEPLOY / "Dockerfile").read_text("utf-8").replace("\\\n", "")
    installs = re.findall(r"pip install ([^&\n]*)", text)
    assert len(installs) == 3
    assert all("--require-hashes" in line or line.rstrip().endswith("--no-deps dist/*.whl") for line in installs)
    assert "--constraint requirements.lock -r runtime.txt" in text
    pins, locked = [
        dict(re.findall(r"^([\w-]+)==(\S+) \\\n    --hash=sha256:", (DEPLOY / name).read_text("utf-8"), re.MULTILINE))
        for name in ("build.lock", "../requirements.lock")
    ]
    assert {"hatchling", "mypy", "setuptools", "uv"} <= pins.keys()
    assert {name: version for name, version in pins.items() if name in locked}.items() <= locked.items()


def mounts(service: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for mount in service.get("volumes", []):
        source, target = mount.split(":")[:2]
        yield source, target


def test_the_compose_file_mounts_what_is_there_and_publishes_on_this_host_alone() -> None:
    compose = load(DEPLOY / "compose.yaml")
    assert compose["services"].keys() == {"agents", "collector", "prometheus", "tempo", "grafana"}
    for service in compose["services"].values():
        assert not service["image"].endswith(":latest")
        for source, _ in mounts(service):
            assert source in compose["volumes"] if not source.startswith(".") else (DEPLOY / source).exists()
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
        assert set(service.get("depends_on", [])) <= compose["services"].keys()
    assert not any(":13133:" in port for port in compose["services"]["collector"]["ports"])


def test_the_composed_services_find_each_other(tmp_path: Path) -> None:
    """Addresses in one service's file are names and ports of another's."""
    compose = load(DEPLOY / "compose.yaml")["services"]
    gateway = load_config(DEPLOY / "config" / "gateway.yaml")
    assert gateway.exporters.otlp
    assert gateway.exporters.otlp.endpoint == "tempo:4317"
    tempo = load(DEPLOY / "tempo" / "tempo.yaml")
    assert tempo["distributor"]["receivers"]["otlp"]["protocols"]["grpc"]["endpoint"] == "0.0.0.0:4317"
    sources = load(DEPLOY / "grafana" / "provisioning" / "datasources" / "rightcall.yaml")["datasources"]
    urls = {source["uid"]: source["url"] for source in sources}
    assert urls == {"prometheus": "http://prometheus:9090", "tempo": "http://tempo:3200"}
    assert {"prometheus", "tempo"} <= compose.keys()
    (prometheus,) = [source for source in sources if source["uid"] == "prometheus"]
    (exemplars,) = prometheus["jsonData"]["exemplarTraceIdDestinations"]
    assert exemplars == {"name": "trace_id", "datasourceUid": "tempo"}
    (job,) = load(DEPLOY / "prometheus" / "prometheus.yaml")["scrape_configs"]
    assert "rightcall" in job["job_name"]
    assert job["static_configs"][0]["targets"] == ["collector:9464"]


def test_prometheus_accepts_its_configuration() -> None:
    must_run([program("promtool"), "check", "config", DEPLOY / "prometheus" / "prometheus.yaml"])


def test_dashboards_are_up_to_date(tmp_path: Path) -> None:
    pytest.importorskip("grafana_foundation_sdk", reason="grafana-foundation-sdk is not installed")
    must_run_python(DEPLOY / "grafana" / "generate.py", "--output", tmp_path)
    same_files(tmp_path, DEPLOY / "grafana" / "dashboards", "run: python deploy/grafana/generate.py")
    same_files(tmp_path, CHART / "files" / "dashboards", "run: python deploy/grafana/generate.py")


def test_dashboards_are_provisioned_and_lead_to_traces() -> None:
    provider = load(DEPLOY / "grafana" / "provisioning" / "dashboards" / "rightcall.yaml")["providers"][0]
    targets = dict(mounts(load(DEPLOY / "compose.yaml")["services"]["grafana"]))
    assert targets["./grafana/dashboards"] == provider["options"]["path"]
    accuracy = json.loads((DEPLOY / "grafana" / "dashboards" / "tool-call-accuracy.json").read_text("utf-8"))
    targets_of = [target for panel in accuracy["panels"] for target in panel["targets"]]
    assert any(target.get("exemplar") for target in targets_of)
    assert len({panel["id"] for panel in accuracy["panels"]}) == len(accuracy["panels"])


def test_the_dashboard_shows_wrong_runs_from_attributes_that_events_have_and_leads_to_the_console() -> None:
    accuracy = json.loads((DEPLOY / "grafana" / "dashboards" / "tool-call-accuracy.json").read_text("utf-8"))
    table = next(panel for panel in accuracy["panels"] if panel["title"] == "Recent wrong runs")
    sent = {name.replace(".", "_") for name in vars(semconv).values() if isinstance(name, str)}
    assert set(re.findall(r"\| (\w+)=", table["targets"][0]["expr"])) <= sent
    assert set(table["transformations"][1]["options"]["include"]["names"]) <= sent | {"Time"}
    links = [link["url"] for panel in accuracy["panels"] for link in panel["fieldConfig"]["defaults"].get("links", [])]
    assert links
    for url in [*links, *(link["url"] for link in accuracy["links"])]:
        assert url.startswith("${console}/console")
        query = dict(parse_qsl(urlsplit(url).query))
        filter_of({**query, **{name: "1" for name in ("since", "until") if name in query}}, 1.0)
    assert {"console", "logs"} <= {variable["name"] for variable in accuracy["templating"]["list"]}


def test_grafana_manages_the_same_alerts_as_prometheus() -> None:
    grafana = load(DEPLOY / "grafana" / "provisioning" / "alerting" / "accuracy.yaml")["groups"][0]["rules"]
    prometheus = load(DEPLOY / "prometheus" / "accuracy.yaml")["groups"][0]["rules"]
    assert [rule["data"][0]["model"]["expr"] for rule in grafana] == [rule["expr"] for rule in prometheus]
    assert len({rule["uid"] for rule in grafana}) == len(grafana)
    for rule in grafana:
        assert len(rule["uid"]) <= 40
        assert rule["condition"] in {step["refId"] for step in rule["data"]}
        assert {step["datasourceUid"] for step in rule["data"]} == {"prometheus", "__expr__"}
        assert "$value " not in rule["annotations"]["description"]
