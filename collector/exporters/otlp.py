"""OTLP exporter, gRPC and HTTP: annotated traces, passed-through telemetry, evaluation events.

Configuration: ``exporters.otlp``. A failed request is retried if OTLP allows it (`collector.delivery.queued_exporter`), not
before the pause that RetryInfo or Retry-After asks for is over. ``timeout`` is the deadline of a whole exchange, and at most
`MAX_ANSWER_BYTES` of an answer are read, however the backend sends it.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import os
import ssl
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, cast

import grpc
import grpc.aio

from collector.clock import SYSTEM_CLOCK, Clock
from collector.component import SIGNALS, ExportRequest, Rejected, Signal
from collector.config.endpoints import is_url, shown_endpoint, signal_url
from collector.config.exporters import OtlpExporterConfig
from collector.delivery.queued_exporter import DeliveryError, QueuedExporter, Transport
from collector.delivery.sending_queue import SendingQueue
from collector.errors import ConfigError
from collector.otlp import status
from collector.otlp.services import METHOD, SERVICES
from collector.telemetry.metrics import Telemetry
from collector.telemetry.spans import SelfTracing
from collector.transport.credentials import WatchedFiles, load_pair, read_file
from collector.transport.proxies import grpc_proxy_options, proxy_for
from scorers.quoting import shorten

if TYPE_CHECKING:
    import httpx

MAX_ANSWER_BYTES = 4 << 20
"""The longest answer of a backend that is read: gRPC's own default, used for HTTP as well."""
_OFF_LOOP = 256 << 10  # bytes; compressing more would delay everything else
_REASON_BYTES, _REASON_SECONDS = 4096, 0.5  # of the body of an error: how much is read, and how long that may take
_DETAILS = "grpc-status-details-bin"
_NOT_FOUND = (404, 405, 501)
_PLAIN_TEXT = ("wrong_version_number", "wrong version number")  # what TLS libraries say of an answer in plain text


class GrpcTransport:
    """OTLP/gRPC to ``host:port``."""

    def __init__(self, config: OtlpExporterConfig, place: str = "exporters.otlp") -> None:
        options = [
            ("grpc.max_send_message_length", -1),
            ("grpc.max_receive_message_length", MAX_ANSWER_BYTES),
            *grpc_proxy_options(config.endpoint),
        ]
        compression = grpc.Compression.Gzip if config.compression == "gzip" else grpc.Compression.NoCompression
        if config.tls.insecure:
            self._channel = grpc.aio.insecure_channel(config.endpoint, options, compression)
        else:
            credentials = grpc.ssl_channel_credentials(*_pem_files(config, place))
            self._channel = grpc.aio.secure_channel(config.endpoint, credentials, options, compression)
        # Without serializers: what leaves is bytes already, and the answer is read by `status`.
        self._calls: dict[Signal, Any] = {
            signal: self._channel.unary_unary(f"/{service}/{METHOD}", None, None)
            for signal, service in SERVICES.items()
        }
        self._metadata = tuple((name.lower(), value) for name, value in config.headers.items())
        self._timeout = config.timeout

    async def send(self, request: ExportRequest) -> Rejected:
        """Send one request. Returns what the backend rejected permanently. Raises DeliveryError."""
        try:
            call = self._calls[request.signal](request.payload, timeout=self._timeout, metadata=self._metadata)
            response: bytes = await call
        except grpc.aio.AioRpcError as error:
            raise _grpc_failure(error, request.signal) from None
        except asyncio.CancelledError:
            # Of the call alone, where the channel was closed before it ended, as for new certificates.
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            raise DeliveryError("the connection was closed", retryable=True) from None
        return status.rejected_items(request.signal, response) if response else Rejected()

    async def close(self) -> None:
        """Close the channel once its calls have completed."""
        await self._channel.close(self._timeout)


def _grpc_failure(error: grpc.aio.AioRpcError, signal: Signal) -> DeliveryError:
    trailers: Any = error.trailing_metadata()
    details = next((value for key, value in trailers if key == _DETAILS), b"")
    retry_after = status.retry_delay(details)
    code = error.code()
    # OTLP: RESOURCE_EXHAUSTED may be retried only where RetryInfo says that the server can recover.
    overloaded = code is grpc.StatusCode.RESOURCE_EXHAUSTED and retry_after is not None
    message = f"{code.name}: {shorten(error.details() or '', status.MAX_REASON)}"
    if code is grpc.StatusCode.UNIMPLEMENTED:
        message += _not_taken(signal)
    elif any(sign in message.lower() for sign in _PLAIN_TEXT):
        message += "; if the backend speaks plain text, set tls: {insecure: true}"
    return DeliveryError(
        message,
        retryable=overloaded or code in status.RETRYABLE_GRPC,
        retry_after=retry_after,
        kind=code.name,
    )


def _not_taken(signal: Signal) -> str:
    return f"; a backend that takes no {signal}? set exporters.otlp.{signal} to off, or to a backend that does"


class HttpTransport:
    """OTLP/HTTP with protobuf."""

    def __init__(
        self, config: OtlpExporterConfig, clock: Clock, place: str = "exporters.otlp", signal: Signal | None = None
    ) -> None:
        import httpx  # noqa: PLC0415 - tens of megabytes that a gRPC exporter does not need

        self._http, self._clock = httpx, clock
        # Of the environment, only the proxy: what else the client would read there is not meant for this backend.
        self._client = httpx.AsyncClient(
            verify=_client_context(config, place), timeout=config.timeout, trust_env=False,
            proxy=proxy_for(config.endpoint),
        )  # fmt: skip
        self._timeout, alone = config.timeout, signal is not None
        self._urls = {name: signal_url(config.endpoint, name, of_one_signal=alone) for name in SIGNALS}
        self._gzip = config.compression == "gzip"
        self._headers = {
            "content-type": "application/x-protobuf",
            "accept-encoding": "identity",  # an answer of a few bytes; compressed, it could be larger than it looks
            **config.headers,
        }
        if self._gzip:
            self._headers["content-encoding"] = "gzip"

    async def send(self, request: ExportRequest) -> Rejected:
        """Send one request. Returns what the backend rejected permanently. Raises DeliveryError."""
        try:
            async with asyncio.timeout(self._timeout):  # the client's own timeout is for each read, not for the whole
                return await self._exchange(request)
        except TimeoutError:
            raise DeliveryError(f"no answer in {self._timeout:g} s", retryable=True) from None
        except self._http.HTTPError as error:
            message = f"{type(error).__name__}: {_told(error)}"
            if any(sign in message.lower() for sign in _PLAIN_TEXT):
                message += "; if the backend speaks plain text, write http://"
            raise DeliveryError(message, retryable=True) from None

    async def _exchange(self, request: ExportRequest) -> Rejected:
        body, url = await self._body(request.payload), self._urls[request.signal]
        async with self._client.stream("POST", url, content=body, headers=self._headers) as response:
            if response.is_success:
                return status.rejected_items(request.signal, await _answer(response))
            retryable = response.status_code in status.RETRYABLE_HTTP
            retry_after = status.retry_after(response.headers.get("retry-after"), self._clock.wall_ns() / 1e9)
            message = kind = f"HTTP {response.status_code} from {shown_endpoint(url)}"
            if reason := await self._reason(response):
                message += f": {reason}"
            if response.status_code in _NOT_FOUND:
                message += _not_taken(request.signal)
            raise DeliveryError(message, retryable=retryable, retry_after=retry_after, kind=kind)

    async def _reason(self, response: httpx.Response) -> str:
        """Returns what the backend says of its error, "" if that is nothing to read, or comes too late."""
        body, parts = b"", cast("AsyncGenerator[bytes]", response.aiter_raw())
        with contextlib.suppress(TimeoutError, self._http.HTTPError):
            async with contextlib.aclosing(parts), asyncio.timeout(_REASON_SECONDS):
                async for part in parts:
                    body += part
                    if len(body) >= _REASON_BYTES:
                        break
        return status.reason(body[:_REASON_BYTES])

    async def _body(self, payload: bytes) -> bytes:
        if not self._gzip:
            return payload
        if len(payload) < _OFF_LOOP:
            return gzip.compress(payload, 1)
        return await asyncio.to_thread(gzip.compress, payload, 1)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _told(error: BaseException) -> str:
    """Returns what the client says, and where it does not say it, what the system told it: "Connection refused"."""
    said, below = str(error), error
    while (cause := below.__cause__ or below.__context__) is not None:
        below = cause
    if isinstance(below, BaseExceptionGroup):  # of attempts at several addresses
        below = below.exceptions[0]
    number = below.errno if isinstance(below, OSError) and not isinstance(below, ssl.SSLError) else None
    if number is None or number <= 0 or (told := os.strerror(number)) in said:  # below 0: of a name that is not found
        return said
    return f"{said}: {told}" if said else told


async def _answer(response: httpx.Response) -> bytes:
    """Returns the body as sent. Raises DeliveryError beyond `MAX_ANSWER_BYTES`: no OTLP backend answers that."""
    # Raw, so that an answer that is compressed all the same is not expanded.
    body, parts = b"", cast("AsyncGenerator[bytes]", response.aiter_raw())
    async with contextlib.aclosing(parts):
        async for part in parts:
            body += part
            if len(body) > MAX_ANSWER_BYTES:
                raise DeliveryError(f"the answer is longer than {MAX_ANSWER_BYTES} bytes", retryable=True)
    return body


def _pem_files(config: OtlpExporterConfig, place: str) -> tuple[bytes | None, bytes | None, bytes | None]:
    """Returns CA certificates, private key and certificate in PEM. Raises ConfigError."""
    tls = config.tls
    files = (("ca_file", tls.ca_file), ("key_file", tls.key_file), ("cert_file", tls.cert_file))
    authorities, key, certificate = [
        read_file(path, f"{place}.tls.{name}") if path is not None else None for name, path in files
    ]
    return authorities, key, certificate


def _client_context(config: OtlpExporterConfig, place: str) -> ssl.SSLContext:
    """Raises ConfigError if a file cannot be used."""
    authorities, _, certificate = _pem_files(config, place)
    try:
        context = ssl.create_default_context(cadata=authorities.decode("ascii", "replace") if authorities else None)
        if certificate is not None and config.tls.cert_file is not None:
            load_pair(context, config.tls.cert_file, config.tls.key_file)
    except (OSError, ValueError) as error:  # also: the file is being replaced
        raise ConfigError(f"{place}.tls: a certificate or key cannot be used: {error}") from None
    return context


def connect(
    config: OtlpExporterConfig, clock: Clock, place: str = "exporters.otlp", signal: Signal | None = None
) -> Transport:
    """Returns the transport for ``endpoint``: OTLP/HTTP for a URL, else gRPC. Raises ConfigError.

    ``place`` is where the configuration has it, ``signal`` the only one that goes there, if there is only one.
    """
    return HttpTransport(config, clock, place, signal) if is_url(config.endpoint) else GrpcTransport(config, place)


class OtlpExporter(QueuedExporter):
    """Sends queued requests to one backend, ``num_consumers`` at a time."""

    def __init__(  # noqa: PLR0913 - a backend, and what it is connected to
        self,
        config: OtlpExporterConfig,
        queue: SendingQueue,
        telemetry: Telemetry,
        clock: Clock = SYSTEM_CLOCK,
        drain_timeout: float = 10.0,
        name: str = "otlp",
        tracing: SelfTracing | None = None,
        *,
        place: str = "exporters.otlp",
        signal: Signal | None = None,
    ) -> None:
        files = (config.tls.ca_file, config.tls.cert_file, config.tls.key_file)
        self._files = WatchedFiles(files, config.tls.reload_interval, clock.now)
        super().__init__(
            queue, telemetry, clock, name=name, target=shown_endpoint(config.endpoint),
            connect=lambda: connect(config, clock, place, signal), retry=config.retry_on_failure,
            consumers=config.sending_queue.num_consumers, drain_timeout=drain_timeout, tracing=tracing,
        )  # fmt: skip

    def stale(self) -> bool:
        """Whether certificates were replaced."""
        return self._files.changed()
