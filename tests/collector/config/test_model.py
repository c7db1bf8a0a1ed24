"""The configuration: keys of the OpenTelemetry Collector, defaults, units, and errors with line numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.config.model import Config, SpoolConfig
from collector.errors import ConfigError
from tests.builders import load

CONTRACT = """
receivers: {otlp: {protocols: {grpc: {endpoint: 0.0.0.0:4317}, http: {endpoint: 0.0.0.0:4318}}}}
rules: [rules/]
traces: {settle: 2s, idle_timeout: 30s, max_duration: 10m, max_open: 100000}
context: {route: [rightcall.route, http.route], intent: [rightcall.intent, gen_ai.workflow.name]}
spool: memory
exporters: {otlp: {endpoint: tempo:4317, tls: {insecure: true}}, prometheus: {endpoint: 0.0.0.0:9464}}
admin: {endpoint: 127.0.0.1:13133}
"""


def test_a_complete_configuration(tmp_path: Path) -> None:
    config = load(tmp_path, CONTRACT)
    assert (config.traces.settle, config.traces.max_duration, config.rules) == (2.0, 600.0, [tmp_path / "rules"])
    assert config.exporters.otlp is not None
    assert (config.exporters.otlp.endpoint, config.exporters.otlp.tls.insecure) == ("tempo:4317", True)


def test_defaults_listen_on_loopback_only(tmp_path: Path) -> None:
    config = load(tmp_path, "")
    protocols = config.receivers.otlp.protocols
    assert protocols.grpc is not None
    assert protocols.http is not None
    endpoints = (
        protocols.grpc.endpoint,
        protocols.http.endpoint,
        config.exporters.prometheus.endpoint,
        config.admin.endpoint,
    )
    assert endpoints == ("127.0.0.1:4317", "127.0.0.1:4318", "127.0.0.1:9464", "127.0.0.1:13133")


def test_a_protocol_without_options_has_defaults_and_the_other_is_off(tmp_path: Path) -> None:
    protocols = load(tmp_path, "receivers:\n  otlp:\n    protocols:\n      grpc:\n").receivers.otlp.protocols
    assert protocols.grpc is not None
    assert protocols.http is None


@pytest.mark.parametrize(
    ("text", "seconds"), [("500ms", 0.5), ("2s", 2), ("1m30s", 90), ("1h", 3600), ("1.5s", 1.5), ("3", 3)]
)
def test_durations(tmp_path: Path, text: str, seconds: float) -> None:
    assert load(tmp_path, f"traces: {{settle: {text}}}").traces.settle == seconds


MISTAKES = [
    (
        "exporters:\n  otlp:\n    endpont: x:1\n    endpoint: x:1\n",
        "collector.yaml:3: exporters.otlp.endpont: unknown key; did you mean endpoint?",
    ),
    ("recievers: {}\n", "collector.yaml:1: recievers: unknown key; did you mean receivers?"),
    ("traces:\n  settle: soon\n", "collector.yaml:2: traces.settle: 'soon' is not a duration such as 500ms"),
    ("traces:\n  settle: 2parsecs\n", "collector.yaml:2: traces.settle"),
    ("admin:\n  endpoint: here\n", "collector.yaml:2: admin.endpoint: 'here' is not host:port"),
    ("exporters: {otlp: {}}\n", "collector.yaml:1: exporters.otlp: set endpoint, such as endpoint: tempo:4317"),
    ("traces:\n  max_open: 0\n", "collector.yaml:2: traces.max_open: must be at least 1, not 0"),
    ("spool: disk\n", "collector.yaml:1: spool: 'disk' is not a spool: use memory or {path: FOLDER}"),
    ("spool:\n  pth: /x\n", "collector.yaml:2: spool.pth: unknown key; did you mean path?"),
    (
        "memory_limiter:\n  limit_mib: 100\n  spike_limit_mib: 200\n",
        "memory_limiter: spike_limit_mib must be below limit_mib",
    ),
    (
        "receivers: {otlp: {protocols: {grpc: {auth: {}}}}}\n",
        "protocols.grpc.auth: set exactly one of bearer_token and bearer_token_file",
    ),
    ("exporters:\n  otlp: {endpoint: x:1, tls: {cert_file: a}}\n", "tls: set both cert_file and key_file, or neither"),
    ("- a\n", "collector.yaml:1: file: "),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_name_line_key_and_fix(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert message in str(caught.value)


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, "traces:\n  settle: soon\n  idle: 3s\nspool: disk\n")
    assert len(str(caught.value).splitlines()) == 3


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        """
receivers: {otlp: {protocols: {http: {tls: {cert_file: tls/cert.pem, key_file: /etc/key.pem}}}}}
rules: [rules, /etc/rules.yaml]
spool: {path: spool}
exporters: {otlp: {endpoint: "x:1", tls: {ca_file: ca.pem}}}
""",
    )
    http, otlp = config.receivers.otlp.protocols.http, config.exporters.otlp
    assert http is not None
    assert http.tls is not None
    assert otlp is not None
    assert config.spool is not None
    assert (http.tls.cert_file, http.tls.key_file) == (tmp_path / "tls/cert.pem", Path("/etc/key.pem"))
    assert config.rules == [tmp_path / "rules", Path("/etc/rules.yaml")]
    assert (config.spool.path, otlp.tls.ca_file) == (tmp_path / "spool", tmp_path / "ca.pem")


def test_the_spool_is_on_disk_by_default(tmp_path: Path) -> None:
    assert load(tmp_path, "").spool == SpoolConfig(path=Path("/var/lib/rightcall"))
    assert load(tmp_path, "spool: memory").spool is None
    spool = load(tmp_path, "spool: {path: /var/lib/rightcall, max_size_mib: 64}").spool
    assert spool is not None
    assert (spool.fsync, spool.max_size_mib) == (True, 64)


def test_both_kinds_of_spool_are_in_the_schema() -> None:
    kinds = Config.model_json_schema()["properties"]["spool"]["anyOf"]
    assert kinds[0] == {"const": "memory"}
    assert [kind for kind in kinds if kind.get("type") == "null"] == []
