"""OTLP/gRPC receiver: takes raw bytes, without stubs or a deserializer.

Configuration: ``receivers.otlp.protocols.grpc``. Errors are returned with the status codes of OTLP. A message larger than
``max_recv_msg_size_mib`` is refused by gRPC itself with RESOURCE_EXHAUSTED without RetryInfo, so senders drop it.

gRPC does not tell how much of a message has arrived before all of it has. So messages are counted when they are complete, and
``give_up_unfinished`` drops the others when memory runs short. They are decompressed here, within the room for requests.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio

from collector.component import Intake, Signal
from collector.config.receivers import GrpcServerConfig, ServerTlsConfig
from collector.errors import CollectorError, ConfigError, DecodeError, ListenError, RefusedError, TooSlowError
from collector.in_flight import Reservation
from collector.otlp import status
from collector.otlp.services import METHOD, SERVICES
from collector.transport.credentials import BearerTokens, WatchedFiles, read_file, server_context
from collector.transport.gunzip import gunzip

_log = logging.getLogger(__name__)
_COMPRESSED = (b"\x1f\x8b", b"\x78")  # how gzip and deflate begin, and no OTLP request does
_OFF_LOOP = 256 << 10  # bytes; decompressing more would delay other requests
_MAX_METADATA = 16 << 10  # bytes of headers of a call


class OtlpGrpcReceiver:
    """Serves the three OTLP services and passes each request to ``intake``."""

    def __init__(self, config: GrpcServerConfig, intake: Intake, grace: float = 5.0) -> None:
        self._config, self._intake, self._grace = config, intake, grace
        self._tokens = BearerTokens(config.auth, time.monotonic)
        self._server: grpc.aio.Server | None = None
        self._limit = config.max_recv_msg_size_mib << 20
        self._unfinished: set[asyncio.Timeout] = set()
        self.port = 0

    async def start(self) -> None:
        """Listen. Raises ConfigError if the address cannot be used."""
        options = [
            ("grpc.max_receive_message_length", self._limit),
            # gRPC would decompress before anything can be counted. So
            # `_read` does it, step by step and within the room.
            ("grpc.per_message_decompression", 0),
            ("grpc.max_concurrent_streams", self._config.max_concurrent_streams),
            ("grpc.max_allowed_incoming_connections", self._config.max_connections),
            # Between these two gRPC refuses calls at random. Equal, they are one limit.
            ("grpc.max_metadata_size", _MAX_METADATA),
            ("grpc.absolute_max_metadata_size", _MAX_METADATA),
            ("grpc.server_handshake_timeout_ms", 10_000),
            ("grpc.keepalive_time_ms", 60_000),  # detects dead peers and frees their partial messages
            ("grpc.so_reuseport", 0),  # two collectors on one port would split traces between them
        ]
        server = grpc.aio.server(options=options)
        for signal, service in SERVICES.items():
            # On the wire a unary call is a stream of one message. Served as a stream, the token is checked before the
            # message is read.
            method = grpc.stream_unary_rpc_method_handler(self._handler(signal))
            server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {METHOD: method}),))
        try:
            self.port = self._listen(server)
        except RuntimeError as error:
            reason = str(error).partition("; set GRPC_VERBOSITY")[0]
            raise ListenError(self._config.endpoint, f"{reason}: in use, or no address of this machine") from None
        self._server = server
        await server.start()

    def _listen(self, server: grpc.aio.Server) -> int:
        tls, endpoint = self._config.tls, self._config.endpoint
        if self.port:  # it listens again
            endpoint = f"{endpoint.rpartition(':')[0]}:{self.port}"
        if tls is None:
            return server.add_insecure_port(endpoint)
        server_context(tls)  # raises for unusable files, which gRPC would only log at the first connection
        files = WatchedFiles([tls.cert_file, tls.key_file, tls.client_ca_file], tls.reload_interval, time.monotonic)
        mutual = tls.client_ca_file is not None
        credentials = grpc.dynamic_ssl_server_credentials(_certificates(tls), _reloader(tls, files), mutual)  # type: ignore[arg-type]  # grpcio documents that None is allowed
        return server.add_secure_port(endpoint, credentials)

    async def shutdown(self) -> None:
        """Stop accepting requests; those in progress are completed."""
        server, self._server = self._server, None
        if server is not None:
            await server.stop(self._grace)

    async def drop_connections(self) -> None:
        """Close all connections, and listen again: gRPC keeps headers that never end for as long as their connection lasts.

        Calls in progress fail, and are tried again by their senders. Raises ConfigError if the address cannot be used again.
        """
        server, self._server = self._server, None
        if server is not None:
            await server.stop(None)
            await self.start()

    def _handler(self, signal: Signal) -> Callable[[Any, grpc.aio.ServicerContext[Any, Any]], Awaitable[bytes]]:
        async def export(_: Any, context: grpc.aio.ServicerContext[Any, Any]) -> bytes:
            try:
                # Before anything else: a sender without a token takes no room, and learns nothing about the load.
                # Only where one is wanted: to list the headers takes a microsecond for each.
                if self._config.auth is not None:
                    self._tokens.check(_authorization(context))
                with self._intake.reservation() as room:
                    rejected = await self._intake.take(signal, await self._read(context, room), "grpc")
            except CollectorError as error:
                self._intake.refuse("grpc", error)
                await context.abort(status.grpc_code(error), str(error), _trailers(error))
            # No bytes at all are OTLP's answer for complete success.
            return status.partial_success(signal, rejected) if rejected else b""

        return export

    def give_up_unfinished(self) -> None:
        """Refuse the calls whose message is not complete, which frees what has arrived of them: memory runs short."""
        now = asyncio.get_running_loop().time()
        for timeout in self._unfinished:
            if not timeout.expired():
                timeout.reschedule(now)
        self._unfinished.clear()

    async def _read(self, context: grpc.aio.ServicerContext[Any, Any], room: Reservation) -> bytes:
        """Returns the message, decompressed. Raises TooSlowError after ``read_timeout``: a partial message occupies memory."""
        timeout = asyncio.timeout(self._config.read_timeout)
        self._unfinished.add(timeout)
        try:
            async with timeout:
                message: Any = await context.read()
        except TimeoutError:
            # `give_up_unfinished` empties the set: then the deadline was moved, and the sender was not slow.
            if timeout not in self._unfinished:
                raise RefusedError("memory limit reached, retry later") from None
            raise TooSlowError(f"the message did not arrive in {self._config.read_timeout:g} s") from None
        finally:
            self._unfinished.discard(timeout)
        if not isinstance(message, bytes):
            raise DecodeError("the call ended without a message")
        room.add(len(message))
        # With decompression off, gRPC hands on the bytes and not the flag that says whether they are compressed.
        if not message.startswith(_COMPRESSED):
            return message
        if len(message) < _OFF_LOOP:
            return gunzip(message, self._limit, room.add)
        return await asyncio.to_thread(gunzip, message, self._limit, room.add)


def _trailers(error: CollectorError) -> tuple[tuple[str, bytes], ...]:
    """Returns the RetryInfo without which a sender must not retry RESOURCE_EXHAUSTED."""
    if error.retry_after is not None:
        return (("grpc-status-details-bin", status.status_message(error).SerializeToString()),)
    return ()


def _authorization(context: grpc.aio.ServicerContext[Any, Any]) -> str | None:
    metadata: Any = context.invocation_metadata() or ()
    return next((value for key, value in metadata if key == "authorization"), None)


def _certificates(config: ServerTlsConfig) -> grpc.ServerCertificateConfiguration:
    """Returns the current contents of the files. Raises ConfigError."""
    pair = (read_file(config.key_file, "tls.key_file"), read_file(config.cert_file, "tls.cert_file"))
    authorities = read_file(config.client_ca_file, "tls.client_ca_file") if config.client_ca_file is not None else None
    return grpc.ssl_server_certificate_configuration([pair], authorities)


def _reloader(config: ServerTlsConfig, files: WatchedFiles) -> Callable[[], grpc.ServerCertificateConfiguration | None]:
    """Returns the function that gRPC calls before each handshake; it returns None if nothing changed."""

    def reload() -> grpc.ServerCertificateConfiguration | None:
        if not files.changed():
            return None
        try:
            server_context(config)
            return _certificates(config)
        except ConfigError as error:
            _log.error("the new certificate cannot be used, keeping the old one: %s", error)
            return None

    return reload
