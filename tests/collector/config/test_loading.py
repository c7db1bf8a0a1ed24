"""Configuration files: errors with line numbers, and relative paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.errors import ConfigError
from tests.builders import load

MISTAKES = [
    (
        "exporters:\n  otlp:\n    endpont: x:1\n    endpoint: x:1\n",
        "collector.yaml:3: exporters.otlp.endpont: unknown key; did you mean endpoint?",
    ),
    ("recievers: {}\n", "collector.yaml:1: recievers: unknown key; did you mean receivers?"),
    ("traces:\n  settle: soon\n", "collector.yaml:2: traces.settle: 'soon' is not a duration such as 500ms"),
    ("traces:\n  settle: 2parsecs\n", "collector.yaml:2: traces.settle"),
    # With it no request would be sent: gRPC takes the deadline for one that has passed.
    (
        "exporters: {otlp: {endpoint: 'x:1', timeout: .inf}}\n",
        "collector.yaml:1: '.inf' is no number that can be read",
    ),
    ("admin:\n  endpoint: here\n", "collector.yaml:2: admin.endpoint: 'here' is not host:port"),
    ("admin:\n  endpoint: 'here:²'\n", "collector.yaml:2: admin.endpoint: 'here:²' is not host:port"),
    ("admin:\n  endpoint: '::1:80'\n", "collector.yaml:2: admin.endpoint: '::1:80': write an IPv6 address in brackets"),
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
    ("processors: {batch: {}}\n", "processors: unknown key; there are none; those of an OpenTelemetry Collector run"),
    (
        "exporters: {otlphttp: {}}\n",
        "exporters.otlphttp: unknown key; `exporters.otlp` sends OTLP/HTTP where its endpoint",
    ),
    ("redact: {zzz: 1}\n", "redact.zzz: unknown key; known keys: attributes, pass_through, patterns\n"),
    ("exporters: {prometheus: {dimensions: [9lives]}}\n", r"dimensions.0: must match ^[A-Za-z][\w./-]*$, not '9lives'"),
    (
        "receivers: {kafka: {brokers: [a:1], traces: {topic: a b}}}\n",
        "traces.topic: must match ^[A-Za-z0-9._-]+$, not 'a b'",
    ),
    ("console: off\n", "collector.yaml:1: console: must be a mapping, not false; to switch it off: {enabled: false}"),
    (
        "judge: {endpoint: 'http://x/v1', model: m, retry_on_failure: off}\n",
        "judge.retry_on_failure: must be a mapping, not false; to switch it off: {enabled: false}",
    ),
    ("traces: off\n", "collector.yaml:1: traces: must be a mapping, not false\n"),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_name_line_key_and_fix(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert message in f"{caught.value}\n"


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, "traces:\n  settle: soon\n  idle: 3s\nspool: disk\n")
    assert len(str(caught.value).splitlines()) == 3


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules.yaml").touch()
    config = load(
        tmp_path,
        f"""
receivers: {{otlp: {{protocols: {{http: {{tls: {{cert_file: tls/cert.pem, key_file: /etc/key.pem}}}}}}}}}}
rules: [rules, {tmp_path}/rules.yaml]
spool: {{path: spool}}
exporters: {{otlp: {{endpoint: "x:1", tls: {{ca_file: ca.pem}}}}}}
""",
    )
    http, otlp = config.receivers.otlp.protocols.http, config.exporters.otlp
    assert http is not None
    assert http.tls is not None
    assert otlp is not None
    assert config.spool is not None
    assert (http.tls.cert_file, http.tls.key_file) == (tmp_path / "tls/cert.pem", Path("/etc/key.pem"))
    assert config.rules == [tmp_path / "rules", tmp_path / "rules.yaml"]
    assert (config.spool.path, otlp.tls.ca_file) == (tmp_path / "spool", tmp_path / "ca.pem")
