"""Proxies that the environment names: ``HTTPS_PROXY``, ``HTTP_PROXY`` and ``NO_PROXY``, in capitals or small letters.

As the OpenTelemetry Collector has it (Go's ``net/http`` and grpc-go): ``https://`` and OTLP/gRPC go through ``HTTPS_PROXY``,
in a tunnel of which the proxy can read nothing if it is TLS; ``http://`` goes through ``HTTP_PROXY``. ``NO_PROXY`` lists what
is reached directly: names, each with all names below it, addresses, networks such as ``10.0.0.0/8``, or ``*`` for everything;
names and addresses may have a port. Loopback is always reached directly.
"""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import Final
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies_environment

from collector.errors import ConfigError

_OTHER_NAMES: Final = ("unix:", "unix-abstract:", "ipv4:", "ipv6:")
"""Names of gRPC that have no host."""


def proxy_for(url: str) -> str | None:
    """Returns the URL of the proxy for an http:// or https:// URL; None where it is reached directly. Raises ConfigError."""
    target, environment = urlsplit(url), getproxies_environment()
    proxy = environment.get(target.scheme)
    if not proxy or _is_loopback(target.hostname or ""):
        return None
    if any(_covers(entry.strip().lower(), target) for entry in environment.get("no", "").split(",")):
        return None
    return _checked(proxy, f"{target.scheme.upper()}_PROXY")


def grpc_proxy_options(target: str) -> list[tuple[str, str | int]]:
    """Returns the options of a channel to ``host:port`` or another name of gRPC. Raises ConfigError.

    Without them gRPC reads the environment by rules of its own: small letters only, and loopback through the proxy as well.
    """
    address = target.removeprefix("dns:").rpartition("/")[2]
    proxy = None if target.startswith(_OTHER_NAMES) else proxy_for(f"https://{address}")
    if proxy is None:
        return [("grpc.enable_http_proxy", 0)]
    if proxy.startswith("https://"):
        raise ConfigError("HTTPS_PROXY of the environment: gRPC takes only the http:// URL of a proxy")
    return [("grpc.http_proxy", proxy)]


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _covers(entry: str, target: SplitResult) -> bool:
    """Whether an entry of NO_PROXY is about this host."""
    host = target.hostname or ""
    try:
        return ip_address(host) in ip_network(entry, strict=False)
    except ValueError:  # one of them is a name, or has a port
        name, _, port = entry.rpartition(":") if entry.rpartition(":")[2].isdigit() else (entry, "", "")
    if port and port != str(target.port):
        return False
    name = name.strip("[]").removeprefix("*").removeprefix(".")
    return entry == "*" or (bool(name) and (host == name or host.endswith(f".{name}")))


def _checked(proxy: str, variable: str) -> str:
    """Messages do not quote it: there may be a password in it."""
    url = proxy if "://" in proxy else f"http://{proxy}"
    try:
        parts = urlsplit(url)
        is_wrong = parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0
    except ValueError:  # of the port, or of brackets around an IPv6 address
        is_wrong = True
    if is_wrong:
        raise ConfigError(f"{variable} of the environment is not the URL of a proxy, such as http://proxy:3128")
    return url
