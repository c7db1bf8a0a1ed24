"""The addresses that the collector listens on: which key has which, whether two of them are one, and
whether a backend is one of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from collector.config.endpoints import is_url

if TYPE_CHECKING:
    from collector.config.model import Config

ALL_ADDRESSES: Final = ("0.0.0.0", "[::]")  # noqa: S104 - compared, not bound
"""Hosts that mean every address of this machine, of IPv4 and of IPv6."""
_LOOPBACK: Final = "127.0.0.1"


def listeners(config: Config) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the path of each key and the address it has."""
    protocols = config.receivers.otlp.protocols
    for name, server in (("grpc", protocols.grpc), ("http", protocols.http)):
        if server is not None:
            yield ("receivers", "otlp", "protocols", name, "endpoint"), server.endpoint
    yield ("exporters", "prometheus", "endpoint"), config.exporters.prometheus.endpoint
    yield ("admin", "endpoint"), config.admin.endpoint


def clashes(config: Config) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each key whose address an earlier one has, with a sentence."""
    before: list[tuple[tuple[str, ...], str]] = []
    for where, endpoint in listeners(config):
        other = next((key for key, taken in before if _are_one(endpoint, taken)), None)
        if other is not None:
            yield where, f"{endpoint} is taken by {'.'.join(other)}; give one of them another port"
        before.append((where, endpoint))


def loops(config: Config) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each backend that is a receiver of this collector, with a sentence: what leaves would come in again, for ever."""
    own = [(where, endpoint) for where, endpoint in listeners(config) if where[0] == "receivers"]
    for to in config.exporters.destinations():
        address = _connected_address(to.backend.endpoint)
        if (key := next((where for where, endpoint in own if _reaches(address, endpoint)), None)) is not None:
            yield (
                (*to.place.split("."), "endpoint"),
                f"{address} is {'.'.join(key)} of this collector, so what leaves comes in again; name the backend behind it",
            )


def _connected_address(endpoint: str) -> str:
    """Returns host:port of a backend, "" where gRPC is to find it."""
    if not is_url(endpoint):
        return endpoint if endpoint.count("/") == 0 else ""
    url = urlsplit(endpoint)
    port = url.port or (443 if url.scheme == "https" else 80)
    return f"[{url.hostname}]:{port}" if ":" in (url.hostname or "") else f"{url.hostname}:{port}"


def _reaches(address: str, endpoint: str) -> bool:
    """Whether who connects to ``address`` on this machine gets to what listens at ``endpoint``."""
    (host, _, port), (listens_at, _, at_port) = address.rpartition(":"), endpoint.rpartition(":")
    hosts = [_LOOPBACK if name == "localhost" else name for name in (host, listens_at)]
    is_here = hosts[0] in (_LOOPBACK, "[::1]", *ALL_ADDRESSES)
    return port == at_port and (hosts[0] == hosts[1] or (is_here and listens_at in ALL_ADDRESSES))


def _are_one(endpoint: str, other: str) -> bool:
    (host, _, port), (host2, _, port2) = endpoint.rpartition(":"), other.rpartition(":")
    # Port 0 is any free one, so it clashes with none.
    return port == port2 and int(port) != 0 and (host == host2 or host in ALL_ADDRESSES or host2 in ALL_ADDRESSES)
