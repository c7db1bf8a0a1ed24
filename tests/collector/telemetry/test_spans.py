"""Spans of the collector's own: none unless asked for, few whatever happens, none about themselves."""

from __future__ import annotations

import asyncio

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from collector.component import ExportRequest
from collector.config.model import Config, SendingQueueConfig
from collector.delivery.sending_queue import SendingQueue
from collector.pipeline import Pipeline
from collector.scoring.rule_files import load_rules
from collector.telemetry.metrics import Telemetry
from collector.telemetry.spans import Allowance, SelfTracing
from tests import otlp_data as data
from tests.sinks import ManualClock


def collected(spans: SelfTracing) -> list[Span]:
    found = asyncio.run(spans.collect())
    return data.all_spans(found[0]) if found else []


def sent(attempts: int = 1, payload: bytes = b"x") -> ExportRequest:
    request = ExportRequest("traces", payload, 7, size=len(payload))
    request.attempts, request.tried_ns = attempts, data.EPOCH_NS
    return request


def test_off_it_records_nothing() -> None:
    spans = SelfTracing()
    with spans.during("start") as told:
        told["a"] = 1
    spans.exported(sent(), "no")
    assert asyncio.run(spans.collect()) is None


def test_a_span_around_what_is_done_with_what_was_told() -> None:
    spans = SelfTracing(enabled=True)
    with spans.during("recover") as told:
        told["rightcall.traces"] = 3
    (span,) = collected(spans)
    assert (span.name, data.values_of(span), span.status.code) == (
        "recover",
        {"rightcall.traces": 3},
        Status.STATUS_CODE_UNSET,
    )
    assert collected(spans) == [], "what was collected is gone"


def test_an_exception_is_told_and_goes_on() -> None:
    spans = SelfTracing(enabled=True)
    with pytest.raises(ValueError, match="bad"), spans.during("reload rules"):
        raise ValueError("bad")
    (span,) = collected(spans)
    assert (span.status.code, span.status.message) == (Status.STATUS_CODE_ERROR, "ValueError: bad")


@pytest.mark.parametrize(("attempts", "error"), [(1, "INTERNAL: no"), (3, ""), (1, "")])
def test_how_a_request_left(attempts: int, error: str) -> None:
    spans = SelfTracing(enabled=True)
    spans.exported(sent(attempts), error)
    (span,) = collected(spans)
    said = {"rightcall.signal": "traces", "rightcall.items": 7, "rightcall.bytes": 1, "rightcall.attempts": attempts}
    assert (span.name, data.values_of(span), span.status.message) == ("export", said, error)
    assert span.start_time_unix_nano == data.EPOCH_NS, "from the first attempt"


def test_few_spans_whatever_the_load() -> None:
    clock = ManualClock()
    spans = SelfTracing(enabled=True, now=clock.now)
    for _ in range(20):
        for _ in range(100):
            spans.exported(sent(), "")
            spans.exported(sent(), "UNAVAILABLE: away")
        clock.seconds += 1
    errors = [span.status.code == Status.STATUS_CODE_ERROR for span in collected(spans)]
    assert (errors.count(False), errors.count(True)) == (20, 200)


def test_a_request_that_holds_such_spans_is_not_told_of() -> None:
    spans = SelfTracing(enabled=True)
    spans.exported(sent(), "")
    found = asyncio.run(spans.collect())
    assert found is not None
    spans.exported(sent(payload=found[0]), "")
    spans.exported(sent(3, found[0]), "UNAVAILABLE: away")
    assert collected(spans) == []


def test_nor_is_it_when_it_came_through_the_collector_itself() -> None:
    spans, queue, clock = SelfTracing(enabled=True), SendingQueue(SendingQueueConfig()), ManualClock()
    pipeline = Pipeline(Config(), load_rules([]), Telemetry(), queue, clock)
    spans.exported(sent(), "")

    async def round_trip() -> bytes | None:
        found = await spans.collect()
        if found is not None:
            pipeline.receive("traces", found[0], "grpc")
            spans.exported(await queue.get(), "UNAVAILABLE: away")
        return found[0] if found else None

    assert asyncio.run(round_trip()) is not None
    assert asyncio.run(round_trip()) is None


def test_what_nobody_collects_is_bounded() -> None:
    spans = SelfTracing(enabled=True)
    for _ in range(1200):
        with spans.during("reload rules"):
            pass
    assert len(collected(spans)) == 1000


def test_an_allowance_does_not_pile_up() -> None:
    clock = ManualClock()
    allowance = Allowance(2, clock.now)
    clock.seconds += 1000
    assert [allowance.take() for _ in range(4)] == [True, True, False, False]
    clock.seconds += 0.5
    assert [allowance.take() for _ in range(2)] == [True, False]
