"""Spans of the collector's own: none unless asked for, few whatever happens, none about themselves."""

from __future__ import annotations

import asyncio

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from collector.component import ExportRequest
from collector.config.exporters import SendingQueueConfig
from collector.config.model import Config
from collector.delivery.sending_queue import SendingQueue
from collector.pipeline import Pipeline
from collector.scoring.rule_files import load_rules
from collector.telemetry.metrics import Telemetry
from collector.telemetry.spans import MAX_SPANS, RateLimiter, SelfTracing
from tests import otlp_data as data
from tests.sinks import ManualClock


def collected(spans: SelfTracing) -> list[Span]:
    found = asyncio.run(spans.collect())
    return data.all_spans(found[0]) if found else []


def sent(attempts: int = 1, payload: bytes = b"x") -> ExportRequest:
    request = ExportRequest("traces", payload, 7, size=len(payload))
    request.attempts, request.first_attempt_ns = attempts, data.EPOCH_NS
    return request


def test_off_it_records_nothing() -> None:
    spans = SelfTracing()
    with spans.span("start") as attributes:
        attributes["a"] = 1
    spans.exported(sent(), "no")
    assert asyncio.run(spans.collect()) is None


def test_a_span_around_a_block_with_its_attributes() -> None:
    spans = SelfTracing(enabled=True)
    with spans.span("recover") as attributes:
        attributes["rightcall.traces"] = 3
    (span,) = collected(spans)
    assert (span.name, data.values_of(span), span.status.code) == (
        "recover",
        {"rightcall.traces": 3},
        Status.STATUS_CODE_UNSET,
    )
    assert collected(spans) == [], "spans are collected once"


def test_an_exception_is_recorded_and_raised() -> None:
    spans = SelfTracing(enabled=True)
    with pytest.raises(ValueError, match="bad"), spans.span("reload rules"):
        raise ValueError("bad")
    (span,) = collected(spans)
    assert (span.status.code, span.status.message) == (Status.STATUS_CODE_ERROR, "ValueError: bad")


@pytest.mark.parametrize(("attempts", "error"), [(1, "INTERNAL: no"), (3, ""), (1, "")])
def test_an_exported_request_is_recorded(attempts: int, error: str) -> None:
    spans = SelfTracing(enabled=True)
    spans.exported(sent(attempts), error)
    (span,) = collected(spans)
    attributes = {
        "rightcall.signal": "traces",
        "rightcall.items": 7,
        "rightcall.bytes": 1,
        "rightcall.attempts": attempts,
    }
    assert (span.name, data.values_of(span), span.status.message) == ("export", attributes, error)
    assert span.start_time_unix_nano == data.EPOCH_NS, "from the first attempt"


def test_the_rate_of_spans_is_bounded() -> None:
    clock = ManualClock()
    spans = SelfTracing(enabled=True, now=clock.now)
    for _ in range(20):
        for _ in range(100):
            spans.exported(sent(), "")
            spans.exported(sent(), "UNAVAILABLE: away")
        clock.seconds += 1
    errors = [span.status.code == Status.STATUS_CODE_ERROR for span in collected(spans)]
    assert (errors.count(False), errors.count(True)) == (20, 200)


def test_a_request_that_contains_own_spans_is_not_recorded() -> None:
    spans = SelfTracing(enabled=True)
    spans.exported(sent(), "")
    found = asyncio.run(spans.collect())
    assert found is not None
    spans.exported(sent(payload=found[0]), "")
    spans.exported(sent(3, found[0]), "UNAVAILABLE: away")
    assert collected(spans) == []


def test_nor_if_it_came_through_the_collector_itself() -> None:
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


def test_uncollected_spans_are_bounded() -> None:
    spans = SelfTracing(enabled=True)
    for _ in range(MAX_SPANS + 200):
        with spans.span("reload rules"):
            pass
    assert len(collected(spans)) == MAX_SPANS == 1000


def test_unused_tokens_do_not_accumulate() -> None:
    clock = ManualClock()
    limiter = RateLimiter(2, clock.now)
    clock.seconds += 1000
    assert [limiter.allow() for _ in range(4)] == [True, True, False, False]
    clock.seconds += 0.5
    assert [limiter.allow() for _ in range(2)] == [True, False]
