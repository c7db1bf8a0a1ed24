"""OTLP exporter, gRPC and HTTP: annotated traces, passed-through telemetry, evaluation events.

Configuration: ``exporters.otlp``. A failed request is retried if OTLP allows it, after the pause the backend asks for
(RetryInfo, Retry-After) or else after exponential backoff. It goes to the end of the queue meanwhile, so that a request the
backend cannot process does not block others. A request that may not be retried is dropped at once and counted.
``timeout`` is the deadline of a whole exchange, and at most `MAX_ANSWER_BYTES` of an answer are read, however the backend
sends it. Metrics: spans sent and failed, queue size and capacity, label ``exporter``.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import logging
import math
import ssl
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, Protocol, cast

import grpc
import grpc.aio

from collector.clock import SYSTEM_CLOCK, Clock
from collector.component import ExportRequest, Rejected, Signal
from collector.config.model import OtlpExporterConfig
from collector.delivery.sending_queue import SendingQueue
from collector.errors import ConfigError
from collector.otlp import status
from collector.telemetry.metrics import Telemetry
from collector.telemetry.spans import SelfTracing
from collector.transport.backoff import Backoff
from collector.transport.credentials import WatchedFiles, read_file

if TYPE_CHECKING:
    import httpx

_log = logging.getLogger(__name__)
MAX_ANSWER_BYTES = 4 << 20
"""The longest answer of a backend that is read: gRPC's own default, used for HTTP as well."""
MAX_ELAPSED_TIME = 300.0
"""Seconds for which a request in memory is retried by default, as in the OpenTelemetry Collector."""
_ITEMS: dict[Signal, str] = {"traces": "spans", "logs": "log records", "metrics": "data points"}
_OFF_LOOP = 256 << 10  # bytes; compressing more would delay everything else
_DETAILS = "grpc-status-details-bin"
_METHODS: dict[Signal, str] = {
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    "metrics": "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
}


class DeliveryError(Exception):
    """A request was not delivered. ``retry_after`` is the pause in seconds that the backend asked for."""

    def __init__(self, message: str, *, retryable: bool, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retryable, self.retry_after = retryable, retry_after


class Transport(Protocol):
    """One way to send requests to a backend."""

    async def send(self, request: ExportRequest) -> Rejected:
        """Send one request. Returns what the backend rejected permanently. Raises DeliveryError."""

    async def close(self) -> None:
        """Close the connection."""


class GrpcTransport:
    """OTLP/gRPC to ``host:port``."""

    def __init__(self, config: OtlpExporterConfig) -> None:
        options = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", MAX_ANSWER_BYTES)]
        compression = grpc.Compression.Gzip if config.compression == "gzip" else grpc.Compression.NoCompression
        if config.tls.insecure:
            self._channel = grpc.aio.insecure_channel(config.endpoint, options, compression)
        else:
            credentials = grpc.ssl_channel_credentials(*_pem_files(config))
            self._channel = grpc.aio.secure_channel(config.endpoint, credentials, options, compression)
        self._calls: dict[Signal, Any] = {
            signal: self._channel.unary_unary(path, None, None) for signal, path in _METHODS.items()
        }
        self._metadata = tuple((name.lower(), value) for name, value in config.headers.items())
        self._timeout = config.timeout

    async def send(self, request: ExportRequest) -> Rejected:
        """Send one request. Returns what the backend rejected permanently. Raises DeliveryError."""
        try:
            call = self._calls[request.signal](request.payload, timeout=self._timeout, metadata=self._metadata)
            response: bytes = await call
        except grpc.aio.AioRpcError as error:
            raise _grpc_failure(error) from None
        return status.rejected_items(request.signal, response) if response else Rejected()

    async def close(self) -> None:
        """Close the channel once its calls have completed."""
        await self._channel.close(self._timeout)


def _grpc_failure(error: grpc.aio.AioRpcError) -> DeliveryError:
    trailers: Any = error.trailing_metadata()
    details = next((value for key, value in trailers if key == _DETAILS), b"")
    retry_after = status.retry_delay(details)
    code = error.code()
    overloaded = code is grpc.StatusCode.RESOURCE_EXHAUSTED and retry_after is not None
    return DeliveryError(
        f"{code.name}: {error.details()}",
        retryable=overloaded or code in status.RETRYABLE_GRPC,
        retry_after=retry_after,
    )


class HttpTransport:
    """OTLP/HTTP with protobuf to a base URL; ``/v1/<signal>`` is appended."""

    def __init__(self, config: OtlpExporterConfig, clock: Clock) -> None:
        import httpx  # noqa: PLC0415 - tens of megabytes that a gRPC exporter does not need

        self._http, self._clock = httpx, clock
        self._client = httpx.AsyncClient(verify=_client_context(config), timeout=config.timeout, trust_env=False)
        self._base, self._timeout = config.endpoint.rstrip("/"), config.timeout
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
            raise DeliveryError(f"{type(error).__name__}: {error}", retryable=True) from None

    async def _exchange(self, request: ExportRequest) -> Rejected:
        body, url = await self._body(request.payload), f"{self._base}/v1/{request.signal}"
        async with self._client.stream("POST", url, content=body, headers=self._headers) as response:
            if response.is_success:
                return status.rejected_items(request.signal, await _answer(response))
            retryable = response.status_code in status.RETRYABLE_HTTP
            retry_after = status.retry_after(response.headers.get("retry-after"), self._clock.wall_ns() / 1e9)
            raise DeliveryError(f"HTTP {response.status_code}", retryable=retryable, retry_after=retry_after)

    async def _body(self, payload: bytes) -> bytes:
        if not self._gzip:
            return payload
        if len(payload) < _OFF_LOOP:
            return gzip.compress(payload, 1)
        return await asyncio.to_thread(gzip.compress, payload, 1)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


async def _answer(response: httpx.Response) -> bytes:
    """Returns the body as sent. Raises DeliveryError beyond `MAX_ANSWER_BYTES`: no OTLP backend answers that."""
    body, parts = b"", cast("AsyncGenerator[bytes]", response.aiter_raw())
    async with contextlib.aclosing(parts):
        async for part in parts:
            body += part
            if len(body) > MAX_ANSWER_BYTES:
                raise DeliveryError(f"the answer is longer than {MAX_ANSWER_BYTES} bytes", retryable=True)
    return body


def _pem_files(config: OtlpExporterConfig) -> tuple[bytes | None, bytes | None, bytes | None]:
    """Returns CA certificates, private key and certificate in PEM. Raises ConfigError."""
    tls = config.tls
    files = (("ca_file", tls.ca_file), ("key_file", tls.key_file), ("cert_file", tls.cert_file))
    authorities, key, certificate = [
        read_file(path, f"exporters.otlp.tls.{name}") if path is not None else None for name, path in files
    ]
    return authorities, key, certificate


def _client_context(config: OtlpExporterConfig) -> ssl.SSLContext:
    """Raises ConfigError if a file cannot be used."""
    authorities, _, certificate = _pem_files(config)
    try:
        context = ssl.create_default_context(cadata=authorities.decode("ascii", "replace") if authorities else None)
        if certificate is not None and config.tls.cert_file is not None:
            context.load_cert_chain(config.tls.cert_file, config.tls.key_file)
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(f"exporters.otlp.tls: a certificate or key cannot be used: {error}") from None
    return context


def connect(config: OtlpExporterConfig, clock: Clock) -> Transport:
    """Returns the transport for ``endpoint``: OTLP/HTTP for a URL, else gRPC. Raises ConfigError."""
    is_url = config.endpoint.startswith(("http://", "https://"))
    return HttpTransport(config, clock) if is_url else GrpcTransport(config)


class OtlpExporter:
    """Sends queued requests, ``num_consumers`` at a time. ``name`` is the value of the label ``exporter`` of its metrics."""

    def __init__(
        self,
        config: OtlpExporterConfig,
        queue: SendingQueue,
        telemetry: Telemetry,
        clock: Clock = SYSTEM_CLOCK,
        drain_timeout: float = 10.0,
        name: str = "otlp",
        tracing: SelfTracing | None = None,
    ) -> None:
        self._config, self._queue, self._clock, self._drain_timeout = config, queue, clock, drain_timeout
        self._tracing = tracing or SelfTracing()
        self._retry = config.retry_on_failure
        default = 0.0 if queue.durable else MAX_ELAPSED_TIME
        max_elapsed_time = default if self._retry.max_elapsed_time is None else self._retry.max_elapsed_time
        self._max_elapsed_time = max_elapsed_time or math.inf
        self._failing = False
        files = (config.tls.ca_file, config.tls.cert_file, config.tls.key_file)
        self._files = WatchedFiles(files, config.tls.reload_interval, clock.now)
        self._sent = telemetry.child(telemetry.exporter_sent_spans, name)
        self._failed = telemetry.child(telemetry.exporter_send_failed_spans, name)
        self._dropped = telemetry.child(telemetry.dropped_spans, "exporter", "shutdown")
        telemetry.child(telemetry.exporter_queue_capacity, name).set(queue.capacity)
        telemetry.child(telemetry.exporter_queue_size, name).set_function(lambda: len(queue))
        telemetry.child(telemetry.exporter_queue_spans, name).set_function(lambda: queue.spans)
        self._consumers: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Start sending; the backend may come up later. Raises ConfigError if a TLS file cannot be used."""
        self._transport = connect(self._config, self._clock)
        count = self._config.sending_queue.num_consumers
        self._consumers = [asyncio.create_task(self._consume()) for _ in range(count)]

    async def shutdown(self) -> None:
        """Send queued requests for up to ``drain_timeout`` seconds. The rest stays in the spool, or counts as dropped."""
        if not self._consumers:
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._queue.drained(), self._drain_timeout)
        consumers, self._consumers = self._consumers, []
        for consumer in consumers:
            consumer.cancel()
        await asyncio.gather(*consumers, return_exceptions=True)
        pending = self._queue.pending()
        spans = sum(_span_count(request) for request in pending)
        if pending and self._queue.durable:
            _log.info("stopped with %d requests (%d spans) waiting in the spool", len(pending), spans)
        elif pending:
            self._dropped.inc(spans)
            self._queue.drop_pending()
            _log.error("stopped and dropped %d undelivered requests (%d spans)", len(pending), spans)
        await self._transport.close()

    async def _consume(self) -> None:
        """Send one request after the other; pause after each failure, longer the more failures there are in a row."""
        backoff = Backoff(self._retry, self._clock.random, self._max_elapsed_time)
        while True:
            request = await self._queue.get()
            try:
                rejected = await self._send(request)
            except DeliveryError as error:
                pause = self._next_pause(backoff, request, error)
                if pause is None:
                    self._drop(request, error)
                    continue
                self._report_failure(request, error, pause)
                self._queue.requeue(request)
                await self._clock.sleep(pause)
            else:
                backoff.reset()
                self._tracing.exported(request, rejected.message if rejected else "")
                self._queue.ack(request)
                self._report_success(request, rejected)

    async def _send(self, request: ExportRequest) -> Rejected:
        """Try to send once. Raises DeliveryError, whatever goes wrong."""
        request.attempts += 1
        request.first_attempt_ns = request.first_attempt_ns or self._clock.wall_ns()
        if not request.in_memory:
            raise DeliveryError("the spool lost the request", retryable=False)
        if self._files.changed():
            await self._reconnect()
        try:
            return await self._transport.send(request)
        except DeliveryError:
            raise
        except Exception as error:  # noqa: BLE001 - a backend may answer anything; the consumer must go on
            raise DeliveryError(f"{type(error).__name__}: {error}", retryable=True) from None

    async def _reconnect(self) -> None:
        """Use the replaced certificates. Requests in flight on the old connection fail and are retried."""
        try:
            old, self._transport = self._transport, connect(self._config, self._clock)
        except ConfigError as error:
            _log.error("cannot use the new certificates, keeping the old ones: %s", error)
        else:
            await old.close()

    def _next_pause(self, backoff: Backoff, request: ExportRequest, error: DeliveryError) -> float | None:
        """Returns the seconds until the next attempt; None if the request is to be dropped."""
        if not error.retryable:
            return None
        now = self._clock.now()
        if request.failing_since is None:
            request.failing_since = now
        return backoff.next_pause(now - request.failing_since, error.retry_after)

    def _drop(self, request: ExportRequest, error: DeliveryError) -> None:
        self._failed.inc(_span_count(request))
        _log.error("dropped a %s: %s", _description(request), error)
        self._tracing.exported(request, str(error))
        self._queue.ack(request)

    def _report_failure(self, request: ExportRequest, error: DeliveryError, pause: float) -> None:
        """Log that the backend fails: the first failure after a success, not each of them."""
        if not self._failing:
            self._failing = True
            _log.warning("sending a %s failed, retrying in %.1f s: %s", _description(request), pause, error)

    def _report_success(self, request: ExportRequest, rejected: Rejected) -> None:
        spans = _span_count(request)
        self._sent.inc(max(0, spans - rejected.count))
        if rejected:
            self._failed.inc(min(spans, rejected.count))
            items = _ITEMS[request.signal]
            _log.warning("the backend rejected %d %s of a request: %s", rejected.count, items, rejected.message)
        if self._failing:
            self._failing = False
            _log.info("the backend accepts requests again")


def _span_count(request: ExportRequest) -> int:
    return request.items if request.signal == "traces" else 0


def _description(request: ExportRequest) -> str:
    size = f" of {request.items} {_ITEMS[request.signal]}" if request.items else ""
    return f"{request.signal} request{size}"
