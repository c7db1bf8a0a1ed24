"""OTLP/gRPC receiver: raw bytes in, no stubs, no deserializer.

Configuration: ``receivers.otlp.protocols.grpc``. Refuses what the pipeline refuses, with OTLP's codes; a message above
``max_recv_msg_size_mib`` is refused by gRPC itself with RESOURCE_EXHAUSTED and no RetryInfo, which tells senders to drop it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio

from collector.component import SIGNALS, Intake, Signal
from collector.config import GrpcServer
from collector.errors import CollectorError, ConfigError, RefusedError
from collector.otlp import status

_SERVICES: dict[Signal, str] = {
    "traces": "opentelemetry.proto.collector.trace.v1.TraceService",
    "logs": "opentelemetry.proto.collector.logs.v1.LogsService",
    "metrics": "opentelemetry.proto.collector.metrics.v1.MetricsService",
}


class OtlpGrpcReceiver:
    """Serves the three OTLP services and hands each request to ``intake``."""

    def __init__(self, config: GrpcServer, intake: Intake, grace: float = 5.0) -> None:
        self._config, self._intake, self._grace = config, intake, grace
        self._server: grpc.aio.Server | None = None
        self.port = 0

    async def start(self) -> None:
        """Listen. Raises ConfigError when the address cannot be had."""
        options = [
            ("grpc.max_receive_message_length", self._config.max_recv_msg_size_mib << 20),
            ("grpc.max_concurrent_streams", self._config.max_concurrent_streams),
            ("grpc.so_reuseport", 0),  # two collectors on one port would split traces between them
        ]
        server = grpc.aio.server(options=options)
        for signal in SIGNALS:
            method = grpc.unary_unary_rpc_method_handler(self._handler(signal))
            server.add_generic_rpc_handlers(
                (grpc.method_handlers_generic_handler(_SERVICES[signal], {"Export": method}),)
            )
        try:
            self.port = server.add_insecure_port(self._config.endpoint)
        except RuntimeError as error:
            raise ConfigError(f"cannot listen on {self._config.endpoint}: {error}") from None
        await server.start()
        self._server = server

    async def shutdown(self) -> None:
        """Stop accepting; running requests get their answer."""
        server, self._server = self._server, None
        if server is not None:
            await server.stop(self._grace)

    def _handler(self, signal: Signal) -> Callable[[bytes, grpc.aio.ServicerContext[Any, Any]], Awaitable[bytes]]:
        async def export(request: bytes, context: grpc.aio.ServicerContext[Any, Any]) -> bytes:
            try:
                rejected = await self._intake.take(signal, request, "grpc")
            except CollectorError as error:
                self._intake.refuse("grpc", error)
                await context.abort(status.grpc_code(error), str(error), _trailers(error))
            return status.partial_success(signal, rejected) if rejected else b""

        return export


def _trailers(error: CollectorError) -> tuple[tuple[str, bytes], ...]:
    """RetryInfo, without which a sender may not retry RESOURCE_EXHAUSTED."""
    if isinstance(error, RefusedError):
        return (("grpc-status-details-bin", status.status_message(error).SerializeToString()),)
    return ()
