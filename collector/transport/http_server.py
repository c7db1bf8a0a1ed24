"""An HTTP listener: uvicorn without its own signal handling, logging and accepting, with a limit on the time of heads."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from functools import partial
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from collector.config.receivers import ServerTlsConfig
from collector.errors import ConfigError
from collector.transport.accepting import Acceptor, bind
from collector.transport.credentials import WatchedFiles, server_context

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_log = logging.getLogger(__name__)
_KEEP_ALIVE = 75  # seconds an idle connection stays; longer than the 60 s batch intervals seen in the field
_GRACE = 5  # seconds running requests get at shutdown
_DATE_INTERVAL = 1.0  # seconds; the Date header is to the second

_MAX_HEAD = 64 << 10  # bytes of the head of a request
_MAX_CHUNKS = 500  # of a body, beside one for each KiB: each takes 40 µs, and much of a body may be read at once
_CHUNK = 1 << 10  # bytes


class _Parser(h11.Connection):
    """Refuses bodies in a great many small chunks: to read them takes long, and nothing else is done meanwhile."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, _MAX_HEAD)
        self._chunks = self._bytes = 0

    def next_event(self) -> type[h11.NEED_DATA | h11.PAUSED] | h11.Event:
        """Returns what the client did next. Raises RemoteProtocolError."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._chunks = self._bytes = 0
        elif isinstance(event, h11.Data):
            self._chunks += event.chunk_start
            self._bytes += len(event.data)
            if self._chunks > _MAX_CHUNKS + self._bytes // _CHUNK:
                raise h11.RemoteProtocolError("too many small chunks")
        return event


class _Connection(H11Protocol):
    """Adds what uvicorn lacks: limits on the time until a head has arrived, and on the work for a body.

    The time limit is also for the rest of a body that was answered before all of it had arrived.
    """

    def __init__(self, *arguments: Any, head_timeout: float, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conn = _Parser()
        self._head_timeout = head_timeout
        self._awaited: type | None = None
        self._giving_up: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # An idle connection is left to uvicorn, until the first byte.
        if self.conn.their_state is h11.SEND_BODY:
            self._watch()

    def send_400_response(self, msg: str) -> None:
        # Where the request is answered already, and then goes on with nonsense, there is no more to say.
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._await(None)
        self._unset_keepalive_if_required()  # uvicorn 0.54 leaves the timer running after a reset
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Limit the time until what the client has begun to send is there, where nobody else does."""
        # By the parser's state, not by bytes: a head that drips restarts nothing, and a second request has its own limit.
        state = self.conn.their_state
        is_rest = state is h11.SEND_BODY and self.conn.our_state is h11.DONE
        self._await(state if is_rest or state is h11.IDLE else None)

    def _await(self, state: type | None) -> None:
        """End the connection if it stays in this state for ``head_timeout``; None for no limit."""
        if state is self._awaited:
            return
        if self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None
        self._awaited = state
        if state is not None:
            self._giving_up = self.loop.call_later(self._head_timeout, self.transport.abort)


class _Server(uvicorn.Server):
    """Keeps the connections of one listener; an `Acceptor` makes them."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready, self.ending = asyncio.Event(), asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self.lifespan.startup()
        self.servers = []
        self.started = True
        self.ready.set()

    async def main_loop(self) -> None:
        # Not ten times a second, as it is inherited: a collector without work would have most of its wake-ups from here.
        while not self.ending.is_set():
            await self.on_tick(0)  # sets the Date header
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.ending.wait(), _DATE_INTERVAL)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The service handles signals."""
        yield


class HttpServer(ABC):
    """A component that listens on ``endpoint``; subclasses say in ``handle`` how a request is answered."""

    def __init__(
        self,
        endpoint: str,
        max_connections: int = 64,
        head_timeout: float = 10.0,
        tls: ServerTlsConfig | None = None,
    ) -> None:
        """``head_timeout``, in seconds, is for each of these: a TLS handshake, a head, the rest of a body that is answered."""
        self._endpoint, self._tls = endpoint, tls
        self._max_connections, self._head_timeout = max_connections, head_timeout
        self._server: _Server | None = None
        self._acceptor: Acceptor | None = None
        self._serving: asyncio.Task[None] | None = None
        self._reloading: asyncio.Task[None] | None = None
        self.port = 0
        self.on_accept_failure: Callable[[], None] = lambda: None
        """Called for each connection that cannot be accepted; to be set before ``start``."""
        self.on_excess: Callable[[], None] = lambda: None
        """The same for each that is closed because ``max_connections`` are open."""

    @abstractmethod
    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request: an ASGI application."""

    async def start(self) -> None:
        """Listen; ``port`` is then the port. Raises ConfigError where the address cannot be listened on."""
        context = server_context(self._tls) if self._tls is not None else None
        config = uvicorn.Config(
            self._answer, interface="asgi3", http=_Connection, ws="none", lifespan="off", log_config=None,
            access_log=False, server_header=False, timeout_keep_alive=_KEEP_ALIVE, timeout_graceful_shutdown=_GRACE,
        )  # fmt: skip
        listener = bind(self._endpoint)
        self.port = int(listener.getsockname()[1])
        server = self._server = _Server(config)
        connection = partial(_Connection, config, server.server_state, {}, head_timeout=self._head_timeout)
        self._acceptor = Acceptor(
            listener, connection, server.server_state.connections, self._max_connections,
            self.on_accept_failure, self.on_excess, context, self._head_timeout,
        )  # fmt: skip
        self._serving = asyncio.create_task(server.serve())
        await server.ready.wait()
        if self._tls is not None:
            self._reloading = asyncio.create_task(_reload(self._acceptor, self._tls))

    async def shutdown(self) -> None:
        """Stop accepting and wait for running requests."""
        if self._reloading is not None:
            self._reloading.cancel()
            self._reloading = None
        serving, self._serving = self._serving, None
        if serving is None or self._server is None or self._acceptor is None:
            return
        await self._server.ready.wait()  # where its start was cancelled
        # First: a connection that came while the others end would never be answered.
        await self._acceptor.close()
        self._server.ending.set()
        await serving

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        names = {name for name, _ in scope["headers"]}
        if b"content-length" in names and b"transfer-encoding" in names:  # RFC 9112, 6.3: a proxy may see another end
            body = b"a request must not have both Content-Length and Transfer-Encoding\n"
            await respond(send, 400, body, "text/plain", ((b"connection", b"close"),))
            return
        await self.handle(scope, receive, send)


async def _reload(acceptor: Acceptor, tls: ServerTlsConfig) -> None:
    """Use replaced certificate files for new connections."""
    files = WatchedFiles([tls.cert_file, tls.key_file, tls.client_ca_file], tls.reload_interval, time.monotonic)
    while True:
        # An interval of 0 must not become a loop without a pause.
        await asyncio.sleep(max(tls.reload_interval, 0.05))
        if files.changed():
            try:
                # A new context, since one cannot be told to trust an authority no more, and resumes sessions unasked.
                acceptor.tls = server_context(tls)
            except ConfigError as error:
                _log.error("the new certificate cannot be used, keeping the old one: %s", error)


async def respond(
    send: Send, status: int, body: bytes, content_type: str, headers: tuple[tuple[bytes, bytes], ...] = ()
) -> None:
    """Send one whole response."""
    fixed = ((b"content-type", content_type.encode()), (b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": [*fixed, *headers]})
    await send({"type": "http.response.body", "body": body})
