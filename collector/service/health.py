"""The admin listener: is the process alive, is it ready, what is it configured to do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from collector.config.memory import memory_budget
from collector.config.model import Config
from collector.console.app import Console
from collector.service.admin_hosts import is_own_host
from collector.telemetry.blind_spots import blind_spots
from collector.telemetry.metrics import Telemetry
from collector.transport.http_server import HttpServer, Receive, Scope, Send, respond
from scorers.quoting import json_line

_SECRET = ("headers", "extra_body", "properties")
_URL = re.compile(r"^(\w[\w+.-]*://)(.*@)?([^?#]*)([?#].*)?$", re.DOTALL)


class Health:
    """Ready only while the pipeline runs, what it takes can be kept and its metrics be read; else ``failing`` says why not."""

    def __init__(self, failing: Callable[[], str] = lambda: "") -> None:
        self._failing, self.running = failing, False

    @property
    def trouble(self) -> str:
        """Why senders should not come here; empty while they should."""
        return self._failing() or ("" if self.running else "it starts or stops")


class AdminServer(HttpServer):
    """Serves /livez, /readyz, /config without what may be a secret, /unread, and the console with its JSON.

    Probes are answered whatever name they ask for; everything else only under a name of our own.
    """

    def __init__(self, config: Config, health: Health, console: Console, telemetry: Telemetry) -> None:
        super().__init__(config.admin.endpoint)
        self._config, self._health, self._console, self._telemetry = config, health, console, telemetry

    async def shutdown(self) -> None:
        """End the streams of open pages, stop accepting and wait for running requests."""
        self._console.close()
        await super().shutdown()

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path = scope["path"]
        # Before the name is looked at: probes ask by an address or by any name, and these answers tell no secret.
        if path == "/livez":
            await respond(send, 200, b"ok\n", "text/plain")
        elif path == "/readyz":
            trouble = self._health.trouble
            status, text = (503, f"not ready: {trouble}; see the log\n") if trouble else (200, "ok\n")
            await respond(send, status, text.encode(), "text/plain")
        elif not is_own_host(_host(scope), self._config.admin.allowed_hosts):
            await respond(send, 403, b"unknown Host; add it to admin.allowed_hosts\n", "text/plain")
        elif path == "/config":
            await respond(send, 200, json.dumps(shown_config(self._config), indent=2).encode(), "application/json")
        elif path == "/unread":
            await respond(send, 200, json_line(blind_spots(self._telemetry)).encode() + b"\n", "application/json")
        elif self._console.owns(path):
            await self._console.handle(scope, receive, send)
        else:
            await respond(send, 404, b"see /livez, /readyz, /config, /unread and /console\n", "text/plain")


def _host(scope: Scope) -> str:
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")


def shown_config(config: Config) -> dict[str, Any]:
    """Returns the configuration in effect, without what may be a secret."""
    shown: dict[str, Any] = _masked(config.model_dump(mode="json"))
    shown["memory_limiter"]["shares_mib"] = memory_budget(config).shown()
    shown["spool"] = shown["spool"] or "memory"
    shown["runs"] = shown["runs"] or "off"
    return shown


def _masked(shown: Any) -> Any:
    """Leave out what may be a secret: values of headers, of extra keys of requests and of properties of Kafka, user names and
    queries of URLs.
    """
    if isinstance(shown, str):
        return _URL.sub(_masked_url, shown)
    if isinstance(shown, list):
        return [_masked(value) for value in shown]
    if not isinstance(shown, dict):
        return shown
    return {key: dict.fromkeys(value, "…") if key in _SECRET else _masked(value) for key, value in shown.items()}


def _masked_url(url: re.Match[str]) -> str:
    scheme, user, place, query = url.groups()
    return f"{scheme}{'…@' if user else ''}{place}{query[0] + '…' if query else ''}"
