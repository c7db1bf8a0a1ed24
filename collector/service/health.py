"""The admin listener: is the process alive, is it ready, what is it configured to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from collector.config.memory import memory_budget
from collector.config.model import Config
from collector.transport.http_server import HttpServer, Receive, Scope, Send, respond


class Health:
    """Ready only while the pipeline runs and what it takes can be kept; ``failing`` says when it cannot."""

    def __init__(self, failing: Callable[[], bool] = lambda: False) -> None:
        self._failing, self.running = failing, False

    @property
    def ready(self) -> bool:
        """Whether senders should come here."""
        return self.running and not self._failing()


class AdminServer(HttpServer):
    """Serves /livez, /readyz and /config; header values, which may be secrets, are not shown."""

    def __init__(self, config: Config, health: Health) -> None:
        super().__init__(config.admin.endpoint)
        self._config, self._health = config, health

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path = scope["path"]
        if path == "/livez":
            await respond(send, 200, b"ok\n", "text/plain")
        elif path == "/readyz":
            await respond(send, *((200, b"ok\n") if self._health.ready else (503, b"not ready\n")), "text/plain")
        elif path == "/config":
            await respond(send, 200, _shown(self._config), "application/json")
        else:
            await respond(send, 404, b"see /livez, /readyz and /config\n", "text/plain")


def _shown(config: Config) -> bytes:
    shown = _masked(config.model_dump(mode="json"))
    shown["memory_limiter"]["shares_mib"] = memory_budget(config).shown()
    shown["spool"] = shown["spool"] or "memory"
    return json.dumps(shown, indent=2).encode()


def _masked(shown: Any) -> Any:
    """Header values, which may be secrets, are not shown, wherever there are headers."""
    if not isinstance(shown, dict):
        return shown
    return {key: dict.fromkeys(value, "…") if key == "headers" else _masked(value) for key, value in shown.items()}
