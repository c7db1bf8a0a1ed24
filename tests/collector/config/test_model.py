"""The configuration: keys of the OpenTelemetry Collector, defaults and units."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from collector.config.model import Config, SpoolConfig
from collector.config.schema import config_schema
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
    (tmp_path / "rules").mkdir()
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


def test_null_is_a_value_where_the_schema_has_it(tmp_path: Path) -> None:
    assert load(tmp_path, "console: {enabled: true, public_url: null}").console.public_url is None
    assert load(tmp_path, "exporters: {otlp: {endpoint: a:1, headers: null}}").exporters.otlp is not None
    with pytest.raises(ConfigError, match="bearer_token"):  # a token that was forgotten opens nothing
        load(tmp_path, "admin: {auth: {bearer_token: null}}")


def test_what_a_secret_is_read_from_may_end_with_a_line_break(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        r"""
receivers: {kafka: {brokers: ["a:1"], auth: {sasl: {mechanism: PLAIN, username: u, password: " p \n"}}}}
exporters: {otlp: {endpoint: "a:1", headers: {authorization: "Bearer t\r\n"}}}
admin: {auth: {bearer_token: "t\n"}}
judge: {endpoint: "http://a/v1", model: m, api_key: "k\n", headers: {X-Key: "k\n"}}
""",
    )
    kafka, otlp, admin, judge = config.receivers.kafka, config.exporters.otlp, config.admin.auth, config.judge
    assert kafka is not None
    assert otlp is not None
    assert admin is not None
    assert judge is not None
    assert kafka.librdkafka()["sasl.password"] == " p "
    assert (otlp.headers, judge.headers) == ({"authorization": "Bearer t"}, {"X-Key": "k"})
    assert [one and one.get_secret_value() for one in (admin.bearer_token, judge.api_key)] == ["t", "k"]
    with pytest.raises(ConfigError, match="bearer_token is empty"):
        load(tmp_path, r'admin: {auth: {bearer_token: "\n"}}')


@pytest.mark.parametrize("value", [r"sec\nret", r"sec\0ret", r"sec\x7Fret", r"sec\tret", "secrét"])
@pytest.mark.parametrize(
    "section", ["exporters: {otlp: {endpoint: 'a:1', ", "judge: {endpoint: http://a/v1, model: m, "]
)
def test_a_header_that_no_request_could_have_is_refused_without_its_value(
    tmp_path: Path, section: str, value: str
) -> None:
    close = "}" * section.count("{")
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, f'{section}headers: {{X-Key: "{value}"}}{close}')
    assert "headers: the value of X-Key has a line break or another character that no header may have" in str(
        caught.value
    )
    assert "sec" not in str(caught.value)
    with pytest.raises(ConfigError, match="headers: 'X Key' is no name of a header") as caught:
        load(tmp_path, f"{section}headers: {{X Key: secret}}{close}")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "seconds"), [("500ms", 0.5), ("2s", 2), ("1m30s", 90), ("1h", 3600), ("1.5s", 1.5), ("3", 3)]
)
def test_durations(tmp_path: Path, text: str, seconds: float) -> None:
    assert load(tmp_path, f"traces: {{settle: {text}}}").traces.settle == seconds


@pytest.mark.parametrize(
    "text", ["2s", "1m30s", "0.5h", "3", "-1", "-1s", "soon", "2 s", "2s ", "2", "2d", "٢s", "''", "1.s"]
)
def test_an_editor_takes_the_durations_that_are_taken(tmp_path: Path, text: str) -> None:
    document = f"traces: {{settle: {text}}}"
    try:
        load(tmp_path, document)
        is_taken = True
    except ConfigError:
        is_taken = False
    assert Draft202012Validator(config_schema()).is_valid(yaml.safe_load(document)) == is_taken


def test_the_spool_is_on_disk_by_default(tmp_path: Path) -> None:
    assert load(tmp_path, "").spool == SpoolConfig(path=Path("/var/lib/rightcall"))
    assert load(tmp_path, "spool: memory").spool is None
    spool = load(tmp_path, "spool: {path: /var/lib/rightcall, max_size_mib: 64}").spool
    assert spool is not None
    assert (spool.fsync, spool.max_size_mib) == (True, 64)


@pytest.mark.parametrize(("key", "words"), [("spool", ["memory"]), ("runs", ["off", False]), ("drift", ["off", False])])
def test_the_schema_has_the_word_that_takes_the_place_of_a_section(key: str, words: list[object]) -> None:
    kinds = Config.model_json_schema()["properties"][key]["anyOf"]
    assert kinds[0] == {"enum": words}
    assert [kind for kind in kinds if kind.get("type") == "null"] == []
