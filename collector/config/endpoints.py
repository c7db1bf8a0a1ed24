"""Addresses of OTLP backends, as OpenTelemetry's SDKs and the OpenTelemetry Collector take them.

``host:port`` and gRPC's own names (``dns:///host:port``, ``unix:PATH``) mean OTLP/gRPC, a URL means OTLP/HTTP. The URL of a
backend is a base: ``/v1/<signal>`` is appended, whether or not it ends with the path of a signal already. The URL of one
signal is used as it is if it has a path.
"""

from __future__ import annotations

import re
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BeforeValidator, WithJsonSchema

_GRPC_NAMES = ("dns:", "unix:", "unix-abstract:", "ipv4:", "ipv6:")
_HTTP = ("http://", "https://")
_SIGNAL_PATH = re.compile(r"/v1/(traces|logs|metrics)$")
_GRPC_PORT, _HTTP_PORT = "4317", "4318"
_MAX_PORT = 65535


def is_url(endpoint: str) -> bool:
    """Whether it is for OTLP/HTTP."""
    return endpoint.startswith(_HTTP)


def _checked(value: Any) -> Any:
    if not isinstance(value, str):
        return value  # pydantic says what it is instead
    endpoint = value.strip()
    if endpoint.startswith(_GRPC_NAMES):
        return endpoint
    return _checked_url(endpoint) if "://" in endpoint else _checked_address(endpoint)


def _checked_url(endpoint: str) -> str:
    """Messages quote no more than the host: what is around it may be a secret."""
    scheme, _, rest = endpoint.partition("://")
    if scheme.lower() not in ("http", "https"):
        raise ValueError(f"unknown scheme {scheme}://; use host:port for OTLP/gRPC, http:// or https:// for OTLP/HTTP")
    try:
        url = urlsplit(endpoint)
        is_wrong = not url.hostname or url.port == 0 or any(map(str.isspace, endpoint))
    except ValueError:  # of the port, or of brackets around an IPv6 address
        is_wrong = True
    if is_wrong:
        raise ValueError(f"not a URL such as {scheme.lower()}://tempo:{_HTTP_PORT}")
    return f"{scheme.lower()}://{rest}"


def _checked_address(endpoint: str) -> str:
    host, colon, port = endpoint.rpartition(":")
    if "/" in endpoint:
        raise ValueError(f"{endpoint!r} has a path but no scheme: write http://{endpoint} for OTLP/HTTP")
    if not endpoint or any(map(str.isspace, endpoint)):
        raise ValueError(f"{endpoint!r} is not host:port, such as tempo:4317")
    if not colon or endpoint.endswith("]"):
        raise ValueError(
            f"{endpoint!r} has no port: write {endpoint}:{_GRPC_PORT} for OTLP/gRPC, "
            f"or http://{endpoint}:{_HTTP_PORT} for OTLP/HTTP"
        )
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) <= _MAX_PORT:
        raise ValueError(f"{endpoint!r} is not host:port, such as tempo:4317")
    if ":" in host and not host.startswith("["):
        raise ValueError(f"{endpoint!r}: write an IPv6 address in brackets, such as [::1]:4317")
    return endpoint


OtlpEndpoint = Annotated[
    str,
    BeforeValidator(_checked),
    WithJsonSchema({"type": "string", "examples": ["tempo:4317", "http://tempo:4318", "https://otlp.example.com"]}),
]


def signal_url(endpoint: str, signal: str, *, of_one_signal: bool) -> str:
    """Returns the URL for requests of ``signal``."""
    url = urlsplit(endpoint)
    if of_one_signal and url.path.strip("/"):
        return endpoint
    base = _SIGNAL_PATH.sub("", url.path.rstrip("/"))
    return url._replace(path=f"{base}/v1/{signal}").geturl()


def shown_endpoint(endpoint: str) -> str:
    """Returns it for logs, without what may be a secret: user name, password and query."""
    if not is_url(endpoint):
        return endpoint
    url = urlsplit(endpoint)
    return url._replace(netloc=url.netloc.rpartition("@")[2], query="").geturl()


def doubts_about(endpoint: str, *, insecure: bool, tls_files: bool, signal: str | None) -> list[str]:
    """Returns what is probably not meant, in sentences. ``signal`` is that of an endpoint for one signal."""
    if endpoint.startswith(_GRPC_NAMES):
        return []
    if not is_url(endpoint):
        host, _, port = endpoint.rpartition(":")
        scheme = "http" if insecure else "https"
        http = f"port {port} is usually OTLP/HTTP, and host:port means OTLP/gRPC: write {scheme}://{endpoint} for OTLP/HTTP"
        return [http] if host and port == _HTTP_PORT else []
    doubts, url = [], urlsplit(endpoint)
    if str(url.port) == _GRPC_PORT:
        address = endpoint.partition("://")[2].partition("/")[0].rpartition("@")[2]
        tls = " with tls: {insecure: true}" if url.scheme == "http" else ""
        doubts.append(
            f"port {_GRPC_PORT} is usually OTLP/gRPC, and a URL means OTLP/HTTP: write {address}{tls} for OTLP/gRPC"
        )
    if insecure and url.scheme == "https":
        doubts.append("tls.insecure has no effect: https:// is encrypted; write http:// for plain text")
    if tls_files and url.scheme == "http":
        doubts.append("the certificates of tls are not used: http:// is plain text; write https://")
    path = _SIGNAL_PATH.search(url.path)
    if signal and path and path[1] != signal:
        doubts.append(f"{path[0]} is the path for {path[1]}, and {signal} are sent there")
    return doubts
