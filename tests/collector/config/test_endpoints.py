"""Addresses of OTLP backends: what SDKs take is taken, what cannot work is refused, what is odd is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.cli import main
from collector.config.endpoints import shown_endpoint, signal_url
from collector.config.model import Config
from collector.errors import ConfigError
from tests.builders import load


@pytest.mark.parametrize(
    "endpoint",
    ["tempo:4317", "[::1]:4317", "dns:///tempo.monitoring:4317", "unix:///run/otlp.sock", "http://tempo:4318",
     "https://otlp.example.com", "HTTP://tempo:4318", "http://tempo:4318/v1/traces", "https://x/otlp/?key=1"],
)  # fmt: skip
def test_what_sdks_take_is_taken(tmp_path: Path, endpoint: str) -> None:
    assert load(tmp_path, f"exporters: {{otlp: {{endpoint: '{endpoint}'}}}}").exporters.otlp


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        ("tempo", "'tempo' has no port: write tempo:4317 for OTLP/gRPC, or http://tempo:4318 for OTLP/HTTP"),
        ("[::1]", "has no port"),
        ("tempo:otlp", "is not host:port, such as tempo:4317"),
        ("tempo:0", "is not host:port"),
        ("tempo:70000", "is not host:port"),
        (":4317", "is not host:port"),
        ("::1:4317", "write an IPv6 address in brackets"),
        ("tempo:4317/v1/traces", "has a path but no scheme: write http://tempo:4317/v1/traces"),
        ("grpc://tempo:4317", "unknown scheme grpc://; use host:port for OTLP/gRPC"),
        ("http://", "not a URL such as http://tempo:4318"),
        ("http://tempo:x", "not a URL"),
        ("http://tempo:0", "not a URL"),
        ("http://te mpo", "not a URL"),
        ("", "is not host:port"),
    ],
)
def test_what_cannot_work_is_refused_with_the_fix(tmp_path: Path, endpoint: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, f"exporters:\n  otlp:\n    endpoint: '{endpoint}'\n")
    assert str(caught.value).startswith(f"{tmp_path}/collector.yaml:3: exporters.otlp.endpoint: ")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("receiver", "protocol", "backend", "is_itself"),
    [
        ("0.0.0.0:4317", "grpc", "localhost:4317", True),
        ("0.0.0.0:4318", "http", "http://127.0.0.1:4318/v1/traces", True),
        ("[::]:4318", "http", "http://[::1]:4318", True),
        ("localhost:4317", "grpc", "127.0.0.1:4317", True),
        ("10.0.0.1:80", "http", "http://10.0.0.1", True),
        ("0.0.0.0:4317", "grpc", "localhost:4327", False),
        ("0.0.0.0:4317", "grpc", "tempo:4317", False),
        ("10.0.0.1:4317", "grpc", "localhost:4317", False),
        ("127.0.0.1:4317", "grpc", "[::1]:4317", False),
        ("0.0.0.0:4317", "grpc", "dns:///localhost:4317", False),
    ],
)
def test_a_collector_is_not_its_own_backend(
    tmp_path: Path, receiver: str, protocol: str, backend: str, is_itself: bool
) -> None:
    text = (
        f"receivers: {{otlp: {{protocols: {{{protocol}: {{endpoint: '{receiver}'}}}}}}}}\n"
        f"exporters:\n  otlp: {{endpoint: 'tempo:4317', logs: {{endpoint: '{backend}'}}}}\n"
    )
    if not is_itself:
        assert load(tmp_path, text).exporters.otlp
        return
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    told = f":3: exporters.otlp.logs.endpoint: {backend.removeprefix('http://').removesuffix('/v1/traces')}"
    assert told in str(caught.value)
    assert f"is receivers.otlp.protocols.{protocol}.endpoint of this collector" in str(caught.value)


def test_no_message_quotes_a_password(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, "exporters: {otlp: {endpoint: 'https://me:s3cret/x@backend:1'}}")
    assert "s3cret" not in str(caught.value)
    assert shown_endpoint("https://me:s3cret@backend:1/otlp?key=s3cret") == "https://backend:1/otlp"


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("http://tempo:4318", "http://tempo:4318/v1/logs"),
        ("http://tempo:4318/", "http://tempo:4318/v1/logs"),
        ("http://tempo:4318/v1/traces", "http://tempo:4318/v1/logs"),
        ("http://tempo:4318/v1/traces/", "http://tempo:4318/v1/logs"),
        ("https://x/otlp", "https://x/otlp/v1/logs"),
        ("https://x/otlp?key=1", "https://x/otlp/v1/logs?key=1"),
    ],
)
def test_the_url_of_a_backend_is_a_base(endpoint: str, url: str) -> None:
    assert signal_url(endpoint, "logs", of_one_signal=False) == url


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("http://loki:3100", "http://loki:3100/v1/logs"),
        ("http://loki:3100/", "http://loki:3100/v1/logs"),
        ("http://loki:3100/otlp/v1/logs", "http://loki:3100/otlp/v1/logs"),
        ("http://loki:3100/ingest", "http://loki:3100/ingest"),
    ],
)
def test_the_url_of_one_signal_is_used_as_it_is_if_it_has_a_path(endpoint: str, url: str) -> None:
    assert signal_url(endpoint, "logs", of_one_signal=True) == url


ODD = [
    ("{endpoint: 'http://tempo:4317'}", "write tempo:4317 with tls: {insecure: true} for OTLP/gRPC"),
    ("{endpoint: 'https://me@tempo:4317/x'}", "write tempo:4317 for OTLP/gRPC"),
    ("{endpoint: 'tempo:4318', tls: {insecure: true}}", "write http://tempo:4318 for OTLP/HTTP"),
    ("{endpoint: 'https://tempo', tls: {insecure: true}}", "tls.insecure has no effect"),
    ("{endpoint: 'http://tempo', tls: {ca_file: ca.pem}}", "the certificates of tls are not used"),
    (
        "{endpoint: 'a:1', logs: {endpoint: 'http://b/v1/traces'}}",
        "/v1/traces is the path for traces, and logs are sent",
    ),
]


@pytest.mark.parametrize(("otlp", "words"), ODD)
def test_what_is_odd_is_said_by_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], otlp: str, words: str
) -> None:
    config = tmp_path / "collector.yaml"
    config.write_text(f"exporters: {{otlp: {otlp}}}\n")
    assert main(["check", "--config", str(config)]) == 0
    said = capsys.readouterr().err
    assert said.startswith(f"warning: {config}: exporters.otlp.")
    assert words in said
    assert "me@" not in said


@pytest.mark.parametrize(
    "otlp", [{"endpoint": "tempo:4317"}, {"endpoint": "http://tempo:4318"}, {"endpoint": "unix:/run/otlp:4318"}]
)
def test_what_is_usual_is_not(otlp: dict[str, str]) -> None:
    assert not list(Config.model_validate({"exporters": {"otlp": otlp}}).exporters.doubts())
