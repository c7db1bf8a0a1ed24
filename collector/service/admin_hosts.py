"""Which ``Host`` headers the admin listener answers.

A page in a browser may resolve its own name to an address of ours (DNS rebinding), and then read what we answer: the name
is what gives it away. Nobody else can make an address, or a name without a dot, be theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from ipaddress import ip_address


def is_own_host(header: str, names: Sequence[str]) -> bool:
    """Whether a ``Host`` header has an IP address, a name without a dot such as localhost, or one that fits a glob."""
    host, colon, port = header.lower().rpartition(":")
    # An IPv6 address without a port, such as `[::1]`, has colons of its own.
    if not colon or not port.isdigit():
        host = header.lower()
    host = host.removesuffix(".")
    try:
        ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return bool(host) and ("." not in host or any(fnmatchcase(host, name.lower()) for name in names))
    return True
