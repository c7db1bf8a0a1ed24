"""Large requests are taken in slices: everything in them is read, scored and forwarded as if it were small."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from collector import request_pipeline
from collector.errors import DecodeError
from collector.otlp.structure import Structure
from collector.otlp.wire import field
from tests import otlp_data as data
from tests.harness import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def sent_spans(bench: Bench) -> list[bytes]:
    return [span.SerializeToString() for span in bench.out()]


def test_a_run_in_several_slices_is_one_run(bench: Bench) -> None:
    plain = [data.span(number, 1) for number in range(10, 2_000)]
    calls = [data.tool(2, 1, "get_weather", at=0.1), data.tool(3, 1, "send_email", at=0.2)]
    bench.send(calls[0], *plain, calls[1], data.agent(1))
    bench.wait(3)
    assert [data.values_of(record)["gen_ai.evaluation.score.label"] for record in bench.out("logs")] == ["pass"]
    ids = [
        span.span_id
        for sent in bench.queue.pending()
        if sent.signal == "traces"
        for span in data.all_spans(sent.payload)
    ]
    assert sorted(ids) == sorted(data.span_id(number) for number in (1, 2, 3, *range(10, 2_000)))
    assert bench.value("receiver_accepted_spans_total", receiver="otlp", transport="grpc") == len(ids)


def test_other_requests_are_taken_between_the_steps_of_a_large_one(bench: Bench) -> None:
    large = data.traces(*(data.span(number, 1) for number in range(10, 2_000))).SerializeToString()
    steps = bench.pipeline.receive_in_steps("traces", Structure(large), "grpc")
    small = 0
    for _ in steps:
        small += 1
        bench.pipeline.receive("traces", data.traces(data.span(1, 1)).SerializeToString(), "grpc")
    assert small > 3
    assert len(sent_spans(bench)) == small + 1_990


def opening(*traces: int) -> Structure:
    """A request of one agent in each of these traces."""
    spans = [data.agent(1, trace_id=number.to_bytes(16)) for number in traces]
    return Structure(data.traces(*spans).SerializeToString())


def test_a_request_makes_room_for_itself_and_not_for_the_large_one_beside_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path, traces={"max_open": 50})
    large = bench.pipeline.receive_in_steps("traces", opening(*range(1, 1_000)), "grpc")
    while bench.value("traces_open") <= 50:
        next(large)
    open_before, scored_before = bench.value("traces_open"), len(bench.verdicts)
    assert open_before > 500
    for _ in bench.pipeline.receive_in_steps("traces", opening(2_000, 2_001), "grpc"):
        pass
    assert (bench.value("traces_open"), len(bench.verdicts)) == (open_before, scored_before + 2)
    for _ in large:
        pass
    assert bench.value("traces_open") <= open_before, "each slice is paid for before the next is taken"
    bench.pipeline.advance(budget=1e9)
    assert bench.value("traces_open") == 50


def test_a_request_that_breaks_off_has_been_taken_slice_by_slice(bench: Bench) -> None:
    request = data.traces(*(data.span(number, 1) for number in range(10, 2_000))).SerializeToString()
    steps = bench.pipeline.receive_in_steps("traces", Structure(request), "grpc")
    for _ in range(3):
        next(steps)
    steps.close()
    sent = len(sent_spans(bench))
    assert sent in (600, 1_200)
    assert bench.value("receiver_accepted_spans_total", receiver="otlp", transport="grpc") == sent


def test_a_span_too_large_to_hold_is_scored_and_forwarded_as_it_is(bench: Bench) -> None:
    huge = data.tool(2, 1, "get_weather", at=0.1, gen_ai__tool__call__arguments="x" * (5 << 20))
    bench.send(huge, data.tool(3, 1, "send_email", at=0.2), data.agent(1))
    assert huge.SerializeToString() in sent_spans(bench)
    bench.wait(3)
    assert [data.values_of(record)["gen_ai.evaluation.score.label"] for record in bench.out("logs")] == ["pass"]
    assert sent_spans(bench).count(huge.SerializeToString()) == 1


@pytest.mark.parametrize(("padding", "held"), [(b"J\0" * 1_500_000, 2), (b"", 3)], ids=["flood", "text"])
def test_a_flood_of_attributes_is_scored_and_forwarded_as_it_is_and_a_long_text_is_held(
    bench: Bench, padding: bytes, held: int
) -> None:
    image = b64encode(bytes(range(256)) * 10_000).decode()
    spans = [data.tool(2, 1, "get_weather", at=0.1, image=image), data.tool(3, 1, "send_email", at=0.2), data.agent(1)]
    scope = b"".join(field(0x12, span.SerializeToString() + (b"" if at else padding)) for at, span in enumerate(spans))
    bench.pipeline.receive("traces", field(0x0A, field(0x12, scope)), "grpc")
    assert bench.value("held_spans") == held
    bench.wait(3)
    assert [data.values_of(record)["gen_ai.evaluation.score.label"] for record in bench.out("logs")] == ["pass"]
    assert len(bench.out()) == 3


def test_spans_of_a_scope_that_is_no_protobuf_are_rejected_and_the_others_taken(bench: Bench) -> None:
    good = data.traces(data.span(1)).SerializeToString()
    bad = data.traces(data.span(2), scope="agents").SerializeToString().replace(b"\n\x06agents", b"\xff" * 8)
    rejected = bench.pipeline.receive("traces", good + bad, "grpc")
    assert (rejected.count, rejected.message) == (1, "spans that are not OTLP")
    assert [span.span_id for sent in bench.queue.pending() for span in data.all_spans(sent.payload)] == [
        data.span_id(1)
    ]
    with pytest.raises(DecodeError, match="no span of the request could be read"):
        bench.pipeline.receive("traces", bad, "grpc")


def event(number: int, body: str = "") -> LogRecord:
    record = LogRecord(event_name="gen_ai.choice", trace_id=number.to_bytes(16, "big"), span_id=data.span_id(1))
    record.attributes.extend(data.attributes({"gen_ai.system": "openai"}))
    record.body.kvlist_value.values.extend(data.attributes({"index": 0, "finish_reason": "stop", "padding": body}))
    return record


def test_a_flood_of_events_opens_no_more_traces_than_allowed(tmp_path: Path) -> None:
    bench = Bench(tmp_path, traces={"max_open": 50})
    request = data.logs(*(event(number) for number in range(1, 2_000))).SerializeToString()
    bench.pipeline.receive("logs", request, "grpc")
    assert bench.value("traces_open") == 50
    assert [sent.payload for sent in bench.queue.pending() if len(data.all_records(sent.payload)) > 1_000] == [request]


def test_a_log_record_that_is_too_large_is_forwarded_unread(bench: Bench) -> None:
    large = event(2, "x" * request_pipeline._MAX_LOG_RECORD)
    request = data.logs(event(1), large).SerializeToString()
    bench.pipeline.receive("logs", request, "grpc")
    assert bench.value("traces_open") == 1
    assert [sent.payload for sent in bench.queue.pending()] == [request]
