"""Small requests that wait leave as one, and nothing else changes for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.component import ExportRequest, Signal
from collector.config.exporters import OtlpExporterConfig, SendingQueueConfig
from collector.delivery import lane
from collector.delivery.joining import MAX_SMALL
from collector.delivery.sending_queue import SendingQueue
from collector.exporters.otlp import OtlpExporter
from collector.storage.spool import Spool
from collector.storage.spool_file import SpoolFile
from collector.telemetry.metrics import Telemetry
from tests import otlp_data as data
from tests.harness import value
from tests.sinks import OtlpSink
from tests.waiting import PATIENCE, let_others_run

FAST = {"initial_interval": "1ms", "max_interval": "2ms"}


def one_span(number: int) -> bytes:
    return data.traces(data.span(number)).SerializeToString()


def spans_of(payload: bytes) -> list[bytes]:
    request = ExportTraceServiceRequest.FromString(payload)
    return [span.span_id for one in request.resource_spans for scope in one.scope_spans for span in scope.spans]


def taken(*sizes: int, signals: Iterable[Signal] = ()) -> list[int]:
    """Returns how many of the requests leave together, request by request."""

    async def run() -> list[int]:
        queue = SendingQueue(SendingQueueConfig(), joins=True)
        kinds = [*signals] or ["traces"] * len(sizes)
        for size, signal in zip(sizes, kinds, strict=True):
            queue.put(ExportRequest(signal, bytes(size), 1))
        found = list[int]()
        while sum(found) < len(sizes):
            found.append((await queue.get()).items)
        return found

    return asyncio.run(run())


def test_what_waits_leaves_together() -> None:
    assert taken(100) == [1]
    assert taken(*[100] * 5) == [5]


def test_large_requests_leave_alone() -> None:
    assert taken(100, MAX_SMALL, MAX_SMALL, 100) == [1, 1, 1, 1]


def test_after_a_small_request_the_next_waits_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane, "_MAX_PACE", 3600.0)

    async def run() -> int:
        queue = SendingQueue(SendingQueueConfig(), joins=True)
        for size in (MAX_SMALL, 100):  # the large one makes none wait
            queue.put(ExportRequest("traces", bytes(size), 1))
            await queue.get()
        waiting = asyncio.create_task(queue.get())
        for _ in range(2):
            queue.put(ExportRequest("traces", bytes(MAX_SMALL // 3), 1))
            await let_others_run(3)
            assert not waiting.done()
        queue.put(ExportRequest("traces", bytes(MAX_SMALL // 2), 1))  # now there is enough for a request
        return (await waiting).items

    assert asyncio.run(run()) == 3


def test_a_small_request_leaves_although_no_other_follows() -> None:
    async def run() -> list[int]:
        queue = SendingQueue(SendingQueueConfig(), joins=True)
        left = list[int]()
        async with asyncio.timeout(PATIENCE):
            for _ in range(3):
                queue.put(ExportRequest("traces", b"x", 1))
                left.append((await queue.get()).items)
        return left

    assert asyncio.run(run()) == [1, 1, 1]


def test_a_small_request_leaves_whenever_its_pause_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock may pass the end of the pause between any two looks at it."""

    async def run(looks: int) -> int:
        queue = SendingQueue(SendingQueueConfig(), joins=True)
        queue.put(ExportRequest("traces", b"x", 1))
        await queue.get()
        queue.put(ExportRequest("traces", b"x", 1))
        traces = queue._lanes["traces"]
        assert traces._timer is not None
        traces._timer.cancel()  # it found no consumer that waits
        traces._timer = None
        times = iter([traces._next_small - 1e-9] * looks)
        clock = SimpleNamespace(monotonic=lambda: next(times, traces._next_small + 1e-9))
        with monkeypatch.context() as patch:
            patch.setattr(lane, "time", clock)
            async with asyncio.timeout(5):
                return (await queue.get()).items

    assert [asyncio.run(run(looks)) for looks in range(4)] == [1] * 4


def test_a_joined_request_is_bounded() -> None:
    assert max(taken(*[MAX_SMALL - 1] * 40)) == 16


def test_signals_are_not_mixed() -> None:
    assert taken(*[MAX_SMALL // 2] * 4, signals=["logs", "logs", "traces", "traces"]) == [2, 2]


def refuse(code: grpc.StatusCode) -> Callable[[grpc.ServicerContext], bytes]:
    def answer(context: grpc.ServicerContext) -> bytes:
        context.abort(code, "no")
        raise AssertionError

    return answer


def export(sink: OtlpSink, spool: Spool | None = None, count: int = 6) -> tuple[float, float]:
    """Export requests of one span. Returns how many spans were counted as sent, and as failed."""
    return asyncio.run(_export(sink, spool, count))


async def _export(sink: OtlpSink, spool: Spool | None, count: int) -> tuple[float, float]:
    settings = {
        "endpoint": sink.endpoint, "tls": {"insecure": True}, "retry_on_failure": FAST,
        "sending_queue": {"num_consumers": 1},
    }  # fmt: skip
    config = OtlpExporterConfig.model_validate(settings)
    queue, telemetry = SendingQueue(config.sending_queue, spool, joins=True), Telemetry()
    exporter = OtlpExporter(config, queue, telemetry)
    for number in range(1, count + 1):
        queue.put(ExportRequest("traces", one_span(number), 1))
    if spool is not None:
        await spool.stored()
    await exporter.start()
    await exporter.shutdown()
    assert (len(queue), queue.spans, queue._bytes, queue._lanes["traces"]._bytes) == (0, 0, 0, 0)
    sent, failed = [
        value(telemetry, f"exporter_{name}_spans_total", exporter="otlp") for name in ("sent", "send_failed")
    ]
    return sent, failed


def test_a_joined_request_is_a_request_with_the_spans_of_all() -> None:
    with OtlpSink() as sink:
        assert export(sink) == (6, 0)
    (payload,) = sink.requests["traces"]
    assert spans_of(payload) == [data.span_id(number) for number in range(1, 7)]


def test_after_a_failure_each_request_is_sent_alone_once() -> None:
    with OtlpSink([refuse(grpc.StatusCode.UNAVAILABLE)]) as sink:
        assert export(sink) == (6, 0)
    delivered = [spans_of(payload) for payload in sink.requests["traces"]]
    assert delivered == [[data.span_id(number)] for number in range(1, 7)]


def test_a_request_that_the_backend_refuses_takes_no_other_with_it() -> None:
    refused = refuse(grpc.StatusCode.INVALID_ARGUMENT)
    with OtlpSink([refused, refused]) as sink:  # the joined request, and the first of its parts
        assert export(sink) == (5, 1)
    delivered = [spans_of(payload) for payload in sink.requests["traces"]]
    assert delivered == [[data.span_id(number)] for number in range(2, 7)]


def test_the_spool_forgets_all_parts_of_a_joined_request_once_it_is_delivered(tmp_path: Path) -> None:
    async def life(sink: OtlpSink) -> list[int | None]:
        spool = Spool(SpoolFile(tmp_path, fsync=False), 1 << 30, Telemetry())
        await spool.start()
        left = list(SendingQueue(SendingQueueConfig(), spool).recover())
        await _export(sink, spool, 6)
        await spool.shutdown()
        return left

    with OtlpSink() as sink:
        assert asyncio.run(life(sink)) == []
        assert asyncio.run(life(sink)) == []
    assert [len(spans_of(payload)) for payload in sink.requests["traces"]] == [6, 6]
