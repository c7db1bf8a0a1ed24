"""OTLP/HTTP receiver: protobuf and JSON, optionally gzip, on the paths of the specification.

Configuration: ``receivers.otlp.protocols.http``. The body limit applies before and after decompression (413). A body that
finds no room beside the others is refused (429), and one that does not arrive within ``read_timeout`` (408); unknown paths,
methods, types and encodings get 404, 405 and 415.
The body of an error response is a ``google.rpc.Status`` in the encoding of the request.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from io import BytesIO

from collector.component import Intake, Rejected, Signal
from collector.config.receivers import HttpServerConfig
from collector.errors import (
    CollectorError,
    DecodeError,
    RefusedError,
    TooLargeError,
    TooSlowError,
    UnauthenticatedError,
    UnsupportedError,
)
from collector.in_flight import Reservation
from collector.otlp import json, status
from collector.transport.credentials import BearerTokens
from collector.transport.gunzip import gunzip
from collector.transport.http_server import HttpServer, Receive, Scope, Send, respond

_PATHS: dict[str, Signal] = {"/v1/traces": "traces", "/v1/logs": "logs", "/v1/metrics": "metrics"}
_PROTOBUF, _JSON = "application/x-protobuf", "application/json"
_INLINE_GZIP = 1 << 20  # bytes after decompression; to decompress more would delay other requests
_INLINE_JSON = 8 << 10  # bytes; converting takes up to 3 µs for each
_LARGE_JSON = 1 << 20  # bytes; of these, one is converted at a time


class OtlpHttpReceiver(HttpServer):
    """Serves /v1/traces, /v1/logs and /v1/metrics and passes each request to ``intake``."""

    def __init__(self, config: HttpServerConfig, intake: Intake) -> None:
        super().__init__(config.endpoint, config.max_connections, config.read_header_timeout, config.tls)
        self._config, self._intake = config, intake
        self._limit = config.max_request_body_size_mib << 20
        self._tokens = BearerTokens(config.auth, time.monotonic)
        self._converting = asyncio.Lock()
        # It would have brought one request at least.
        self.on_excess = lambda: intake.refuse("http", RefusedError("too many connections"))

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        content_type = headers.get(b"content-type", "").partition(";")[0].strip().lower()
        as_json = content_type == _JSON
        try:
            signal, rejected = await self._take(scope, headers, content_type, receive)
        except CollectorError as error:
            # Else it brings no telemetry: the health check of a load balancer, say, which is to raise no alert.
            if scope["method"] == "POST":
                self._intake.refuse("http", error)
            error_body = status.http_body(error, as_json=as_json)
            await respond(send, status.http_status(error), error_body, _JSON if as_json else _PROTOBUF, _headers(error))
            return
        success = status.success_body(signal, rejected, as_json=as_json)
        await respond(send, 200, success, _JSON if as_json else _PROTOBUF)

    async def _take(
        self, scope: Scope, headers: dict[bytes, str], content_type: str, receive: Receive
    ) -> tuple[Signal, Rejected]:
        """Pass the request to ``intake``. Returns its signal, and what was rejected. Raises CollectorError."""
        # All that the head can tell is checked before a byte of the body is read.
        signal = _PATHS.get(scope["path"])
        if signal is None:
            raise UnsupportedError(f"no such path; OTLP is at {', '.join(_PATHS)}", 404)
        if scope["method"] != "POST":
            raise UnsupportedError(f"{scope['method']} is not allowed; OTLP requests are POST", 405)
        self._tokens.check(headers.get(b"authorization"))
        if content_type not in (_PROTOBUF, _JSON):
            raise UnsupportedError(f"content type {content_type[:80]!r} is neither {_PROTOBUF} nor {_JSON}", 415)
        encoding = headers.get(b"content-encoding", "identity").strip().lower()
        if encoding not in ("identity", "gzip"):
            raise UnsupportedError(f"content encoding {encoding[:80]!r} is neither identity nor gzip", 415)
        with self._intake.reservation() as room:
            body = await self._read(headers, receive, room)
            if encoding == "gzip":
                body = await _unzip(body, self._limit, room)
            if content_type == _JSON:
                body = await self._convert(signal, body, room)
            return signal, await self._intake.take(signal, body, "http")

    async def _convert(self, signal: Signal, document: bytes, room: Reservation) -> bytes:
        """Returns a JSON request as protobuf. Only one large one is converted at a time: the thread competes with the loop."""
        if len(document) <= _INLINE_JSON:
            return _converted(signal, document, room)
        async with self._converting if len(document) > _LARGE_JSON else contextlib.nullcontext():
            return await asyncio.to_thread(_converted, signal, document, room)

    async def _read(self, headers: dict[bytes, str], receive: Receive, room: Reservation) -> bytes:
        """Returns the body as sent. Stops reading at the size limit, at the time limit, and where there is no room."""
        too_large = TooLargeError(f"the body is larger than {self._config.max_request_body_size_mib} MiB")
        length = headers.get(b"content-length", "")
        # Without a length, as in chunked bodies, the loop below finds out.
        if length.isdigit():
            if int(length) > self._limit:
                raise too_large
            room.expect(int(length))
        body, more = BytesIO(), True
        try:
            async with asyncio.timeout(self._config.read_timeout):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise DecodeError("the sender closed the connection before the end of the body")
                    part = message.get("body", b"")
                    # As it arrives, not as it is announced: whoever announces
                    # large bodies and sends nothing would shut out all others.
                    room.add(len(part))
                    more = message.get("more_body", False)
                    if body.tell() + len(part) > self._limit:
                        raise too_large
                    body.write(part)
        except TimeoutError:
            raise TooSlowError(f"the body did not arrive in {self._config.read_timeout:g} s") from None
        return body.getvalue()


def _converted(signal: Signal, document: bytes, room: Reservation) -> bytes:
    room.add(json.cost(document))
    return json.to_protobuf(signal, document)


async def _unzip(body: bytes, limit: int, room: Reservation) -> bytes:
    """Decompress inline what is small when decompressed, otherwise in a thread, so that it does not block other requests."""
    if len(body) <= _INLINE_GZIP:
        try:
            # Room is reserved afterwards: if it turns out large, the thread begins anew and reserves all of it.
            plain = gunzip(body, min(limit, _INLINE_GZIP), lambda _: None)
        except TooLargeError:
            pass  # from the start again, with the real limit
        else:
            room.add(len(plain))
            return plain
    return await asyncio.to_thread(gunzip, body, limit, room.add)


def _headers(error: CollectorError) -> tuple[tuple[bytes, bytes], ...]:
    if isinstance(error, UnauthenticatedError):
        return ((b"www-authenticate", b"Bearer"),)
    if isinstance(error, UnsupportedError) and error.http_status == 405:
        return ((b"allow", b"POST"),)
    if error.retry_after is not None:
        # The header has whole seconds, and 0 would ask for an attempt at once.
        return ((b"retry-after", str(max(1, round(error.retry_after))).encode()),)
    return ()
