"""Every recorded run through a running collector, its spans split, turned round, doubled and mixed: what is seen is the same.

Real sockets in front, the callback of verdicts behind, one collector for all orders of all runs. Traces are released as they
settle, long after their last span even on a busy machine, or when the collector stops.
"""

from __future__ import annotations

import asyncio
import http.client
import random
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import chain, cycle
from pathlib import Path
from typing import TypeVar

import grpc
import pytest

from collector.component import Signal
from collector.config.model import Config
from collector.offline.score import score_files
from collector.otlp import lazy
from collector.otlp.structure import Envelope
from collector.receivers.otlp_file import read_set, trace_sets
from collector.reconstruction.run import Run
from collector.scoring.verdict import Verdict
from collector.service.service import Service
from tests import recorded
from tests.builders import no_rules
from tests.waiting import PATIENCE

T = TypeVar("T")
Piece = tuple[Signal, Envelope, bytes]
"""One span or log record as it was recorded, with what was around it."""
RULES = "intents: [{name: none, keywords: [nobody says this]}]"  # so that the user's words are read
RECORDED = 345
AT_ONCE = 12  # runs whose spans are mixed


class Running:
    """A collector in a thread, with a client for each of its protocols."""

    def __init__(self, folder: Path) -> None:
        (folder / "rules.yaml").write_text(RULES)
        self.verdicts: list[Verdict] = []
        self._folder, self._started = folder, threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    async def _serve(self) -> None:
        ports = {"grpc": {"endpoint": "127.0.0.1:0"}, "http": {"endpoint": "127.0.0.1:0"}}
        nowhere = {"endpoint": "127.0.0.1:0"}
        config = {
            "receivers": {"otlp": {"protocols": ports}},
            "rules": [self._folder / "rules.yaml"],
            "traces": {"settle": "60s", "confirm": "60s", "idle_timeout": "60s"},  # no span of a run comes that late
            "spool": "memory",
            "exporters": {"prometheus": nowhere},
            "admin": nowhere,
        }
        self.service = Service(Config.model_validate(config), self.verdicts.append)
        self._loop = asyncio.get_running_loop()
        await self.service.start()
        self._started.set()
        await self.service.run()
        await self.service.shutdown()

    def __enter__(self) -> Running:
        self._thread.start()
        assert self._started.wait(PATIENCE)
        assert self.service.grpc is not None
        assert self.service.http is not None
        self._channel = grpc.insecure_channel(f"127.0.0.1:{self.service.grpc.port}")
        self._http = http.client.HTTPConnection("127.0.0.1", self.service.http.port, timeout=PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close()
        self._http.close()
        self._loop.call_soon_threadsafe(self.service.stop)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def by_grpc(self, signal: Signal, body: bytes) -> None:
        service = {"traces": "trace.v1.TraceService", "logs": "logs.v1.LogsService"}[signal]
        method = f"/opentelemetry.proto.collector.{service}/Export"
        self._channel.unary_unary(method, None, None)(body, timeout=PATIENCE)

    def by_http(self, signal: Signal, body: bytes) -> None:
        self._http.request("POST", f"/v1/{signal}", body, {"content-type": "application/x-protobuf"})
        answer = self._http.getresponse()
        assert (answer.status, answer.read()) == (200, b"")


# --- orders: each sends all pieces of all runs


def one_by_one(running: Running, runs: list[list[Piece]]) -> None:
    for piece in chain.from_iterable(runs):
        running.by_grpc(piece[0], body_of([piece]))


def backwards(running: Running, runs: list[list[Piece]]) -> None:
    for run in runs:
        for piece in reversed(run):
            running.by_http(piece[0], body_of([piece]))


def twice(running: Running, runs: list[list[Piece]]) -> None:
    """All of a run by gRPC in requests of three, then again, backwards, by HTTP."""
    for run in runs:
        send(run, cycle([running.by_grpc]), 3)
        send(run[::-1], cycle([running.by_http]), 3)


def mixed(running: Running, runs: list[list[Piece]]) -> None:
    """The spans of a dozen runs in any order, a few a request, by both protocols in turn."""
    choice = random.Random(11)
    both = cycle([running.by_grpc, running.by_http])
    for some in cut(runs, AT_ONCE):
        pieces = list(chain.from_iterable(some))
        choice.shuffle(pieces)
        send(pieces, both, 4)


ORDERS = (one_by_one, backwards, twice, mixed)


def send(pieces: Sequence[Piece], by: Iterator[Callable[[Signal, bytes], None]], most: int) -> None:
    for some in cut(pieces, most):
        for signal in ("traces", "logs"):
            if of_signal := [piece for piece in some if piece[0] == signal]:
                next(by)(of_signal[0][0], body_of(of_signal))


def cut(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[at : at + size] for at in range(0, len(items), size))


def body_of(pieces: Iterable[Piece]) -> bytes:
    return lazy.join((envelope, [raw]) for _, envelope, raw in pieces)


# --- what was recorded


def pieces_of(folder: Path) -> Iterator[Piece]:
    for files in trace_sets(folder):
        for _, signal, request in read_set(files):
            for envelope, items in lazy.iter_scopes(request):
                yield from ((signal, envelope, raw) for raw in items)


def renamed(pieces: Iterable[Piece], ids: Iterable[bytes], order: str) -> list[Piece]:
    """The same spans in traces of other ids."""
    found = []
    for signal, envelope, raw in pieces:
        as_sent = raw
        for trace_id in ids:
            as_sent = as_sent.replace(trace_id, other(trace_id, order))
        found.append((signal, envelope, as_sent))
    return found


def other(trace_id: bytes, order: str) -> bytes:
    return blake2b(trace_id + order.encode(), digest_size=16).digest()


def outline(run: Run) -> str:
    """All that is known of a run: calls with names, arguments, errors, order and steps, nesting, the user's words."""
    said = (run.agent, run.conversation_id, run.route, run.user_input, run.service, run.dialect)
    return repr((run.parent_span_id, said, run.call_span_ids, run.trajectory))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    recorded.unpack(folder)
    return folder


def test_what_is_seen_of_a_run_does_not_depend_on_how_its_spans_come(corpus: Path, tmp_path: Path) -> None:
    names = recorded.names()
    whole = {name: [verdict.run for verdict in score_files([corpus / name], no_rules())] for name in names}
    pieces = {name: list(pieces_of(corpus / name)) for name in names}
    with Running(tmp_path) as running:
        for order in ORDERS:
            ids = {name: {run.trace_id for run in whole[name]} for name in names}
            order(running, [renamed(pieces[name], ids[name], order.__name__) for name in names])
    seen: dict[bytes, dict[bytes, str]] = defaultdict(dict)
    for verdict in running.verdicts:
        seen[verdict.run.trace_id][verdict.run.span_id] = outline(verdict.run)
    expected: dict[bytes, dict[bytes, str]] = defaultdict(dict)
    named = {}
    for name, runs in whole.items():
        for run in runs:
            for order in ORDERS:
                trace_id = other(run.trace_id, order.__name__)
                expected[trace_id][run.span_id] = outline(run)
                named[trace_id] = f"{name}, {order.__name__}"
    assert sorted(named[trace_id] for trace_id in named if seen[trace_id] != expected[trace_id]) == []
    assert seen.keys() == expected.keys()
    assert len(names) == RECORDED
    assert sum(map(len, seen.values())) == len(ORDERS) * sum(map(len, whole.values()))
