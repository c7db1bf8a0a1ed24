"""One HTTP listener: uvicorn around an ASGI callable, without uvicorn's own signal handling and logging."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any

import uvicorn

from collector.errors import ConfigError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_KEEP_ALIVE = 75  # seconds an idle connection stays; longer than the 60 s batch intervals seen in the field
_GRACE = 5  # seconds running requests get at shutdown


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the service's business."""
        yield


def bind(endpoint: str) -> socket.socket:
    """Listen on host:port. Raises ConfigError when the address is taken or not ours."""
    host, _, port = endpoint.rpartition(":")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), int(port)), family=family, backlog=1024)
    except OSError as error:
        raise ConfigError(f"cannot listen on {endpoint}: {error.strerror or error}") from None


class HttpServer:
    """Serves ``app`` on ``endpoint``. ``start`` returns when it listens, ``shutdown`` when running requests are done."""

    def __init__(self, app: App, endpoint: str, max_connections: int = 64) -> None:
        self._app, self._endpoint, self._max_connections = app, endpoint, max_connections
        self._task: asyncio.Task[None] | None = None
        self.port = 0

    async def start(self) -> None:
        """Listen. Raises ConfigError when the address cannot be had."""
        listener = bind(self._endpoint)
        self.port = int(listener.getsockname()[1])
        config = uvicorn.Config(
            self._app, interface="asgi3", http="h11", ws="none", lifespan="off", log_config=None, access_log=False, server_header=False,
            timeout_keep_alive=_KEEP_ALIVE, timeout_graceful_shutdown=_GRACE, limit_concurrency=self._max_connections,
        )  # fmt: skip
        self._server = _Server(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[listener]))
        await self._server.listening.wait()

    async def shutdown(self) -> None:
        """Stop accepting and wait for running requests. May be called without ``start`` and repeatedly."""
        if self._task is None:
            return
        self._server.should_exit = True
        task, self._task = self._task, None
        await task


async def respond(
    send: Send, status: int, body: bytes, content_type: str, headers: tuple[tuple[bytes, bytes], ...] = ()
) -> None:
    """Send one whole response."""
    fixed = ((b"content-type", content_type.encode()), (b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": [*fixed, *headers]})
    await send({"type": "http.response.body", "body": body})
