"""A backend in its own process: counts spans and events, and records when probe spans arrive."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import threading
import time
from multiprocessing.connection import Connection
from typing import Any

import grpc

from collector.otlp import lazy

PROBE = b"bench.probe."  # followed by eight digits
_SERVICES = ("trace.v1.TraceService", "logs.v1.LogsService", "metrics.v1.MetricsService")


def _serve(pipe: Connection) -> None:
    counts = dict.fromkeys(_SERVICES, 0)
    arrived: dict[int, int] = {}
    down, lock = threading.Event(), threading.Lock()

    def handler(service: str) -> Any:
        def export(request: bytes, context: grpc.ServicerContext) -> bytes:
            if down.is_set():
                context.abort(grpc.StatusCode.UNAVAILABLE, "down")
            now = time.monotonic_ns()
            if service.startswith("trace") and (at := request.find(PROBE)) >= 0:
                arrived[int(request[at + len(PROBE) : at + len(PROBE) + 8])] = now
            items = sum(len(items) for _, items in lazy.iter_scopes(request))
            with lock:
                counts[service] += items
            return b""

        return grpc.unary_unary_rpc_method_handler(export)

    server = grpc.server(concurrent.futures.ThreadPoolExecutor(2), options=[("grpc.max_receive_message_length", -1)])
    for service in _SERVICES:
        name = f"opentelemetry.proto.collector.{service}"
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, {"Export": handler(service)}),))
    pipe.send(server.add_insecure_port("127.0.0.1:0"))
    server.start()
    while (command := pipe.recv()) != "stop":
        if command == "counts":
            pipe.send((counts[_SERVICES[0]], counts[_SERVICES[1]], dict(arrived)))
        elif command == "down":
            down.set()
        else:
            down.clear()
    server.stop(0)


class Sink:
    """Controls the backend; use as a context manager."""

    def __enter__(self) -> Sink:
        context = multiprocessing.get_context("spawn")
        self._pipe, child_pipe = context.Pipe()
        self._process = context.Process(target=_serve, args=(child_pipe,), daemon=True)
        self._process.start()
        self.port: int = self._pipe.recv()
        return self

    def counts(self) -> tuple[int, int, dict[int, int]]:
        """Returns the number of spans and of events, and the arrival time of each probe in monotonic nanoseconds."""
        self._pipe.send("counts")
        answer: tuple[int, int, dict[int, int]] = self._pipe.recv()
        return answer

    def go_down(self) -> None:
        """Refuse everything with UNAVAILABLE until ``come_up``."""
        self._pipe.send("down")

    def come_up(self) -> None:
        """Accept everything again."""
        self._pipe.send("up")

    def __exit__(self, *_: object) -> None:
        self._pipe.send("stop")
        self._process.join(10)
