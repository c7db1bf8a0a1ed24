"""Test doubles at the edges: a real OTLP backend, a recording intake, a manual clock."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import grpc

from collector.clock import Clock
from collector.component import SIGNALS, Rejected, Signal
from collector.errors import CollectorError
from collector.in_flight import InFlight, Reservation
from tests import otlp_data as data
from tests.waiting import let_others_run

_SERVICES: dict[Signal, str] = {
    "traces": "opentelemetry.proto.collector.trace.v1.TraceService",
    "logs": "opentelemetry.proto.collector.logs.v1.LogsService",
    "metrics": "opentelemetry.proto.collector.metrics.v1.MetricsService",
}


class ManualClock(Clock):
    """Time that passes when a test advances it, or when something sleeps; ``slept`` has those sleeps, in seconds."""

    def __init__(self, jitter: float = 0.5) -> None:
        super().__init__(self._now, self._wall_ns, self._sleep, lambda: jitter, self._now)
        self.seconds = 1000.0
        self.slept: list[float] = []

    def _now(self) -> float:
        return self.seconds

    def _wall_ns(self) -> int:
        return data.EPOCH_NS + int(self.seconds * 1e9)

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds
        await let_others_run()


class RecordingIntake:
    """Accepts every request, or responds with ``answer``; ``room`` is for how many bytes in flight."""

    def __init__(self, answer: Rejected | CollectorError | None = None, room: int = 1 << 30) -> None:
        self.in_flight = InFlight(room)
        self.received: list[tuple[Signal, bytes, str]] = []
        self.refused: list[tuple[str, str]] = []
        self.answer = answer

    def reservation(self) -> Reservation:
        return self.in_flight.reservation()

    async def take(self, signal: Signal, request: bytes, transport: str) -> Rejected:
        self.received.append((signal, request, transport))
        if isinstance(self.answer, CollectorError):
            raise self.answer
        return self.answer or Rejected()

    def refuse(self, transport: str, error: CollectorError) -> None:
        self.refused.append((transport, error.reason))


class OtlpSink:
    """An OTLP/gRPC backend for ``signals`` that records requests; it gives ``answers`` in turn, then accepts everything."""

    def __init__(
        self,
        answers: Iterable[Callable[[grpc.ServicerContext], bytes]] = (),
        port: int = 0,
        signals: Sequence[Signal] = SIGNALS,
    ) -> None:
        self.requests: dict[Signal, list[bytes]] = {"traces": [], "logs": [], "metrics": []}
        self.metadata: list[dict[str, Any]] = []
        self.calls = 0
        self._answers = iter(answers)
        self._pool = concurrent.futures.ThreadPoolExecutor(4)
        self._server = grpc.server(self._pool)
        for signal, service in ((signal, _SERVICES[signal]) for signal in signals):
            method = grpc.unary_unary_rpc_method_handler(self._handler(signal))
            self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"Export": method}),))
        self.port = self._server.add_insecure_port(f"127.0.0.1:{port}")

    def _handler(self, signal: Signal) -> Callable[[bytes, grpc.ServicerContext], bytes]:
        def export(request: bytes, context: grpc.ServicerContext) -> bytes:
            self.calls += 1
            self.metadata.append(dict(context.invocation_metadata()))
            answer = next(self._answers, None)
            response = answer(context) if answer else b""
            self.requests[signal].append(request)
            return response

        return export

    def __enter__(self) -> OtlpSink:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop(0).wait()
        self._pool.shutdown()

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self.port}"

    def spans(self) -> list[Any]:
        return [span for request in self.requests["traces"] for span in data.all_spans(request)]

    def records(self) -> list[Any]:
        return [record for request in self.requests["logs"] for record in data.all_records(request)]
