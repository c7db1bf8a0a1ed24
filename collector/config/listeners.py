"""The addresses that the collector listens on: which key has which, and whether two of them are one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collector.config.model import Config

ALL_ADDRESSES: Final = ("0.0.0.0", "[::]")  # noqa: S104 - compared, not bound
"""Hosts that mean every address of this machine, of IPv4 and of IPv6."""


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


def _are_one(endpoint: str, other: str) -> bool:
    (host, _, port), (host2, _, port2) = endpoint.rpartition(":"), other.rpartition(":")
    # Port 0 is any free one, so it clashes with none.
    return port == port2 and int(port) != 0 and (host == host2 or host in ALL_ADDRESSES or host2 in ALL_ADDRESSES)
