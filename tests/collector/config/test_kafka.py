"""The sections `receivers.kafka` and `exporters.kafka`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from collector.config.kafka import KafkaReceiverConfig
from collector.config.model import SpoolConfig
from collector.errors import ConfigError
from tests.builders import load

MINIMAL = "receivers: {kafka: {brokers: [kafka:9092]}}\n"


def test_the_topic_takes_the_place_of_the_spool_and_of_the_otlp_listeners(tmp_path: Path) -> None:
    config = load(tmp_path, MINIMAL)
    assert config.spool is None
    assert config.receivers.otlp.protocols.grpc is None
    assert config.receivers.otlp.protocols.http is None
    assert isinstance(load(tmp_path, "receivers: {}").spool, SpoolConfig)


def test_otlp_may_be_received_beside_it(tmp_path: Path) -> None:
    config = load(tmp_path, "receivers: {otlp: {protocols: {grpc: }}, kafka: {brokers: [kafka:9092]}}")
    assert config.receivers.otlp.protocols.grpc is not None
    assert config.receivers.kafka is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MINIMAL + "spool: {path: x}", "receivers.kafka needs `spool: memory`"),
        ("receivers: {kafka: {}}", "receivers.kafka.brokers: is missing"),
        ("receivers: {kafka: {brokers: [k], traces: {topic: a b}}}", "receivers.kafka.traces.topic"),
        ("receivers: {kafka: {brokers: [k], properties: {group.id: x}}}", "group.id cannot be set here"),
        (
            MINIMAL + "exporters: {kafka: {brokers: [k], traces: {topic: otlp_spans}}}",
            "topic otlp_spans that receivers",
        ),
        ("exporters: {kafka: {brokers: [k]}}", "set a topic, such as traces:"),
    ],
)
def test_mistakes_are_named(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        load(tmp_path, text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, {"security.protocol": "plaintext"}),
        ({"tls": {}}, {"security.protocol": "ssl"}),
        ({"tls": {"insecure": True}}, {"security.protocol": "plaintext"}),
        ({"tls": {"ca_file": "ca.pem"}}, {"security.protocol": "ssl", "ssl.ca.location": "ca.pem"}),
        (
            {"tls": {}, "auth": {"sasl": {"mechanism": "PLAIN", "username": "u", "password": "p"}}},
            {"security.protocol": "sasl_ssl", "sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": "p"},
        ),
        ({"properties": {"fetch.min.bytes": 9}}, {"security.protocol": "plaintext", "fetch.min.bytes": 9}),
    ],
)
def test_tls_and_sasl_are_passed_on(keys: dict[str, Any], expected: dict[str, Any]) -> None:
    settings = KafkaReceiverConfig.model_validate({"brokers": ["a:1", "b:2"], **keys}).librdkafka()
    assert settings == {"bootstrap.servers": "a:1,b:2", "client.id": "rightcall", "log_level": 2, **expected}


def test_the_password_is_not_shown() -> None:
    sasl = {"mechanism": "PLAIN", "username": "u", "password": "secret"}
    config = KafkaReceiverConfig.model_validate({"brokers": ["a:1"], "auth": {"sasl": sasl}})
    assert "secret" not in config.model_dump_json()
