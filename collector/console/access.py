"""Who may see the console: everybody on loopback, elsewhere whoever shows a token of ``admin.auth``.

Browsers send the token as the password of basic authentication, a proxy in front may send it as bearer token.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from ipaddress import ip_address

from collector.config.model import AdminConfig
from collector.errors import UnauthenticatedError
from collector.transport.credentials import BearerTokens

_BASIC = "basic "


class Access:
    """Decides by the listener's address and the headers of a request."""

    def __init__(self, config: AdminConfig) -> None:
        """Raises ConfigError where there is no token to compare with."""
        self._tokens = BearerTokens(config.auth, time.monotonic)
        self.is_closed = config.auth is None and not is_loopback(config.endpoint)
        """Nobody may see it: others can reach the listener, and there is no token."""

    def check(self, headers: Mapping[str, str]) -> None:
        """Raise UnauthenticatedError unless the request may be answered."""
        shown = headers.get("authorization")
        self._tokens.check(_as_bearer(shown) if shown else None)


def is_loopback(endpoint: str) -> bool:
    """Whether only this machine, or this pod, can reach an address."""
    host = endpoint.rpartition(":")[0].removeprefix("[").removesuffix("]")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _as_bearer(header: str) -> str:
    if not header.lower().startswith(_BASIC):
        return header
    try:
        _, _, password = base64.b64decode(header[len(_BASIC) :], validate=True).partition(b":")
    except ValueError:  # neither base64 nor ASCII
        # The same words as for a wrong token: an answer must not tell which of the two it was.
        raise UnauthenticatedError("missing or invalid bearer token") from None
    # Compared by `BearerTokens` as any other, in constant time and against the tokens now in the file.
    return f"Bearer {password.decode('utf-8', 'surrogateescape')}"
