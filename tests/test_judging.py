"""A collector as a process with a judge that hangs: killed, stopped, reloaded."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests import otlp_data as data
from tests.bench.judge_model import post
from tests.collector.judging.bench import RULES, approves, bad_run, good_run
from tests.collector_process import CollectorProcess
from tests.judge_server import HANGS, JudgeServer, Question, Reply
from tests.sinks import OtlpSink
from tests.waiting import wait_for

TRACES = {"settle": "300ms", "idle_timeout": "3s"}


class SwitchableJudge:
    """A judge that hangs until ``answering`` is set."""

    def __init__(self) -> None:
        self.answering = threading.Event()

    def __call__(self, question: Question) -> Reply:
        return approves(question) if self.answering.is_set() else HANGS


def send(collector: CollectorProcess, *runs: tuple[Span, ...]) -> None:
    for run in runs:
        post(collector.http, "traces", data.traces(*run).SerializeToString())


def judge(server: JudgeServer, **settings: Any) -> dict[str, Any]:
    return {"endpoint": server.endpoint, "model": "small", "timeout": "30s", **settings}


def test_a_crash_while_spans_are_held_loses_none_and_they_are_judged_after_the_restart() -> None:
    script = SwitchableJudge()
    with OtlpSink() as sink, JudgeServer(script) as server:
        exporter = {"endpoint": sink.endpoint, "tls": {"insecure": True}}
        sections = {"judge": judge(server, hold="60s"), "spool": {"path": "spool"}}
        with CollectorProcess(RULES, exporter, traces=TRACES, **sections) as collector:
            send(collector, good_run(1), bad_run(2))
            wait_for(lambda: server.questions)
            assert sink.spans() == []
            collector.kill()
            script.answering.set()
            collector.start()
            wait_for(lambda: len(sink.spans()) >= 6)
            wait_for(lambda: len(sink.records()) >= 4)
            assert collector.stop() == 0
        anchors = [data.values_of(span) for span in sink.spans() if span.span_id == data.span_id(1)]
        assert Counter(Counter((span.trace_id, span.span_id) for span in sink.spans()).values()) == {1: 6}
        assert [anchor["rightcall.mastra_llm.label"] for anchor in anchors] == ["pass", "pass"]
        uids = [data.values_of(record)["log.record.uid"] for record in sink.records()]
        assert len(uids) == len(set(uids)) == 4


@pytest.mark.parametrize("hold", ["0s", "60s"])
def test_a_shutdown_while_the_judge_hangs_delivers_everything_else(hold: str) -> None:
    with OtlpSink() as sink, JudgeServer(SwitchableJudge()) as server:
        exporter = {"endpoint": sink.endpoint, "tls": {"insecure": True}}
        with CollectorProcess(RULES, exporter, traces=TRACES, judge=judge(server, hold=hold)) as collector:
            send(collector, good_run())
            wait_for(lambda: server.questions)
            assert collector.stop() == 0
        assert len(sink.spans()) == 3
        assert [data.values_of(record)["gen_ai.evaluation.name"] for record in sink.records()] == ["trajectory"]


def test_rules_with_a_judge_load_without_one_configured() -> None:
    with CollectorProcess(RULES, None, traces=TRACES) as collector:
        assert "no `judge:` is configured" in collector.log
        send(collector, good_run())
        wait_for(lambda: collector.metric('rightcall_judge_skipped_total{reason="unconfigured",rule="weather"}') == 1)
        assert collector.stop() == 0
