"""OTLP exporter, gRPC and HTTP: annotated traces, passed-through telemetry, evaluation events.

Configuration: ``exporters.otlp``. A request that fails is retried when OTLP says it may be, waiting as long as the
backend asks (RetryInfo, Retry-After) or else with doubling, jittered back-off, and goes to the end of the queue, so that
one the backend chokes on holds up no other; a request the backend will never take is given up on at once and counted.
Own metrics: sent, failed, queue size and capacity, label ``exporter``.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import logging
import ssl
import time
from typing import Any, Protocol

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
from collector.transport.credentials import WatchedFiles, read_file

_log = logging.getLogger(__name__)
_PATIENCE = 300.0  # seconds a request in memory is retried by default, as in the OpenTelemetry Collector
_LONGEST_PAUSE = 300.0  # seconds, whatever a backend asks for
_DETAILS = "grpc-status-details-bin"
_METHODS: dict[Signal, str] = {
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    "metrics": "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
}


class DeliveryError(Exception):
    """A request did not get through. ``retry_after`` is what the backend asked for, in seconds."""

    def __init__(self, message: str, *, retryable: bool, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retryable, self.retry_after = retryable, retry_after


class Transport(Protocol):
    """One way to hand a request to a backend."""

    async def send(self, request: ExportRequest) -> Rejected:
        """Deliver; says what the backend rejected for good. Raises DeliveryError."""

    async def close(self) -> None:
        """Give the connection back."""


class GrpcTransport:
    """OTLP/gRPC to ``host:port``."""

    def __init__(self, config: OtlpExporterConfig) -> None:
        options = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", 4 << 20)]
        compression = grpc.Compression.Gzip if config.compression == "gzip" else grpc.Compression.NoCompression
        if config.tls.insecure:
            self._channel = grpc.aio.insecure_channel(config.endpoint, options, compression)
        else:
            credentials = grpc.ssl_channel_credentials(*_own_files(config))
            self._channel = grpc.aio.secure_channel(config.endpoint, credentials, options, compression)
        self._calls: dict[Signal, Any] = {
            signal: self._channel.unary_unary(path, None, None) for signal, path in _METHODS.items()
        }
        self._metadata = tuple((name.lower(), value) for name, value in config.headers.items())
        self._timeout = config.timeout

    async def send(self, request: ExportRequest) -> Rejected:
        """Deliver one request."""
        try:
            call = self._calls[request.signal](request.payload, timeout=self._timeout, metadata=self._metadata)
            response: bytes = await call
        except grpc.aio.AioRpcError as error:
            raise _grpc_failure(error) from None
        return status.rejected_items(request.signal, response) if response else Rejected()

    async def close(self) -> None:
        """Close the channel once its calls are answered."""
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

    def __init__(self, config: OtlpExporterConfig) -> None:
        import httpx  # noqa: PLC0415 - tens of megabytes that a gRPC exporter never needs

        self._http = httpx
        self._client = httpx.AsyncClient(verify=_client_context(config), timeout=config.timeout, trust_env=False)
        self._base = config.endpoint.rstrip("/")
        self._gzip = config.compression == "gzip"
        self._headers = {"content-type": "application/x-protobuf", **config.headers}
        if self._gzip:
            self._headers["content-encoding"] = "gzip"

    async def send(self, request: ExportRequest) -> Rejected:
        """Deliver one request."""
        body = gzip.compress(request.payload, 1) if self._gzip else request.payload
        try:
            response = await self._client.post(f"{self._base}/v1/{request.signal}", content=body, headers=self._headers)
        except self._http.HTTPError as error:
            raise DeliveryError(f"{type(error).__name__}: {error}", retryable=True) from None
        if response.is_success:
            return status.rejected_items(request.signal, response.content)
        retryable = response.status_code in status.RETRYABLE_HTTP
        after = status.retry_after(response.headers.get("retry-after"), time.time())
        raise DeliveryError(f"HTTP {response.status_code}", retryable=retryable, retry_after=after)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _own_files(config: OtlpExporterConfig) -> tuple[bytes | None, bytes | None, bytes | None]:
    """Authorities, key and certificate in PEM. Raises ConfigError."""
    tls = config.tls
    files = (("ca_file", tls.ca_file), ("key_file", tls.key_file), ("cert_file", tls.cert_file))
    authorities, key, certificate = [
        read_file(path, f"exporters.otlp.tls.{name}") if path is not None else None for name, path in files
    ]
    return authorities, key, certificate


def _client_context(config: OtlpExporterConfig) -> ssl.SSLContext:
    """Raises ConfigError where a file cannot be used."""
    authorities, _, certificate = _own_files(config)
    try:
        context = ssl.create_default_context(cadata=authorities.decode("ascii", "replace") if authorities else None)
        if certificate is not None and config.tls.cert_file is not None:
            context.load_cert_chain(config.tls.cert_file, config.tls.key_file)
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(f"exporters.otlp.tls: a certificate or key cannot be used: {error}") from None
    return context


def transport(config: OtlpExporterConfig) -> Transport:
    """The transport that ``endpoint`` asks for. Raises ConfigError."""
    return HttpTransport(config) if config.endpoint.startswith(("http://", "https://")) else GrpcTransport(config)


class OtlpExporter:
    """Sends what is in the queue, ``num_consumers`` requests at a time. ``name`` is what its metrics call it."""

    def __init__(
        self,
        config: OtlpExporterConfig,
        queue: SendingQueue,
        telemetry: Telemetry,
        clock: Clock = SYSTEM_CLOCK,
        drain: float = 10.0,
        name: str = "otlp",
        spans: SelfTracing | None = None,
    ) -> None:
        self._config, self._queue, self._clock, self._drain = config, queue, clock, drain
        self._spans = spans or SelfTracing()
        self._retry = config.retry_on_failure
        patience = self._retry.max_elapsed_time
        self._patience = patience if patience is not None else (0.0 if queue.durable else _PATIENCE)
        self._failing = False
        files = (config.tls.ca_file, config.tls.cert_file, config.tls.key_file)
        self._files = WatchedFiles(files, config.tls.reload_interval, clock.now)
        self._sent = telemetry.child(telemetry.exporter_sent_spans, name)
        self._failed = telemetry.child(telemetry.exporter_send_failed_spans, name)
        self._dropped = telemetry.child(telemetry.dropped_spans, "exporter", "shutdown")
        telemetry.child(telemetry.exporter_queue_capacity, name).set(queue.capacity)
        telemetry.child(telemetry.exporter_queue_size, name).set_function(lambda: len(queue))
        self._consumers: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Begin to send; the backend may come up later."""
        self._transport = transport(self._config)
        count = self._config.sending_queue.num_consumers
        self._consumers = [asyncio.create_task(self._consume()) for _ in range(count)]

    async def shutdown(self) -> None:
        """Send what waits, for at most ``drain`` seconds; what is left then stays in the spool, or is counted as dropped."""
        if not self._consumers:
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._queue.drained(), self._drain)
        consumers, self._consumers = self._consumers, []
        for consumer in consumers:
            consumer.cancel()
        await asyncio.gather(*consumers, return_exceptions=True)
        left = self._queue.pending()
        spans = sum(request.items for request in left if request.signal == "traces")
        if left and self._queue.durable:
            _log.info("stopped with %d requests (%d spans) waiting in the spool", len(left), spans)
        elif left:
            self._dropped.inc(spans)
            _log.error("stopped with %d requests (%d spans) not delivered", len(left), spans)
        await self._transport.close()

    async def _consume(self) -> None:
        """Deliver one request after the other; after a failure wait, the longer the more of them there were in a row."""
        wait = self._retry.initial_interval
        while True:
            request = await self._queue.get()
            try:
                rejected = await self._send(request)
            except DeliveryError as error:
                if self._gives_up(request, error):
                    self._failed.inc(_spans(request))
                    _log.error("gave up on %d %s: %s", request.items, request.signal, error)
                    self._spans.exported(request, str(error))
                    self._queue.ack(request)
                    continue
                asked = error.retry_after
                pause = min(asked, _LONGEST_PAUSE) if asked is not None else wait * (0.5 + self._clock.random())
                self._tell(request, pause, error)
                self._queue.requeue(request)
                wait = min(wait * 2, self._retry.max_interval)
                await self._clock.sleep(pause)
            else:
                wait = self._retry.initial_interval
                self._spans.exported(request, rejected.message if rejected else "")
                self._queue.ack(request)
                self._count(request, rejected)

    async def _send(self, request: ExportRequest) -> Rejected:
        """Deliver once; whatever goes wrong is a DeliveryError."""
        request.attempts += 1
        request.tried_ns = request.tried_ns or self._clock.wall_ns()
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
        """The certificates were replaced. Requests under way on the old connection fail and are tried again."""
        try:
            old, self._transport = self._transport, transport(self._config)
        except ConfigError as error:
            _log.error("the old certificates stay in force: %s", error)
        else:
            await old.close()

    def _gives_up(self, request: ExportRequest, error: DeliveryError) -> bool:
        if not error.retryable or not self._retry.enabled:
            return True
        now = self._clock.now()
        if request.failing_since is None:
            request.failing_since = now
        return bool(self._patience) and now - request.failing_since >= self._patience

    def _count(self, request: ExportRequest, rejected: Rejected) -> None:
        spans = _spans(request)
        self._sent.inc(max(0, spans - rejected.count))
        if rejected:
            self._failed.inc(min(spans, rejected.count))
            _log.warning("the backend rejected %d %s: %s", rejected.count, request.signal, rejected.message)
        if self._failing:
            self._failing = False
            _log.info("requests are delivered again")

    def _tell(self, request: ExportRequest, pause: float, error: DeliveryError) -> None:
        """Say once that the backend fails, not once an attempt."""
        if not self._failing:
            self._failing = True
            _log.warning("%s not delivered, trying again in %.1f s: %s", request.signal, pause, error)


def _spans(request: ExportRequest) -> int:
    return request.items if request.signal == "traces" else 0
