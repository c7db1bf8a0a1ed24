"""Proxies of the environment, with a real one between the exporters and real backends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from collector.clock import SYSTEM_CLOCK
from collector.component import ExportRequest
from collector.config.exporters import OtlpExporterConfig
from collector.config.receivers import HttpServerConfig
from collector.errors import ConfigError
from collector.exporters.otlp import connect
from collector.receivers.otlp_http import OtlpHttpReceiver
from collector.transport.proxies import grpc_proxy_options, proxy_for
from tests import otlp_data as data
from tests.http_proxy import HttpProxy
from tests.sinks import OtlpSink, RecordingIntake

REQUEST = data.traces(data.span(1)).SerializeToString()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


async def send(endpoint: str, **config: Any) -> None:
    settings = OtlpExporterConfig.model_validate({"endpoint": endpoint, "tls": {"insecure": True}, **config})
    transport = connect(settings, SYSTEM_CLOCK)
    await transport.send(ExportRequest("traces", REQUEST, 1))
    await transport.close()


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy"])
def test_grpc_goes_through_a_tunnel_of_the_proxy(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with HttpProxy() as proxy, OtlpSink() as sink:
        monkeypatch.setenv(variable, proxy.url)
        asyncio.run(send(f"tempo.example:{sink.port}"))
    assert sink.requests["traces"] == [REQUEST]
    assert [seen[:2] for seen in proxy.seen] == [("CONNECT", f"tempo.example:{sink.port}")]


def test_http_goes_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run(proxy: HttpProxy) -> tuple[RecordingIntake, int]:
        intake = RecordingIntake()
        receiver = OtlpHttpReceiver(HttpServerConfig(endpoint="127.0.0.1:0"), intake)
        await receiver.start()
        port = receiver.port
        monkeypatch.setenv("HTTP_PROXY", proxy.url.replace("//", "//user:secret@"))
        await send(f"http://tempo.example:{port}")
        await receiver.shutdown()
        return intake, port

    with HttpProxy() as proxy:
        intake, port = asyncio.run(run(proxy))
    assert [request for _, request, _ in intake.received] == [REQUEST]
    [(method, target, head)] = proxy.seen
    assert (method, target) == ("POST", f"http://tempo.example:{port}/v1/traces")
    assert "Proxy-Authorization: Basic" in head


def test_loopback_is_reached_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "grpc_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # nobody listens there
    with OtlpSink() as sink:
        asyncio.run(send(sink.endpoint))
    assert sink.requests["traces"] == [REQUEST]


@pytest.mark.parametrize(
    ("url", "is_direct"),
    [
        ("https://otlp.example.com", False),
        ("https://tempo.monitoring.svc:4317", True),
        ("https://svc", True),
        ("https://notsvc", False),
        ("http://10.1.2.3:4318", True),
        ("http://11.1.2.3:4318", False),
        ("https://[fd00::7]:4317", True),
        ("https://[2001:db8::7]:4317", False),
        ("https://api.local:443", True),
        ("https://api.local:444", False),
        ("https://a.wild.example", True),
        ("http://localhost:4318", True),
        ("http://127.0.0.2:4318", True),
        ("https://[::1]:4317", True),
    ],
)
def test_what_no_proxy_lists_is_reached_directly(url: str, is_direct: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "web:3128")
    monkeypatch.setenv("HTTPS_PROXY", "web:3128")
    monkeypatch.setenv("NO_PROXY", ".svc, 10.0.0.0/8,fd00::/8,API.local:443,,*.wild.example")
    assert proxy_for(url) == (None if is_direct else "http://web:3128")


def test_everything_is_reached_directly_with_a_star(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "web:3128")
    monkeypatch.setenv("NO_PROXY", "*")
    assert proxy_for("https://otlp.example.com") is None


@pytest.mark.parametrize("target", ["unix:/run/otlp.sock", "ipv4:10.0.0.1:4317,10.0.0.2:4317", "127.0.0.1:4317"])
def test_names_without_a_host_have_no_proxy(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://web:3128")
    assert grpc_proxy_options(target) == [("grpc.enable_http_proxy", 0)]


def test_names_that_grpc_resolves_have_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://web:3128")
    assert grpc_proxy_options("dns:///tempo:4317") == [("grpc.http_proxy", "http://web:3128")]


@pytest.mark.parametrize("value", ["socks5://web:1080", "http://", "http://web:99999", "http://:s3cret@"])
def test_what_is_no_proxy_is_refused_and_not_quoted(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", value)
    with pytest.raises(ConfigError, match=r"^HTTPS_PROXY of the environment is not the URL of a proxy") as error:
        proxy_for("https://tempo")
    assert "s3cret" not in str(error.value)


def test_grpc_refuses_a_proxy_that_asks_for_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "https://web:3128")
    with pytest.raises(ConfigError, match="only the http:"):
        grpc_proxy_options("tempo:4317")
