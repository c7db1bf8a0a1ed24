"""A run through a running collector to a real model and back: real sockets, a real client, answers nobody wrote."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests import otlp_data as data
from tests.bench.judge_model import SCORERS, post
from tests.collector_process import CollectorProcess
from tests.injections import WRONG_RUNS, spans
from tests.sinks import OtlpSink
from tests.small_model import MISSING, SmallModel, installed
from tests.waiting import wait_for

RULES = """
rules:
  - name: any
    match: {}
    expect: {any_order: [get_weather]}
    scorers: [trajectory, mastra_llm, tool_choice]
"""
PATIENCE = 540.0  # on a machine that does much else


@pytest.mark.timeout(600)
@pytest.mark.skipif(not installed(), reason=MISSING)
def test_a_real_model_judges_a_run(record_property: Callable[[str, object], None]) -> None:
    with SmallModel() as model, OtlpSink() as sink:
        judge = model.judge(max_tokens=96, retry_on_failure={"enabled": False})
        exporter = {"endpoint": sink.endpoint, "tls": {"insecure": True}}
        with CollectorProcess(RULES, exporter, traces={"settle": "300ms"}, judge=judge) as collector:
            post(collector.http, "traces", data.traces(*spans(WRONG_RUNS[0], 1)).SerializeToString())
            wait_for(lambda: len(sink.records()) == 1 + len(SCORERS), 0.2, PATIENCE)
            events = {e["gen_ai.evaluation.name"]: e for e in map(data.values_of, sink.records())}
            requests = collector.metric("rightcall_judge_request_seconds_count")
            seconds = collector.metric("rightcall_judge_request_seconds_sum")
            tokens = collector.metric('rightcall_judge_tokens_total{rule="any"}')
    assert events["trajectory"]["gen_ai.evaluation.score.label"] == "fail"
    for scorer in SCORERS:
        event = events[scorer]
        if event["gen_ai.evaluation.score.label"] == "error":  # cut short twice, or of no sense: said, and no score
            assert "gen_ai.evaluation.score.value" not in event
            assert event["error.type"] in ("judge_invalid", "ValueError")
        else:
            assert 0.0 <= event["gen_ai.evaluation.score.value"] <= 1.0
        record_property(scorer, event["gen_ai.evaluation.score.label"])
    assert 2 <= requests <= 6  # one to four of Mastra's, one or two of ours
    assert tokens > 500  # each question alone is longer
    record_property("seconds_per_request", seconds / requests)
