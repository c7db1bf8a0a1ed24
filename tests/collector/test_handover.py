"""An instance that stops gives its open traces to the one where their further spans arrive."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span
from pydantic import ValidationError

from collector.component import ExportRequest
from collector.config.exporters import SendingQueueConfig
from collector.config.model import Config
from collector.delivery.outbox import Outbox, Outlet
from collector.delivery.sending_queue import HANDOVER, SendingQueue
from collector.otlp.handed_over import Handover, handover_of, with_handover
from collector.otlp.structure import Envelope
from tests import otlp_data as data
from tests.collector_process import CollectorProcess, send
from tests.harness import WEATHER_RULES, Bench, Life
from tests.sinks import OtlpSink
from tests.waiting import wait_for


def calls(trace_id: bytes, at: float = 0.0) -> tuple[Span, Span, Span]:
    """A right run: two calls and, last to arrive, the agent."""
    return (
        data.tool(2, 1, "get_weather", at, trace_id),
        data.tool(3, 1, "send_email", at + 0.1, trace_id),
        data.agent(1, at=at, trace_id=trace_id),
    )


def handed_over(requests: list[ExportRequest]) -> list[tuple[bytes, bytes]]:
    return [(span.trace_id, span.span_id) for request in requests for span in data.all_spans(request.payload)]


@pytest.mark.parametrize("in_spool", [False, True])
def test_a_run_whose_second_half_arrives_elsewhere_is_scored_there_as_a_whole(in_spool: bool, tmp_path: Path) -> None:
    with OtlpSink() as sink, contextlib.ExitStack() as stack:
        backend = {"endpoint": sink.endpoint, "tls": {"insecure": True}}
        traces = {"settle": "300ms", "confirm": "300ms", "idle_timeout": "2s"}
        stays = stack.enter_context(CollectorProcess(WEATHER_RULES, backend, traces=traces))
        to = {"handover": {"endpoint": f"127.0.0.1:{stays.grpc}", "tls": {"insecure": True}}}
        spool: Any = {"path": str(tmp_path)} if in_spool else "memory"
        leaves = stack.enter_context(
            CollectorProcess(WEATHER_RULES, backend, traces={**traces, "idle_timeout": "30s"}, service=to, spool=spool)
        )
        first, *rest = calls(os.urandom(16), time.time() - data.EPOCH_NS / 1e9)
        assert send(leaves, first) is grpc.StatusCode.OK
        assert leaves.stop() == 0
        assert "handing over 1 open traces; 0 stay" in leaves.log
        assert send(stays, *rest) is grpc.StatusCode.OK
        wait_for(lambda: sink.records() and len(sink.spans()) >= 3)
        (event,) = sink.records()
        assert sorted(span.span_id for span in sink.spans()) == sorted(span.span_id for span in (first, *rest))
        assert stays.stop() == 0
    values = {item.key: item.value for item in event.attributes}
    assert values["gen_ai.evaluation.score.label"].string_value == "pass"
    assert values["rightcall.complete"].bool_value is True


@pytest.mark.parametrize("answers", [True, False], ids=["refused", "nobody there"])
def test_without_a_spool_what_nobody_takes_over_is_scored_as_it_is(answers: bool) -> None:
    def refuse(context: grpc.ServicerContext) -> bytes:
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "no")
        raise AssertionError

    with OtlpSink() as sink, OtlpSink([refuse]) as successor:
        endpoint = successor.endpoint if answers else "127.0.0.1:1"
        leaves = CollectorProcess(
            WEATHER_RULES, {"endpoint": sink.endpoint, "tls": {"insecure": True}}, spool="memory",
            service={"handover": {"endpoint": endpoint, "tls": {"insecure": True}}},
        )  # fmt: skip
        with leaves:
            first, _, anchor = calls(os.urandom(16), time.time() - data.EPOCH_NS / 1e9)
            assert send(leaves, first, anchor) is grpc.StatusCode.OK
            assert leaves.stop() == 0
            assert "which go another way" in leaves.log
        assert sorted(span.span_id for span in sink.spans()) == sorted([first.span_id, anchor.span_id])
        (event,) = sink.records()
    values = {item.key: item.value for item in event.attributes}
    assert values["rightcall.complete"].bool_value is False


def test_what_is_sure_is_decided_and_what_is_not_leaves_with_all_that_is_held(tmp_path: Path) -> None:
    bench = Bench(tmp_path, traces={"confirm": 60.0})
    whole, begun, failed, ended, other = (bytes([number]) * 16 for number in range(1, 6))
    bench.send(*calls(failed)[1:])  # a call is missing
    bench.wait(3)
    bench.send(*calls(whole))
    bench.send(*calls(begun)[:2])
    bench.send(*calls(ended)[1:])  # not quiet for as long as the other that fails
    bench.send(data.span(4, 9, "chat", trace_id=other, gen_ai__operation__name="chat"))
    requests: list[ExportRequest] = []
    assert bench.pipeline.hand_over(requests.append) == 2
    assert {verdict.run.trace_id: verdict.label for verdict in bench.verdicts} == {whole: "pass", failed: "fail"}
    spans = [*calls(begun)[:2], *calls(ended)[1:]]
    assert handed_over(requests) == [(span.trace_id, span.span_id) for span in spans]
    assert bench.pipeline.open_traces == 1, "what holds no span has nothing to hand over"
    assert bench.value("handed_over_traces_total") == 2
    bench.pipeline.drain("shutdown")
    left = {(span.trace_id, span.span_id) for span in bench.out()}
    assert left.isdisjoint(handed_over(requests))
    assert bench.value("held_spans") == 0


@pytest.mark.parametrize("written", [False, True])
def test_after_a_crash_a_trace_is_open_or_handed_over_never_both(written: bool, tmp_path: Path) -> None:
    with contextlib.closing(Life(tmp_path)) as life:
        life.send(*calls(data.TRACE)[:2])
        life.write()
        successor = SendingQueue(SendingQueueConfig(), life.spool, exporter=HANDOVER)
        life.pipeline.hand_over(successor.put)
        if written:
            life.write()
        life.crash()
        successor = SendingQueue(SendingQueueConfig(), life.spool, exporter=HANDOVER)
        usual = SendingQueue(SendingQueueConfig(), life.spool)
        outlets = [Outlet(usual, ["traces"]), Outlet(successor, ["traces"], HANDOVER)]
        outbox = Outbox(outlets, life.spool, life.telemetry)
        assert life.resumed == (0 if written else 1)
        list(outbox.recover())
        assert successor.spans == (2 if written else 0)
        outbox.put(ExportRequest("traces", b"", 1))
        life.write()
        assert len(usual) == 1
        assert len(successor) == (1 if written else 0), "what leaves as usual is not for it"


READY = 1000.0
"""What the clock of a bench says when it is ready: seconds after the epoch of the spans."""


def requests_of(bench: Bench, *spans: Span) -> list[bytes]:
    bench.send(*spans)
    bench.clock.seconds += 1
    requests: list[ExportRequest] = []
    assert bench.pipeline.hand_over(requests.append) == 1
    return [request.payload for request in requests]


def verdicts_after(requests: list[bytes], *rest: Span, bench: Bench, last: bool) -> list[tuple[str, tuple[str, ...]]]:
    """Of an instance that has long been ready, whether the spans that are handed over arrive first or last."""
    bench.clock.seconds = READY - 100
    bench.pipeline.ready()
    bench.clock.seconds = READY + 10
    if last:
        bench.send(*rest)
    for request in requests:
        bench.pipeline.receive("traces", request, "grpc")
    if not last:
        bench.send(*rest)
    bench.wait(40)
    return [(verdict.label, verdict.doubts) for verdict in bench.verdicts]


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    ("begins", "expected"), [(READY + 0.1, ("pass", ())), (READY - 0.1, ("incomplete", ("torn_trace",)))]
)
def test_what_began_before_the_instance_that_hands_it_over_was_ready_is_in_doubt_there(
    tmp_path: Path, begins: float, expected: Any, last: bool
) -> None:
    leaves, stays = Bench(tmp_path), Bench(tmp_path)
    leaves.pipeline.ready()
    *first, anchor = calls(data.TRACE, begins)
    requests = requests_of(leaves, *first)
    assert verdicts_after(requests, anchor, bench=stays, last=last) == [expected]


def test_what_lost_spans_before_it_was_handed_over_is_in_doubt(tmp_path: Path) -> None:
    leaves, stays = Bench(tmp_path, traces={"max_spans": 2}), Bench(tmp_path)
    leaves.pipeline.ready()
    *first, anchor = calls(data.TRACE, READY + 0.1)
    third = data.tool(4, 1, "get_weather", READY + 0.3, data.TRACE)
    requests = requests_of(leaves, *first, third)
    assert verdicts_after(requests, anchor, bench=stays, last=False) == [("incomplete", ("truncated",))]


def test_what_was_at_the_other_instance_only_meanwhile_is_whole(tmp_path: Path) -> None:
    stays, leaves = Bench(tmp_path), Bench(tmp_path)
    stays.pipeline.ready()
    first, second, anchor = calls(data.TRACE, READY + 0.1)
    stays.send(first)
    leaves.clock.seconds = READY + 0.25
    leaves.pipeline.ready()
    requests = requests_of(leaves, second)
    stays.clock.seconds = READY + 2
    for request in requests:
        stays.pipeline.receive("traces", request, "grpc")
    stays.send(anchor)
    stays.wait(40)
    assert [(verdict.label, verdict.doubts) for verdict in stays.verdicts] == [("pass", ())]


def test_a_restart_keeps_what_the_instance_before_did_not_see(tmp_path: Path) -> None:
    leaves = Bench(tmp_path)
    leaves.pipeline.ready()
    *first, anchor = calls(data.TRACE, READY - 0.1)
    requests = requests_of(leaves, *first)
    with contextlib.closing(Life(tmp_path, WEATHER_RULES)) as life:
        life.clock.seconds = READY - 100
        life.pipeline.ready()
        for request in requests:
            life.pipeline.receive("traces", request, "grpc")
        life.write()
        life.crash()
        life.send(anchor)
        life.settle(40)
        (event,) = life.events()
    assert (event["gen_ai.evaluation.score.label"], event["rightcall.doubts"]) == ("incomplete", ["torn_trace"])


def test_what_is_told_of_a_hand_over_is_told_once_and_changes_nothing_else_of_the_scope() -> None:
    agents = InstrumentationScope(name="agents", version="1", attributes=data.attributes({"a": "b"}))
    scope = ScopeSpans(scope=agents, schema_url="s")
    envelope = Envelope(b"resource", scope.SerializeToString())
    once = with_handover(envelope, Handover(7, lacks_spans=True))
    assert (handover_of(envelope), handover_of(once)) == (None, Handover(7, lacks_spans=True))
    assert with_handover(once, Handover(5, lacks_spans=False)) == once, (
        "what the first did not see the second did not either"
    )
    assert handover_of(with_handover(once, Handover(9, lacks_spans=False))) == Handover(9, lacks_spans=True)
    changed = ScopeSpans.FromString(once.scope)
    told = [changed.scope.attributes.pop().key for _ in range(2)]
    assert sorted(told) == ["rightcall.handover.lacks_spans", "rightcall.handover.seen_from"]
    assert (changed, once.resource) == (scope, b"resource")
    assert handover_of(Envelope(b"", b"rightcall.handover.seen_from")) is None, "no scope"


def test_spans_of_a_scope_whose_name_is_not_utf_8_are_handed_over(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    request = data.traces(*calls(data.TRACE)[:2]).SerializeToString().replace(b"agents", b"agent\xff")
    bench.pipeline.receive("traces", request, "grpc")
    requests: list[ExportRequest] = []
    assert bench.pipeline.hand_over(requests.append) == 1
    assert b"".join([one.payload for one in requests]).count(b"agent\xff") == 1


def test_a_consumer_of_a_topic_has_nothing_to_hand_over() -> None:
    backend = {"endpoint": "gateways:4317"}
    with pytest.raises(ValidationError, match=r"service\.handover has no use with receivers\.kafka"):
        Config.model_validate({"receivers": {"kafka": {"brokers": ["k:9092"]}}, "service": {"handover": backend}})
