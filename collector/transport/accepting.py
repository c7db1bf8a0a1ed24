"""Accepts the connections of a listener, none faster than the event loop can bear.

Connections beyond a limit are closed at once, TLS handshakes have a time limit, and where the process has no file descriptors
left the listener pauses: waiting connections stay in the kernel's queue. Either is logged once a minute.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import Callable, Sized
from typing import Any, Final

from collector.config.listeners import ALL_ADDRESSES
from collector.errors import ListenError

_log = logging.getLogger(__name__)
ACCEPT_PAUSE: Final = 0.5
"""Seconds until the next attempt after a connection could not be accepted."""
_LOG_INTERVAL: Final = 60.0  # seconds between two log lines on the same


def bind(endpoint: str) -> socket.socket:
    """Returns a socket that listens on host:port. Raises ListenError where the address is in use or not local.

    ``0.0.0.0`` and ``[::]`` both mean every address, of IPv6 too where there is any, as they do in gRPC and in Go (net.Listen),
    and so in the OpenTelemetry Collector. A pod of an IPv6-only cluster has no IPv4 address that others reach.
    """
    host, _, port = endpoint.rpartition(":")
    is_both = host in ALL_ADDRESSES and socket.has_dualstack_ipv6()
    host = "::" if is_both else host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, int(port)), family=family, backlog=1024, dualstack_ipv6=is_both)
    except UnicodeError as error:  # no host name
        raise ListenError(endpoint, str(error)) from None
    except OSError as error:
        is_of_resolver = error.errno is None or error.errno < 0
        raise ListenError(endpoint, str(error.strerror) if is_of_resolver else os.strerror(error.errno or 0)) from None
    # The event loop accepts: a connection that is gone again by then must not block it.
    listener.setblocking(False)
    # Connections inherit it. Without it the body of an answer waits for the sender to acknowledge its head, 40 ms or more.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


class Acceptor:
    """Hands each connection of ``listener`` to a protocol made by ``factory``, until ``close``.

    ``established`` holds the connections that were handed over; with the handshakes in progress they are at most
    ``max_connections``. ``on_failure`` is called for each connection that could not be accepted, ``on_excess`` for each that
    was closed because there were too many.
    """

    def __init__(
        self,
        listener: socket.socket,
        factory: Callable[[], asyncio.Protocol],
        established: Sized,
        max_connections: int,
        on_failure: Callable[[], None],
        on_excess: Callable[[], None],
        tls: ssl.SSLContext | None = None,
        handshake_timeout: float = 10.0,
    ) -> None:
        self._listener, self._factory = listener, factory
        self._on_failure, self._on_excess = on_failure, on_excess
        self._established, self._max_connections = established, max_connections
        self.tls = tls
        """For the connections to come; it may be replaced, but not by None."""
        self._timeouts: dict[str, Any] = {}
        if tls is not None:
            self._timeouts = {"ssl_handshake_timeout": handshake_timeout, "ssl_shutdown_timeout": handshake_timeout}
        self._handshakes: dict[asyncio.Task[Any], socket.socket] = {}
        self._port = listener.getsockname()[1]
        self._next_logs: dict[str, float] = {}
        self._accepting = asyncio.create_task(self._accept_forever())

    async def close(self) -> None:
        """Stop accepting, and end handshakes in progress."""
        tasks = [self._accepting, *self._handshakes]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._listener.close()

    async def _accept_forever(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(self._listener)
            except OSError as error:
                if not isinstance(error, ConnectionAbortedError):  # the sender gave up waiting
                    self._on_failure()
                    self._report(
                        "cannot accept connections on port %d, trying again every %g s: %s",
                        ACCEPT_PAUSE,
                        error.strerror,
                    )
                    await asyncio.sleep(ACCEPT_PAUSE)
                continue
            if len(self._established) + len(self._handshakes) < self._max_connections:
                accepted = loop.connect_accepted_socket(self._factory, connection, ssl=self.tls, **self._timeouts)
                task = asyncio.create_task(accepted)
                self._handshakes[task] = connection
                task.add_done_callback(self._handed_over)
            else:
                connection.close()  # an answer would need the resources that ran out; senders retry
                self._on_excess()
                self._report(
                    "too many connections to port %d: %d are open, and further ones are closed", self._max_connections
                )
            await asyncio.sleep(0)  # sock_accept does not yield while connections wait

    def _handed_over(self, task: asyncio.Task[Any]) -> None:
        connection = self._handshakes.pop(task)
        if task.cancelled() or task.exception() is not None:
            connection.close()

    def _report(self, message: str, *arguments: object) -> None:
        now = asyncio.get_running_loop().time()
        if now >= self._next_logs.get(message, 0.0):
            self._next_logs[message] = now + _LOG_INTERVAL
            _log.error(message, self._port, *arguments)
