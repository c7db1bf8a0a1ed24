"""A client in its own process that does no harm: one small trace after the other, and how long each answer takes."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import multiprocessing
import os
import statistics
import time
from multiprocessing.connection import Connection
from typing import NamedTuple

from tests import otlp_data as data

_PAUSE = 0.02  # seconds between an answer and the next trace
_PATIENCE = 300  # seconds


class Waited(NamedTuple):
    """How many answers it waited for, and how many milliseconds."""

    answers: int
    median: float
    longest: float


class Innocent:
    """Controls the client of a collector's OTLP/HTTP ``port``; use as a context manager."""

    def __init__(self, port: int) -> None:
        self._port = port

    def __enter__(self) -> Innocent:
        context = multiprocessing.get_context("spawn")
        self._pipe, child_pipe = context.Pipe()
        self._process = context.Process(target=_send, args=(self._port, child_pipe), daemon=True)
        self._process.start()
        self._pipe.recv()
        return self

    def waited(self) -> Waited:
        """Returns what it waited since it was last asked."""
        self._pipe.send("waited")
        found: Waited = self._pipe.recv()
        return found

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._pipe.send("stop")
        self._process.join(_PATIENCE)


def _send(port: int, pipe: Connection) -> None:
    times = list[float]()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)
    pipe.send("ready")
    for number in itertools.count(1):
        trace_id = os.urandom(8) + number.to_bytes(8)
        spans = (data.tool(2, 1, "a", trace_id=trace_id), data.agent(1, name="innocent", trace_id=trace_id))
        body, begun = data.traces(*spans).SerializeToString(), time.monotonic()
        try:
            connection.request("POST", "/v1/traces", body, {"content-type": "application/x-protobuf"})
            connection.getresponse().read()
        except OSError:
            connection.close()
        times.append(1e3 * (time.monotonic() - begun))
        if pipe.poll(_PAUSE):
            if pipe.recv() == "stop":
                return
            pipe.send(Waited(len(times), statistics.median(times), max(times)))
            times.clear()
