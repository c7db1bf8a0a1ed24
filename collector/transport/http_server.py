"""An HTTP listener: uvicorn without its own signal handling and logging, with limits on connections and request heads."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from functools import partial
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from collector.config.model import ServerTlsConfig
from collector.errors import ConfigError
from collector.transport.credentials import WatchedFiles, load_certificate, server_context

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_log = logging.getLogger(__name__)
_KEEP_ALIVE = 75  # seconds an idle connection stays; longer than the 60 s batch intervals seen in the field
_GRACE = 5  # seconds running requests get at shutdown


class _Connection(H11Protocol):
    """Adds what uvicorn lacks: a limit on connections, and on the time until the head of a request has arrived."""

    def __init__(self, *arguments: Any, max_connections: int, head_timeout: float, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._max_connections, self._head_timeout = max_connections, head_timeout
        self._waiting_for_head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self._max_connections:
            transport.abort()  # an answer would need the resources that ran out; senders retry
        else:
            self._watch_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_arrived()
        self._unset_keepalive_if_required()  # uvicorn 0.54 leaves the timer running after a reset
        super().connection_lost(exc)

    def _watch_head(self) -> None:
        """Start the timer with the first byte, stop it with the whole head. Idle connections are left to uvicorn."""
        if self.conn.their_state is not h11.IDLE:
            self._head_arrived()
        elif self._waiting_for_head is None:
            self._waiting_for_head = self.loop.call_later(self._head_timeout, self.transport.abort)

    def _head_arrived(self) -> None:
        if self._waiting_for_head is not None:
            self._waiting_for_head.cancel()
            self._waiting_for_head = None


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The service handles signals."""
        yield


def bind(endpoint: str) -> socket.socket:
    """Returns a socket that listens on host:port. Raises ConfigError where the address is in use or not local."""
    host, _, port = endpoint.rpartition(":")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), int(port)), family=family, backlog=1024)
    except (OSError, UnicodeError) as error:  # UnicodeError: no host name
        raise ConfigError(f"cannot listen on {endpoint}: {getattr(error, 'strerror', None) or error}") from None


class HttpServer(ABC):
    """A component that listens on ``endpoint``; subclasses say in ``handle`` how a request is answered."""

    def __init__(
        self,
        endpoint: str,
        max_connections: int = 64,
        head_timeout: float = 10.0,
        tls: ServerTlsConfig | None = None,
    ) -> None:
        self._endpoint, self._tls = endpoint, tls
        self._protocol: Any = partial(  # uvicorn calls it as it would a class
            _Connection, max_connections=max_connections, head_timeout=head_timeout
        )
        self._server: _Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self._reloading: asyncio.Task[None] | None = None
        self.port = 0

    @abstractmethod
    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request: an ASGI application."""

    async def start(self) -> None:
        """Listen; ``port`` is then the port. Raises ConfigError where the address cannot be listened on."""
        context = server_context(self._tls) if self._tls is not None else None
        factory = (lambda *_: context) if context is not None else None
        config = uvicorn.Config(
            self.handle, interface="asgi3", http=self._protocol, ws="none", lifespan="off", log_config=None,
            access_log=False, server_header=False, ssl_context_factory=factory,
            timeout_keep_alive=_KEEP_ALIVE, timeout_graceful_shutdown=_GRACE,
        )  # fmt: skip
        listener = bind(self._endpoint)
        self.port = int(listener.getsockname()[1])
        self._server = _Server(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[listener]))
        await self._server.listening.wait()
        if self._tls is not None and context is not None:
            self._reloading = asyncio.create_task(_reload(context, self._tls))

    async def shutdown(self) -> None:
        """Stop accepting and wait for running requests."""
        if self._reloading is not None:
            self._reloading.cancel()
            self._reloading = None
        serving, self._serving = self._serving, None
        if serving is None or self._server is None:
            return
        await self._server.listening.wait()  # where its start was cancelled
        self._server.should_exit = True
        await serving


async def _reload(context: ssl.SSLContext, tls: ServerTlsConfig) -> None:
    """Use replaced certificate files for new connections. A new ``client_ca_file`` is trusted in addition to the old one."""
    files = WatchedFiles([tls.cert_file, tls.key_file, tls.client_ca_file], tls.reload_interval, time.monotonic)
    while True:
        await asyncio.sleep(max(tls.reload_interval, 0.05))
        if files.changed():
            try:
                server_context(tls)  # raises before an invalid pair replaces the valid one
                load_certificate(context, tls)
                if tls.client_ca_file is not None:
                    context.load_verify_locations(tls.client_ca_file)
            except ConfigError as error:
                _log.error("the new certificate cannot be used, keeping the old one: %s", error)


async def respond(
    send: Send, status: int, body: bytes, content_type: str, headers: tuple[tuple[bytes, bytes], ...] = ()
) -> None:
    """Send one whole response."""
    fixed = ((b"content-type", content_type.encode()), (b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": [*fixed, *headers]})
    await send({"type": "http.response.body", "body": body})
