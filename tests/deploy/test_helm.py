"""The chart under real Helm: every case renders, is valid, is as checked in, and nonsense is refused with a sentence."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import otlp_data as data
from tests.collector_process import CollectorProcess, send
from tests.deploy.manifests import (
    KUBE,
    Manifest,
    assert_restricted,
    assert_valid,
    assert_wired,
    collector_config,
    manifests,
    one,
    render,
)
from tests.deploy.programs import CHART, DEPLOY, must_run, must_run_python, program, run, same_files
from tests.sinks import OtlpSink
from tests.waiting import wait_for

CASES = sorted((CHART / "ci").glob("*-values.yaml"))
JUDGE = ["config.judge.endpoint=http://a/v1", "config.judge.model=m"]
OTHER_RULES = "rules: [{name: other, match: {}, expect: {sequence: [b]}}]\n"

every_case = pytest.mark.parametrize("case", CASES, ids=lambda path: path.name.removesuffix("-values.yaml"))


def test_schema_and_golden_renderings_are_up_to_date(tmp_path: Path) -> None:
    must_run_python(CHART / "generate.py", "--output", tmp_path)
    same_files(tmp_path, CHART, "run: python helm/rightcall/generate.py")
    program("helm")  # without it only the schema was compared
    made = {path.relative_to(tmp_path) for path in (tmp_path / "examples").rglob("*.yaml")}
    assert made == {path.relative_to(CHART) for path in (CHART / "examples").rglob("*.yaml")}


@every_case
def test_helm_lints(case: Path) -> None:
    must_run([program("helm"), "lint", "--strict", CHART, *KUBE, "--values", case])


@every_case
def test_manifests_are_valid_restricted_and_wired(case: Path) -> None:
    items = render("--values", case)
    assert_valid(items)
    assert_restricted(items)
    assert_wired(items)


def test_load_balancers_roll_with_their_configuration() -> None:
    def pods(key: str) -> Any:
        items = render("--values", CHART / "ci" / "balanced-values.yaml", "--set", f"loadBalancer.routingKey={key}")
        return one(items, "Deployment", "agents-rightcall-balancer")["spec"]["template"]

    assert pods("service") != pods("traceID"), "nothing else makes them read it again"


def test_all_pods_of_a_release_run_where_the_replicas_may() -> None:
    options = ["nodeSelector.pool=telemetry", "tolerations[0].key=telemetry", "priorityClassName=high"]
    items = render("--values", CHART / "ci" / "balanced-values.yaml", "--set", ",".join(options))
    assert_valid(items)
    pods = [one(items, kind)["spec"]["template"]["spec"] for kind in ("StatefulSet", "Deployment")]
    for pod in [*pods, one(items, "Pod")["spec"]]:
        where = (pod["nodeSelector"], pod["tolerations"], pod["priorityClassName"])
        assert where == ({"pool": "telemetry"}, [{"key": "telemetry"}], "high")


@pytest.mark.parametrize(
    ("balancers", "budgets"), [(2, ["agents-rightcall", "agents-rightcall-balancer"]), (1, ["agents-rightcall"])]
)
def test_not_all_load_balancers_may_be_away_at_once(balancers: int, budgets: list[str]) -> None:
    items = render("--values", CHART / "ci" / "balanced-values.yaml", "--set", f"loadBalancer.replicaCount={balancers}")
    found = {item["metadata"]["name"]: item["spec"] for item in items if item["kind"] == "PodDisruptionBudget"}
    assert list(found) == budgets  # with one, a drained node would wait for ever
    if balancers > 1:
        labels = one(items, "Deployment")["spec"]["template"]["metadata"]["labels"]
        assert found[budgets[1]]["selector"]["matchLabels"].items() <= labels.items()


@every_case
def test_the_collector_accepts_its_configuration(case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = collector_config(render("--values", case), tmp_path, monkeypatch)
    host = "127.0.0.1" if case.name.startswith("sidecar") else "0.0.0.0"
    protocols = config.receivers.otlp.protocols
    if case.name.startswith("kafka"):
        assert config.receivers.kafka is not None
        assert protocols.grpc is None
    else:
        assert protocols.grpc
        assert protocols.grpc.endpoint == f"{host}:4317"
    assert config.admin.endpoint == "0.0.0.0:13133"
    assert config.exporters.prometheus.endpoint == "0.0.0.0:9464"
    assert config.rules


def test_the_defaults_render_and_are_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = render()
    assert_valid(items)
    assert collector_config(items, tmp_path, monkeypatch).rules == []


def test_the_console_is_reached_with_a_token_from_a_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = render("--set", "config.admin.auth.bearer_token=${env:CONSOLE_TOKEN}")
    monkeypatch.setenv("CONSOLE_TOKEN", "s3cret")
    config = collector_config(items, tmp_path, monkeypatch)
    assert config.admin.endpoint == "0.0.0.0:13133"
    assert config.admin.auth is not None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["replicaCount=3"], "Several replicas need routing"),
        (["replicaCount=null"], "Several replicas need routing"),
        (["autoscaling.enabled=true"], "Several replicas need routing"),
        (["routing=external", "autoscaling.enabled=true", "replicaCount=3"], "the autoscaler controls the number"),
        (
            ["routing=external", "autoscaling.enabled=true", "autoscaling.minReplicas=9"],
            "autoscaling.minReplicas is above",
        ),
        (["routing=external", "autoscaling.enabled=true", "spool.enabled=true"], "still holds undelivered spans"),
        (["podDisruptionBudget.enabled=true"], "has no effect with one replica"),
        (["mode=sidecar", "autoscaling.enabled=true"], "a sidecar runs and scales with its agent's pod"),
        (["mode=sidecar", "serviceMonitor.enabled=true"], "there is no service"),
        (["existingRules.configMap=mine"], "name the keys"),
        (["existingRules.configMap=mine", r"rules.a\.yaml=x"], "use one of them"),
        (["config.spool.path=/tmp/x"], "config.spool is set by the chart"),
        (["config.admin.endpoint=:1"], "config.admin.endpoint is set by the chart"),
        (["config.exporters.prometheus.endpoint=:1"], "config.exporters.prometheus.endpoint is set by the chart"),
        (["config.admin.auth.bearer_token=s3cret"], "config.admin.auth.bearer_token would be readable"),
        (["config.receivers.otlp.protocols.grpc.endpoint=:1"], "use rules and ports"),
        (
            ["config.exporters.otlp.endpoint=a:1", "config.exporters.otlp.headers.Authorization=Bearer s3cret"],
            "put it in a Secret",
        ),
        (
            ["exporterHeaders[0].header=a", "exporterHeaders[0].secret=b", "exporterHeaders[0].key=c"],
            "no exporter to use it",
        ),
        (["config.receivers.otlp.protocols.grpc.auth.bearer_token=s3cret"], "from a Secret"),
        (
            ["routing=loadBalancer", "config.receivers.otlp.protocols.grpc.auth.bearer_token=${env:TOKEN}"],
            "connect to the replicas in plain text",
        ),
        ([*JUDGE, "config.judge.api_key=s3cret"], "reference that in judgeApiKey"),
        ([*JUDGE, "config.judge.headers.X-Api-Key=s3cret"], "from a Secret"),
        *(
            ([*(f"config.{other}" for other in others), f"config.{place}=s3cret"], f"config.{place}".replace("\\", ""))
            for place, *others in (
                ("exporters.otlp.logs.headers.Authorization", "exporters.otlp.logs.endpoint=a:1"),
                ("service.handover.headers.x-token", "service.handover.endpoint=a:1"),
                ("service.telemetry.traces.headers.authorization", "service.telemetry.traces.endpoint=a:1"),
                ("service.telemetry.metrics.headers.api-key", "service.telemetry.metrics.endpoint=a:1"),
                (r"exporters.kafka.properties.ssl\.key\.password", "exporters.kafka.brokers[0]=a"),
                (r"exporters.kafka.properties.ssl\.key\.pem", "exporters.kafka.brokers[0]=a"),
                (
                    "exporters.kafka.auth.sasl.password",
                    "exporters.kafka.brokers[0]=a",
                    "exporters.kafka.auth.sasl.username=a",
                    "exporters.kafka.auth.sasl.mechanism=PLAIN",
                ),
            )
        ),
        (["config.exporters.otlp.traces.endpoint=https://me:s3cret@tempo/v1"], "traces.endpoint would be readable"),
        ([*JUDGE, "config.judge.endpoint=http://me:s3cret@a/v1"], "judge.endpoint would be readable"),
        (["judgeApiKey.secret=a"], "no judge to use it"),
        (["spool.enabled=true", "spool.sizeMiB=4096"], "Set volumeSize to 4889Mi or more, or sizeMiB to 1512 or less"),
        (["spool.enabled=true", "spool.sizeMiB=1800", "config.runs=off"], "Set volumeSize to 2108Mi or more"),
        (["spool.enabled=true", "config.runs.max_size_mib=1024"], "Set volumeSize to 2278Mi or more"),
        (["spool.enabled=true", "spool.volumeSize=big"], "is not an amount of memory or storage such as 512Mi or 2Gi"),
        (["config.memory_limiter.limit_mib=1000"], "more than nine tenths of resources.limits.memory 1Gi"),
        (["resources.limits.memory=64Mi"], "Set 256Mi or more"),
        (["mod=sidecar"], "Additional property mod is not allowed"),
        (["config.traces.settle=soon"], "config.traces.settle"),
        (["nameOverride=Agents"], "nameOverride: Does not match pattern"),
        (["config.traces.setle=3s"], "Additional property setle is not allowed"),
        (["mode=daemonset"], "mode must be one of"),
        (["ports.grpc=70000"], "Must be less than or equal to 65535"),
        ([r"rules.notes\.txt=x"], "does not match pattern"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_nonsense_is_refused_with_a_sentence(options: list[str], words: str) -> None:
    sets = [part for option in options for part in ("--set", option)]
    done = run([program("helm"), "template", "agents", CHART, *KUBE, *sets])
    assert done.returncode == 1
    assert words.lower() in done.stderr.lower()


@pytest.mark.parametrize(
    ("sets", "warns"),
    [
        ("mode=gateway", True),
        ("config.exporters.otlp=null", True),
        ("config.exporters.otlp.endpoint=tempo:4317", False),
        ("config.exporters.otlp.traces.endpoint=tempo:4317", False),
        ("config.exporters.kafka.brokers={kafka:9092},config.exporters.kafka.traces.topic=scored_spans", False),
        ("config.exporters.file.path=/tmp/agents.jsonl", False),
    ],
)
def test_the_notes_warn_where_no_exporter_has_the_traces(tmp_path: Path, sets: str, warns: bool) -> None:
    # Helm shows notes of releases alone, which need a cluster: here they are rendered as a manifest.
    chart = shutil.copytree(CHART, tmp_path / "rightcall")
    (chart / "templates/NOTES.txt").rename(chart / "NOTES.txt")
    (chart / "templates/notes.yaml").write_text('notes: {{ tpl (.Files.Get "NOTES.txt") . | quote }}')
    shown = ["--show-only", "templates/notes.yaml"]
    notes = must_run([program("helm"), "template", "agents", str(chart), *KUBE, *shown, "--set", sets])
    assert ("traces are not forwarded" in notes) == warns


def pod_of(items: list[Manifest]) -> Any:
    return one(items, "Deployment")["spec"]["template"]


def test_changed_rules_restart_nothing_and_changed_settings_do() -> None:
    case: tuple[str, Path] = ("--values", CHART / "ci" / "gateway-values.yaml")
    before = pod_of(render(*case))
    assert pod_of(render(*case, "--set", rf"rules.refund\.yaml={OTHER_RULES}".replace(",", r"\,"))) == before
    assert pod_of(render(*case, "--set", "config.traces.settle=5s")) != before
    assert not any("subPath" in mount for mount in before["spec"]["containers"][0]["volumeMounts"])


def test_the_collector_sees_a_config_map_change(tmp_path: Path) -> None:
    """As the kubelet does it: the files are links into ..data, and ..data is swapped for another folder."""
    with CollectorProcess("rules: []\n", None) as process:
        folder = process.folder
        for version, rules in (("..1", "rules: []\n"), ("..2", OTHER_RULES)):
            (folder / version).mkdir()
            (folder / version / "rules.yaml").write_text(rules)
        (folder / "..data").symlink_to("..1")
        (folder / "new").symlink_to("..data/rules.yaml")
        os.replace(folder / "new", process.rules)
        before = [line for line in process.get("/metrics").splitlines() if line.startswith("rightcall_rules_info{")]
        (folder / "..new").symlink_to("..2")
        os.replace(folder / "..new", folder / "..data")
        wait_for(lambda: "rules reloaded" in process.log)
        after = [line for line in process.get("/metrics").splitlines() if line.startswith("rightcall_rules_info{")]
        assert len(before) == len(after) == 1
        assert before != after


def test_secrets_come_by_reference() -> None:
    items = render("--values", CHART / "ci" / "spool-values.yaml")
    environment = one(items, "StatefulSet")["spec"]["template"]["spec"]["containers"][0]["env"]
    (secret,) = [entry for entry in environment if entry["name"] == "RIGHTCALL_HEADER_0"]
    assert secret["valueFrom"] == {"secretKeyRef": {"name": "backend-token", "key": "authorization"}}
    config = yaml.safe_load(one(items, "ConfigMap", "agents-rightcall-config")["data"]["config.yaml"])
    assert config["exporters"]["otlp"]["headers"] == {"authorization": "${env:RIGHTCALL_HEADER_0}"}


def test_files_with_secrets_and_public_certificates_may_be_named() -> None:
    named = {
        "config.receivers.otlp.protocols.grpc.auth.bearer_token_file": "/secrets/token",
        "config.exporters.kafka.brokers[0]": "a",
        r"config.exporters.kafka.properties.ssl\.ca\.pem": "public",
        "config.exporters.otlp.endpoint": "https://tempo/v1/me@home",
        "config.exporters.otlp.headers.x-team": "support",
    }
    render(*(part for name, value in named.items() for part in ("--set", f"{name}={value}")))


@pytest.mark.parametrize(
    ("option", "limit_mib"),
    [
        ("resources.limits.memory=1Gi", 819),
        ("resources.limits.memory=1.5Gi", 1228),
        ("resources.limits.memory=1G", 762),
        ("resources.limits.memory=1073741824", 819),
        ("config.memory_limiter.limit_mib=500", 500),
        ("resources.limits=null", None),
    ],
)
def test_memory_is_bounded_below_what_the_kernel_allows(option: str, limit_mib: int | None) -> None:
    config = one(render("--set", option), "ConfigMap", "agents-rightcall-config")["data"]["config.yaml"]
    assert yaml.safe_load(config).get("memory_limiter", {}).get("limit_mib") == limit_mib


def test_the_install_line_delivers_to_the_backend_that_it_names(tmp_path: Path) -> None:
    """A Tempo in plain text that takes only traces. The line is that of the README, rendered instead of installed."""
    readme = (CHART / "README.md").read_text("utf-8").replace("\\\n", " ")
    (line,) = re.findall(r"^helm install (.*)$", readme, re.MULTILINE)
    words = shlex.split(line)
    text = must_run([program("helm"), "template", *KUBE, words[0], CHART, *words[2:]])
    config = yaml.safe_load(one(manifests(text), "ConfigMap", "rightcall-config")["data"]["config.yaml"])
    assert config["exporters"]["otlp"]["endpoint"] == "tempo:4317"
    with OtlpSink(signals=["traces"]) as tempo:
        otlp = {**config["exporters"]["otlp"], "endpoint": tempo.endpoint}
        with CollectorProcess((DEPLOY / "config" / "rules.yaml").read_text(), otlp) as process:
            send(process, data.span(1))
            wait_for(tempo.spans)
            assert process.stop() == 0
            assert "dropped" not in process.log
            assert "failed" not in process.log


@pytest.mark.parametrize(("case", "kind"), [("kafka", "Deployment"), ("balanced", "StatefulSet")])
def test_an_autoscaler_of_another_chart_keeps_its_number_of_replicas(case: str, kind: str) -> None:
    values = "--values", str(CHART / "ci" / f"{case}-values.yaml")
    without = "--set", "replicaCount=null,autoscaling.enabled=false,podDisruptionBudget.enabled=true"
    assert "replicas" not in one(render(*values, *without), kind)["spec"]


def test_load_balancers_find_the_replicas() -> None:
    items = render("--values", CHART / "ci" / "balanced-values.yaml")
    balancer = yaml.safe_load(one(items, "ConfigMap", "agents-rightcall-balancer")["data"]["config.yaml"])
    target = balancer["exporters"]["loadbalancing"]["resolver"]["dns"]
    service = one(items, "Service", target["hostname"].split(".")[0])
    assert service["spec"]["clusterIP"] == "None"
    assert int(target["port"]) in {port["port"] for port in service["spec"]["ports"]}
    front = one(items, "Service", "agents-rightcall")["spec"]["selector"]
    assert front["app.kubernetes.io/component"] == "load-balancer"


def test_a_replica_that_leaves_hands_over_through_the_load_balancers() -> None:
    items = render("--values", CHART / "ci" / "balanced-values.yaml")
    config = yaml.safe_load(one(items, "ConfigMap", "agents-rightcall-config")["data"]["config.yaml"])
    name, _, port = config["service"]["handover"]["endpoint"].partition(":")
    front = one(items, "Service", name.removesuffix(".telemetry"))["spec"]
    assert front["selector"]["app.kubernetes.io/component"] == "load-balancer"
    assert int(port) in {given["port"] for given in front["ports"]}
    pod = one(items, "StatefulSet")["spec"]["template"]["spec"]
    # The balancers have to know that it leaves before it does, and all of it has to end before it is killed.
    balancer = yaml.safe_load(one(items, "ConfigMap", "agents-rightcall-balancer")["data"]["config.yaml"])
    interval = balancer["exporters"]["loadbalancing"]["resolver"]["dns"]["interval"]
    _, pause = pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
    assert int(interval.removesuffix("s")) < int(pause) < pod["terminationGracePeriodSeconds"] / 2
    allowed = one(items, "NetworkPolicy", "agents-rightcall-balancer")["spec"]["ingress"][0]["from"]
    labels = one(items, "StatefulSet")["spec"]["selector"]["matchLabels"]
    assert {"podSelector": {"matchLabels": labels}} in allowed
    assert "lifecycle" not in pod_of(render())["spec"]["containers"][0], "alone, it has nobody to hand over to"


def test_where_replicas_hand_over_to_may_be_set_beside_the_load_balancers() -> None:
    own = {"endpoint": "https://traces.example:4317", "headers": {"x-tenant": "a"}}
    given = [f"config.service.handover.{key}" for key in (f"endpoint={own['endpoint']}", "headers.x-tenant=a")]
    items = render(
        "--values", CHART / "ci" / "balanced-values.yaml", *(word for one in given for word in ("--set", one))
    )
    config = yaml.safe_load(one(items, "ConfigMap", "agents-rightcall-config")["data"]["config.yaml"])
    assert config["service"]["handover"] == own


def test_alerts_and_dashboards_lead_to_the_console_where_it_has_an_address() -> None:
    values = str(CHART / "ci" / "monitoring-values.yaml")
    items = render("--values", values, "--set", "config.console.public_url=https://rightcall.example/")
    alerts = [
        rule for group in one(items, "PrometheusRule")["spec"]["groups"] for rule in group["rules"] if "alert" in rule
    ]
    assert {alert["annotations"]["console_url"] for alert in alerts} == {
        "https://rightcall.example/console{{ with $labels.rule }}/runs?label=wrong&rule={{ . | urlquery }}{{ end }}"
    }
    board = one(items, "ConfigMap", "agents-rightcall-dashboards")["data"]["tool-call-accuracy.json"]
    assert "https://rightcall.example" in board
    assert "127.0.0.1" not in board
    without = one(render("--values", values), "PrometheusRule")["spec"]["groups"]
    assert not any("console_url" in rule.get("annotations", {}) for group in without for rule in group["rules"])


def test_the_operator_gets_our_rules(tmp_path: Path) -> None:
    items = render("--values", CHART / "ci" / "monitoring-values.yaml")
    spec = one(items, "PrometheusRule")["spec"]
    shipped = [
        rule
        for name in ("rules", "accuracy", "health")
        for group in yaml.safe_load((DEPLOY / "prometheus" / f"{name}.yaml").read_text())["groups"]
        for rule in group["rules"]
    ]
    rules = [rule for group in spec["groups"] for rule in group["rules"]]
    assert [rule["expr"] for rule in rules] == [rule["expr"] for rule in shipped]
    urls = {rule["annotations"]["runbook_url"].split("#")[0] for rule in rules if "alert" in rule}
    assert urls == {"https://example.com/runbooks/rightcall"}
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(spec))
    must_run([program("promtool"), "check", "rules", tmp_path / "rules.yaml"])
    labels = one(items, "Service", "agents-rightcall-replicas")["metadata"]["labels"]
    assert one(items, "ServiceMonitor")["spec"]["selector"]["matchLabels"].items() <= labels.items()
    dashboards = one(items, "ConfigMap", "agents-rightcall-dashboards")["data"]
    for path in (DEPLOY / "grafana" / "dashboards").glob("*.json"):
        assert dashboards[path.name] == path.read_text("utf-8")


def test_the_job_is_rightcall_under_any_name() -> None:
    """RightcallDown asks for jobs whose name contains it."""
    items = render("--set", "nameOverride=agents", "--set", "serviceMonitor.enabled=true")
    labels = one(items, "Service", "agents-replicas")["metadata"]["labels"]
    assert labels[one(items, "ServiceMonitor")["spec"]["jobLabel"]] == "rightcall"


def test_common_labels_are_put_beside_the_charts_own() -> None:
    values = ("team=agents", r"app\.kubernetes\.io/part-of=shop", r"app\.kubernetes\.io/scope=all")
    sets = [part for value in values for part in ("--set", f"commonLabels.{value}")]
    rendered = must_run([program("helm"), "template", "agents", CHART, *KUBE, *sets])
    assert rendered.count("app.kubernetes.io/part-of: rightcall") == rendered.count("team: agents") > 0
    assert "shop" not in rendered
    assert rendered.count("app.kubernetes.io/scope") == 1


def test_labels_of_pods_do_not_replace_those_that_they_are_selected_by() -> None:
    values = ("team=agents", r"app\.kubernetes\.io/component=shop")
    sets = [part for value in values for part in ("--set", f"podLabels.{value}")]
    pods = one(render(*sets), "Deployment")["spec"]["template"]["metadata"]["labels"]
    assert (pods["team"], pods["app.kubernetes.io/component"]) == ("agents", "collector")


def test_numbers_switches_and_words_of_the_configuration_may_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("C", "gzip"), ("I", "true")):
        monkeypatch.setenv(name, value)
    otlp = {"endpoint": "a:1", "compression": "${env:C}", "tls": {"insecure": "${env:I}"}}
    config = {"traces": {"max_open": "${env:N:-7}"}, "exporters": {"otlp": otlp}}
    (tmp_path / "values.yaml").write_text(yaml.safe_dump({"config": config}))
    loaded = collector_config(render("--values", tmp_path / "values.yaml"), tmp_path, monkeypatch)
    read = loaded.exporters.otlp
    assert read is not None
    assert (loaded.traces.max_open, read.compression, read.tls.insecure) == (7, "gzip", True)


@pytest.mark.parametrize("emptied", ["config", "resources"])
def test_a_section_may_be_emptied(emptied: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = ",".join(f"{one}.enabled=true" for one in ("serviceMonitor", "prometheusRule", "dashboards"))
    items = render("--set", f"{emptied}=null,{everything}")
    assert_valid(items)
    assert collector_config(items, tmp_path, monkeypatch).admin.endpoint == "0.0.0.0:13133"


@pytest.mark.parametrize("most", ["1", "50%"])
def test_a_share_of_the_replicas_may_be_away(most: str) -> None:
    sets = [
        "replicaCount=3",
        "routing=external",
        "podDisruptionBudget.enabled=true",
        f"podDisruptionBudget.maxUnavailable={most}",
    ]
    items = render(*(part for one in sets for part in ("--set", one)))
    assert_valid(items)
    assert str(one(items, "PodDisruptionBudget")["spec"]["maxUnavailable"]) == most


def test_helm_test_passes_against_a_running_collector() -> None:
    with CollectorProcess("rules: []\n", None) as process:
        ports = [f"--set=ports.http={process.http}", f"--set=ports.metrics={process.metrics_port}"]
        pod = one(render(*ports), "Pod")
        assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"
        container = pod["spec"]["containers"][0]
        assert container["command"] == ["python", "-c"]
        script = re.sub(r"\{name\}(-replicas)?", "127.0.0.1", container["args"][0])
        assert "serves metrics" in must_run([sys.executable, "-c", script])


@pytest.mark.parametrize("case", ["kafka", "balanced", "gateway"])
def test_helm_test_is_let_in_where_senders_and_scrapers_are_named(case: str) -> None:
    named = [f"networkPolicy.{who}From[0].podSelector.matchLabels.app=mine" for who in ("senders", "scrapers")]
    sets = [part for option in ("networkPolicy.enabled=true", *named) for part in ("--set", option)]
    items = render("--values", CHART / "ci" / f"{case}-values.yaml", *sets)
    labels = one(items, "Pod")["metadata"]["labels"]
    peers = [
        [peer["podSelector"]["matchLabels"].items() for peer in rule["from"]]
        for item in items
        if item["kind"] == "NetworkPolicy"
        for rule in item["spec"]["ingress"]
    ]
    closed = [found for found in peers if not any(selector <= labels.items() for selector in found)]
    assert len(closed) == (case == "balanced"), "OTLP of the replicas behind balancers, which take the test's request"


def test_another_chart_takes_the_sidecar_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(Path(__file__).parent / "sidecar_app", tmp_path / "app")
    shutil.copytree(CHART, tmp_path / "app" / "charts" / "rightcall")
    items = render(chart=tmp_path / "app")
    assert_valid(items)
    assert_restricted(items, images="rightcall")
    assert_wired(items)
    (sidecar,) = one(items, "Deployment")["spec"]["template"]["spec"]["initContainers"]
    assert sidecar["restartPolicy"] == "Always"
    (tmp_path / "config").mkdir()
    assert collector_config(items, tmp_path / "config", monkeypatch).spool
